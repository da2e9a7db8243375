// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Integer arithmetic: two's complement at the type's width.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "support/Error.h"
#include "tests/reference/Program.h"
#include <bit>

using namespace mlir;
using namespace heddle::reference;

// Operands are zero-extended; the caller cuts the result to the width.
using BinaryInteger = uint64_t (*)(uint64_t a, uint64_t b, unsigned width);

static void checkDivision(uint64_t a, uint64_t b, unsigned width, bool isSigned) {
  if (b == 0)
    throw heddle::inputError("division by zero");
  if (isSigned && signExtend(b, width) == -1 && a == uint64_t(1) << (width - 1))
    throw heddle::inputError("division of the smallest integer by -1");
}

static uint64_t divideSigned(uint64_t a, uint64_t b, unsigned width) {
  checkDivision(a, b, width, true);
  return uint64_t(signExtend(a, width) / signExtend(b, width));
}
static uint64_t remainderSigned(uint64_t a, uint64_t b, unsigned width) {
  checkDivision(a, b, width, true);
  return uint64_t(signExtend(a, width) % signExtend(b, width));
}
static uint64_t divideUnsigned(uint64_t a, uint64_t b, unsigned width) {
  checkDivision(a, b, width, false);
  return a / b;
}
static uint64_t remainderUnsigned(uint64_t a, uint64_t b, unsigned width) {
  checkDivision(a, b, width, false);
  return a % b;
}
static uint64_t highHalf(uint64_t a, uint64_t b, unsigned width) {
  return uint64_t((static_cast<unsigned __int128>(a) * b) >> width);
}

static const std::map<StringRef, BinaryInteger> binaryIntegers = {
    {"arith.addi", [](uint64_t a, uint64_t b, unsigned) { return a + b; }},
    {"arith.subi", [](uint64_t a, uint64_t b, unsigned) { return a - b; }},
    {"arith.muli", [](uint64_t a, uint64_t b, unsigned) { return a * b; }},
    {"arith.divsi", divideSigned},
    {"arith.remsi", remainderSigned},
    {"arith.divui", divideUnsigned},
    {"arith.remui", remainderUnsigned},
    {"arith.andi", [](uint64_t a, uint64_t b, unsigned) { return a & b; }},
    {"arith.ori", [](uint64_t a, uint64_t b, unsigned) { return a | b; }},
    {"arith.xori", [](uint64_t a, uint64_t b, unsigned) { return a ^ b; }},
    {"arith.minsi", [](uint64_t a, uint64_t b, unsigned w) { return signExtend(a, w) < signExtend(b, w) ? a : b; }},
    {"arith.maxsi", [](uint64_t a, uint64_t b, unsigned w) { return signExtend(a, w) > signExtend(b, w) ? a : b; }},
    {"arith.minui", [](uint64_t a, uint64_t b, unsigned) { return a < b ? a : b; }},
    {"arith.maxui", [](uint64_t a, uint64_t b, unsigned) { return a > b ? a : b; }},
    {"tt.mulhiui", highHalf},
};

// A shift by the width or more is undefined.
static const std::map<StringRef, BinaryInteger> shifts = {
    {"arith.shli", [](uint64_t a, uint64_t b, unsigned) { return a << b; }},
    {"arith.shrui", [](uint64_t a, uint64_t b, unsigned) { return a >> b; }},
    {"arith.shrsi", [](uint64_t a, uint64_t b, unsigned w) { return uint64_t(signExtend(a, w) >> b); }},
};

using UnaryInteger = uint64_t (*)(uint64_t a, unsigned width);
static const std::map<StringRef, UnaryInteger> unaryIntegers = {
    {"math.absi", [](uint64_t a, unsigned w) { return signExtend(a, w) < 0 ? -a : a; }},
    {"math.ctpop", [](uint64_t a, unsigned) { return uint64_t(std::popcount(a)); }},
    {"math.ctlz", [](uint64_t a, unsigned w) { return uint64_t(std::countl_zero(a) - int(64 - w)); }},
    {"math.cttz", [](uint64_t a, unsigned w) { return a == 0 ? uint64_t(w) : uint64_t(std::countr_zero(a)); }},
};

static bool compare(arith::CmpIPredicate predicate, uint64_t a, uint64_t b, unsigned width) {
  int64_t sa = signExtend(a, width), sb = signExtend(b, width);
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return a == b;
  case arith::CmpIPredicate::ne:
    return a != b;
  case arith::CmpIPredicate::slt:
    return sa < sb;
  case arith::CmpIPredicate::sle:
    return sa <= sb;
  case arith::CmpIPredicate::sgt:
    return sa > sb;
  case arith::CmpIPredicate::sge:
    return sa >= sb;
  case arith::CmpIPredicate::ult:
    return a < b;
  case arith::CmpIPredicate::ule:
    return a <= b;
  case arith::CmpIPredicate::ugt:
    return a > b;
  case arith::CmpIPredicate::uge:
    return a >= b;
  }
  throw heddle::internalError("unknown integer predicate");
}

static Results evaluateCompare(Program &, Operation *op, const Inputs &in) {
  auto cmp = cast<arith::CmpIOp>(op);
  unsigned width = elementWidth(in[0].type);
  return {buildTile(cmp.getType(),
                    [&](int64_t i) { return compare(cmp.getPredicate(), in[0].bits[i], in[1].bits[i], width); })};
}

// A scalar condition picks a whole tile.
static Results evaluateSelect(Program &, Operation *op, const Inputs &in) {
  if (in[0].size() == 1)
    return {in[0].bits[0] ? in[1] : in[2]};
  return {
      buildTile(op->getResult(0).getType(), [&](int64_t i) { return in[0].bits[i] ? in[1].bits[i] : in[2].bits[i]; })};
}

void heddle::reference::addIntegerHandlers(HandlerTable &table) {
  for (auto [name, compute] : binaryIntegers)
    table[name] = [compute = compute](Program &, Operation *op, const Inputs &in) {
      unsigned width = elementWidth(in[0].type);
      return Results{buildTile(in[0].type, [&](int64_t i) { return compute(in[0].bits[i], in[1].bits[i], width); })};
    };
  for (auto [name, compute] : shifts)
    table[name] = [compute = compute](Program &program, Operation *op, const Inputs &in) {
      unsigned width = elementWidth(in[0].type);
      return Results{buildTile(in[0].type, [&](int64_t i) {
        return in[1].bits[i] < width ? compute(in[0].bits[i], in[1].bits[i], width) : program.undefinedBits(in[0].type);
      })};
    };
  for (auto [name, compute] : unaryIntegers)
    table[name] = [compute = compute](Program &, Operation *op, const Inputs &in) {
      unsigned width = elementWidth(in[0].type);
      return Results{buildTile(in[0].type, [&](int64_t i) { return compute(in[0].bits[i], width); })};
    };
  table["arith.cmpi"] = evaluateCompare;
  table["arith.select"] = evaluateSelect;
}
