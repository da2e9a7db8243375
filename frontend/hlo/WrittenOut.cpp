// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations that are read as several others, so that nothing after the parser knows them: conditional, as calls of all
// branches and selects; reduce-window and convolution, as a gather of the windows and a reduce or dot; sort and topk,
// as a gather in the order of ranks; scatter, as comparisons of each element with where each update goes.
#include "frontend/hlo/ParseInstruction.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>
#include <optional>
#include <utility>

namespace heddle::hlo {

// For each branch but the last a pred that chooses it. An index that is no branch's chooses the last.
std::vector<int> InstructionParser::selectorsOf(const Definition &definition, const Instruction &conditional,
                                                size_t branches) {
  int selector = conditional.operands.empty() ? -1 : conditional.operands[0];
  Shape shape = selector < 0 ? Shape() : computation.instructions[size_t(selector)].shape;
  bool isPred = shape.sameAs(Shape::scalar(DType::Pred)) && branches == 2;
  if (branches == 0 || conditional.operands.size() != branches + 1 ||
      (!isPred && !shape.sameAs(Shape::scalar(DType::S32))))
    cursor.fail(
        definition.location,
        fmt::format("'conditional' takes a pred for two branches, or an s32, and an operand for each branch; it has {} "
                    "operands and {} branches",
                    conditional.operands.size(), branches));
  if (isPred)
    return {selector};
  std::vector<int> selectors;
  for (size_t branch = 0; branch + 1 < branches; ++branch) {
    Instruction number, compare;
    auto value = int32_t(branch);
    number.opcode = Opcode::Constant;
    number.literal.assign(reinterpret_cast<const char *>(&value), sizeof value);
    compare.opcode = Opcode::Compare;
    compare.operands = {selector, append(std::move(number), definition.location, &shape)};
    selectors.push_back(append(std::move(compare), definition.location));
  }
  return selectors;
}

InstructionParser::Binding InstructionParser::finishConditional(Definition &definition,
                                                                const Instruction &conditional) {
  std::vector<int> branches = std::exchange(context.branches, {}), results;
  std::vector<int> selectors = selectorsOf(definition, conditional, branches.size());
  for (size_t branch = 0; branch < branches.size(); ++branch) {
    Instruction call;
    call.opcode = Opcode::Call;
    call.operands = {conditional.operands[branch + 1]};
    call.calledComputation = branches[branch];
    results.push_back(append(std::move(call), definition.location));
  }
  auto shapeOf = [&](int index) { return computation.instructions[size_t(index)].shape; };
  Shape shape = shapeOf(results[0]);
  for (size_t branch = 1; branch < results.size(); ++branch)
    if (!shapeOf(results[branch]).sameAs(shape))
      cursor.fail(definition.location, fmt::format("branches of 'conditional' give {} and {}", formatShapePlain(shape),
                                                   formatShapePlain(shapeOf(results[branch]))));
  // The result, or element `number` of it, of each branch, of which one is selected.
  auto selected = [&](std::optional<int64_t> number) {
    std::vector<int> values = results;
    for (int &value : values)
      if (number) {
        Instruction element;
        element.opcode = Opcode::GetTupleElement;
        element.operands = {value};
        element.tupleIndex = *number;
        value = append(std::move(element), definition.location);
      }
    Instruction select;
    select.opcode = Opcode::Copy; // of a single branch
    select.operands = {values.back()};
    for (size_t branch = selectors.size(); branch-- > 0;) {
      int otherwise = branch + 1 == selectors.size() ? values.back() : append(select, definition.location);
      select.opcode = Opcode::Select;
      select.operands = {selectors[branch], values[branch], otherwise};
    }
    return select;
  };
  Instruction result;
  if (shape.isTuple()) {
    result.opcode = Opcode::Tuple;
    for (size_t i = 0; i < shape.elements.size(); ++i)
      result.operands.push_back(append(selected(int64_t(i)), definition.location));
  } else {
    result = selected(std::nullopt);
  }
  result.name = definition.name;
  result.location = definition.location;
  result.carried = conditional.carried;
  return finishDefinition(definition, std::move(result));
}

//===-- reduce-window --------------------------------------------------------------------------------------------===//

/// Of one dimension; `low` and `high` are elements of the initial value, dilations the distances of elements.
struct WindowDimension {
  int64_t size = 1, stride = 1, low = 0, high = 0, baseDilation = 1, dilation = 1;
  bool reversed = false, always = false; ///< always: active also where the window is one element
  int64_t results = 0;

