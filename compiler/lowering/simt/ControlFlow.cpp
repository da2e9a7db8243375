// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops, conditionals and branches between blocks. Tiles that cross blocks or iterations are carried as their
// registers. What a load brings in words, loops carry in words on targets that want it: LLVM would take them apart
// where they are loaded, which waits for them, and keep their elements one in a register. What matrix instructions take
// from registers is carried in their words: LLVM would carry what it is converted from.
#include "compiler/lowering/simt/RecordCode.h"
#include "compiler/lowering/simt/Vectors.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

namespace {
class ControlFlow : public RecordCode {
public:
  using RecordCode::RecordCode;
  void lower(scf::ForOp op);
  void lower(scf::IfOp op);
  void lower(scf::WhileOp op);
  void lower(scf::ConditionOp op) { scf::ConditionOp::create(b, scalar(op.getCondition()), all(op.getArgs())); }
  void lower(scf::YieldOp op);
  void lower(ReturnOp) { LLVM::ReturnOp::create(b, ValueRange{}); }
  void lower(cf::BranchOp op) { cf::BranchOp::create(b, op.getDest(), all(op.getDestOperands())); }
  void lower(cf::CondBranchOp op);

private:
  using Counts =
      SmallVector<size_t>; ///< for each value that a loop carries, of its registers in a word; 1: as they are
  Values inWords(ValueRange values, const Counts &counts);
  Values outOfWords(TypeRange types, const Counts &counts, ValueRange words);
  Value keptWhole(Value word);
};
} // namespace

/// Elements of the tile that lie in one word as a matrix instruction takes it from a thread's registers.
static size_t elementsInOperandWord(scf::ForOp loop, unsigned number) {
  BlockArgument carried = loop.getRegionIterArg(number);
  bool isOperand = llvm::any_of(carried.getUsers(), [&](Operation *user) {
    auto dot = dyn_cast<DotSharedOp>(user);
    return dot && dot.getA() == carried;
  });
  return isOperand ? 32 / cast<RankedTensorType>(carried.getType()).getElementTypeBitWidth() : 1;
}

/// 1 where a word of registers is not what a thread reads at once.
static size_t elementsInLoadedWord(Value yielded) {
  auto load = yielded.getDefiningOp<GlobalLoadOp>();
  auto bufferLoad = yielded.getDefiningOp<BufferLoadOp>();
  auto tile = dyn_cast<RankedTensorType>(yielded.getType());
  if (!(load || bufferLoad) || !tile || !tile.getElementType().isIntOrFloat())
    return 1;
  unsigned bits = tile.getElementTypeBitWidth();
  unsigned count = bits == 8 || bits == 16 ? 32 / bits : 1;
  uint64_t together = load ? load.getElements() : bufferLoad.getElements();
  return together % count || registersOf(tile) % count ? 1 : count;
}

ControlFlow::Values ControlFlow::inWords(ValueRange values, const Counts &counts) {
  Values words;
  for (auto [value, count] : llvm::zip(values, counts)) {
    ArrayRef<Value> registers = of(value);
    for (; !registers.empty(); registers = registers.drop_front(count)) {
      Value word = registers.front();
      if (count > 1)
        word = LLVM::BitcastOp::create(b, b.getI32Type(), joined(b, registers.take_front(count)));
      words.push_back(word);
    }
  }
  return words;
}

/// A fence for LLVM's optimiser, which takes no instruction: what is done with the bits stays after it.
Value ControlFlow::keptWhole(Value word) {
  if (!target.carriesWords()) // matrix instructions take words
    return word;
  Value bits = LLVM::BitcastOp::create(b, b.getF32Type(), word);
  auto fence = LLVM::CallIntrinsicOp::create(b, bits.getType(), b.getStringAttr("llvm.arithmetic.fence"), bits);
  return fence.getResults();
}

