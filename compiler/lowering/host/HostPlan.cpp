// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Costs and depths of expressions decide; a value that is read twice and costs much is kept.
#include "compiler/lowering/host/HostPlan.h"
#include "compiler/lowering/host/AddressPattern.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle::host;
using namespace heddle::triton;

// A deeper expression is cut: evaluating one is recursive.
static constexpr int maxExpressionDepth = 500;

// What is read several times and costs as many vector instructions as this is kept in memory.
static constexpr int worthKeeping = 12;

static bool isTile(Value value) {
  return isa<RankedTensorType>(value.getType());
}
static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

int heddle::host::operationCost(Operation *op) {
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::RemFOp>(op))
    return 24;
  if (isa<arith::DivFOp, ApproxDivFOp, PreciseDivFOp, PreciseSqrtOp, math::SqrtOp>(op))
    return 8;
  if (isa<FpToFpOp>(op))
    return 14;
  if (isa<math::AbsFOp, math::AbsIOp, math::FloorOp, math::CeilOp, math::FmaOp>(op))
    return 1;
  if (op->getDialect() && isa<math::MathDialect>(op->getDialect()))
    return 20;
  return isa<GatherOp>(op) ? 8 : 1;
}

Value heddle::host::baseOfPointer(Value pointer) {
  while (Operation *op = pointer.getDefiningOp()) {
    if (!isa<AddPtrOp, SplatOp, BroadcastOp, ExpandDimsOp, ReshapeOp, TransOp, BitcastOp>(op))
      return {};
    pointer = op->getOperand(0);
  }
  auto argument = cast<BlockArgument>(pointer);
  if (isa<FuncOp>(argument.getOwner()->getParentOp()) && argument.getOwner()->isEntryBlock())
    return pointer;
  return {};
}

// Operations whose tile results always live in memory.
static bool alwaysMaterialised(Operation *op) {
  return isa<ReduceOp, ScanOp, DotOp, HistogramOp, MapElementwiseOp, AtomicRMWOp, AtomicCASOp, AtomicLoadOp,
             AtomicPollOp, ExternElementwiseOp>(op) ||
         op->getNumRegions() != 0;
}

static bool mayWrite(Operation *op) {
  if (isMemoryEffectFree(op))
    return false;
  if (auto load = dyn_cast<LoadOp>(op))
    return load.isVolatileAccess();
  if (auto effects = dyn_cast<MemoryEffectOpInterface>(op)) {
    SmallVector<MemoryEffects::EffectInstance> list;
    effects.getEffects(list);
    if (llvm::none_of(list, [](auto &effect) { return isa<MemoryEffects::Write>(effect.getEffect()); }))
      return false;
    return true;
  }
  if (op->hasTrait<mlir::OpTrait::HasRecursiveMemoryEffects>()) {
    bool writes = false;
    for (Region &region : op->getRegions())
      for (Operation &nested : region.getOps()) // each level asks the next one, once
        writes = writes || mayWrite(&nested);
    return writes;
  }
  return true;
}

// Costs need decisions (a value in memory costs one load) and decisions need costs. So: first costs as if everything
// were computed where it is read, and the decisions that follow; then, from definitions to users, what has become
// inexpensive because its operands are in memory is given back; then the readers of every value once more.
HostPlan::HostPlan(FuncOp function) {
  computeCosts(function);
  decideAll(function);
  releaseInexpensive(function);
  uses.clear();
  materialised = chosen;
  settled = true;
  decideAll(function);
  // Block arguments are read like other values; their roots are needed to reuse their buffers.
  function.walk([&](Block *block) {
    for (BlockArgument argument : block->getArguments())
      if (isTile(argument))
        addRoots(argument);
  });
}

// Users are visited before definitions: blocks and operations backwards, nested regions before their operation.
void HostPlan::decideAll(FuncOp function) {
  function.walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
    for (Value result : op->getResults())
      if (isTile(result))
        addRoots(result);
    decide(op);
  });
}

// An operation whose operands are not part of its own expression.
static bool isLeaf(Operation *op) {
  return alwaysMaterialised(op) || isa<LoadOp, SplatOp, MakeRangeOp>(op);
}

void HostPlan::computeCosts(FuncOp function) {
  DenseMap<Value, int> depths;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    int total = operationCost(op), depth = 1;
    for (Value operand : op->getOperands())
      if (isTile(operand) && !isLeaf(op)) {
        total += cost.lookup_or(operand, 1);
        depth = std::max(depth, 1 + depths.lookup(operand));
      }
    bool cut = depth > maxExpressionDepth;
    for (Value result : op->getResults()) {
      cost[result] = cut ? 1 : std::min(total, 1000);
      depths[result] = cut ? 0 : depth;
      if (cut && isTile(result))
        cuts.insert(result);
    }
  });
}

