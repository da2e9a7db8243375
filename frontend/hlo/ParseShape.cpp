// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shapes with layouts, and nested literals.
#include "frontend/hlo/ParseShape.h"
#include "frontend/hlo/Literal.h"
#include "support/Suggest.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::hlo {
namespace {

constexpr int deepestTuple = 32;
constexpr size_t largestRank = 64;

Shape parseNested(Cursor &cursor, int depth);

DType parseDType(Cursor &cursor) {
  Location location = cursor.here();
  std::string name(cursor.word("a shape"));
  if (auto type = findDType(name))
    return *type;
  std::vector<std::string> known;
  for (DType type : allDTypes())
    known.push_back(dtypeName(type));
  std::vector<std::string> notes = {fmt::format("the element types are {}", fmt::join(known, ", "))};
  std::string nearest = closestName(name, known);
  if (!nearest.empty())
    notes.insert(notes.begin(), fmt::format("did you mean '{}'?", nearest));
  cursor.fail(location, fmt::format("unknown element type '{}'", name.substr(0, 60)), notes);
}

std::vector<int64_t> parseDimensions(Cursor &cursor) {
  std::vector<int64_t> dimensions;
  cursor.expect("[");
  if (cursor.accept("]"))
    return dimensions;
  do {
    Location location = cursor.here();
    if (cursor.peek() == '<' || cursor.peek() == '?')
      cursor.fail(location, "dynamic dimensions are not supported", {"give the dimension a fixed size"});
    dimensions.push_back(cursor.integer());
    if (dimensions.back() < 0)
      cursor.fail(location,
                  fmt::format("dimension {} has the negative size {}", dimensions.size() - 1, dimensions.back()));
  } while (cursor.accept(","));
  cursor.expect("]");
  return dimensions;
}

/// A `{` after a shape may also open the body of a computation; a layout goes on with a digit, `:` or at once `}`.
bool standsAtLayout(Cursor &cursor) {
  bool adjacent = cursor.adjacent('{');
  if (cursor.peek() != '{')
    return false;
  char next = cursor.peekSecond();
  return next == ':' || (next >= '0' && next <= '9') || (adjacent && next == '}');
}

void parseLayout(Cursor &cursor, Shape &shape) {
  Location location = cursor.here();
  cursor.expect("{");
  std::vector<int64_t> order;
  while (cursor.peek() != '}' && cursor.peek() != ':') {
    order.push_back(cursor.integer());
    if (!cursor.accept(","))
      break;
  }
  if (cursor.accept(":"))
    shape.layoutExtras = cursor.rawUntil('{', '}');
  else
    cursor.expect("}");
  auto count = [&](char c) { return std::count(shape.layoutExtras.begin(), shape.layoutExtras.end(), c); };
  if (count('(') != count(')'))
    cursor.fail(location, fmt::format("parentheses of the layout '{}' do not match", shape.layoutExtras.substr(0, 60)));
  if (order.empty() && shape.rank() != 0 && !shape.layoutExtras.empty())
    return; // extras only: the default order
  std::vector<int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  bool permutation = sorted.size() == shape.dimensions.size();
  for (size_t i = 0; permutation && i < sorted.size(); ++i)
    permutation = sorted[i] == int64_t(i);
  if (!permutation)
    cursor.fail(location, fmt::format("layout {{{}}} is no permutation of the {} dimensions of {}",
                                      fmt::join(order, ","), shape.rank(), formatShapePlain(shape)));
  shape.writtenLayout = order;
}

Shape parseArray(Cursor &cursor) {
  if (cursor.peekWord() == "token") {
    cursor.accept("token");
    cursor.expect("[");
    cursor.expect("]");
    if (cursor.adjacent('{'))
      cursor.integers("{", "}");
    return Shape::token();
  }
  Location location = cursor.here();
  DType type = parseDType(cursor);
  Shape shape = Shape::array(type, parseDimensions(cursor));
  if (shape.dimensions.size() > largestRank)
    cursor.fail(location, fmt::format("a shape of {} dimensions; {} are the most", shape.rank(), largestRank));
  if (!boundedSizeBytes(shape))
    cursor.fail(location, fmt::format("shape {} is too large", formatShapePlain(shape)),
                {fmt::format("a value holds at most {} bytes", largestShapeBytes)});
  if (standsAtLayout(cursor))
    parseLayout(cursor, shape);
  return shape;
}

Shape parseNested(Cursor &cursor, int depth) {
  Location location = cursor.here();
  if (!cursor.accept("("))
    return parseArray(cursor);
  if (depth == deepestTuple)
    cursor.fail(location, fmt::format("tuples are nested more than {} deep", deepestTuple));
  Shape shape = Shape::tuple({});
  if (cursor.accept(")"))
    return shape;
  do
    shape.elements.push_back(parseNested(cursor, depth + 1));
  while (cursor.accept(","));
  cursor.expect(")");
  if (!boundedSizeBytes(shape))
    cursor.fail(location, "the tuple is too large", {fmt::format("a value holds at most {} bytes", largestShapeBytes)});
  return shape;
}

// Literals.

void parseScalar(Cursor &cursor, DType type, std::string &bytes) {
  Location location = cursor.here();
  bool plus = cursor.accept("+");
  std::string text(cursor.word("a number"));
  // `1e+5` holds the one plus sign that no word does.
  if (!text.empty() && (text.back() == 'e' || text.back() == 'E') && cursor.adjacent('+')) {
    cursor.accept("+");
    text += std::string(cursor.word("an exponent"));
  }
  if (plus && text[0] == '-')
    cursor.fail(location, fmt::format("'+{}' is not a number of type {}", text.substr(0, 60), dtypeName(type)));
  try {
    appendElement(type, text, bytes);
  } catch (const Error &error) {
    cursor.fail(location, error.what(), error.notes);
  }
}

void parseElement(Cursor &cursor, DType type, std::string &bytes) {
  if (!isComplex(type))
    return parseScalar(cursor, type, bytes);
  DType part = type == DType::C64 ? DType::F32 : DType::F64;
  cursor.expect("(");
  parseScalar(cursor, part, bytes);
  cursor.expect(",");
  parseScalar(cursor, part, bytes);
  cursor.expect(")");
}

void parseNestedLiteral(Cursor &cursor, const Shape &shape, size_t dimension, std::string &bytes) {
  if (dimension == shape.dimensions.size())
    return parseElement(cursor, shape.type, bytes);
  Location opened = cursor.here();
  cursor.expect("{");
  if (cursor.peekWord().starts_with("..."))
    cursor.fail(opened, "the value of the constant was left out when the text was printed",
                {"print the module with `print_large_constants` of HloPrintOptions; docs/jax.md says how in JAX"});
  int64_t count = 0, expected = shape.dimensions[dimension];
  // An empty dimension further in may be printed as one pair of braces for the whole array.
  if (cursor.accept("}")) {
    if (shape.elementCount() == 0)
      return;
  } else {
    do {
      if (++count > expected)
        break;
      parseNestedLiteral(cursor, shape, dimension + 1, bytes);
    } while (cursor.accept(","));
    if (count <= expected && cursor.atEnd())
      cursor.fail(opened, "this '{' is not closed");
    if (count <= expected)
      cursor.expect("}");
  }
  if (count != expected)
    cursor.fail(opened, fmt::format("the constant has {} elements along dimension {}, its shape {} has {}",
                                    count > expected ? "more" : std::to_string(count), dimension,
                                    formatShapePlain(shape), expected));
}

} // namespace

