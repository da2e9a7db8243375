// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Wraps integers to their type, and encodes them in each format of floats.
#include "tests/gluon_programs/Values.h"
#include "support/Error.h"
#include "tests/reference/SoftFloat.h"
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace heddle::gluon_programs {

const Element &elementOf(const std::string &name) {
  static const std::map<std::string, Element> elements = {
      {"i1", {"i1", 1, false, 0}},         {"i8", {"i8", 8, false, 0}},
      {"i16", {"i16", 16, false, 0}},      {"i32", {"i32", 32, false, 0}},
      {"i64", {"i64", 64, false, 0}},      {"f8E4M3FN", {"f8E4M3FN", 8, true, 16}},
      {"f8E5M2", {"f8E5M2", 8, true, 8}},  {"f8E4M3FNUZ", {"f8E4M3FNUZ", 8, true, 16}},
      {"f16", {"f16", 16, true, 2048}},    {"bf16", {"bf16", 16, true, 256}},
      {"f32", {"f32", 32, true, 1 << 24}}, {"f64", {"f64", 64, true, int64_t(1) << 50}}};
  auto found = elements.find(name);
  if (found == elements.end())
    throw internalError("no elements of type " + name);
  return found->second;
}

int64_t wrapped(const Element &element, int64_t value) {
  if (element.isFloat || element.bits == 64)
    return value;
  if (element.bits == 1)
    return value & 1;
  int unused = 64 - element.bits;
  return int64_t(uint64_t(value) << unused) >> unused;
}

static reference::FloatFormat formatOf(const std::string &name) {
  static const std::map<std::string, reference::FloatFormat> formats = {{"f8E4M3FN", reference::formatE4M3FN},
                                                                        {"f8E5M2", reference::formatE5M2},
                                                                        {"f8E4M3FNUZ", reference::formatE4M3FNUZ},
                                                                        {"f16", reference::formatF16},
                                                                        {"bf16", reference::formatBF16},
                                                                        {"f32", reference::formatF32},
                                                                        {"f64", reference::formatF64}};
  return formats.at(name);
}

uint64_t bitsOf(const Element &element, int64_t value) {
  return element.isFloat ? reference::encode(formatOf(element.name), double(value)) : uint64_t(value);
}

int64_t countOf(const Shape &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

std::string shapeText(const Shape &shape, const std::string &element) {
  return fmt::format("{}x{}", fmt::join(shape, "x"), element);
}

bool hasValues(const Element &element, const std::vector<int64_t> &values) {
  return !element.isFloat ||
         std::all_of(values.begin(), values.end(), [&](int64_t value) { return std::abs(value) <= element.largest; });
}

bool hasSums(const Element &element, const std::vector<int64_t> &values) {
  int64_t sum = 0;
  for (int64_t value : values)
    sum += element.isFloat ? std::abs(value) : 0;
  return sum <= element.largest;
}

} // namespace heddle::gluon_programs
