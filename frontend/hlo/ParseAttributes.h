// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The attributes behind an instruction's operands: known ones into their fields, companions kept as text, unknown ones
// skipped with a warning.
#pragma once
#include "frontend/hlo/Cursor.h"
#include <string>
#include <unordered_map>

namespace heddle::hlo {

/// Of triangular-solve; cholesky has `lower` only.
struct TriangularOptions {
  bool left = true, lower = true, unit = false, transposed = false;
};

/// What the parsers of the parts share.
struct ParseContext {
  Cursor &cursor;
  Module &module;
  std::unordered_map<std::string, int> computationNames;
  bool writtenOut = false;        ///< what is being read becomes several operations (ParseInstruction.cpp)
  std::vector<int> branches = {}; ///< of the conditional that is being read: computations
  std::string window = {};        ///< of the reduce-window or convolution that is being read, as written
  std::string labels = {};        ///< dim_labels of the convolution that is being read
  int64_t featureGroups = 1, batchGroups = 1;
  int select = -1, scatter = -1; ///< computations of the select-and-scatter that is being read
  int64_t count = -1;            ///< k of the topk that is being read
  bool largest = true;
  int64_t exponentBits = -1, mantissaBits = -1; ///< of the reduce-precision that is being read
  TriangularOptions triangular = {};            ///< of the triangular-solve or cholesky that is being read
  std::string algorithm = {};                   ///< of the rng-bit-generator that is being read
  std::string target = {};                      ///< of the custom-call that is being read, in quotes
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
