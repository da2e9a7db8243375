// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Recognises the arithmetic by which Triton and hand-written loops count around a ring.
#include "compiler/analysis/RingNumbers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::analysis;

/// Of constants and of their sums, which so do not leave their type.
constexpr int64_t largest = int64_t(1) << 30;

static std::optional<int64_t> constantOf(Value value) {
  APInt constant;
  if (!matchPattern(value, m_ConstantInt(&constant)) || constant.getSignificantBits() > 64)
    return std::nullopt;
  int64_t number = constant.getSExtValue();
  return number >= -largest && number <= largest ? std::optional(number) : std::nullopt;
}

namespace {
/// base + offset.
struct Sum {
  Value base;
  int64_t offset = 0;
};
} // namespace

static Sum sumOf(Value value) {
  Sum sum{value, 0};
  constexpr int mostSteps = 8;
  for (int step = 0; step < mostSteps; ++step) {
    auto add = sum.base.getDefiningOp<arith::AddIOp>();
    if (!add)
      break;
    std::optional<int64_t> right = constantOf(add.getRhs()), left = constantOf(add.getLhs());
    if (!right && !left)
      break;
    int64_t offset = sum.offset + (right ? *right : *left);
    if (std::abs(offset) > largest)
      break;
    sum.offset = offset;
    sum.base = right ? add.getLhs() : add.getRhs();
  }
  return sum;
}

/// A value that is (sum) mod m, where the sum is less than 2 m or the operation is a remainder.
static std::optional<std::pair<Sum, int64_t>> turnOf(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::RemSIOp, arith::RemUIOp>(op)) {
    std::optional<int64_t> modulus = constantOf(op->getOperand(1));
    if (modulus && *modulus > 0)
      return std::pair(sumOf(op->getOperand(0)), *modulus);
    return std::nullopt;
  }
  if (auto mask = dyn_cast_or_null<arith::AndIOp>(op)) { // of a power of two
    std::optional<int64_t> ones = constantOf(mask.getRhs());
    if (ones && *ones >= 0 && llvm::isPowerOf2_64(uint64_t(*ones) + 1))
      return std::pair(sumOf(mask.getLhs()), *ones + 1);
    return std::nullopt;
  }
  // next == m ? 0 : next, with next = x + 1; also x + 1 >= m, and the branches the other way round.
  auto select = dyn_cast_or_null<arith::SelectOp>(op);
  auto compare = select ? select.getCondition().getDefiningOp<arith::CmpIOp>() : arith::CmpIOp();
  if (!compare)
    return std::nullopt;
  using Predicate = arith::CmpIPredicate;
  Predicate predicate = compare.getPredicate();
  bool wraps = predicate == Predicate::eq || predicate == Predicate::sge || predicate == Predicate::uge;
  bool stays = predicate == Predicate::ne || predicate == Predicate::slt || predicate == Predicate::ult;
  Value zero = wraps ? select.getTrueValue() : select.getFalseValue();
  Value next = wraps ? select.getFalseValue() : select.getTrueValue();
  std::optional<int64_t> modulus = constantOf(compare.getRhs());
  Sum sum = sumOf(next);
  bool isOfLast = compare.getLhs() == sum.base; // x == m - 1 ? 0 : x + 1
  if (modulus && isOfLast)
    ++*modulus;
  if (!(wraps || stays) || !modulus || *modulus < 1 || constantOf(zero) != 0 ||
      !(isOfLast || compare.getLhs() == next) || sum.offset != 1)
    return std::nullopt;
  return std::pair(sum, *modulus);
}

/// Whether it is the other one of 0 and 1 than `of`, if that is one of them.
static bool isOther(Value value, Value of) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::SubIOp>(op))
    return constantOf(op->getOperand(0)) == 1 && op->getOperand(1) == of;
  return isa_and_nonnull<arith::XOrIOp>(op) && constantOf(op->getOperand(1)) == 1 && op->getOperand(0) == of;
}

static int64_t within(int64_t number, int64_t modulus) {
  return (number % modulus + modulus) % modulus;
}

