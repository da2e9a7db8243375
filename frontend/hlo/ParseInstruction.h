// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One instruction after the other into a computation: names, operands, the two halves of asynchronous operations.
#pragma once
#include "frontend/hlo/Asynchronous.h"
#include "frontend/hlo/ParseAttributes.h"
#include <map>

namespace heddle::hlo {

struct WindowDimension; // ReadWindows.cpp

class InstructionParser {
public:
  InstructionParser(ParseContext &context, Computation &computation)
      : context(context), cursor(context.cursor), computation(computation) {}

  /// `name = ...`; the index of the instruction that the name stands for.
  int parseInstruction();
  /// Behind the last one: every start has its done; operands written in place get names; users are collected.
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

  Binding parseDefinition(const std::string &name, Location location, int depth);
  OpcodeWord parseOpcode(Definition &definition);
  void parseOperands(const Definition &definition, Instruction &instruction, int depth);
  int parseOperand(int depth);
  int parseStartedOperand(const Definition &definition);
  Binding parseSecondHalf(const Definition &definition);
  Binding finishDefinition(Definition &definition, Instruction instruction);
  /// Of a conditional all branches are called, and the results of one are selected.
  Binding finishConditional(Definition &definition, const Instruction &conditional);
  /// A reduce-window is a gather of the windows and a reduce.
  Binding finishReduceWindow(Definition &definition, const Instruction &reduction);
  /// A convolution is a gather of the windows and a dot.
  Binding finishConvolution(Definition &definition, const Instruction &convolution);
  /// A sort is a gather in the order of ranks, which are counted.
  Binding finishSort(Definition &definition, const Instruction &sort);
  Binding finishTop(Definition &definition, const Instruction &top);
  /// A scatter compares each element with where each update goes.
  Binding finishScatter(Definition &definition, const Instruction &scatter);
  /// s64 [windows, elements of a window]: the element of the operand, or -1 for windows that are not inside.
  int targetsOf(const Instruction &scatter, const std::vector<int64_t> &windowSizes, Location location);
  /// The sizes of a scatter's windows; fails where the gather of them has no such updates.
  std::vector<int64_t> windowsOf(const Instruction &scatter, Location location);
  /// [elements of all updates], in the order of their targets.
  int updatesOf(const Instruction &scatter, Location location);
  /// Of hits pred [elements, updates] those that no later update has. `numbers` is s64 [updates], from 0 on.
  int onlyLast(int hits, int targets, int numbers, Location location);
  /// [elements]: the update of each element's one hit.
  int takeHit(int hits, int numbers, int values, Location location);
  /// [elements]: `before` with all updates that hit an element.
  int accumulateHits(const Instruction &scatter, int hits, int values, int before, Location location);
  int constant(const std::vector<int64_t> &values, Location location);
  int apply(Opcode opcode, std::vector<int> operands, Location location);
  /// A dot over one dimension of each: also what sums, as a reduce would need a computation.
  int contract(int left, int64_t leftDimension, int right, int64_t rightDimension, Location location);
  /// Along the last dimension of a pred, s64.
  int countTrue(int value, Location location);
  /// Of values [batch, n, n], whether j comes before i: s32 [batch, n], for each rank its index. Equal ones keep their
  /// order.
  int orderOf(int before, int after, Location location);
  int take(int value, int order, Location location);
  /// The operations of a comparison of scalars on arrays.
  int applyToArrays(const Computation &region, const std::vector<int> &arguments, Location location);
  int convert(int value, DType type, Location location);
  int broadcast(int value, const std::vector<int64_t> &dimensions, const std::vector<int64_t> &sizes,
                Location location);
  int iota(const std::vector<int64_t> &sizes, int64_t dimension, Location location);
  int compare(int left, CompareDirection direction, int right, Location location, bool totalOrder = false);
  /// [batch, size of the dimension], and back.
  int toRows(int value, int64_t dimension, Location location);
  int fromRows(int value, const Shape &shape, int64_t dimension, Location location);
  const Shape &shapeOf(int value) const { return computation.instructions[size_t(value)].shape; }
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
  std::map<int, Started> started; ///< by instruction index
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
