// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The attributes after an instruction's operands: known ones into their fields, companions kept as text, unknown ones
// skipped with a warning.
#pragma once
#include "frontend/hlo/Cursor.h"
#include <string>
#include <unordered_map>

namespace heddle::hlo {

/// Of triangular-solve; cholesky has `lower` only. XLA leaves out what is false.
struct TriangularOptions {
  bool left = false, lower = false, unit = false, transposed = false, conjugated = false;
};

/// Attributes of one instruction that is read as several others (ParseInstruction.cpp); these have no place in it.
struct WrittenOutAttributes {
  std::vector<int> branches; ///< of conditional, called_computations of custom-call
  std::string window;        ///< as written
  std::string labels;        ///< dim_labels of convolution
  int64_t featureGroups = 1, batchGroups = 1;
  int select = -1, scatter = -1; ///< computations of select-and-scatter
  int64_t count = -1;            ///< k of topk
  bool largest = true;           ///< of topk
  int64_t exponentBits = -1, mantissaBits = -1;
  TriangularOptions triangular;
  std::string algorithm; ///< of rng-bit-generator
  std::string fftType;   ///< of fft: FFT, IFFT, RFFT, IRFFT
  std::vector<int64_t> fftLength;
  std::string target; ///< of custom-call, in quotes
};

/// What the parsers of the parts share.
struct ParseContext {
  Cursor &cursor;
  Module &module;
  std::unordered_map<std::string, int> computationNames;
  bool writtenOut = false;              ///< what is being read becomes several operations (ParseInstruction.cpp)
  WrittenOutAttributes attributes = {}; ///< of the instruction that is being read
};

enum class AttributePlace {
  Instruction,
  Operand,    ///< of an operand written in place: a comma may also begin the next operand
  SecondHalf, ///< of an update or done, which need no computation
};

/// Reads `, name=value` as often as it stands there. Fails when a known attribute has a wrong value, stands twice, or
/// is one that the opcode needs and lacks.
void parseAttributes(ParseContext &context, Instruction &instruction, AttributePlace place);

/// The computation of this name, which must stand earlier in the text.
int parseComputationName(ParseContext &context);

} // namespace heddle::hlo
