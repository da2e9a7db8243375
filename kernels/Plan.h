// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A call of a library kernel and its plan: the buffers beside the caller's, and the launches and fills in order. A plan
// knows no device; Prepared.h compiles and launches it.
#pragma once
#include "chips/Chip.h"
#include "support/ElementType.h"
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace heddle::kernels {

struct ArrayType {
  ElementType type = ElementType::F32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides = {}; ///< in elements; empty: dense, row-major

  int64_t elements() const;
  int64_t stride(size_t axis) const;
  /// From the first byte to the end of the last element.
  int64_t sizeBytes() const;
  bool isDense() const; ///< row-major without gaps
};

/// `bf16[16,128]`, with the strides where they are not those of a dense array.
std::string describe(const ArrayType &array);

/// An array's bytes, as sizeBytes() counts them.
struct HostArray {
  ArrayType type;
  std::string bytes;

  double get(std::initializer_list<int64_t> index) const;
  void set(std::initializer_list<int64_t> index, double value); ///< to nearest even, as storeDouble()
  int64_t offset(std::initializer_list<int64_t> index) const;   ///< in bytes
};
using HostArrays = std::map<std::string, HostArray>;

/// A call whose names and values have been checked (LibraryKernel.h).
struct Call {
  const Chip *chip = &hostChip;
  std::string kernel;
  std::map<std::string, ArrayType> inputs;
  std::map<std::string, int64_t> extents;     ///< by the names of the parameters' dimensions
  std::map<std::string, std::string> options; ///< every one
  std::map<std::string, int64_t> tiles;       ///< those that the caller chose

  const ArrayType &input(const std::string &name) const { return inputs.at(name); }
  int64_t extent(const std::string &name) const { return extents.at(name); }
  bool is(const std::string &option, const char *value) const { return options.at(option) == value; }
  ElementType type(const std::string &option) const { return parseElementType(options.at(option)); }
  int64_t number(const std::string &option) const { return std::stoll(options.at(option)); }
  /// The caller's choice, else `standard`.
  int64_t tile(const std::string &name, int64_t standard) const;
};

struct StepArgument {
  std::string buffer; ///< of an input, a result or a temporary; empty: a scalar
  int64_t value = 0;
};

/// Throws Error{Input} unless this input is dense.
void requireDense(const Call &call, const std::string &name);

/// A fill of a whole buffer with one byte, or a launch.
struct Step {
  std::string fills; ///< the buffer; empty: a launch
  uint8_t byte = 0;

  std::string name, text; ///< the kernel's, Triton IR
  int warps = 4;
  /// 32-bit words that a block keeps in registers at once; none: one for each element of its largest tile.
  std::optional<int64_t> heldWords = std::nullopt;
  std::array<int64_t, 3> grid = {1, 1, 1};
  std::vector<StepArgument> arguments;
};

struct NamedArray {
  std::string name;
  ArrayType type;
};

struct Plan {
  std::vector<NamedArray> results, temporaries;
  std::vector<Step> steps; ///< none where no result has an element
  /// The least that any kernel reads and writes: inputs once, results once.
  int64_t leastBytes = 0;
  int64_t operations = 0; ///< of a matmul; 0 where memory is what bounds

  int64_t sizeBytes(const std::string &name) const; ///< of a result or temporary
};

} // namespace heddle::kernels