  int64_t reach() const { return (size - 1) * dilation + 1; }
  bool isActive() const { return always || size > 1 || stride > 1; }
};

namespace {

/// The numbers of `1x2x2`, or of `0_0x1_2`.
std::optional<std::vector<int64_t>> numbersOf(std::string_view text) {
  std::vector<int64_t> numbers;
  for (const char *next = text.data(), *end = next + text.size(); next < end;) {
    int64_t value = 0;
    auto [stop, status] = std::from_chars(next, end, value);
    if (status != std::errc() || (stop < end && *stop != 'x' && *stop != '_') || value > INT32_MAX || value < INT32_MIN)
      return std::nullopt;
    numbers.push_back(value);
    next = stop + 1;
  }
  return numbers;
}

/// `{size=1x3 stride=1x2 pad=0_0x1_1 lhs_dilate=.. rhs_dilate=..}`. Throws Error{Input} without a location.
std::vector<WindowDimension> parseWindow(const std::string &text, size_t rank) {
  auto fail = [&] {
    return inputError(fmt::format("the window {} does not fit {} dimensions", text.substr(0, 120), rank),
                      {"it is {size=AxB stride=AxB pad=LOW_HIGHxLOW_HIGH lhs_dilate=AxB rhs_dilate=AxB}"});
  };
  std::vector<WindowDimension> window(rank);
  if (text.size() < 2)
    throw fail();
  std::string_view rest = std::string_view(text).substr(1, text.size() - 2);
  while (!rest.empty()) {
    std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    if (word.empty())
      continue;
    size_t equals = std::min(word.find('='), word.size());
    std::string_view name = word.substr(0, equals);
    auto numbers = numbersOf(word.substr(std::min(equals + 1, word.size())));
    bool isPair = name == "pad";
    if (!numbers || numbers->size() != (isPair ? 2 * rank : rank))
      throw fail();
    for (size_t i = 0; i < rank; ++i) {
      WindowDimension &dimension = window[i];
      if (isPair)
        dimension.low = (*numbers)[2 * i], dimension.high = (*numbers)[2 * i + 1];
      else if (name == "rhs_reversal")
        dimension.reversed = (*numbers)[i] != 0;
      else if (int64_t *field = name == "size"         ? &dimension.size
                                : name == "stride"     ? &dimension.stride
                                : name == "lhs_dilate" ? &dimension.baseDilation
                                : name == "rhs_dilate" ? &dimension.dilation
                                                       : nullptr)
        *field = (*numbers)[i];
      else
        throw fail();
    }
  }
  for (const WindowDimension &dimension : window)
    if (std::min({dimension.size, dimension.stride, dimension.baseDilation, dimension.dilation}) < 1)
      throw fail();
  return window;
}

/// s32 [results of each active dimension..., number of these]: where each window begins.
std::string startsOf(const std::vector<WindowDimension> &active) {
  std::string bytes;
  int64_t count = 1;
  for (const WindowDimension &dimension : active)
    count *= dimension.results;
  for (int64_t number = 0; number < count; ++number) {
    std::vector<int32_t> start(active.size());
    int64_t rest = number;
    for (size_t i = active.size(); i-- > 0; rest /= active[i].results)
      start[i] = int32_t(rest % active[i].results * active[i].stride);
    bytes.append(reinterpret_cast<const char *>(start.data()), start.size() * sizeof(int32_t));
  }
  return bytes;
}

} // namespace

int InstructionParser::gatherWindows(int value, int padding, std::vector<WindowDimension> &window, Location location) {
  constexpr int64_t mostWindows = int64_t(1) << 24;
  Instruction pad, starts, gather, slice;
  pad.opcode = Opcode::Pad;
  pad.operands = {value, padding};
  for (const WindowDimension &dimension : window)
    pad.padding.push_back({dimension.low, dimension.high, dimension.baseDilation - 1});
  value = append(std::move(pad), location);
  gather.gather.sliceSizes = computation.instructions[size_t(value)].shape.dimensions;
  std::vector<WindowDimension> active;
  std::vector<int64_t> windows;
  for (size_t i = 0; i < window.size(); ++i) {
    WindowDimension &dimension = window[i];
    int64_t &size = gather.gather.sliceSizes[i];
    dimension.results = size < dimension.reach() ? 0 : (size - dimension.reach()) / dimension.stride + 1;
    if (!dimension.isActive())
      continue;
    active.push_back(dimension);
    gather.gather.startIndexMap.push_back(int64_t(i));
    windows.push_back(dimension.results);
    size = std::min(dimension.reach(), size);
  }
  int64_t count = std::accumulate(windows.begin(), windows.end(), int64_t(1), std::multiplies<>());
  if (count > mostWindows || window.size() > 30)
    cursor.fail(location, fmt::format("there are {} windows, and at most {} are read", count, mostWindows));
  starts.opcode = Opcode::Constant;
  starts.literal = startsOf(active);
  windows.push_back(int64_t(active.size()));
  Shape shape = Shape::array(DType::S32, windows);
  gather.opcode = Opcode::Gather;
  gather.operands = {value, append(std::move(starts), location, &shape)};
  gather.gather.indexVectorDim = int64_t(active.size());
  for (size_t i = 0; i < window.size(); ++i)
    gather.gather.offsets.push_back(int64_t(active.size() + i));
  value = append(std::move(gather), location);
  slice.opcode = Opcode::Slice; // leaves the elements of dilated windows
  slice.operands = {value};
  for (size_t i = 0; i < active.size() + window.size(); ++i) {
    slice.slice.starts.push_back(0);
    slice.slice.limits.push_back(computation.instructions[size_t(value)].shape.dimensions[i]);
    slice.slice.strides.push_back(i < active.size() ? 1 : window[i - active.size()].dilation);
  }
  return append(std::move(slice), location);
}

InstructionParser::Binding InstructionParser::finishReduceWindow(Definition &definition, const Instruction &reduction) {
  std::string text = std::exchange(context.window, "");
  Location location = definition.location;
  if (reduction.operands.size() != 2 || reduction.calledComputation < 0)
    cursor.fail(location, fmt::format("'reduce-window' takes a value, an initial value and to_apply, got {} operands",
                                      reduction.operands.size()));
  size_t rank = computation.instructions[size_t(reduction.operands[0])].shape.dimensions.size();
  std::vector<WindowDimension> window = located(location, [&] { return parseWindow(text, rank); });
  Instruction reduce, transpose;
  reduce.opcode = Opcode::Reduce;
  reduce.operands = {gatherWindows(reduction.operands[0], reduction.operands[1], window, location),
                     reduction.operands[1]};
  reduce.calledComputation = reduction.calledComputation;
  auto active = std::ranges::count_if(window, &WindowDimension::isActive);
  int64_t nextActive = 0, nextKept = active;
  for (size_t i = 0; i < rank; ++i) {
    if (window[i].isActive())
      reduce.dimensions.push_back(active + int64_t(i));
    transpose.dimensions.push_back(window[i].isActive() ? nextActive++ : nextKept++);
  }
  transpose.opcode = Opcode::Transpose;
  transpose.operands = {append(std::move(reduce), location)};
  transpose.name = definition.name;
  transpose.location = location;
  transpose.carried = reduction.carried;
  return finishDefinition(definition, std::move(transpose));
}

//===-- convolution ----------------------------------------------------------------------------------------------===//

int InstructionParser::reshape(int value, const std::vector<int64_t> &dimensions, Location location) {
  Instruction instruction;
  instruction.opcode = Opcode::Reshape;
  instruction.operands = {value};
  Shape shape = Shape::array(computation.instructions[size_t(value)].shape.type, dimensions);
  return append(std::move(instruction), location, &shape);
}

namespace {

/// Where the dimensions are in the shapes of the image, the kernel and the result: of `b01f_01io->b01f`.
struct ConvolutionLabels {
  std::string image, kernel, result;

