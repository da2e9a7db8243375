// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// reduce-window and select-and-scatter are read as a gather of the windows and a reduce, so that nothing after the
// parser knows them. A reduce-window that is a running reduction is a loop (ReadRunning.cpp).
#include "frontend/hlo/Running.h"
#include "frontend/hlo/Windows.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <numeric>
#include <optional>
#include <ranges>
#include <utility>

namespace heddle::hlo {

//===-- reduce-window --------------------------------------------------------------------------------------------===//

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

} // namespace

std::vector<WindowDimension> parseWindow(const std::string &text, size_t rank) {
  auto fail = [&] {
    return inputError(fmt::format("the window {} does not fit {} dimensions", text.substr(0, 120), rank),
                      {"it is {size=AxB stride=AxB pad=LOW_HIGHxLOW_HIGH lhs_dilate=AxB rhs_dilate=AxB}"});
  };
  std::vector<WindowDimension> window(rank);
  if (text.empty() && rank == 0)
    return window;
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

namespace {

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

/// Of what gatherWindows makes, the dimensions of the windows.
std::vector<int64_t> windowDimensions(const std::vector<WindowDimension> &window) {
  auto active = std::ranges::count_if(window, &WindowDimension::isActive);
  std::vector<int64_t> dimensions;
  for (size_t i = 0; i < window.size(); ++i)
    if (window[i].isActive())
      dimensions.push_back(active + int64_t(i));
  return dimensions;
}

/// Of what gatherWindows makes, reduced over these, the order of the result's dimensions.
std::vector<int64_t> orderAfterWindows(const std::vector<WindowDimension> &window) {
  std::vector<int64_t> order;
  int64_t nextActive = 0, nextKept = std::ranges::count_if(window, &WindowDimension::isActive);
  for (const WindowDimension &dimension : window)
    order.push_back(dimension.isActive() ? nextActive++ : nextKept++);
  return order;
}

struct RunningWindow {
  int64_t dimension;
  bool isBackward;
};

/// Where each window is all elements up to one, or from one on, of a dimension that is long enough for a loop.
std::optional<RunningWindow> runningOf(const std::vector<WindowDimension> &window, const std::vector<int64_t> &sizes) {
  constexpr int64_t leastElements = 65;
  std::optional<RunningWindow> found;
  for (size_t i = 0; i < window.size(); ++i) {
    const WindowDimension &dimension = window[i];
    int64_t beyond = dimension.size - 1;
    if (dimension.baseDilation != 1 || dimension.stride != 1)
      return std::nullopt;
    if (dimension.size == 1 && dimension.low == 0 && dimension.high == 0)
      continue;
    bool isForward = dimension.low == beyond && dimension.high == 0;
    if (found || dimension.size < leastElements || dimension.size != sizes[i] || dimension.dilation != 1 ||
        (!isForward && (dimension.low != 0 || dimension.high != beyond)))
      return std::nullopt;
    found = RunningWindow{int64_t(i), !isForward};
  }
  return found;
}

} // namespace

/// Whether the computation of scalars of these types makes one of each of two of each.
bool InstructionParser::combinesEach(const Computation &region, const std::vector<int> &values,
                                     const std::vector<int> &initial) const {
  size_t count = values.size();
  const Shape &made = region.rootInstruction().shape;
  if (region.parameters.size() != 2 * count || (made.isTuple() ? made.elements.size() : 1) != count)
    return false;
  for (size_t i = 0; i < count; ++i) {
    Shape scalar = Shape::scalar(shapeOf(values[i]).type);
    if (!region.parameter(i).shape.sameAs(scalar) || !region.parameter(count + i).shape.sameAs(scalar) ||
        !shapeOf(initial[i]).sameAs(scalar) || !(made.isTuple() ? made.elements[i] : made).sameAs(scalar))
      return false;
  }
  return true;
}

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
  std::string text = context.attributes.window;
  Location location = definition.location;
  size_t count = reduction.operands.size() / 2;
  bool areArrays = std::ranges::all_of(reduction.operands, [&](int operand) { return shapeOf(operand).isArray(); });
  if (count == 0 || reduction.operands.size() % 2 != 0 || reduction.calledComputation < 0 || !areArrays)
    cursor.fail(location, fmt::format("'reduce-window' takes values, as many initial values and to_apply, got {} "
                                      "operands",
                                      reduction.operands.size()));
  size_t rank = shapeOf(reduction.operands[0]).dimensions.size();
  std::vector<WindowDimension> window = located(location, [&] { return parseWindow(text, rank); });
  for (size_t i = 1; i < count; ++i)
    if (!shapeOf(reduction.operands[i]).sameDimensionsAs(shapeOf(reduction.operands[0])))
      cursor.fail(location, fmt::format("'reduce-window' takes values of the same dimensions, got {} and {}",
                                        formatShapePlain(shapeOf(reduction.operands[0])),
                                        formatShapePlain(shapeOf(reduction.operands[i]))));
  Instruction result;
  result.opcode = count == 1 ? Opcode::Copy : Opcode::Tuple;
  result.operands = reduceWindows(reduction, window, location);
  return finishAs(definition, reduction, std::move(result));
}