ControlFlow::Values ControlFlow::outOfWords(TypeRange types, const Counts &counts, ValueRange words) {
  Values registers;
  for (auto [type, count] : llvm::zip(types, counts)) {
    SmallVector<Type> each = threadTypes(type);
    for (Value word : words.take_front(each.size() / count))
      if (count == 1)
        registers.push_back(word);
      else
        llvm::append_range(registers, apart(b, LLVM::BitcastOp::create(b, VectorType::get(int64_t(count), each.front()),
                                                                       keptWhole(word))));
    words = words.drop_front(each.size() / count);
  }
  return registers;
}

// The loop has been replaced: its arguments tell what it carries in words.
void ControlFlow::lower(scf::YieldOp op) {
  auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
  Counts counts;
  size_t at = 0;
  for (Value value : op.getOperands()) {
    const Values &registers = of(value);
    bool isWords =
        loop && !registers.empty() && loop.getRegionIterArg(unsigned(at)).getType() != registers[0].getType();
    counts.push_back(isWords ? 32 / registers[0].getType().getIntOrFloatBitWidth() : 1);
    at += registers.size() / counts.back();
  }
  scf::YieldOp::create(b, inWords(op.getOperands(), counts));
}

void ControlFlow::lower(scf::ForOp op) {
  Counts counts;
  for (auto [i, value] : llvm::enumerate(op.getYieldedValues())) {
    size_t operand = elementsInOperandWord(op, unsigned(i));
    counts.push_back(operand == 1 && target.carriesWords() ? elementsInLoadedWord(value) : operand);
  }
  auto to = scf::ForOp::create(b, scalar(op.getLowerBound()), scalar(op.getUpperBound()), scalar(op.getStep()),
                               inWords(op.getInitArgs(), counts), [](OpBuilder &, Location, Value, ValueRange) {});
  to.setUnsignedCmp(op.getUnsignedCmp());
  Values arguments = {to.getInductionVar()};
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(to.getBody());
    llvm::append_range(arguments, outOfWords(op.getResultTypes(), counts, to.getRegionIterArgs()));
  }
  moveBody(*op.getBody(), *to.getBody(), arguments);
  bind(op.getResults(), outOfWords(op.getResultTypes(), counts, to.getResults()));
}

void ControlFlow::lower(scf::IfOp op) {
  bool hasElse = !op.getElseRegion().empty();
  auto to = scf::IfOp::create(b, threadTypes(op.getResultTypes()), scalar(op.getCondition()),
                              /*addThenBlock=*/true, /*addElseBlock=*/hasElse);
  moveBody(*op.thenBlock(), *to.thenBlock(), {});
  if (hasElse)
    moveBody(*op.elseBlock(), *to.elseBlock(), {});
  bind(op.getResults(), to.getResults());
}

void ControlFlow::lower(scf::WhileOp op) {
  auto to = scf::WhileOp::create(b, threadTypes(op.getResultTypes()), all(op.getInits()), nullptr, nullptr);
  auto move = [&](Block &from, Region &region, bool mayEnd) {
    OpBuilder::InsertionGuard guard(b);
    SmallVector<Type> types = threadTypes(from.getArgumentTypes());
    region.getBlocks().clear();
    Block *block = b.createBlock(&region, {}, types, SmallVector<Location>(types.size(), b.getLoc()));
    if (mayEnd)
      endProgramIf(someProgramFailed(), [] {});
    moveBody(from, *block, block->getArguments());
  };
  // It may wait for a program that is gone.
  bool mayEnd = facts.mayFail && !divergent && !facts.divergent.contains(&op.getAfterBody()->front());
  move(*op.getBeforeBody(), to.getBefore(), false);
  move(*op.getAfterBody(), to.getAfter(), mayEnd);
  bind(op.getResults(), to.getResults());
}

void ControlFlow::lower(cf::CondBranchOp op) {
  cf::CondBranchOp::create(b, scalar(op.getCondition()), op.getTrueDest(), all(op.getTrueDestOperands()),
                           op.getFalseDest(), all(op.getFalseDestOperands()));
}

void simt::addControlFlow(RewritePatternSet &patterns, ThreadState &state) {
  addFamily<ControlFlow, scf::ForOp, scf::IfOp, scf::WhileOp, scf::ConditionOp, scf::YieldOp, ReturnOp, cf::BranchOp,
            cf::CondBranchOp>(patterns, state);
}
