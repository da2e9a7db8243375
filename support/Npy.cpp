// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The header is a Python literal; the small reader below takes exactly the dictionaries that NumPy writes.
#include "support/Npy.h"
#include "support/BufferSpec.h"
#include "support/Error.h"
#include "support/File.h"
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <fmt/format.h>
#include <optional>

namespace heddle {
namespace {

constexpr std::string_view magic("\x93NUMPY", 6);

struct Header {
  std::string descr;
  bool fortranOrder = false;
  std::vector<int64_t> shape;
};

/// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
class HeaderReader {
public:
  HeaderReader(std::string_view text, const std::string &name) : text(text), name(name) {}

  Header read() {
    Header header;
    bool seen[3] = {};
    expect('{');
    while (!accept('}')) {
      std::string key = readString();
      expect(':');
      auto which = size_t(std::find(std::begin(keys), std::end(keys), key) - std::begin(keys));
      if (which == std::size(keys))
        fail(fmt::format("unexpected key '{}'", key));
      if (seen[which])
        fail(fmt::format("key '{}' twice", key));
      seen[which] = true;
      if (which == 0)
        header.descr = readDescr();
      else if (which == 1)
        header.fortranOrder = readBool();
      else
        header.shape = readShape();
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skipSpace();
    if (position != text.size())
      fail("text after the dictionary");
    for (int i = 0; i < 3; ++i)
      if (!seen[i])
        fail(fmt::format("key '{}' is missing", keys[i]));
    return header;
  }

private:
  static constexpr std::string_view keys[] = {"descr", "fortran_order", "shape"};

  [[noreturn]] void fail(const std::string &problem) {
    throw inputError(fmt::format("{}: malformed .npy header at byte {}: {}", name, position, problem));
  }
  void skipSpace() {
    while (position < text.size() && std::isspace(static_cast<unsigned char>(text[position])))
      ++position;
  }
  bool accept(char wanted) {
    skipSpace();
    if (position == text.size() || text[position] != wanted)
      return false;
    ++position;
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted))
      fail(fmt::format("expected '{}'", wanted));
  }
  std::string readString() {
    skipSpace();
    char quote = accept('\'') ? '\'' : '"';
    if (quote == '"')
      expect('"');
    size_t end = text.find(quote, position);
    if (end == std::string_view::npos)
      fail("a string does not end");
    std::string value(text.substr(position, end - position));
    position = end + 1;
    return value;
  }
  std::string readDescr() {
    skipSpace();
    if (position < text.size() && text[position] == '[')
      throw inputError(fmt::format("{}: structured dtypes are not supported", name),
                       {"save each field as an array of its own"});
    return readString();
  }
  bool readBool() {
    skipSpace();
    for (std::string_view word : {std::string_view("True"), std::string_view("False")})
      if (text.substr(position).starts_with(word)) {
        position += word.size();
        return word == "True";
      }
    fail("expected True or False");
  }
  std::vector<int64_t> readShape() {
    std::vector<int64_t> shape;
    expect('(');
    while (!accept(')')) {
      skipSpace();
      int64_t value = 0;
      const char *begin = text.data() + position;
      auto [stop, status] = std::from_chars(begin, text.data() + text.size(), value);
      if (status != std::errc() || value < 0)
        fail(status == std::errc::result_out_of_range ? "a dimension exceeds 2^63-1" : "expected a dimension");
      position += size_t(stop - begin);
      accept('L'); // as Python 2 wrote long integers
      shape.push_back(value);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }

  std::string_view text;
  const std::string &name;
  size_t position = 0;
};

/// The dtype without its byte order; empty when unsupported.
std::string_view baseOf(std::string_view dtype) {
  if (!dtype.empty() && std::strchr("<>=|", dtype[0]))
    dtype.remove_prefix(1);
  static constexpr std::string_view supported[] = {"b1", "i1", "i2", "i4", "i8", "u1",
                                                   "u2", "u4", "u8", "f2", "f4", "f8"};
  for (std::string_view base : supported)
    if (dtype == base)
      return base;
  return dtype == "?" ? "b1" : std::string_view();
}

std::string_view checkedBase(const std::string &descr, const std::string &name) {
  std::string_view base = baseOf(descr);
  if (!base.empty())
    return base;
  std::string_view kind = descr;
  if (!kind.empty() && std::strchr("<>=|", kind[0]))
    kind.remove_prefix(1);
  const char *what = kind.starts_with('O')   ? "object arrays are not supported"
                     : kind.starts_with('V') ? "structured dtypes are not supported"
                     : kind.starts_with('c') ? "complex numbers are not supported"
                                             : "the dtype is not supported";
  throw inputError(fmt::format("{}: dtype '{}': {}", name, descr, what),
                   {"the dtypes are bool, int8 to int64, uint8 to uint64, float16, float32 and float64; bf16 and fp8 "
                    "travel as uint16 and uint8 arrays of their bits"});
}

void swapBytes(std::string &bytes, size_t elementSize) {
  for (size_t at = 0; at + elementSize <= bytes.size(); at += elementSize)
    std::reverse(bytes.begin() + ptrdiff_t(at), bytes.begin() + ptrdiff_t(at + elementSize));
}

/// Column-major to row-major, walking the destination with an odometer of indices.
std::string fortranToC(const std::string &source, const std::vector<int64_t> &shape, size_t elementSize) {
  std::string result(source.size(), '\0');
  std::vector<int64_t> index(shape.size(), 0), stride(shape.size(), 1);
  for (size_t d = 1; d < shape.size(); ++d)
    stride[d] = stride[d - 1] * shape[d - 1];
  int64_t from = 0;
  for (size_t at = 0; at < result.size(); at += elementSize) {
    std::memcpy(result.data() + at, source.data() + size_t(from) * elementSize, elementSize);
    for (size_t d = shape.size(); d-- > 0;) {
      from += stride[d];
      if (++index[d] < shape[d])
        break;
      from -= stride[d] * shape[d];
      index[d] = 0;
    }
  }
  return result;
}

struct Layout {
  std::string_view header;
  size_t dataOffset = 0;
};

/// Checks magic, version and the length of the header.
Layout splitFile(const std::string &bytes, const std::string &name) {
  if (bytes.size() < 8 || std::string_view(bytes).substr(0, 6) != magic)
    throw inputError(fmt::format("{}: not a .npy file", name), {"write it with numpy.save"});
  int major = static_cast<unsigned char>(bytes[6]), minor = static_cast<unsigned char>(bytes[7]);
  if (major < 1 || major > 3 || minor != 0)
    throw inputError(fmt::format("{}: .npy format {}.{}; known are 1.0, 2.0 and 3.0", name, major, minor));
  size_t lengthBytes = major == 1 ? 2 : 4, start = 8 + lengthBytes;
  if (bytes.size() < start)
    throw inputError(
        fmt::format("{}: truncated .npy file: {} bytes, the header starts at {}", name, bytes.size(), start));
  uint32_t length = 0;
  std::memcpy(&length, bytes.data() + 8, lengthBytes);
  if (bytes.size() - start < length)
    throw inputError(fmt::format("{}: truncated .npy file: {} bytes, the header alone ends at {}", name, bytes.size(),
                                 start + length));
  return {std::string_view(bytes).substr(start, length), start + length};
}

} // namespace

int64_t npyElementSizeBytes(const std::string &dtype) {
  std::string_view base = baseOf(dtype);
  return base.empty() ? 0 : base[1] - '0';
}

NpyArray parseNpy(const std::string &bytes, const std::string &name) {
  Layout layout = splitFile(bytes, name);
  Header header = HeaderReader(layout.header, name).read();
  std::string_view base = checkedBase(header.descr, name);
  auto elementSize = size_t(base[1] - '0');

  int64_t count = 0, wanted = 0;
  try {
    count = countElements(header.shape);
  } catch (const Error &error) {
    throw inputError(fmt::format("{}: {}", name, error.what()));
  }
  if (__builtin_mul_overflow(count, int64_t(elementSize), &wanted))
    throw inputError(fmt::format("{}: shape {} has more than 2^63-1 bytes", name, formatShape(header.shape)));
  size_t present = bytes.size() - layout.dataOffset;
  if (present != size_t(wanted))
    throw inputError(fmt::format("{}: {} .npy file: shape {} of '{}' takes {} bytes of data, the file has {}", name,
                                 present < size_t(wanted) ? "truncated" : "trailing bytes in the",
                                 formatShape(header.shape), header.descr, wanted, present));

  NpyArray array{(elementSize == 1 ? "|" : "<") + std::string(base), header.shape, bytes.substr(layout.dataOffset)};
  if (header.descr[0] == '>' && elementSize > 1)
    swapBytes(array.bytes, elementSize);
  if (header.fortranOrder && header.shape.size() > 1 && count > 0) // strides of an empty array may overflow
    array.bytes = fortranToC(array.bytes, array.shape, elementSize);
  return array;
}

NpyArray readNpy(const std::string &path) {
  return parseNpy(readFile(path), path);
}

std::string serializeNpy(const NpyArray &array) {
  int64_t size = npyElementSizeBytes(array.dtype);
  if (!size || array.dtype[0] == '>' || countElements(array.shape) * size != int64_t(array.bytes.size()))
    throw internalError(fmt::format("cannot write {} bytes as a .npy array {} of '{}'", array.bytes.size(),
                                    formatShape(array.shape), array.dtype));
  std::string shape;
  for (int64_t dimension : array.shape)
    shape += fmt::format("{}{}", shape.empty() ? "" : " ", std::to_string(dimension) + ",");
  if (array.shape.size() > 1)
    shape.pop_back(); // only a tuple of one keeps its comma
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", array.dtype, shape);
  bool wide = header.size() + 1 + 63 > 0xffff;
  size_t start = wide ? 12 : 10;
  header.append((64 - (start + header.size() + 1) % 64) % 64, ' ');
  header += '\n';
  std::string bytes(magic);
  bytes += char(wide ? 2 : 1);
  bytes += '\0';
  auto length = uint32_t(header.size());
  bytes.append(reinterpret_cast<const char *>(&length), wide ? 4 : 2);
  return bytes + header + array.bytes;
}

void writeNpy(const std::string &path, const NpyArray &array) {
  writeFileAtomically(path, serializeNpy(array));
}

} // namespace heddle