  size_t spatial() const { return image.size() - 2; }
  static size_t at(const std::string &labels, char label) { return labels.find(label); }
  static char number(size_t dimension) { return char('0' + dimension); }
};

std::optional<ConvolutionLabels> parseLabels(const std::string &text) {
  size_t first = text.find('_'), second = text.find("->");
  if (first == std::string::npos || second == std::string::npos || second < first)
    return std::nullopt;
  ConvolutionLabels labels = {text.substr(0, first), text.substr(first + 1, second - first - 1),
                              text.substr(second + 2)};
  auto sorted = [](std::string letters) {
    std::ranges::sort(letters);
    return letters;
  };
  std::string numbers;
  for (size_t i = 0; i + 2 < labels.image.size(); ++i)
    numbers += ConvolutionLabels::number(i);
  bool fits = labels.image.size() >= 2 && labels.image.size() <= 8 && sorted(labels.image) == numbers + "bf" &&
              sorted(labels.kernel) == numbers + "io" && sorted(labels.result) == numbers + "bf";
  return fits ? std::optional(labels) : std::nullopt;
}

} // namespace

InstructionParser::Binding InstructionParser::finishConvolution(Definition &definition,
                                                                const Instruction &convolution) {
  std::string text = std::exchange(context.window, ""), labelText = std::exchange(context.labels, "");
  int64_t groups = std::exchange(context.featureGroups, 1), batchGroups = std::exchange(context.batchGroups, 1);
  Location location = definition.location;
  auto labels = parseLabels(labelText);
  auto shapeOf = [&](int index) { return computation.instructions[size_t(index)].shape; };
  if (!labels || convolution.operands.size() != 2 || !definition.declared ||
      shapeOf(convolution.operands[0]).dimensions.size() != labels->image.size() ||
      shapeOf(convolution.operands[1]).dimensions.size() != labels->kernel.size())
    cursor.fail(
        location, "'convolution' takes an image and a kernel, a shape that is written, and dim_labels of their ranks",
        {fmt::format("it has {} operands and dim_labels={}", convolution.operands.size(), labelText.substr(0, 60))});
  Shape image = shapeOf(convolution.operands[0]), kernel = shapeOf(convolution.operands[1]);
  size_t spatial = labels->spatial(), rank = labels->image.size();
  auto imageAt = [&](char label) { return ConvolutionLabels::at(labels->image, label); };
  auto kernelAt = [&](char label) { return ConvolutionLabels::at(labels->kernel, label); };
  int64_t features = image.dimensions[imageAt('f')], inputs = kernel.dimensions[kernelAt('i')],
          outputs = kernel.dimensions[kernelAt('o')];
  if (batchGroups != 1 || groups < 1 || features != groups * inputs || outputs % groups != 0)
    cursor.fail(location,
                fmt::format("'convolution' of {} features with a kernel for {}, {} outputs, feature_group_count={} and "
                            "batch_group_count={} is not supported",
                            features, inputs, outputs, groups, batchGroups));
  std::vector<WindowDimension> given = located(location, [&] { return parseWindow(text, spatial); }), window(rank);
  Instruction reverse, dot, transpose, zero;
  for (size_t i = 0; i < spatial; ++i) {
    given[i].always = true;
    window[imageAt(ConvolutionLabels::number(i))] = given[i];
    if (auto dimension = kernelAt(ConvolutionLabels::number(i)); given[i].reversed)
      reverse.dimensions.push_back(int64_t(dimension));
    else if (given[i].size != kernel.dimensions[dimension])
      cursor.fail(location, fmt::format("the window of 'convolution' has size {} where the kernel has {}",
                                        given[i].size, kernel.dimensions[dimension]));
  }
  zero.opcode = Opcode::Constant;
  zero.literal.assign(size_t(elementSizeBytes(image.type)), 0);
  Shape scalar = Shape::scalar(image.type);
  int left = gatherWindows(convolution.operands[0], append(std::move(zero), location, &scalar), window, location);
  reverse.opcode = Opcode::Reverse;
  reverse.operands = {convolution.operands[1]};
  int right = append(std::move(reverse), location);

  // Features become [groups, inputs], outputs [groups, outputs / groups].
  std::vector<int64_t> leftSizes = shapeOf(left).dimensions, rightSizes = kernel.dimensions;
  size_t f = spatial + imageAt('f'), o = kernelAt('o');
  leftSizes[f] = inputs;
  leftSizes.insert(leftSizes.begin() + int64_t(f), groups);
  rightSizes[o] = outputs / groups;
  rightSizes.insert(rightSizes.begin() + int64_t(o), groups);
  auto leftAt = [&](size_t dimension) { return int64_t(spatial + dimension + (spatial + dimension >= f)); };
  auto rightAt = [&](size_t dimension) { return int64_t(dimension + (dimension >= o)); };
  dot.opcode = Opcode::Dot;
  dot.operands = {reshape(left, leftSizes, location), reshape(right, rightSizes, location)};
  dot.dot.lhsBatch = {int64_t(f)};
  dot.dot.rhsBatch = {int64_t(o)};
  for (size_t i = 0; i < spatial; ++i) {
    dot.dot.lhsContracting.push_back(leftAt(imageAt(ConvolutionLabels::number(i))));
    dot.dot.rhsContracting.push_back(rightAt(kernelAt(ConvolutionLabels::number(i))));
  }
  dot.dot.lhsContracting.push_back(leftAt(imageAt('f')));
  dot.dot.rhsContracting.push_back(rightAt(kernelAt('i')));

  // Of [groups, results in the order of the image's dimensions..., batch, outputs / groups].
  std::vector<int64_t> produced = {groups};
  produced.insert(produced.end(), leftSizes.begin(), leftSizes.begin() + int64_t(spatial));
  produced.push_back(image.dimensions[imageAt('b')]);
  produced.push_back(outputs / groups);
  Shape dotShape = Shape::array(definition.declared->type, produced);
  transpose.opcode = Opcode::Transpose;
  transpose.operands = {append(std::move(dot), location, &dotShape)};
  std::string order; // of the image's spatial dimensions, as the gather has them
  for (char label : labels->image)
    if (label != 'b' && label != 'f')
      order += label;
  for (char label : labels->result)
    if (label == 'f') {
      transpose.dimensions.push_back(0);
      transpose.dimensions.push_back(int64_t(produced.size()) - 1);
    } else {
      transpose.dimensions.push_back(label == 'b' ? int64_t(spatial) + 1 : 1 + int64_t(order.find(label)));
    }
  Shape shape = Shape::array(definition.declared->type, {});
  for (char label : labels->result)
    shape.dimensions.push_back(label == 'f'   ? outputs
                               : label == 'b' ? image.dimensions[imageAt('b')]
                                              : window[imageAt(label)].results);
  if (!shape.sameAs(*definition.declared))
    cursor.fail(location, fmt::format("the shape of 'convolution' is written as {}, its operands make it {}",
                                      formatShapePlain(*definition.declared), formatShapePlain(shape)));
  Instruction result;
  result.opcode = Opcode::Reshape;
  result.operands = {append(std::move(transpose), location)};
  result.name = definition.name;
  result.location = location;
  result.carried = convolution.carried;
  return finishDefinition(definition, std::move(result));
}

//===-- sort, topk -----------------------------------------------------------------------------------------------===//

int InstructionParser::convert(int value, DType type, Location location) {
  Instruction instruction;
  instruction.opcode = Opcode::Convert;
  instruction.operands = {value};
  Shape shape = Shape::array(type, shapeOf(value).dimensions);
  return append(std::move(instruction), location, &shape);
}

int InstructionParser::broadcast(int value, const std::vector<int64_t> &dimensions, const std::vector<int64_t> &sizes,
                                 Location location) {
  Instruction instruction;
  instruction.opcode = Opcode::Broadcast;
  instruction.operands = {value};
  instruction.dimensions = dimensions;
  Shape shape = Shape::array(shapeOf(value).type, sizes);
  return append(std::move(instruction), location, &shape);
}

int InstructionParser::iota(const std::vector<int64_t> &sizes, int64_t dimension, Location location) {
  Instruction instruction;
  instruction.opcode = Opcode::Iota;
  instruction.iotaDimension = dimension;
  Shape shape = Shape::array(DType::S32, sizes);
  return append(std::move(instruction), location, &shape);
}

int InstructionParser::compare(int left, CompareDirection direction, int right, Location location, bool totalOrder) {
  Instruction instruction;
  instruction.opcode = Opcode::Compare;
  instruction.operands = {left, right};
  instruction.direction = direction;
  instruction.totalOrder = totalOrder;
  return append(std::move(instruction), location);
}

int InstructionParser::orderOf(int before, int after, Location location) {
  std::vector<int64_t> sizes = shapeOf(before).dimensions;
  auto plain = [&](Opcode opcode, std::vector<int> operands) {
    Instruction instruction;
    instruction.opcode = opcode;
    instruction.operands = std::move(operands);
    return append(std::move(instruction), location);
  };
  // Sums are dots: a reduce would need a computation.
  auto contract = [&](int left, int right, int64_t leftDimension, int64_t rightDimension) {
    Instruction dot;
    dot.opcode = Opcode::Dot;
    dot.operands = {convert(left, DType::S32, location), right};
    dot.dot.lhsContracting = {leftDimension};
    dot.dot.rhsContracting = {rightDimension};
    return append(std::move(dot), location);
  };
  int earlier = compare(iota(sizes, 2, location), CompareDirection::Less, iota(sizes, 1, location), location);
  int first = plain(Opcode::Or, {before, plain(Opcode::And, {plain(Opcode::Not, {after}), earlier})});
  int numbers = iota({sizes[1]}, 0, location);
  int ones = convert(compare(numbers, CompareDirection::Equal, numbers, location), DType::S32, location);
  int ranks = contract(first, ones, 2, 0);
  int ofRank =
      compare(broadcast(ranks, {0, 1}, sizes, location), CompareDirection::Equal, iota(sizes, 2, location), location);
  return contract(ofRank, numbers, 1, 0);
}

int InstructionParser::take(int value, int order, Location location) {
  std::vector<int64_t> sizes = shapeOf(order).dimensions;
  sizes.push_back(1);
  Instruction gather;
  gather.opcode = Opcode::Gather;
  gather.operands = {value, reshape(order, sizes, location)};
  gather.gather.collapsed = {1};
  gather.gather.operandBatch = {0};
  gather.gather.indicesBatch = {0};
  gather.gather.startIndexMap = {1};
  gather.gather.indexVectorDim = 2;
  gather.gather.sliceSizes = {1, 1};
  return append(std::move(gather), location);
}

int InstructionParser::applyToArrays(const Computation &region, const std::vector<int> &arguments, Location location) {
  std::vector<int> values;
  std::vector<int64_t> sizes = shapeOf(arguments[0]).dimensions;
  for (const Instruction &instruction : region.instructions) {
    if (instruction.opcode == Opcode::Parameter) {
      values.push_back(arguments[size_t(instruction.parameterNumber)]);
      continue;
    }
    bool isConstant = instruction.opcode == Opcode::Constant;
    if (!isConstant && !isElementwise(instruction.opcode))
      cursor.fail(location, fmt::format("`{}` in the comparison `{}` is not element-wise",
                                        opcodeName(instruction.opcode), region.name));
    Instruction copy = instruction;
    copy.name.clear();
    copy.users.clear();
    for (int &operand : copy.operands)
      operand = values[size_t(operand)];
    Shape shape = isConstant ? instruction.shape : Shape::array(instruction.shape.type, sizes);
    int value = append(std::move(copy), location, &shape);
    values.push_back(isConstant ? broadcast(value, {}, sizes, location) : value);
  }
  return values[size_t(region.root)];
}

// The dimension becomes the last, the others one.
int InstructionParser::toRows(int value, int64_t dimension, Location location) {
  Shape shape = shapeOf(value);
  Instruction transpose;
  transpose.opcode = Opcode::Transpose;
  transpose.operands = {value};
  for (int64_t i = 0; i < shape.rank(); ++i)
    if (i != dimension)
      transpose.dimensions.push_back(i);
  transpose.dimensions.push_back(dimension);
  int64_t size = shape.dimensions[size_t(dimension)];
  return reshape(append(std::move(transpose), location), {size ? shape.elementCount() / size : 0, size}, location);
}

int InstructionParser::fromRows(int value, const Shape &shape, int64_t dimension, Location location) {
  Instruction transpose;
  transpose.opcode = Opcode::Transpose;
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < shape.rank(); ++i) {
    transpose.dimensions.push_back(i == dimension ? shape.rank() - 1 : i - (i > dimension));
    if (i != dimension)
      sizes.push_back(shape.dimensions[size_t(i)]);
  }
  sizes.push_back(shapeOf(value).dimensions[1]);
  transpose.operands = {reshape(value, sizes, location)};
  return append(std::move(transpose), location);
}

