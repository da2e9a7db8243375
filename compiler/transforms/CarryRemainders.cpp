// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// heddle-carry-remainders: the number of a ring's slot, (k + c) mod m, is counted from iteration to iteration. LLVM
// takes such a remainder apart into k and its quotient, and then adds the two to each address on its own.
#include "compiler/transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

namespace heddle {
#define GEN_PASS_DEF_CARRYREMAINDERSPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;

namespace {

/// Constants up to which sums of a counter stay in 32 unsigned bits.
constexpr int64_t most = int64_t(1) << 20;

std::optional<int64_t> smallConstant(Value value) {
  APInt constant;
  if (!matchPattern(value, m_ConstantInt(&constant)) || constant.getSignificantBits() > 32)
    return std::nullopt;
  int64_t number = constant.getSExtValue();
  return number >= 0 && number <= most ? std::optional(number) : std::nullopt;
}

/// (k + offset) mod modulus, of a loop's counter k.
struct Remainder {
  Operation *op;
  int64_t offset, modulus;
};

/// Whether nothing but slots of rings have this number, which is at least 0 there.
bool isSlot(Operation *op) {
  return llvm::all_of(op->getUsers(), [](Operation *user) {
    return llvm::is_contained(
        {"simt.index", "simt.load_shared", "simt.store_shared", "simt.async_copy", "simt.async_buffer_copy"},
        user->getName().getStringRef());
  });
}

std::optional<Remainder> remainderOf(Operation *op, Value counter) {
  if (!isa<arith::RemSIOp, arith::RemUIOp>(op))
    return std::nullopt;
  std::optional<int64_t> modulus = smallConstant(op->getOperand(1));
  int64_t offset = 0;
  Value of = op->getOperand(0);
  if (auto add = of.getDefiningOp<arith::AddIOp>(); add && of != counter) {
    std::optional<int64_t> right = smallConstant(add.getRhs());
    if (!right)
      return std::nullopt;
    offset = *right;
    of = add.getLhs();
  }
  // Those by a power of two are a mask.
  if (of != counter || !modulus || *modulus < 2 || llvm::isPowerOf2_64(uint64_t(*modulus)))
    return std::nullopt;
  // The sum of a large counter may be a negative number.
  if (isa<arith::RemSIOp>(op) && offset && !isSlot(op))
    return std::nullopt;
  return Remainder{op, offset, *modulus};
}

/// Counters that begin and grow by small constants, so that no remainder is of a negative number.
void carryRemainders(scf::ForOp loop) {
  std::optional<int64_t> first = smallConstant(loop.getLowerBound()), step = smallConstant(loop.getStep());
  Value counter = loop.getInductionVar();
  if (!first || !step || loop.getUnsignedCmp() || !counter.getType().isInteger(32))
    return;
  SmallVector<Remainder> found;
  loop.getBody()->walk([&](Operation *op) {
    if (std::optional<Remainder> remainder = remainderOf(op, counter))
      found.push_back(*remainder);
  });
  if (found.empty())
    return;
  IRRewriter rewriter(loop.getContext());
  rewriter.setInsertionPoint(loop);
  SmallVector<Value> starts;
  auto constant = [&](int64_t number) {
    return arith::ConstantIntOp::create(rewriter, loop.getLoc(), counter.getType(), number);
  };
  for (const Remainder &each : found)
    starts.push_back(constant((*first + each.offset) % each.modulus));
  auto count = [&](OpBuilder &, Location loc, ArrayRef<BlockArgument> now) {
    SmallVector<Value> next;
    for (auto [remainder, value] : llvm::zip(found, now)) {
      Value sum = arith::AddIOp::create(rewriter, loc, value, constant(*step % remainder.modulus));
      Value modulus = constant(remainder.modulus);
      Value wraps = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::uge, sum, modulus);
      Value wrapped = arith::SubIOp::create(rewriter, loc, sum, modulus);
      next.push_back(arith::SelectOp::create(rewriter, loc, wraps, wrapped, sum));
    }
    return next;
  };
  auto carried = cast<scf::ForOp>(
      *loop.replaceWithAdditionalYields(rewriter, starts, /*replaceInitOperandUsesInLoop=*/false, count));
  auto numbers = carried.getRegionIterArgs().take_back(found.size());
  for (auto [remainder, number] : llvm::zip(found, numbers))
    rewriter.replaceOp(remainder.op, number);
}

struct CarryRemainders : heddle::impl::CarryRemaindersPassBase<CarryRemainders> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      carryRemainders(loop);
  }
};

} // namespace
