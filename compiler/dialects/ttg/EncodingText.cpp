// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads the keys of an encoding in any order, with an error for each that is missing, unknown or out of range.
#include "compiler/dialects/ttg/EncodingText.h"

using namespace mlir;
using namespace heddle::triton;
using namespace heddle::triton::gpu;

EncodingFields::EncodingFields(AsmParser &parser) : parser(parser), at(parser.getCurrentLocation()) {
  failed = bool(parser.parseAttribute(dictionary));
}

Attribute EncodingFields::attribute(StringRef key) {
  seen.insert(key);
  Attribute found = failed ? Attribute() : dictionary.get(key);
  if (!found && !failed)
    fail("expected `" + key + "`");
  return found;
}

int64_t EncodingFields::number(StringRef key, std::optional<int64_t> otherwise) {
  seen.insert(key);
  if (otherwise && !has(key))
    return *otherwise;
  auto value = dyn_cast_or_null<IntegerAttr>(attribute(key));
  if (!value || value.getType().isInteger(1))
    return fail("`" + key + "` is no number"), 1;
  return value.getInt();
}

bool EncodingFields::flag(StringRef key) {
  auto value = dyn_cast_or_null<BoolAttr>(attribute(key));
  if (!value)
    return fail("`" + key + "` is not true or false"), false;
  return value.getValue();
}

Numbers EncodingFields::list(StringRef key) {
  Numbers result;
  toNumbers(key, attribute(key), result);
  return result;
}

Numbers EncodingFields::bases(StringRef key, int64_t &rank) {
  Numbers result;
  auto all = dyn_cast_or_null<ArrayAttr>(attribute(key));
  if (!all)
    return fail("`" + key + "` is no list"), result;
  for (Attribute each : all) {
    size_t before = result.size();
    toNumbers(key, each, result);
    auto count = int64_t(result.size() - before);
    rank = rank ? rank : count;
    if (count != rank)
      fail("`" + key + "` has bases of " + llvm::Twine(rank) + " and of " + llvm::Twine(count) + " axes");
  }
  return result;
}

void EncodingFields::oneBlock(StringRef key) {
  seen.insert(key);
  auto all = has(key) ? dyn_cast<ArrayAttr>(dictionary.get(key)) : ArrayAttr();
  if (has(key) && (!all || !all.empty()))
    fail("`" + key + "` is of clusters of blocks, which are not compiled: give `num_ctas` 1");
}

bool EncodingFields::done() {
  for (NamedAttribute named : failed ? ArrayRef<NamedAttribute>() : dictionary.getValue())
    if (!seen.contains(named.getName()))
      fail("unknown `" + named.getName().getValue() + "`");
  return !failed;
}

void EncodingFields::fail(const llvm::Twine &why) {
  if (!std::exchange(failed, true))
    parser.emitError(at) << why;
}

void EncodingFields::toNumbers(StringRef key, Attribute attribute, Numbers &result) {
  auto all = dyn_cast_or_null<ArrayAttr>(attribute);
  if (!all)
    return fail("`" + key + "` is no list of numbers");
  for (Attribute each : all) {
    auto value = dyn_cast<IntegerAttr>(each);
    if (!value)
      return fail("`" + key + "` has an element that is no number");
    result.push_back(value.getInt());
  }
}

std::optional<LinearBases> gpu::parseLinearBases(AsmParser &parser) {
  if (parser.parseLess())
    return std::nullopt;
  EncodingFields fields(parser);
  LinearBases read;
  read.registers = fields.bases("register", read.rank);
  read.lane = fields.bases("lane", read.rank);
  read.warp = fields.bases("warp", read.rank);
  (void)fields.attribute("block");
  fields.oneBlock("block");
  if (!fields.done() || parser.parseGreater())
    return std::nullopt;
  return read;
}

static bool isOrder(ArrayRef<int64_t> order) {
  Numbers sorted(order);
  llvm::sort(sorted);
  for (auto [i, axis] : llvm::enumerate(sorted))
    if (axis != int64_t(i))
      return false;
  return true;
}

std::string gpu::textOf(ArrayRef<int64_t> numbers) {
  std::string text = "[";
  for (int64_t number : numbers)
    text += (text.size() > 1 ? ", " : "") + std::to_string(number);
  return text + "]";
}

LogicalResult gpu::verifyPowers(EmitError emitError, StringRef what, ArrayRef<int64_t> numbers) {
  // Rule G1: sizes are powers of two, and no larger than a tile may be.
  for (int64_t number : numbers)
    if (number < 1 || !llvm::isPowerOf2_64(uint64_t(number)) || number > maxTileElements)
      return emitError() << "`" << what << "` has " << number << ", which is no power of two from 1 to "
                         << maxTileElements;
  return success();
}

LogicalResult gpu::verifyOrder(EmitError emitError, ArrayRef<int64_t> order, size_t rank) {
  // Rule G2: an order names each axis once.
  if (order.size() == rank && isOrder(order))
    return success();
  return emitError() << "`order` is " << textOf(order) << " for " << rank << " axes";
}

void gpu::printNumbers(AsmPrinter &printer, ArrayRef<int64_t> numbers) {
  printer << "[";
  llvm::interleaveComma(numbers, printer);
  printer << "]";
}

void gpu::printBases(AsmPrinter &printer, ArrayRef<int64_t> numbers, int64_t rank) {
  printer << "[";
  for (int64_t first = 0; rank && first < int64_t(numbers.size()); first += rank) {
    printer << (first ? ", " : "");
    printNumbers(printer, numbers.slice(size_t(first), size_t(rank)));
  }
  printer << "]";
}