namespace {

/// Every pair of elements is compared.
void checkSorted(const Shape &shape, int64_t dimension) {
  constexpr __int128 mostPairs = __int128(1) << 28;
  if (dimension < 0 || dimension >= shape.rank())
    throw inputError(fmt::format("dimension {} is out of range for rank {}", dimension, shape.rank()));
  int64_t size = shape.dimensions[size_t(dimension)];
  if (size == 0 || __int128(shape.elementCount()) * size > mostPairs)
    throw inputError(
        fmt::format("{} is sorted along {} elements; every pair is compared, and at most {} pairs are read",
                    formatShapePlain(shape), size, int64_t(mostPairs)));
}

} // namespace

InstructionParser::Binding InstructionParser::finishSort(Definition &definition, const Instruction &sort) {
  Location location = definition.location;
  size_t count = sort.operands.size();
  if (count == 0 || sort.dimensions.size() != 1 || sort.calledComputation < 0 || !shapeOf(sort.operands[0]).isArray())
    cursor.fail(location,
                fmt::format("'sort' takes arrays, one of dimensions and to_apply, got {} operands and {} dimensions",
                            count, sort.dimensions.size()));
  int64_t dimension = sort.dimensions[0];
  Shape shape = shapeOf(sort.operands[0]);
  located(location, [&] { checkSorted(shape, dimension); });
  const Computation region = context.module.computation(sort.calledComputation);
  if (region.parameters.size() != 2 * count)
    cursor.fail(location, fmt::format("computation '{}' compares {} scalars, and 'sort' has {} operands", region.name,
                                      region.parameters.size(), count));
  std::vector<int> rows, forward, backward;
  for (size_t i = 0; i < count; ++i) {
    if (!shapeOf(sort.operands[i]).sameDimensionsAs(shape))
      cursor.fail(location, fmt::format("'sort' takes arrays of the same dimensions, got {} and {}",
                                        formatShapePlain(shape), formatShapePlain(shapeOf(sort.operands[i]))));
    rows.push_back(toRows(sort.operands[i], dimension, location));
    std::vector<int64_t> sizes = shapeOf(rows.back()).dimensions;
    sizes.push_back(sizes[1]);
    int here = broadcast(rows.back(), {0, 1}, sizes, location), other = broadcast(rows.back(), {0, 2}, sizes, location);
    for (int value : {other, here})
      forward.push_back(value);
    for (int value : {here, other})
      backward.push_back(value);
  }
  int before = applyToArrays(region, forward, location), after = applyToArrays(region, backward, location);
  int order = orderOf(before, after, location);
  Instruction result;
  result.opcode = count == 1 ? Opcode::Copy : Opcode::Tuple;
  for (int row : rows)
    result.operands.push_back(fromRows(take(row, order, location), shape, dimension, location));
  result.name = definition.name;
  result.location = location;
  result.carried = sort.carried;
  return finishDefinition(definition, std::move(result));
}