std::vector<int> InstructionParser::reduceWindows(const Instruction &reduction, std::vector<WindowDimension> &window,
                                                  Location location) {
  auto middle = reduction.operands.begin() + int64_t(reduction.operands.size() / 2);
  std::vector<int> values(reduction.operands.begin(), middle), initial(middle, reduction.operands.end());
  Instruction reduce;
  reduce.opcode = Opcode::Reduce;
  reduce.calledComputation = regionOf(reduction, location);
  const Computation region = context.module.computation(reduce.calledComputation);
  auto running = runningOf(window, shapeOf(values[0]).dimensions);
  if (running && combinesEach(region, values, initial)) {
    DType type = shapeOf(values[0]).type;
    bool isWide = reductionKindOf(region) && isFloating(type) && bitWidth(type) < 32;
    return Running{*this, location, region, running->dimension, running->isBackward, isWide}.reduce(values, initial);
  }
  for (size_t i = 0; i < values.size(); ++i)
    reduce.operands.push_back(gatherWindows(values[i], initial[i], window, location));
  reduce.operands.insert(reduce.operands.end(), initial.begin(), initial.end());
  reduce.dimensions = windowDimensions(window);
  int reduced = append(std::move(reduce), location);
  std::vector<int> results;
  for (size_t i = 0; i < values.size(); ++i) {
    Instruction transpose;
    transpose.opcode = Opcode::Transpose;
    transpose.dimensions = orderAfterWindows(window);
    transpose.operands = {values.size() == 1 ? reduced : element(reduced, int64_t(i), location)};
    results.push_back(append(std::move(transpose), location));
  }
  return results;
}

//===-- select-and-scatter ---------------------------------------------------------------------------------------===//

int InstructionParser::selectedOf(const Instruction &selection, int select, std::vector<WindowDimension> &window,
                                  Location location) {
  const Computation region = context.module.computation(select);
  Shape value = Shape::scalar(shapeOf(selection.operands[0]).type), place = Shape::scalar(DType::S64);
  int windows = gatherWindows(selection.operands[0], selection.operands[2], window, location);
  // Elements beyond the operand are never selected: their number is -1.
  int outside = number(-1, DType::S64, location), inside = number(0, DType::S64, location);
  int places = broadcast(inside, {}, shapeOf(selection.operands[0]).dimensions, location);
  int numbers = gatherWindows(places, outside, window, location);
  std::vector<int64_t> sizes = shapeOf(windows).dimensions;
  int64_t step = 1;
  for (int64_t dimension : windowDimensions(window) | std::views::reverse) {
    int along = convert(iota(sizes, dimension, location), DType::S64, location);
    int steps = broadcast(number(step, DType::S64, location), {}, sizes, location);
    int added = apply(Opcode::Add, {numbers, apply(Opcode::Multiply, {along, steps}, location)}, location);
    int isOutside = compare(numbers, CompareDirection::Less, broadcast(inside, {}, sizes, location), location);
    numbers = apply(Opcode::Select, {isOutside, numbers, added}, location);
    step *= sizes[size_t(dimension)];
  }
  auto choose = [&](InstructionParser &parser, const std::vector<int> &values) {
    int zero = parser.number(0, DType::S64, location);
    int chosen = parser.applyToArrays(region, {values[0], values[2]}, location)[0];
    int isThere = parser.compare(values[1], CompareDirection::GreaterOrEqual, zero, location);
    int otherIsNot = parser.compare(values[3], CompareDirection::Less, zero, location);
    int stays =
        parser.apply(Opcode::Or, {otherIsNot, parser.apply(Opcode::And, {isThere, chosen}, location)}, location);
    return std::vector<int>{parser.apply(Opcode::Select, {stays, values[0], values[2]}, location),
                            parser.apply(Opcode::Select, {stays, values[1], values[3]}, location)};
  };
  Instruction reduce, transpose;
  reduce.opcode = Opcode::Reduce;
  reduce.operands = {windows, numbers, selection.operands[2], outside};
  reduce.dimensions = windowDimensions(window);
  reduce.calledComputation = addComputation(region.name, {value, place, value, place}, choose, location);
  transpose.opcode = Opcode::Transpose;
  transpose.dimensions = orderAfterWindows(window);
  transpose.operands = {element(append(std::move(reduce), location), 1, location)};
  return append(std::move(transpose), location);
}

