// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An HLO module as values: computations that hold instructions in the order of the text. An operand is the index of an
// earlier instruction of the same computation, a called computation the index of an earlier one of the module, so that
// modules can be copied and the order of the text is a topological order. The parser has checked all shapes.
#pragma once
#include "frontend/hlo/Groups.h"
#include "frontend/hlo/Opcode.h"
#include "frontend/hlo/Shape.h"
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle::hlo {

/// A place in the text, counted from 1.
struct Location {
  int line = 0;
  int column = 0;
};

enum class CompareDirection { Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual };
const char *compareDirectionName(CompareDirection direction); ///< `EQ`, `NE`, `LT`, ...

/// The operation of a reduction region. On pred, minimum and multiply become And, maximum and add Or.
enum class ReductionKind { Add, Multiply, Minimum, Maximum, And, Or };
const char *reductionKindName(ReductionKind kind);

/// Half-open bounds, one per dimension.
struct SliceBounds {
  std::vector<int64_t> starts, limits, strides;
};

/// Elements added before, after and between; low and high may be negative.
struct PaddedDimension {
  int64_t low = 0, high = 0, interior = 0;
};

struct DotDimensions {
  std::vector<int64_t> lhsBatch, rhsBatch, lhsContracting, rhsContracting;
};

/// A gather reads windows of `sliceSizes` of its first operand. Where a window begins is a vector along
/// `indexVectorDim` of the second, whose other dimensions number the windows.
struct GatherDimensions {
  std::vector<int64_t> offsets;       ///< of the result: the window's dimensions that are kept, ascending
  std::vector<int64_t> collapsed;     ///< of the first operand: of size 1 in the window, and left out
  std::vector<int64_t> operandBatch;  ///< of the first operand: its index is that of the window along ...
  std::vector<int64_t> indicesBatch;  ///< ... these of the second
  std::vector<int64_t> startIndexMap; ///< the dimension of the first operand of each component of the vector
  int64_t indexVectorDim = 0;         ///< the rank of the second operand: vectors of one component
  std::vector<int64_t> sliceSizes;

  /// Whether this dimension of the first operand has none in the result.
  bool isLeftOut(int64_t dimension) const;
};

/// What only collectives have. `dimensions` of the instruction is the gather, scatter or split dimension.
struct Collective {
  std::optional<int64_t> channelId;
  bool useGlobalDeviceIds = false;
  bool constrainLayout = false;
  ReplicaGroups replicaGroups;
  std::vector<std::pair<int64_t, int64_t>> sourceTargetPairs; ///< collective-permute, as written
  std::optional<ReductionKind> reduction;                     ///< all-reduce and reduce-scatter
};

/// An attribute that has no meaning here and is kept as text: metadata, backend_config, sharding, ...
struct CarriedAttribute {
  std::string name, text;
};

struct Instruction {
  std::string name; ///< without `%`
  Opcode opcode = Opcode::Parameter;
  Shape shape;
  int index = -1;            ///< its place in the computation
  std::vector<int> operands; ///< indices of instructions
  std::vector<int> users;    ///< each user once, ascending
  Location location;

  // Each of these is set for the opcodes named, else it has its default.
  int64_t parameterNumber = -1;           ///< parameter
  int64_t tupleIndex = -1;                ///< get-tuple-element
  int64_t iotaDimension = -1;             ///< iota
  std::vector<int64_t> dimensions;        ///< broadcast, transpose, reduce, concatenate, reverse, collectives
  SliceBounds slice;                      ///< slice
  std::vector<int64_t> dynamicSliceSizes; ///< dynamic-slice
  std::vector<PaddedDimension> padding;   ///< pad
  DotDimensions dot;                      ///< dot
  GatherDimensions gather;                ///< gather
  CompareDirection direction = CompareDirection::Equal;
  bool totalOrder = false;    ///< compare with type=TOTALORDER
  std::string literal;        ///< constant: dense elements in row-major logical order, elementSizeBytes each
  int calledComputation = -1; ///< to_apply or calls: reduce, call, fusion, all-reduce, reduce-scatter
  int condition = -1;         ///< while
  int body = -1;              ///< while
  std::string fusionKind;     ///< `kLoop`, ...
  std::optional<Collective> collective;
  /// The text had a -start and a -done form; the instruction stands where the -start stood, under its name.
  bool asynchronous = false;
  std::vector<CarriedAttribute> carried;
};

struct Computation {
  std::string name; ///< without `%`
  std::vector<Instruction> instructions;
  std::vector<int> parameters; ///< by parameter number
  int root = -1;               ///< need not be the last: a start may stand before instructions that its done follows
  Location location;

  const Instruction &rootInstruction() const { return instructions[size_t(root)]; }
  const Instruction &operand(const Instruction &user, size_t number) const {
    return instructions[size_t(user.operands[number])];
  }
  const Instruction &parameter(size_t number) const { return instructions[size_t(parameters[number])]; }
  const Instruction *find(std::string_view instructionName) const; ///< null when there is none
};

struct Module {
  std::string name;
  std::string fileName; ///< for messages
  std::vector<Computation> computations;
  int entry = -1;
  int64_t replicaCount = 1;
  int64_t partitionCount = 1;
  std::vector<CarriedAttribute> carried; ///< other attributes of the module, as text
  std::vector<std::string> warnings;     ///< `FILE:LINE:COLUMN: ...`, one for each attribute that was skipped

  const Computation &entryComputation() const { return computations[size_t(entry)]; }
  const Computation &computation(int index) const { return computations[size_t(index)]; }
  int64_t deviceCount() const { return replicaCount * partitionCount; }
};

/// The operation of a computation of two scalars and one operation; nothing for any other.
std::optional<ReductionKind> reductionKindOf(const Computation &computation);

} // namespace heddle::hlo