InstructionParser::Binding InstructionParser::finishTop(Definition &definition, const Instruction &top) {
  Location location = definition.location;
  int64_t count = std::exchange(context.count, -1);
  bool largest = std::exchange(context.largest, true);
  Shape shape = top.operands.size() == 1 ? shapeOf(top.operands[0]) : Shape::tuple({});
  if (!shape.isArray() || shape.rank() < 1 || count < 0 || count > shape.dimensions.back())
    cursor.fail(location, fmt::format("'topk' takes an array and k from 0 to its last dimension, got {} and k={}",
                                      formatShapePlain(shape), count));
  int64_t dimension = shape.rank() - 1;
  located(location, [&] { checkSorted(shape, dimension); });
  int rows = toRows(top.operands[0], dimension, location);
  std::vector<int64_t> sizes = shapeOf(rows).dimensions;
  sizes.push_back(sizes[1]);
  int here = broadcast(rows, {0, 1}, sizes, location), other = broadcast(rows, {0, 2}, sizes, location);
  CompareDirection direction = largest ? CompareDirection::Greater : CompareDirection::Less;
  bool total = isFloating(shape.type);
  int order = orderOf(compare(other, direction, here, location, total),
                      compare(here, direction, other, location, total), location);
  Instruction first;
  first.opcode = Opcode::Slice;
  first.operands = {order};
  first.slice = {{0, 0}, {sizes[0], count}, {1, 1}};
  order = append(std::move(first), location);
  Instruction result;
  result.opcode = Opcode::Tuple;
  for (int value : {take(rows, order, location), order})
    result.operands.push_back(fromRows(value, shape, dimension, location));
  result.name = definition.name;
  result.location = location;
  result.carried = top.carried;
  return finishDefinition(definition, std::move(result));
}