void HostPlan::releaseInexpensive(FuncOp function) {
  DenseMap<Value, int> now;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    int total = operationCost(op);
    for (Value operand : op->getOperands())
      if (isTile(operand) && !isLeaf(op))
        total += now.lookup_or(operand, 1);
    for (Value result : op->getResults()) {
      if (total < worthKeeping && chosen.erase(result))
        materialised.erase(result);
      now[result] = isMaterialised(result) ? 1 : std::min(total, 1000);
    }
  });
}

bool HostPlan::isReadInPlace(Value value) const {
  auto found = uses.find(value);
  return found == uses.end() || (!found->second.expanded && !found->second.transposed);
}

ArrayRef<HostPlan::Root> HostPlan::rootsOf(Value value) const {
  auto found = uses.find(value);
  return found == uses.end() ? ArrayRef<Root>() : ArrayRef<Root>(found->second.roots);
}

// Collects who reads `value`, through users that stay lazy.
void HostPlan::addRoots(Value value) {
  Uses &mine = uses[value];
  auto add = [&](Root root) {
    if (!llvm::is_contained(mine.roots, root))
      mine.roots.push_back(root);
  };
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (auto gather = dyn_cast<GatherOp>(user); gather && gather.getSrc() == value)
      materialised.insert(value);
    bool lazy =
        user->getNumResults() != 0 && !alwaysMaterialised(user) &&
        llvm::all_of(user->getResults(), [&](Value result) { return isTile(result) && !isMaterialised(result); });
    if (!lazy) {
      bool each = isa<DotOp>(user) || user->hasTrait<mlir::OpTrait::IsTerminator>();
      add({user, each ? use.getOperandNumber() : 0});
      continue;
    }
    for (Value result : user->getResults()) {
      Uses theirs = uses.lookup(result);
      for (Root root : theirs.roots)
        add(root);
      Uses &again = uses[value]; // the lookup may have moved it
      again.expanded |= theirs.expanded;
      again.transposed |= theirs.transposed;
      if (isa<BroadcastOp>(user) && shapeOf(result) != shapeOf(value))
        again.expanded = true;
      if (isa<TransOp, ReshapeOp, JoinOp, SplitOp, CatOp, GatherOp>(user))
        again.transposed = true;
    }
  }
}

// Whether `op` sits in a loop that does not contain `value`'s definition.
static bool isInDeeperLoop(Value value, Operation *op) {
  Region *home = value.getParentRegion();
  for (Region *region = op->getParentRegion(); region && region != home; region = region->getParentRegion())
    if (isa<LoopLikeOpInterface>(region->getParentOp()))
      return true;
  return false;
}

void HostPlan::decide(Operation *op) {
  if (auto load = dyn_cast<LoadOp>(op); load && isTile(load.getResult()))
    return decideLoad(load);
  bool always = alwaysMaterialised(op);
  for (Value result : op->getResults()) {
    if (!isTile(result) || uses[result].roots.empty())
      continue;
    if (always || cuts.contains(result)) {
      materialised.insert(result);
      continue;
    }
    if (settled || matchPattern(result, m_Constant()) || cost.lookup(result) < worthKeeping)
      continue;
    const Uses &use = uses[result];
    bool atOnePlace = result.hasOneUse() && !isa<SplitOp>(*result.user_begin());
    bool elsewhere = use.transposed && !atOnePlace; // one element of the root reads several elements
    bool repeated = use.roots.size() > 1 || use.expanded || elsewhere;
    for (const Root &root : use.roots)
      repeated |= isInDeeperLoop(result, root.first);
    if (repeated) {
      materialised.insert(result);
      chosen.insert(result);
    }
  }
}

