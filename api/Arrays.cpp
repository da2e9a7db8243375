// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Comparison of results with reference files.
#include "api/Heddle.h"
#include "api/Values.h"
#include "support/Npy.h"
#include <cmath>
#include <fmt/format.h>
#include <optional>

namespace heddle {
namespace {

/// The element type to read a file's elements with when they are to be compared with `type`.
ElementType typeOfFile(const NpyArray &file, const Array &array, const std::string &path) {
  if (file.dtype == array.dtype || file.dtype == numpyDtype(array.type))
    return array.type;
  for (ElementType type : allElementTypes())
    if (file.dtype == numpyDtype(type) && type != ElementType::BF16 && elementSizeBytes(type) > 1)
      return type;
  for (ElementType type : {ElementType::I8, ElementType::UI8, ElementType::I1})
    if (file.dtype == numpyDtype(type))
      return type;
  throw inputError(
      fmt::format("{}: cannot compare dtype `{}` with {} elements", path, file.dtype, elementTypeName(array.type)));
}

} // namespace

Tolerance defaultTolerance(ElementType type) {
  double both = 0.1;
  if (!isFloat(type))
    both = 0;
  else if (type == ElementType::F64)
    both = 1e-12;
  else if (type == ElementType::F32)
    both = 1e-5;
  else if (type == ElementType::F16)
    both = 1e-3;
  else if (type == ElementType::BF16)
    both = 1e-2;
  return {both, both};
}

Comparison compareWithFile(const Array &array, const std::string &path, const Tolerance &tolerance) {
  NpyArray file = readNpy(path);
  if (file.shape != array.shape)
    throw inputError(fmt::format("{} has shape {}, but `{}` has {}", path, formatShape(file.shape), array.name,
                                 formatShape(array.shape)));
  ElementType fileType = typeOfFile(file, array, path);
  int64_t fileStride = elementSizeBytes(fileType), stride = elementSizeBytes(array.type);
  Comparison result;
  result.elements = countElements(array.shape);
  for (int64_t i = 0; i < result.elements; ++i) {
    const void *valueAt = array.bytes.data() + i * stride, *expectedAt = file.bytes.data() + i * fileStride;
    double value = loadDouble(array.type, valueAt), expected = loadDouble(fileType, expectedAt);
    if (value == expected || (std::isnan(value) && std::isnan(expected)))
      continue;
    double error = std::abs(value - expected);
    if (error <= tolerance.absolute + tolerance.relative * std::abs(expected))
      continue;
    std::string text = fmt::format("{}: {}, expected {}", formatIndex(i, array.shape),
                                   formatElement(array.type, valueAt), formatElement(fileType, expectedAt));
    if (result.mismatches++ == 0)
      result.first = text;
    if (result.worst.empty() || !(error <= result.worstError)) {
      result.worst = text;
      result.worstError = error;
    }
  }
  return result;
}

} // namespace heddle