//===-- scatter --------------------------------------------------------------------------------------------------===//

int InstructionParser::constant(const std::vector<int64_t> &values, Location location) {
  Instruction instruction;
  instruction.opcode = Opcode::Constant;
  instruction.literal.assign(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(int64_t));
  Shape shape = Shape::array(DType::S64, {int64_t(values.size())});
  return append(std::move(instruction), location, &shape);
}

int InstructionParser::apply(Opcode opcode, std::vector<int> operands, Location location) {
  Instruction instruction;
  instruction.opcode = opcode;
  instruction.operands = std::move(operands);
  return append(std::move(instruction), location);
}

int InstructionParser::countTrue(int value, Location location) {
  int64_t last = shapeOf(value).rank() - 1;
  Instruction dot;
  dot.opcode = Opcode::Dot;
  std::vector<int64_t> ones(size_t(shapeOf(value).dimensions.back()), 1);
  dot.operands = {convert(value, DType::S64, location), constant(ones, location)};
  dot.dot.lhsContracting = {last};
  dot.dot.rhsContracting = {0};
  return append(std::move(dot), location);
}

int InstructionParser::targetsOf(const Instruction &scatter, const std::vector<int64_t> &windowSizes,
                                 Location location) {
  const GatherDimensions &where = scatter.gather;
  Shape into = shapeOf(scatter.operands[0]), indices = shapeOf(scatter.operands[1]);
  std::vector<int64_t> strides(into.dimensions.size(), 1), kept;
  for (size_t i = strides.size(); i-- > 1;)
    strides[i - 1] = strides[i] * into.dimensions[i];
  bool hasComponents = where.indexVectorDim < indices.rank();
  for (int64_t i = 0; i < indices.rank(); ++i)
    if (i != where.indexVectorDim)
      kept.push_back(i);
  int64_t components = hasComponents ? indices.dimensions[size_t(where.indexVectorDim)] : 1, windows = 1, elements = 1;
  for (int64_t dimension : kept)
    windows *= indices.dimensions[size_t(dimension)];
  for (int64_t size : windowSizes)
    elements *= size;
  // Where the elements of a window are, and the part of its place that batching dimensions make.
  std::vector<int64_t> offsets, batch;
  for (int64_t number = 0; number < elements; ++number) {
    int64_t rest = number, offset = 0;
    for (size_t i = windowSizes.size(); i-- > 0; rest /= windowSizes[i])
      offset += rest % windowSizes[i] * strides[i];
    offsets.push_back(offset);
  }
  for (int64_t number = 0; number < windows; ++number) {
    int64_t rest = number, offset = 0;
    for (size_t i = kept.size(); i-- > 0; rest /= indices.dimensions[size_t(kept[i])])
      for (size_t k = 0; k < where.indicesBatch.size(); ++k)
        if (where.indicesBatch[k] == kept[i])
          offset += rest % indices.dimensions[size_t(kept[i])] * strides[size_t(where.operandBatch[k])];
    batch.push_back(offset);
  }
  Instruction transpose;
  transpose.opcode = Opcode::Transpose;
  transpose.operands = {scatter.operands[1]};
  transpose.dimensions = kept;
  if (hasComponents)
    transpose.dimensions.push_back(where.indexVectorDim);
  int vectors = reshape(append(std::move(transpose), location), {windows, components}, location);
  int first = constant(batch, location), inside = -1;
  for (int64_t component = 0; component < components; ++component) {
    auto dimension = size_t(where.startIndexMap[size_t(component)]);
    Instruction slice;
    slice.opcode = Opcode::Slice;
    slice.operands = {vectors};
    slice.slice = {{0, component}, {windows, component + 1}, {1, 1}};
    int start = reshape(convert(append(std::move(slice), location), DType::S64, location), {windows}, location);
    auto everywhere = [&](int64_t value) { return constant(std::vector<int64_t>(size_t(windows), value), location); };
    int fits = apply(Opcode::And,
                     {compare(start, CompareDirection::GreaterOrEqual, everywhere(0), location),
                      compare(start, CompareDirection::LessOrEqual,
                              everywhere(into.dimensions[dimension] - windowSizes[dimension]), location)},
                     location);
    inside = inside < 0 ? fits : apply(Opcode::And, {inside, fits}, location);
    first = apply(Opcode::Add, {first, apply(Opcode::Multiply, {start, everywhere(strides[dimension])}, location)},
                  location);
  }
  std::vector<int64_t> sizes = {windows, elements};
  int target = apply(
      Opcode::Add,
      {broadcast(first, {0}, sizes, location), broadcast(constant(offsets, location), {1}, sizes, location)}, location);
  if (inside < 0)
    return target;
  int nowhere = broadcast(reshape(constant({-1}, location), {}, location), {}, sizes, location);
  return apply(Opcode::Select, {broadcast(inside, {0}, sizes, location), target, nowhere}, location);
}

