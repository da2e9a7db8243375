// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parsing and materialising of values; the generator at the end is part of the contract and must never change.
#include "support/BufferSpec.h"
#include "support/Error.h"
#include "support/SystemMemory.h"
#include <cctype>
#include <charconv>
#include <fmt/format.h>
#include <limits>
#include <new>

namespace heddle {
namespace {

Error badSpec(const std::string &text, const std::string &problem) {
  return inputError(fmt::format("value `{}`: {}", text, problem),
                    {"a value is `@file.npy`, `f32[64,128]` (zeros), `rand:bf16[64,128]:7` (seed 7), `ptrs:A,B` "
                     "(addresses of buffers) or a number"});
}

template <typename T>
bool parseWhole(std::string_view digits, T &value) {
  auto [stop, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return status == std::errc() && stop == digits.data() + digits.size();
}

std::vector<std::string> splitAtCommas(std::string_view list) {
  std::vector<std::string> parts;
  for (;;) {
    size_t comma = list.find(',');
    parts.emplace_back(list.substr(0, comma));
    if (comma == std::string_view::npos)
      return parts;
    list.remove_prefix(comma + 1);
  }
}

/// Fills type and shape from `TYPE[D,D,...]`, which is `part` of the whole `text`.
void parseTypeAndShape(BufferSpec &spec, std::string_view part, const std::string &text) {
  size_t open = part.find('[');
  if (open == std::string_view::npos || part.back() != ']')
    throw badSpec(text, "expected a shape in brackets, as in `f32[64,128]`");
  spec.type = parseElementType(part.substr(0, open));
  std::string_view inside = part.substr(open + 1, part.size() - open - 2);
  if (!inside.empty())
    for (std::string dimension : splitAtCommas(inside)) {
      dimension.erase(0, dimension.find_first_not_of(' ')); // as NumPy and Python print shapes
      int64_t value = 0;
      if (!parseWhole(dimension, value) || value < 0)
        throw badSpec(text, fmt::format("`{}` is not a dimension", dimension));
      spec.shape.push_back(value);
    }
  int64_t count = countElements(spec.shape), size = 0;
  if (__builtin_mul_overflow(count, elementSizeBytes(spec.type), &size))
    throw badSpec(text, "the size in bytes exceeds 2^63-1");
}

void parseRandom(BufferSpec &spec, const std::string &text) {
  std::string_view rest = std::string_view(text).substr(5);
  size_t close = rest.find(']');
  if (close != std::string_view::npos && close + 1 < rest.size()) {
    std::string_view seed = rest.substr(close + 1);
    if (seed[0] != ':' || !parseWhole(seed.substr(1), spec.seed))
      throw badSpec(text, fmt::format("`{}` is not a seed: expected `:` and an integer from 0 to 2^64-1", seed));
    rest = rest.substr(0, close + 1);
  }
  parseTypeAndShape(spec, rest, text);
}

void parsePointers(BufferSpec &spec, const std::string &text) {
  spec.names = splitAtCommas(std::string_view(text).substr(5));
  for (const std::string &name : spec.names)
    if (name.empty())
      throw badSpec(text, "a buffer's name is empty");
  spec.type = ElementType::I64;
  spec.shape = {int64_t(spec.names.size())};
}

bool looksLikeNumber(const std::string &text) {
  std::string_view rest = text;
  if (rest.starts_with('-') || rest.starts_with('+'))
    rest.remove_prefix(1);
  if (rest.starts_with('.'))
    rest.remove_prefix(1);
  bool digit = !rest.empty() && std::isdigit(static_cast<unsigned char>(rest[0]));
  return digit || rest == "inf" || rest == "nan" || rest == "infinity" || text == "true" || text == "false";
}

/// Output number `index` of SplitMix64 (Steele, Lea, Flood 2014) started with `seed`.
uint64_t splitMix(uint64_t seed, uint64_t index) {
  uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

/// Largest value of the type below 1; its bits are those of 1 less one, since all formats are sign and magnitude.
double largestBelowOne(ElementType type) {
  int64_t bits = 0;
  storeDouble(type, 1.0, &bits);
  --bits;
  return loadDouble(type, &bits);
}

void fillRandom(const BufferSpec &spec, std::string &bytes) {
  int64_t count = spec.elementCount(), size = elementSizeBytes(spec.type);
  double bound = isFloat(spec.type) ? largestBelowOne(spec.type) : 0;
  for (int64_t i = 0; i < count; ++i) {
    uint64_t z = splitMix(spec.seed, uint64_t(i));
    char *element = bytes.data() + i * size;
    if (isFloat(spec.type)) {
      storeDouble(spec.type, double(z >> 11) * 0x1p-52 - 1.0, element);
      if (loadDouble(spec.type, element) >= 1.0)
        storeDouble(spec.type, bound, element);
    } else if (spec.type == ElementType::I1) {
      storeInt(spec.type, int64_t(z >> 63), element);
    } else {
      storeInt(spec.type, int64_t(z >> 56) - (isUnsigned(spec.type) ? 0 : 128), element);
    }
  }
}

} // namespace

int64_t countElements(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  bool empty = false, overflow = false;
  for (int64_t dimension : shape) {
    if (dimension < 0)
      throw inputError(fmt::format("shape {} has a negative dimension", formatShape(shape)));
    empty |= dimension == 0;
    overflow |= __builtin_mul_overflow(count, dimension, &count);
  }
  if (empty)
    return 0;
  if (overflow)
    throw inputError(fmt::format("shape {} has more than 2^63-1 elements", formatShape(shape)));
  return count;
}

std::string formatShape(const std::vector<int64_t> &shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

int64_t BufferSpec::elementCount() const {
  return countElements(shape);
}
int64_t BufferSpec::sizeBytes() const {
  return elementCount() * elementSizeBytes(type);
}

BufferSpec parseBufferShape(const std::string &text) {
  BufferSpec spec;
  spec.kind = BufferSpec::Kind::Zeros;
  spec.text = text;
  if (text.empty())
    throw badSpec(text, "expected a shape in brackets, as in `f32[64,128]`");
  parseTypeAndShape(spec, text, text);
  return spec;
}

BufferSpec parseBufferSpec(const std::string &text) {
  BufferSpec spec;
  spec.text = text;
  if (text.starts_with('@')) {
    spec.kind = BufferSpec::Kind::File;
    spec.path = text.substr(1);
    if (spec.path.empty())
      throw badSpec(text, "the file's name is empty");
  } else if (text.starts_with("rand:")) {
    spec.kind = BufferSpec::Kind::Random;
    parseRandom(spec, text);
  } else if (text.starts_with("ptrs:")) {
    spec.kind = BufferSpec::Kind::Pointers;
    parsePointers(spec, text);
  } else if (text.find('[') != std::string::npos) {
    return parseBufferShape(text);
  } else if (!looksLikeNumber(text)) {
    throw badSpec(text, "it is neither a buffer nor a number");
  }
  return spec;
}

std::string materialize(const BufferSpec &spec) {
  if (spec.kind != BufferSpec::Kind::Zeros && spec.kind != BufferSpec::Kind::Random)
    throw internalError(fmt::format("value `{}` has no bytes of its own", spec.text));
  std::string bytes;
  uint64_t available = availableMemoryBytes();
  Error tooLarge = environmentError(
      fmt::format("out of memory: `{}` takes {} bytes, {} are available", spec.text, spec.sizeBytes(), available));
  if (uint64_t(spec.sizeBytes()) > available)
    throw tooLarge;
  try {
    bytes.resize(size_t(spec.sizeBytes()));
  } catch (const std::bad_alloc &) {
    throw tooLarge;
  }
  if (spec.kind == BufferSpec::Kind::Random)
    fillRandom(spec, bytes);
  return bytes;
}

} // namespace heddle