// Whether the elements of a tile of pointers may be equal although the addresses vary along each dimension.
static bool mayWrap(Value pointers) {
  llvm::SetVector<Operation *> slice;
  (void)getBackwardSlice(pointers, &slice);
  slice.insert(pointers.getDefiningOp());
  return llvm::any_of(slice, [](Operation *op) {
    bool isOfTile = op && op->getNumResults() && isTile(op->getResult(0));
    return !op ||
           (isOfTile && isa<arith::RemSIOp, arith::RemUIOp, arith::DivSIOp, arith::DivUIOp, arith::TruncIOp,
                            arith::AndIOp, arith::ShRSIOp, arith::ShRUIOp, arith::MinSIOp, arith::MinUIOp,
                            arith::MaxSIOp, arith::MaxUIOp, arith::SelectOp>(op)) ||
           llvm::any_of(op->getOperands(), [](Value operand) {
             return isTile(operand) && isa<BlockArgument>(operand); // a carried tile may be anything
           });
  });
}

// Whether no two elements of a tile of pointers can be equal, as far as one dimension tells.
bool HostPlan::hasDistinctElements(Value pointers) const {
  int large = -1;
  for (int dim = 0; dim < int(shapeOf(pointers).size()); ++dim)
    if (shapeOf(pointers)[dim] > 1) {
      if (large >= 0)
        return false;
      large = dim;
    }
  if (large < 0)
    return true;
  std::optional<int64_t> stride = strideAlong(pointers, large);
  return stride && *stride != 0 && !mayWrap(pointers);
}

// Whether the addresses vary along each dimension, and nothing brings two of them together.
bool HostPlan::coversEachOnce(Value pointers) const {
  for (int dim = 0; dim < int(shapeOf(pointers).size()); ++dim)
    if (shapeOf(pointers)[dim] > 1 && strideAlong(pointers, dim) == std::optional<int64_t>(0))
      return false;
  return !mayWrap(pointers);
}

// A load moves to its one reader when nothing between them may change what it reads.
void HostPlan::decideLoad(LoadOp load) {
  const Uses &use = uses[load.getResult()];
  if (use.roots.empty())
    return;
  bool fused = use.roots.size() == 1 && !use.expanded && !use.transposed && !load.isVolatileAccess();
  if (fused) {
    Operation *root = use.roots.front().first;
    fused = root->getBlock() == load->getBlock();
    for (Operation *between = load->getNextNode(); fused && between != root; between = between->getNextNode())
      fused = !mayWrite(between);
    if (fused && mayWrite(root) && root->getNumRegions() == 0) {
      // In one pass over the tile an element is stored before the next one is loaded. That is only right when the
      // store cannot hit an element still to be loaded: the same addresses, or alike ones in buffers of different
      // arguments, which may be one buffer where a kernel works in place.
      Value target = isa<StoreOp, AtomicRMWOp, AtomicCASOp, AtomicStoreOp>(root) ? root->getOperand(0) : Value();
      Value loadBase = baseOfPointer(load.getPtr()), rootBase = target ? baseOfPointer(target) : Value();
      bool sameElements = target == load.getPtr() && hasDistinctElements(target);
      bool otherBuffer =
          loadBase && rootBase && loadBase != rootBase && coversEachOnce(target) && lieAlike(load.getPtr(), target);
      fused = target && (sameElements || otherBuffer);
    }
  }
  if (!fused)
    materialised.insert(load.getResult());
}

std::optional<int64_t> HostPlan::strideAlong(Value value, int dim) const {
  auto known = strides.find({value, dim});
  if (known != strides.end())
    return known->second;
  std::optional<int64_t> stride = computeStride(value, dim);
  strides[{value, dim}] = stride;
  return stride;
}

