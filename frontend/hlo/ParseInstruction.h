// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One instruction after the other into a computation: names, operands, the two halves of asynchronous operations.
#pragma once
#include "frontend/hlo/Asynchronous.h"
#include "frontend/hlo/ParseAttributes.h"
#include <array>
#include <functional>
#include <map>

namespace heddle::hlo {

struct WindowDimension; // Windows.h

/// Instructions: a complex array's real and imaginary part.
struct ComplexParts {
  int real, imaginary;
};

class InstructionParser {
public:
  InstructionParser(ParseContext &context, Computation &computation)
      : context(context), cursor(context.cursor), computation(computation) {}

  /// `name = ...`; the index of the instruction that the name stands for.
  int parseInstruction();
  /// After the last one: every start has its done; operands written in place get names; users are collected.
  void finish();

private:
  /// What a name stands for.
  struct Binding {
    int index = -1;
    bool started = false; ///< the result of a start or update: only an update or a done may use it
  };

  /// An operation whose start was read.
  struct Started {
    std::string text; ///< `reduce-scatter-start`
    std::string name;
    OpcodeWord word;
    Location location;
    Shape declared;
    bool done = false;
  };

  /// What follows the `=` of an instruction, or stands in place of an operand's name.
  struct Definition {
    std::string name;
    Location location;
    std::optional<Shape> declared;
    std::string text; ///< the opcode as written
    OpcodeWord word;
  };

  /// An operation that is read as several others.
  struct WrittenOut {
    std::string_view name;
    Binding (InstructionParser::*finish)(Definition &, const Instruction &);
  };
  static const WrittenOut *findWrittenOut(std::string_view text); ///< null for other operations

