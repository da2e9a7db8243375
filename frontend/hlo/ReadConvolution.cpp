// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A convolution is read as a gather of the windows and a dot, so that nothing after the parser knows it: of one group
// as one matmul.
#include "frontend/hlo/Windows.h"
#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <utility>

namespace heddle::hlo {

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

/// The dot of windows, whose features or batch are [groups, elements of one] from dimension `split` on, and of a
/// kernel, whose outputs are [groups, outputs / groups] from `outputs` on. It has no operands.
Instruction dotOfGroups(const ConvolutionLabels &labels, size_t split, size_t outputs) {
  size_t spatial = labels.spatial();
  auto left = [&](char label) {
    size_t dimension = spatial + ConvolutionLabels::at(labels.image, label);
    return int64_t(dimension + (dimension >= split));
  };
  auto right = [&](char label) {
    size_t dimension = ConvolutionLabels::at(labels.kernel, label);
    return int64_t(dimension + (dimension >= outputs));
  };
  Instruction dot;
  dot.opcode = Opcode::Dot;
  dot.dot.lhsBatch = {int64_t(split)};
  dot.dot.rhsBatch = {int64_t(outputs)};
  for (size_t i = 0; i < spatial; ++i) {
    dot.dot.lhsContracting.push_back(left(ConvolutionLabels::number(i)));
    dot.dot.rhsContracting.push_back(right(ConvolutionLabels::number(i)));
  }
  dot.dot.lhsContracting.push_back(left('f'));
  dot.dot.rhsContracting.push_back(right('i'));
  return dot;
}

/// Whether a convolution of one group is better one matrix of windows, which is made in memory, times one of the
/// kernel.
bool isMatmul(DType type, int64_t rows, int64_t depth, int64_t columns) {
  constexpr int64_t least = 16, mostBytes = int64_t(1) << 28;
  bool isMatrixType = type == DType::F32 || type == DType::F16 || type == DType::BF16;
  return isMatrixType && std::min({rows, depth, columns}) >= least &&
         rows * depth <= mostBytes / elementSizeBytes(type);
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

int InstructionParser::matrixOf(int value, const std::vector<int64_t> &kept, const std::vector<int64_t> &contracting,
                                Location location) {
  Instruction transpose;
  transpose.opcode = Opcode::Transpose;
  transpose.operands = {value};
  transpose.dimensions = kept;
  transpose.dimensions.insert(transpose.dimensions.end(), contracting.begin(), contracting.end());
  int64_t rows = 1;
  for (int64_t dimension : kept)
    rows *= shapeOf(value).dimensions[size_t(dimension)];
  int64_t columns = shapeOf(value).elementCount() / rows;
  return reshape(append(std::move(transpose), location), {rows, columns}, location);
}

InstructionParser::Binding InstructionParser::finishConvolution(Definition &definition,
                                                                const Instruction &convolution) {
  std::string text = context.attributes.window, labelText = context.attributes.labels;
  int64_t groups = context.attributes.featureGroups, batchGroups = context.attributes.batchGroups;
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
          outputs = kernel.dimensions[kernelAt('o')], batch = image.dimensions[imageAt('b')];
  if (groups < 1 || batchGroups < 1 || (groups > 1 && batchGroups > 1) || features != groups * inputs ||
      outputs % (groups * batchGroups) != 0 || batch % batchGroups != 0)
    cursor.fail(location, fmt::format("'convolution' of {} features of {} images with a kernel for {}, {} outputs, "
                                      "feature_group_count={} and batch_group_count={} is not supported",
                                      features, batch, inputs, outputs, groups, batchGroups));
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

  // Features become [groups, inputs], or the batch [groups, images of one]; outputs [groups, outputs / groups].
  std::vector<int64_t> leftSizes = shapeOf(left).dimensions, rightSizes = kernel.dimensions;
  size_t split = spatial + imageAt(batchGroups > 1 ? 'b' : 'f'), o = kernelAt('o');
  groups *= batchGroups;
  batch /= batchGroups;
  leftSizes[split] /= groups;
  leftSizes.insert(leftSizes.begin() + int64_t(split), groups);
  rightSizes[o] = outputs / groups;
  rightSizes.insert(rightSizes.begin() + int64_t(o), groups);
  Instruction dot = dotOfGroups(*labels, split, o);
  dot.operands = {reshape(left, leftSizes, location), reshape(right, rightSizes, location)};
  std::vector<int64_t> produced = {groups};
  produced.insert(produced.end(), leftSizes.begin(), leftSizes.begin() + int64_t(spatial));
  produced.push_back(batch);
  produced.push_back(outputs / groups);
  int64_t depth = kernel.elementCount() / std::max<int64_t>(1, outputs), all = shapeOf(left).elementCount();
  int64_t rows = all / std::max<int64_t>(1, depth);
  Shape dotShape = Shape::array(definition.declared->type, produced);
  if (groups == 1 && image.type == kernel.type && isMatmul(image.type, rows, depth, outputs)) {
    std::vector<int64_t> kept; // results, batch and the one group
    for (size_t i = 0; i < spatial; ++i)
      kept.push_back(int64_t(i));
    size_t images = spatial + imageAt('b');
    kept.push_back(int64_t(images + (images >= split)));
    kept.push_back(int64_t(split));
    dot.operands = {matrixOf(dot.operands[0], kept, dot.dot.lhsContracting, location),
                    matrixOf(dot.operands[1], {int64_t(o), int64_t(o) + 1}, dot.dot.rhsContracting, location)};
    dot.dot = {};
    dot.dot.lhsContracting = dot.dot.rhsContracting = {1};
    Shape matrix = Shape::array(definition.declared->type, {rows, outputs});
    transpose.operands = {reshape(append(std::move(dot), location, &matrix), produced, location)};
  } else {
    transpose.operands = {append(std::move(dot), location, &dotShape)};
  }
  transpose.opcode = Opcode::Transpose;
  transpose.dimensions = orderOfResult(*labels);
  Shape shape = Shape::array(definition.declared->type, {});
  for (char label : labels->result)
    shape.dimensions.push_back(label == 'f' ? outputs : label == 'b' ? batch : window[imageAt(label)].results);
  if (!shape.sameAs(*definition.declared))
    cursor.fail(location, fmt::format("the shape of 'convolution' is written as {}, its operands make it {}",
                                      formatShapePlain(*definition.declared), formatShapePlain(shape)));
  Instruction result;
  result.opcode = Opcode::Reshape;
  result.operands = {append(std::move(transpose), location)};
  return finishAs(definition, convolution, std::move(result));
}

} // namespace heddle::hlo