/// Of what a loop carries: it begins with a constant, at `least` this one, and each iteration adds 1, modulo m.
static std::optional<RingNumber> steppedNumber(BlockArgument argument, scf::ForOp loop, int64_t least) {
  if (argument.getArgNumber() == 0)
    return std::nullopt;
  unsigned number = argument.getArgNumber() - 1;
  std::optional<int64_t> init = constantOf(loop.getInitArgs()[number]);
  Value yielded = loop.getYieldedValues()[number];
  auto turn = turnOf(yielded);
  if (isOther(yielded, argument)) {
    turn = std::pair(Sum{argument, 1}, 2);
    least = 0; // the other one of 0 and 1 alone
  }
  if (!init || !turn || turn->first.base != argument || turn->first.offset != 1 || *init < least ||
      *init >= turn->second)
    return std::nullopt;
  return RingNumber{loop, within(*init, turn->second), turn->second};
}

/// The same; or it is such a number of the iteration before, and begins with what that would have been.
static std::optional<RingNumber> carriedNumber(BlockArgument argument, scf::ForOp loop, int64_t least = 0) {
  if (argument.getArgNumber() == 0)
    return std::nullopt;
  unsigned number = argument.getArgNumber() - 1;
  auto other = dyn_cast<BlockArgument>(loop.getYieldedValues()[number]);
  if (!other || other.getOwner() != loop.getBody())
    return steppedNumber(argument, loop, least);
  std::optional<RingNumber> later = steppedNumber(other, loop, /*least=*/0);
  if (!later || constantOf(loop.getInitArgs()[number]) != within(later->offset - 1, later->modulus))
    return std::nullopt;
  return RingNumber{loop, within(later->offset - 1, later->modulus), later->modulus};
}

/// Of the counter, or of what the loop carries from a constant on in steps of 1: its value in iteration i is i + this.
static std::optional<int64_t> countOf(BlockArgument argument, scf::ForOp loop) {
  if (argument.getArgNumber() == 0)
    return constantOf(loop.getStep()) == 1 ? constantOf(loop.getLowerBound()) : std::nullopt;
  auto bitsOf = [](Value value) { return value.getType().isIndex() ? 64u : value.getType().getIntOrFloatBitWidth(); };
  if (!argument.getType().isIntOrIndex() || bitsOf(argument) < bitsOf(loop.getInductionVar()))
    return std::nullopt; // it may come round before the loop ends
  unsigned number = argument.getArgNumber() - 1;
  Sum next = sumOf(loop.getYieldedValues()[number]);
  return next.base == argument && next.offset == 1 ? constantOf(loop.getInitArgs()[number]) : std::nullopt;
}

std::optional<RingNumber> analysis::ringNumberOf(Value value) {
  auto loopOf = [](Value from) -> scf::ForOp {
    auto argument = dyn_cast<BlockArgument>(from);
    return argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
  };
  if (scf::ForOp loop = loopOf(value))
    return carriedNumber(cast<BlockArgument>(value), loop);
  if (Operation *op = value.getDefiningOp(); isa_and_nonnull<arith::XOrIOp, arith::SubIOp>(op)) {
    Value of = op->getOperand(isa<arith::SubIOp>(op) ? 1 : 0);
    std::optional<RingNumber> number = isOther(value, of) ? ringNumberOf(of) : std::nullopt;
    if (!number || number->modulus != 2)
      return std::nullopt;
    return RingNumber{number->loop, within(number->offset + 1, 2), 2};
  }
  auto turn = turnOf(value);
  if (!turn || turn->first.offset < 0)
    return std::nullopt;
  auto [sum, modulus] = *turn;
  scf::ForOp loop = loopOf(sum.base);
  if (!loop)
    return std::nullopt;
  auto argument = cast<BlockArgument>(sum.base);
  // From -1 on only the next number is one of the ring's; it is 0, as after the last.
  if (std::optional<RingNumber> carried = carriedNumber(argument, loop, /*least=*/sum.offset > 0 ? -1 : 0)) {
    bool isOneTurn = carried->modulus == modulus;
    if (!isOneTurn)
      return std::nullopt;
    return RingNumber{loop, within(carried->offset + sum.offset, modulus), modulus};
  }
  std::optional<int64_t> first = countOf(argument, loop);
  bool isRemainder = isa<arith::RemSIOp, arith::RemUIOp, arith::AndIOp>(value.getDefiningOp());
  if (!first || *first < 0 || !isRemainder)
    return std::nullopt;
  return RingNumber{loop, within(*first + sum.offset, modulus), modulus};
}