InstructionParser::Binding InstructionParser::finishScatter(Definition &definition, const Instruction &scatter) {
  constexpr __int128 mostPairs = __int128(1) << 28;
  Location location = definition.location;
  const GatherDimensions &where = scatter.gather;
  if (scatter.operands.size() != 3 || scatter.calledComputation < 0 || !shapeOf(scatter.operands[0]).isArray() ||
      !shapeOf(scatter.operands[1]).isArray() || !isInteger(shapeOf(scatter.operands[1]).type) ||
      !shapeOf(scatter.operands[2]).isArray())
    cursor.fail(location, fmt::format("'scatter' takes an array, indices, updates and to_apply, got {} operands",
                                      scatter.operands.size()));
  Shape into = shapeOf(scatter.operands[0]), indices = shapeOf(scatter.operands[1]),
        updates = shapeOf(scatter.operands[2]);
  // The gather of the same windows has the same rules, and gives what the updates are.
  std::vector<int64_t> windowSizes(into.dimensions.size(), 1), order;
  size_t next = 0;
  for (int64_t i = 0; i < into.rank(); ++i)
    if (!where.isLeftOut(i) && next < where.offsets.size() && where.offsets[next] >= 0 &&
        where.offsets[next] < updates.rank())
      windowSizes[size_t(i)] = updates.dimensions[size_t(where.offsets[next++])];
  Instruction check;
  check.opcode = Opcode::Gather;
  check.operands = {scatter.operands[0], scatter.operands[1]};
  check.gather = where;
  check.gather.sliceSizes = windowSizes;
  Shape declared = Shape::array(into.type, updates.dimensions);
  append(std::move(check), location, &declared);
  computation.instructions.pop_back();
  const Computation region = context.module.computation(scatter.calledComputation);
  const Instruction &root = region.rootInstruction();
  auto kind = reductionKindOf(region);
  bool replaces = root.opcode == Opcode::Parameter && root.parameterNumber == 1;
  if (!replaces && kind != ReductionKind::Add && kind != ReductionKind::Multiply)
    cursor.fail(location, fmt::format("'scatter' with computation '{}' is not supported", region.name),
                {"it adds, multiplies, or returns its second parameter"});
  int64_t elements = into.elementCount(), count = updates.elementCount();
  if (__int128(elements) * count > mostPairs || (replaces && __int128(count) * count > mostPairs))
    cursor.fail(location,
                fmt::format("'scatter' of {} into {}: each update is compared with each element, and at most {} "
                            "pairs are read",
                            formatShapePlain(updates), formatShapePlain(into), int64_t(mostPairs)));
  int result = scatter.operands[0];
  if (elements > 0 && count > 0) {
    for (int64_t i = 0; i < updates.rank(); ++i)
      if (std::ranges::find(where.offsets, i) == where.offsets.end())
        order.push_back(i);
    order.insert(order.end(), where.offsets.begin(), where.offsets.end());
    Instruction transpose;
    transpose.opcode = Opcode::Transpose;
    transpose.operands = {scatter.operands[2]};
    transpose.dimensions = order;
    int values = reshape(append(std::move(transpose), location), {count}, location);
    int targets = reshape(targetsOf(scatter, windowSizes, location), {count}, location);
    int before = reshape(scatter.operands[0], {elements}, location);
    std::vector<int64_t> pairs = {elements, count}, all(static_cast<size_t>(std::max(elements, count)));
    std::iota(all.begin(), all.end(), 0);
    int numbers = constant({all.begin(), all.begin() + elements}, location);
    int hits = compare(broadcast(numbers, {0}, pairs, location), CompareDirection::Equal,
                       broadcast(targets, {1}, pairs, location), location);
    int after = -1;
    if (replaces) { // the last update of an element counts
      std::vector<int64_t> square = {count, count};
      int order2 = constant({all.begin(), all.begin() + count}, location);
      int later = apply(Opcode::And,
                        {compare(broadcast(targets, {0}, square, location), CompareDirection::Equal,
                                 broadcast(targets, {1}, square, location), location),
                         compare(broadcast(order2, {0}, square, location), CompareDirection::Less,
                                 broadcast(order2, {1}, square, location), location)},
                        location);
      int none = constant(std::vector<int64_t>(size_t(count), 0), location);
      int isLast = compare(countTrue(later, location), CompareDirection::Equal, none, location);
      hits = apply(Opcode::And, {hits, broadcast(isLast, {1}, pairs, location)}, location);
      Instruction dot, gather;
      dot.opcode = Opcode::Dot;
      dot.operands = {convert(hits, DType::S64, location), order2};
      dot.dot.lhsContracting = {1};
      dot.dot.rhsContracting = {0};
      int number = append(std::move(dot), location);
      gather.opcode = Opcode::Gather;
      gather.operands = {values, reshape(number, {elements, 1}, location)};
      gather.gather.collapsed = {0};
      gather.gather.startIndexMap = {0};
      gather.gather.indexVectorDim = 1;
      gather.gather.sliceSizes = {1};
      after = append(std::move(gather), location);
    } else {
      Instruction number, reduce;
      number.opcode = Opcode::Constant;
      int64_t neutral = *kind == ReductionKind::Multiply;
      number.literal.assign(reinterpret_cast<const char *>(&neutral), sizeof neutral);
      Shape scalar = Shape::scalar(DType::S64);
      int initial = convert(append(std::move(number), location, &scalar), into.type, location);
      int chosen =
          apply(Opcode::Select,
                {hits, broadcast(values, {1}, pairs, location), broadcast(initial, {}, pairs, location)}, location);
      reduce.opcode = Opcode::Reduce;
      reduce.operands = {chosen, initial};
      reduce.dimensions = {1};
      reduce.calledComputation = scatter.calledComputation;
      after = apply(*kind == ReductionKind::Add ? Opcode::Add : Opcode::Multiply,
                    {before, append(std::move(reduce), location)}, location);
    }
    int none = constant(std::vector<int64_t>(size_t(elements), 0), location);
    int isHit = compare(countTrue(hits, location), CompareDirection::Greater, none, location);
    result = reshape(apply(Opcode::Select, {isHit, after, before}, location), into.dimensions, location);
  }
  Instruction copy;
  copy.opcode = Opcode::Copy;
  copy.operands = {result};
  copy.name = definition.name;
  copy.location = location;
  copy.carried = scatter.carried;
  return finishDefinition(definition, std::move(copy));
}

} // namespace heddle::hlo
