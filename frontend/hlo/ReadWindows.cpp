// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// reduce-window and convolution are read as a gather of the windows and a reduce or dot, so that nothing after the
// parser knows them.
#include "frontend/hlo/ParseInstruction.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <numeric>
#include <optional>
#include <utility>

namespace heddle::hlo {

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

/// The dot of windows, whose features are [groups, inputs] from dimension `features` on, and of a kernel, whose outputs
/// are [groups, outputs / groups] from `outputs` on. It has no operands.
Instruction dotOfGroups(const ConvolutionLabels &labels, size_t features, size_t outputs) {
  size_t spatial = labels.spatial();
  auto left = [&](char label) {
    size_t dimension = spatial + ConvolutionLabels::at(labels.image, label);
    return int64_t(dimension + (dimension >= features));
  };
  auto right = [&](char label) {
    size_t dimension = ConvolutionLabels::at(labels.kernel, label);
    return int64_t(dimension + (dimension >= outputs));
  };
  Instruction dot;
  dot.opcode = Opcode::Dot;
  dot.dot.lhsBatch = {int64_t(features)};
  dot.dot.rhsBatch = {int64_t(outputs)};
  for (size_t i = 0; i < spatial; ++i) {
    dot.dot.lhsContracting.push_back(left(ConvolutionLabels::number(i)));
    dot.dot.rhsContracting.push_back(right(ConvolutionLabels::number(i)));
  }
  dot.dot.lhsContracting.push_back(left('f'));
  dot.dot.rhsContracting.push_back(right('i'));
  return dot;
}

/// From [groups, results in the order of the image's dimensions..., batch, outputs / groups] to the result's
/// dimensions.
std::vector<int64_t> orderOfResult(const ConvolutionLabels &labels) {
  auto spatial = int64_t(labels.spatial());
  std::string order; // of the image's spatial dimensions, as the gather has them
  for (char label : labels.image)
    if (label != 'b' && label != 'f')
      order += label;
  std::vector<int64_t> dimensions;
  for (char label : labels.result)
    if (label == 'f') {
      dimensions.push_back(0);
      dimensions.push_back(spatial + 2);
    } else {
      dimensions.push_back(label == 'b' ? spatial + 1 : 1 + int64_t(order.find(label)));
    }
  return dimensions;
}

} // namespace

InstructionParser::Binding InstructionParser::finishConvolution(Definition &definition,
                                                                const Instruction &convolution) {
  std::string text = std::exchange(context.window, ""), labelText = std::exchange(context.labels, "");
  int64_t groups = std::exchange(context.featureGroups, 1), batchGroups = std::exchange(context.batchGroups, 1);
  Location location = definition.location;
  auto labels = parseLabels(labelText);
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
  Instruction reverse, transpose, zero;
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
  Instruction dot = dotOfGroups(*labels, f, o);
  dot.operands = {reshape(left, leftSizes, location), reshape(right, rightSizes, location)};
  std::vector<int64_t> produced = {groups};
  produced.insert(produced.end(), leftSizes.begin(), leftSizes.begin() + int64_t(spatial));
  produced.push_back(image.dimensions[imageAt('b')]);
  produced.push_back(outputs / groups);
  Shape dotShape = Shape::array(definition.declared->type, produced);
  transpose.opcode = Opcode::Transpose;
  transpose.operands = {append(std::move(dot), location, &dotShape)};
  transpose.dimensions = orderOfResult(*labels);
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

} // namespace heddle::hlo
