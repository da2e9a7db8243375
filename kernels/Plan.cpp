// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sizes and strides of arrays, and host arrays as numbers for references.
#include "kernels/Plan.h"
#include "support/BufferSpec.h"
#include "support/Error.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::kernels {

int64_t ArrayType::elements() const {
  return countElements(shape);
}

int64_t ArrayType::stride(size_t axis) const {
  if (!strides.empty())
    return strides[axis];
  int64_t stride = 1;
  for (size_t inner = axis + 1; inner < shape.size(); ++inner)
    stride *= std::max<int64_t>(shape[inner], 1);
  return stride;
}

int64_t ArrayType::sizeBytes() const {
  if (elements() == 0)
    return 0;
  int64_t last = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis)
    last += (shape[axis] - 1) * stride(axis);
  return (last + 1) * elementSizeBytes(type);
}

bool ArrayType::isDense() const {
  ArrayType dense{type, shape};
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (shape[axis] > 1 && stride(axis) != dense.stride(axis))
      return false;
  return true;
}

std::string describe(const ArrayType &array) {
  std::string text = elementTypeName(array.type) + formatShape(array.shape);
  return array.isDense() ? text : fmt::format("{} with strides [{}]", text, fmt::join(array.strides, ","));
}

int64_t HostArray::offset(std::initializer_list<int64_t> index) const {
  int64_t offset = 0;
  size_t axis = 0;
  for (int64_t i : index)
    offset += i * type.stride(axis++);
  return offset * elementSizeBytes(type.type);
}

double HostArray::get(std::initializer_list<int64_t> index) const {
  return loadDouble(type.type, bytes.data() + offset(index));
}

void HostArray::set(std::initializer_list<int64_t> index, double value) {
  storeDouble(type.type, value, bytes.data() + offset(index));
}

int64_t Plan::sizeBytes(const std::string &name) const {
  for (const std::vector<NamedArray> *arrays : {&results, &temporaries})
    for (const NamedArray &array : *arrays)
      if (array.name == name)
        return array.type.sizeBytes();
  throw internalError("the plan has no buffer `" + name + "`");
}

int64_t Call::tile(const std::string &name, int64_t standard) const {
  auto chosen = tiles.find(name);
  return chosen == tiles.end() ? standard : chosen->second;
}

void requireDense(const Call &call, const std::string &name) {
  const ArrayType &array = call.input(name);
  if (!array.isDense())
    throw inputError(fmt::format("kernel `{}`: `{}` is {}, and must be dense", call.kernel, name, describe(array)),
                     {"copy the array to make it contiguous"});
}

} // namespace heddle::kernels