bool standsAtShape(Cursor &cursor) {
  char next = cursor.peek();
  return next == '(' || (next != '%' && !cursor.peekWord().empty() && cursor.peekBehindWord() == '[');
}

Shape parseShape(Cursor &cursor) {
  return parseNested(cursor, 0);
}

std::optional<int64_t> boundedSizeBytes(const Shape &shape) {
  int64_t bytes = shape.isArray() ? elementSizeBytes(shape.type) : 0;
  for (int64_t size : shape.dimensions) // an empty dimension does not excuse the others: their product is used too
    if (__builtin_mul_overflow(bytes, std::max<int64_t>(size, 1), &bytes) || bytes > largestShapeBytes)
      return std::nullopt;
  for (const Shape &element : shape.elements) {
    auto part = boundedSizeBytes(element);
    if (!part || (bytes += *part) > largestShapeBytes)
      return std::nullopt;
  }
  return bytes;
}

std::string parseLiteral(Cursor &cursor, const Shape &shape) {
  if (!shape.isArray())
    cursor.failHere(fmt::format("a constant of shape {} is not supported", formatShapePlain(shape)),
                    {"write one constant for each array, and a tuple"});
  std::string bytes;
  parseNestedLiteral(cursor, shape, 0, bytes);
  return bytes;
}

} // namespace heddle::hlo