  Binding parseDefinition(const std::string &name, Location location, int depth);
  OpcodeWord parseOpcode(Definition &definition);
  void parseOperands(const Definition &definition, Instruction &instruction, int depth);
  int parseOperand(int depth);
  int parseStartedOperand(const Definition &definition);
  Binding parseSecondHalf(const Definition &definition);
  Binding finishDefinition(Definition &definition, Instruction instruction);
  /// Of a conditional all branches are called, those with loops only if they are chosen, and the results of one are
  /// selected.
  Binding finishConditional(Definition &definition, const Instruction &conditional);
  int callOnlyIf(int chosen, const Instruction &call, Location location); ///< zeros otherwise
  int zerosOf(const Shape &shape, Location location);
  /// A reduce-window is a gather of the windows and a reduce, or a loop where it is a running reduction.
  Binding finishReduceWindow(Definition &definition, const Instruction &reduction);
  std::vector<int> reduceWindows(const Instruction &reduction, std::vector<WindowDimension> &window, Location location);
  struct Running; // Running.h
  bool combinesEach(const Computation &region, const std::vector<int> &values, const std::vector<int> &initial) const;
  /// A select-and-scatter is a reduce of the windows to the number that is selected, and a select for each number.
  Binding finishSelectAndScatter(Definition &definition, const Instruction &selection);
  /// [the dimensions of the result]: the number, in its window, of the element that is selected, or -1.
  int selectedOf(const Instruction &selection, int select, std::vector<WindowDimension> &window, Location location);
  /// [product of the kept dimensions, product of the contracting ones]; there are elements.
  int matrixOf(int value, const std::vector<int64_t> &kept, const std::vector<int64_t> &contracting, Location location);
  /// A convolution is a gather of the windows and a dot.
  Binding finishConvolution(Definition &definition, const Instruction &convolution);
  /// A sort is a gather in the order of the elements.
  Binding finishSort(Definition &definition, const Instruction &sort);
  Binding finishTop(Definition &definition, const Instruction &top);
  Binding finishAddDependency(Definition &definition, const Instruction &dependency); ///< its first operand
  Binding finishDimensionSize(Definition &definition, const Instruction &size);       ///< a constant
  Binding finishMap(Definition &definition, const Instruction &map);
  /// A dot of pred counts, and compares with 0.
  Binding finishDotOfPred(Definition &definition, Instruction dot);
  Binding finishReducePrecision(Definition &definition, const Instruction &reduction);
  Binding finishMark(Definition &definition, const Instruction &call, std::string_view target);
  Binding finishCustomCall(Definition &definition, const Instruction &call);
  /// A rng-bit-generator is the rounds of Philox.
  Binding finishRandomBits(Definition &definition, const Instruction &generator);
  /// Of counters and a scalar key in u64 the 32 bits of each word, in u64.
  std::array<int, 4> philox(std::array<int, 4> counter, int key, Location location);
  /// Of n arrays [rows] the array [rows * n], row by row.
  int joinColumns(const std::vector<int> &columns, Location location);
  struct Matrices;   // Matrices.h
  struct LapackCall; // ReadLapack.cpp
  Binding finishCholesky(Definition &definition, const Instruction &cholesky);
  Binding finishTriangularSolve(Definition &definition, const Instruction &solve);
  /// Nothing where the target is none of LAPACK's that are read.
  std::optional<Binding> finishLapack(Definition &definition, const Instruction &call, std::string_view target);
  int factorCholesky(const Instruction &call, bool lower, Location location);
  int solveTriangular(const Instruction &call, const TriangularOptions &options, Location location);
  /// [batch, rows, columns]
  int asMatrices(int value, Location location);
  /// What is made gets the name, location and companions of what is read.
  Binding finishAs(Definition &definition, const Instruction &read, Instruction made);
  /// The value under the name of what is read.
  Binding finishCopy(Definition &definition, const Instruction &instruction, int value);
  /// What an instruction makes that takes or makes complex arrays, read as others of real ones (ReadComplex.cpp);
  /// nothing where it is none.
  std::optional<int> appendComplex(const Instruction &instruction, Location location, const Shape *declared);
  int applyToParts(const Instruction &instruction, Location location, const Shape *declared);
  int complexConstant(const Instruction &constant, const Shape &shape, Location location);
  int complexDot(const Instruction &dot, Location location, const Shape *declared);
  int complexReduce(const Instruction &reduction, Location location);
  int complexCollective(const Instruction &collective, Location location, const Shape *declared);
  int complexElementwise(const Instruction &instruction, Location location, const Shape *declared);
  class Arithmetic;                                       // ReadComplexElements.cpp
  int partOf(int value, Opcode which, Location location); ///< of a real array the imaginary part is 0
  ComplexParts partsOf(int value, Location location);
  /// An array like this one, or like its parts, with one number.
  int filled(int like, double value, Location location);
  /// An fft is a dot with the transform of each factor of its length (ReadFourier.cpp).
  Binding finishFourier(Definition &definition, const Instruction &transform);
  ComplexParts transform(ComplexParts values, int64_t dimension, bool isForward, Location location);
  /// `rows` [rows, length]; an imaginary part of -1 is none.
  ComplexParts transformRows(ComplexParts rows, bool isForward, Location location);
  struct RootsOfUnity {
    int64_t rows, columns, order;
    DType type;
    bool isForward;
  };
  ComplexParts rootsOfUnity(const RootsOfUnity &roots, Location location);
  /// A scatter compares each element with where each update goes, or is a loop over the windows.
  Binding finishScatter(Definition &definition, const Instruction &scatter);
  struct ScatteredWindows {
    int64_t count = 1;
    std::vector<int> starts; ///< s64 [count] for each dimension of the operand, -1 where it is 0
    int inside = -1;         ///< pred [count], -1 where all are
  };
  ScatteredWindows placesOf(const Instruction &scatter, const std::vector<int64_t> &sizes, Location location);
  /// s64 [windows, elements of a window]: the element of the operand, or -1 for windows that are not inside.
  int targetsOf(const ScatteredWindows &windows, const Shape &into, const std::vector<int64_t> &windowSizes,
                Location location);
  /// `targets` and `updates` are [elements of all updates].
  int scatterByPairs(const Instruction &scatter, int targets, int updates, bool replaces, Location location);
  int scatterInLoop(const Instruction &scatter, const ScatteredWindows &windows,
                    const std::vector<int64_t> &windowSizes, int updates, Location location);
  /// The sizes of a scatter's windows; fails where the gather of them has no such updates.
  std::vector<int64_t> windowsOf(const Instruction &scatter, Location location);
  /// [elements of all updates], in the order of their targets.
  int updatesOf(const Instruction &scatter, Location location);
  /// Of hits pred [elements, updates] those that no later update has. `numbers` is s64 [updates], from 0 on.
  int onlyLast(int hits, int targets, int numbers, Location location);
  /// [elements]: the update of each element's one hit.
  int takeHit(int hits, int numbers, int values, Location location);
  /// [elements]: `before` with all updates that hit an element, which the region adds or multiplies.
  int accumulateHits(const Instruction &scatter, int hits, int values, int before, Location location);
  /// The same for any region: it takes what is there and the update, one update after the other.
  int foldHits(const Instruction &scatter, int hits, int values, int before, Location location);
  int constant(const std::vector<int64_t> &values, Location location);
  /// A scalar; the value is exact in s64, and in the type where that is floating.
  int number(int64_t value, DType type, Location location);
  int apply(Opcode opcode, std::vector<int> operands, Location location);
  /// A dot over one dimension of each: also what sums, as a reduce would need a computation.
  int contract(int left, int64_t leftDimension, int right, int64_t rightDimension, Location location);
  /// Along the last dimension of a pred, s64.
  int countTrue(int value, Location location);
  struct SortOrder; // SortOrder.h
  /// Of [batch..., n] the elements of these numbers, s32 [batch..., any...].
  int take(int value, int order, Location location);
  /// Of arrays of one shape, pred; fails unless the computation takes as many scalars and makes a pred.
  int compareBy(const Computation &region, const std::vector<int> &arguments, std::string_view opcode,
                Location location);
  /// The operations of a computation of scalars on arrays of one shape: the elements of its root.
  std::vector<int> applyToArrays(const Computation &region, const std::vector<int> &arguments, Location location);
  /// Fails unless the computation makes such a scalar of two scalars of the type.
  void checkCombines(const Computation &region, DType type, DType result, std::string_view opcode, Location location);
  /// A computation of the module whose root has these elements, with parameters of these shapes.
  using Body = std::function<std::vector<int>(InstructionParser &, const std::vector<int> &parameters)>;
  int addComputation(const std::string &name, const std::vector<Shape> &parameters, const Body &body,
                     Location location);
  /// The called computation of a reduction without what only XLA's passes write in it: copies, bitcasts and calls.
  int regionOf(const Instruction &reduction, Location location);
  int element(int tuple, int64_t number, Location location);
  int convert(int value, DType type, Location location);
  int broadcast(int value, const std::vector<int64_t> &dimensions, const std::vector<int64_t> &sizes,
                Location location);
  int iota(const std::vector<int64_t> &sizes, int64_t dimension, Location location);
  int compare(int left, CompareDirection direction, int right, Location location, bool totalOrder = false);
  /// [batch, size of the dimension], and back.
  int toRows(int value, int64_t dimension, Location location);
  int fromRows(int value, const Shape &shape, int64_t dimension, Location location);
  Shape shapeOf(int value) const { // by value: appending moves the instructions
    return computation.instructions[size_t(value)].shape;
  }
  /// [results of the active dimensions..., the dimensions of the value, where active ones are the window].
  int gatherWindows(int value, int padding, std::vector<WindowDimension> &window, Location location);
  int reshape(int value, const std::vector<int64_t> &dimensions, Location location);
  std::vector<int> selectorsOf(const Definition &definition, const Instruction &conditional, size_t branches);
  int append(Instruction instruction, Location location, const Shape *declared = nullptr);
  void check(Location location, Instruction &instruction, const Shape *declared);
  const Binding &lookUp(const std::string &name, Location location);
  void nameInlineOperands();
  /// Runs `action`, adding the location to an error that has none.
  template <typename Action>
  auto located(Location location, Action action);

  ParseContext &context;
  Cursor &cursor;
  Computation &computation;
  std::unordered_map<std::string, Binding> names;
  std::map<int, Started> started;              ///< by instruction index
  std::map<std::pair<int, Opcode>, int> parts; ///< of complex arrays, `real` and `imag` that exist
};

template <typename Action>
auto InstructionParser::located(Location location, Action action) {
  try {
    return action();
  } catch (const Error &error) {
    cursor.fail(location, error.what(), error.notes);
  }
}

} // namespace heddle::hlo