std::optional<int64_t> HostPlan::computeStride(Value value, int dim) const {
  if (!isTile(value) || shapeOf(value)[dim] == 1)
    return 0;
  DenseElementsAttr constant;
  if (matchPattern(value, m_Constant(&constant)))
    return constant.isSplat() ? std::optional<int64_t>(0) : std::nullopt;
  Operation *op = value.getDefiningOp();
  if (!op) {
    if (auto loop = dyn_cast<scf::ForOp>(cast<BlockArgument>(value).getOwner()->getParentOp()))
      if (OpOperand *init = loop.getTiedLoopInit(cast<BlockArgument>(value)))
        return strideAlong(init->get(), dim);
    return std::nullopt;
  }
  auto combine = [&](auto apply) -> std::optional<int64_t> {
    auto lhs = strideAlong(op->getOperand(0), dim), rhs = strideAlong(op->getOperand(1), dim);
    return lhs && rhs ? std::optional<int64_t>(apply(*lhs, *rhs)) : std::nullopt;
  };
  return TypeSwitch<Operation *, std::optional<int64_t>>(op)
      .Case<MakeRangeOp>([](auto) { return 1; })
      .Case<SplatOp>([](auto) { return 0; })
      .Case<ExpandDimsOp>([&](ExpandDimsOp expand) {
        int axis = expand.getAxis();
        return dim == axis ? std::optional<int64_t>(0) : strideAlong(expand.getSrc(), dim < axis ? dim : dim - 1);
      })
      .Case<BroadcastOp>([&](BroadcastOp broadcast) { return strideAlong(broadcast.getSrc(), dim); })
      .Case<TransOp>([&](TransOp trans) { return strideAlong(trans.getSrc(), trans.getOrder()[dim]); })
      .Case<arith::AddIOp, AddPtrOp>([&](auto) { return combine([](int64_t a, int64_t b) { return a + b; }); })
      .Case<arith::SubIOp>([&](auto) { return combine([](int64_t a, int64_t b) { return a - b; }); })
      .Case<arith::MulIOp>([&](arith::MulIOp product) -> std::optional<int64_t> {
        auto lhs = strideAlong(product.getLhs(), dim), rhs = strideAlong(product.getRhs(), dim);
        if (lhs && rhs && *lhs == 0 && *rhs == 0)
          return 0;
        DenseElementsAttr factor;
        if (lhs && matchPattern(product.getRhs(), m_Constant(&factor)) && factor.isSplat())
          return *lhs * factor.getSplatValue<APInt>().getSExtValue();
        return std::nullopt;
      })
      .Case<arith::RemSIOp, arith::RemUIOp>([&](auto) { return strideAlong(op->getOperand(0), dim); })
      .Case<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, BitcastOp, IntToPtrOp, PtrToIntOp>(
          [&](auto) { return strideAlong(op->getOperand(0), dim); })
      .Default([](Operation *) { return std::nullopt; });
}

// `dims[d]` is the root's dimension that dimension d of `value` walks, or -1.
void HostPlan::vote(Value value, SmallVector<int> dims, Ballot &ballot) const {
  if (!isTile(value) || !ballot.counted.insert(value).second)
    return;
  Operation *op = value.getDefiningOp();
  if (!op || isMaterialised(value)) {
    for (int dim = int(dims.size()) - 1; dim >= 0; --dim)
      if (shapeOf(value)[dim] > 1) {
        if (dims[dim] >= 0)
          ballot.votes[dims[dim]] += 1;
        break;
      }
    return;
  }
  auto addressVote = [&](Value pointers) {
    for (int dim = 0; dim < int(dims.size()); ++dim)
      if (dims[dim] >= 0 && shapeOf(value)[dim] > 1)
        if (auto stride = strideAlong(pointers, dim); stride && (*stride == 1 || *stride == -1))
          ballot.votes[dims[dim]] += 4;
  };
  if (auto load = dyn_cast<LoadOp>(op))
    return addressVote(load.getPtr());
  if (auto expand = dyn_cast<ExpandDimsOp>(op)) {
    dims.erase(dims.begin() + expand.getAxis());
    return vote(expand.getSrc(), dims, ballot);
  }
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    for (int dim = 0; dim < int(dims.size()); ++dim)
      if (shapeOf(broadcast.getSrc())[dim] == 1)
        dims[dim] = -1;
    return vote(broadcast.getSrc(), dims, ballot);
  }
  if (auto trans = dyn_cast<TransOp>(op)) {
    SmallVector<int> source(dims.size());
    for (int dim = 0; dim < int(dims.size()); ++dim)
      source[trans.getOrder()[dim]] = dims[dim];
    return vote(trans.getSrc(), source, ballot);
  }
  for (Value operand : op->getOperands())
    if (isTile(operand) && shapeOf(operand) == shapeOf(value))
      vote(operand, dims, ballot);
}

int HostPlan::preferredDim(Value value, Value pointers) const {
  ArrayRef<int64_t> shape = shapeOf(value);
  int rank = shape.size(), best = -1;
  SmallVector<int> identity(rank);
  Ballot ballot{SmallVector<int>(rank, 0), {}};
  SmallVector<int> &votes = ballot.votes;
  for (int dim = 0; dim < rank; ++dim)
    identity[dim] = dim;
  vote(value, identity, ballot);
  if (pointers)
    for (int dim = 0; dim < rank; ++dim)
      if (auto stride = strideAlong(pointers, dim); stride && *stride == 1 && shape[dim] > 1)
        votes[dim] += 6;
  for (int dim = rank - 1; dim >= 0; --dim)
    if (shape[dim] > 1 && (best < 0 || votes[dim] > votes[best]))
      best = dim;
  return std::max(best, 0);
}