InstructionParser::Binding InstructionParser::finishSelectAndScatter(Definition &definition,
                                                                     const Instruction &selection) {
  constexpr int64_t largestWindow = 4096;
  std::string text = context.attributes.window;
  int select = context.attributes.select, scatter = context.attributes.scatter;
  Location location = definition.location;
  bool areArrays = selection.operands.size() == 3 &&
                   std::ranges::all_of(selection.operands, [&](int operand) { return shapeOf(operand).isArray(); });
  if (!areArrays || select < 0 || scatter < 0 || !shapeOf(selection.operands[2]).isScalar())
    cursor.fail(location, fmt::format("'select-and-scatter' takes a value, a source, an initial value, select and "
                                      "scatter, got {} operands",
                                      selection.operands.size()));
  Shape into = shapeOf(selection.operands[0]), source = shapeOf(selection.operands[1]);
  const Computation region = context.module.computation(scatter);
  checkCombines(region, into.type, into.type, "select-and-scatter", location);
  checkCombines(context.module.computation(select), into.type, DType::Pred, "select-and-scatter", location);
  if (source.type != into.type || shapeOf(selection.operands[2]).type != into.type)
    cursor.fail(location, fmt::format("'select-and-scatter' of {} takes a source and an initial value of its type, got "
                                      "{} and {}",
                                      formatShapePlain(into), formatShapePlain(source),
                                      formatShapePlain(shapeOf(selection.operands[2]))));
  std::vector<WindowDimension> window = located(location, [&] { return parseWindow(text, into.dimensions.size()); });
  int64_t count = 1;
  for (WindowDimension &dimension : window) {
    dimension.always = dimension.low != 0 || dimension.high != 0;
    count *= std::min(dimension.size, largestWindow + 1);
    if (count > largestWindow || dimension.dilation != 1 || dimension.baseDilation != 1)
      cursor.fail(location, fmt::format("the window {} of 'select-and-scatter': one without dilation and of at most {} "
                                        "elements is read",
                                        text.substr(0, 120), largestWindow));
  }
  int selected = selectedOf(selection, select, window, location);
  if (!shapeOf(selected).sameDimensionsAs(source))
    cursor.fail(location, fmt::format("the windows of 'select-and-scatter' make {}, and the source is {}",
                                      formatShapePlain(shapeOf(selected)), formatShapePlain(source)));
  int result = broadcast(selection.operands[2], {}, into.dimensions, location);
  int never = number(0, DType::Pred, location);
  // An element is in several windows, and has another number in each: the later the window, the smaller.
  for (int64_t place = count; source.elementCount() && place-- > 0;) {
    int isHit = compare(selected, CompareDirection::Equal,
                        broadcast(number(place, DType::S64, location), {}, source.dimensions, location), location);
    Instruction pad;
    pad.opcode = Opcode::Pad;
    int64_t rest = place;
    for (size_t i = window.size(); i-- > 0; rest /= window[i].size) {
      int64_t low = rest % window[i].size - window[i].low;
      int64_t reached = (source.dimensions[i] - 1) * window[i].stride + 1 + low;
      pad.padding.insert(pad.padding.begin(), {low, into.dimensions[i] - reached, window[i].stride - 1});
    }
    auto spread = [&](int value, int filler) {
      Instruction copy = pad;
      copy.operands = {value, filler};
      return append(std::move(copy), location);
    };
    int update = spread(selection.operands[1], selection.operands[2]);
    int updated = applyToArrays(region, {result, update}, location)[0];
    result = apply(Opcode::Select, {spread(isHit, never), updated, result}, location);
  }
  return finishCopy(definition, selection, result);
}

} // namespace heddle::hlo
