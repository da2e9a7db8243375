// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which layout an access, a matmul or another source of values wants: what LayoutAssigner starts from.
#include "compiler/layout/Fit.h"
#include "compiler/lowering/tile_to_simt/LayoutAssigner.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;
using layout::LinearLayout;

static int64_t countOf(const layout::Shape &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

LinearLayout LayoutAssigner::defaultLayout(const layout::Shape &shape, int64_t perThread) {
  layout::Shape size(shape.size(), 1);
  if (!shape.empty())
    size.back() = std::min(perThread, shape.back());
  return layout::defaultBlocked(shape, size, layout::rowMajor(shape.size()), target.lanesPerWarp(), warps);
}

LinearLayout LayoutAssigner::spreadLayout(int64_t elements, int64_t perThread, int64_t span) {
  using layout::Dim;
  span = std::clamp<int64_t>(elements / threads(), perThread, span);
  auto run = [](int64_t size, Dim in) { return LinearLayout::identity1D(size, in, Dim::Dim0); };
  LinearLayout tile =
      run(perThread, Dim::Register) * run(target.lanesPerWarp(), Dim::Lane) * run(span / perThread, Dim::Register);
  return layout::fitTile(layout::withWarps(tile, run(warps, Dim::Warp)), {elements});
}

// The axis K of a product of the loaded tile, and how many neighbours on it a thread reads at once.
std::optional<std::pair<int, int64_t>> LayoutAssigner::runOfProduct(LoadOp load) {
  llvm::SetVector<Value> seen;
  seen.insert(load.getResult());
  for (size_t i = 0; i < seen.size(); ++i)
    for (OpOperand &use : seen[i].getUses()) {
      if (auto dot = dyn_cast<DotOp>(use.getOwner()); dot && use.getOperandNumber() < 2) {
        if (std::optional<MatrixInstruction> instruction = matrixInstruction(dot))
          return std::pair(int(tileOf(dot.getD()).getRank()) - 1 - int(use.getOperandNumber()), instruction->kWidth);
      } else if (auto dot = dyn_cast<DotScaledOp>(use.getOwner()); dot && use.getOperandNumber() < 2) {
        return std::pair(int(tileOf(dot.getD()).getRank()) - 1 - int(use.getOperandNumber()), scaledRunBytes);
      } else if (isElementwise(use.getOwner())) {
        seen.insert(use.getOwner()->getResult(0));
      }
    }
  return std::nullopt;
}

// Which rows a thread loads is all the same to memory: let them be those that it can write to shared memory at once.
// What comes in words of neighbours would have to be taken apart for that.
void LayoutAssigner::takeRunAlongK(LoadOp load, analysis::AccessLayout &access) {
  auto run = runOfProduct(load);
  if (!run || run->first == access.order[0])
    return;
  auto fastest = size_t(access.order[0]);
  int64_t neighbours = facts.of(load.getPtr()).axes[fastest].contiguity;
  if (load.getMask())
    neighbours = std::min(neighbours, facts.of(load.getMask()).axes[fastest].constancy);
  if (neighbours < access.sizePerThread[fastest])
    access.sizePerThread[fastest] = 1; // asked for by other accesses, and of no use here
  int64_t share = countOf(shapeOf(load.getResult())) / threads() / access.sizePerThread[fastest];
  access.sizePerThread[size_t(run->first)] = std::clamp<int64_t>(share, 1, run->second);
}

// Of a loaded tile whose elements, or narrower ones made of them, are stored in another order of axes, and nowhere in
// the tile's own: the axis along which the store is contiguous, and how many of the stored elements are a word of
// shared memory.
std::optional<std::pair<int, int64_t>> LayoutAssigner::runOfStore(LoadOp load, int fastest) {
  using Axes = SmallVector<int>; // of the load, by the value's
  SmallVector<std::pair<Value, Axes>> values = {
      {load.getResult(), llvm::to_vector(llvm::seq<int>(int(tileOf(load.getResult()).getRank())))}};
  std::optional<std::pair<int, int64_t>> run;
  SetVector<Value> seen;
  for (size_t i = 0; i < values.size(); ++i) {
    auto [value, axes] = values[i];
    if (!seen.insert(value))
      continue;
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (auto store = dyn_cast<StoreOp>(user); store && use.getOperandNumber() == 1) {
        analysis::AccessLayout access = accesses.chooseAccess(store, threads());
        Type element = elementTypeOf(value.getType()); // a pointer is wide
        unsigned bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 64;
        if (!access.order.empty() && axes[size_t(access.order[0])] == fastest)
          return std::nullopt;
        if (!access.order.empty() && bits < 32)
          run = {axes[size_t(access.order[0])], int64_t(32 / bits)};
      } else if (auto trans = dyn_cast<TransOp>(user)) {
        Axes moved;
        for (int axis : trans.getOrder())
          moved.push_back(axes[size_t(axis)]);
        values.emplace_back(trans.getResult(), moved);
      } else if (isElementwise(user)) {
        values.emplace_back(user->getResult(0), axes);
      }
    }
  }
  return run;
}

// The rows of a thread are neighbours: what it makes of them goes to shared memory in words, where it is exchanged.
void LayoutAssigner::takeRunOfStore(LoadOp load, analysis::AccessLayout &access) {
  auto run = runOfStore(load, access.order[0]);
  if (!run)
    return;
  int64_t share = countOf(shapeOf(load.getResult())) / threads() / access.sizePerThread[size_t(access.order[0])];
  int64_t &rows = access.sizePerThread[size_t(run->first)];
  rows = std::clamp<int64_t>(share, rows, std::max(rows, run->second));
}

// Asynchronous copies take no less than a word. A tile with fewer elements than threads, as of scales, is copied by
// some of the threads then, and not loaded where it is waited for.
void LayoutAssigner::takeWordOfCopy(LoadOp load, analysis::AccessLayout &access) {
  auto loop = dyn_cast<scf::ForOp>(load->getParentOp());
  int64_t bits = memoryBits(elementTypeOf(load.getType()));
  if (!loop || loop.getBody()->getOps<DotOp>().empty() || bits >= 32 || load.getIsVolatile())
    return;
  int64_t aligned = analysis::alignedElements(facts, load.getPtr(), load.getMask(), access.order);
  int64_t &neighbours = access.sizePerThread[size_t(access.order[0])];
  if (int64_t word = 32 / bits; aligned >= word && shapeOf(load.getResult())[size_t(access.order[0])] >= word)
    neighbours = std::max(neighbours, word);
}

LinearLayout LayoutAssigner::accessLayout(Operation *op, Value pointer) {
  analysis::AccessLayout access = accesses.chooseAccess(op, threads());
  layout::Shape shape = shapeOf(pointer);
  if (access.order.empty())
    return defaultLayout(shape);
  if (auto load = dyn_cast<LoadOp>(op))
    if (std::optional<LinearLayout> scales = layoutOfLoadedScales(load))
      return *scales;
  if (auto load = dyn_cast<LoadOp>(op)) {
    if (target.hasAsyncCopies())
      takeWordOfCopy(load, access);
    else
      takeRunAlongK(load, access);
  }
  if (auto load = dyn_cast<LoadOp>(op))
    takeRunOfStore(load, access);
  if (llvm::is_contained(reducedRows, std::pair(shape, access.order[0])))
    return layoutByRows(shape, access);
  return layout::defaultBlocked(shape, access.sizePerThread, access.order, target.lanesPerWarp(), warps);
}

/// Whether the elements along an axis of the tile, or of what is computed of it element by element, are reduced.
bool LayoutAssigner::isReducedAlong(Value tile, int axis) {
  SetVector<Value> seen;
  seen.insert(tile);
  for (size_t i = 0; i < seen.size(); ++i)
    for (Operation *user : seen[i].getUsers()) {
      if (auto reduce = dyn_cast<ReduceOp>(user); reduce && int(reduce.getAxis()) == axis)
        return true;
      if (isElementwise(user))
        seen.insert(user->result_begin(), user->result_end());
    }
  return false;
}

// All accesses of tiles of such a shape get one layout, so that nothing is exchanged between them.
void LayoutAssigner::findReducedRows() {
  function.walk([&](LoadOp load) {
    if (!tileOf(load.getResult()) || tileOf(load.getResult()).getRank() < 2)
      return;
    analysis::AccessLayout access = accesses.chooseAccess(load, threads());
    if (!access.order.empty() && isReducedAlong(load.getResult(), access.order[0]))
      reducedRows.emplace_back(shapeOf(load.getResult()), access.order[0]);
  });
}

// Lanes along rows, and warps across them as far as there are rows: a row is reduced within a warp.
LinearLayout LayoutAssigner::layoutByRows(const layout::Shape &shape, const analysis::AccessLayout &access) {
  layout::ThreadSplit split =
      layout::splitThreads(shape, access.sizePerThread, access.order, target.lanesPerWarp(), /*warps=*/1);
  int64_t left = warps;
  for (int axis : llvm::drop_begin(access.order)) {
    auto number = size_t(axis);
    int64_t covered = access.sizePerThread[number] * split.lanes[number];
    split.warps[number] = std::clamp<int64_t>(shape[number] / covered, 1, left);
    left /= split.warps[number];
  }
  split.warps[size_t(access.order[0])] = left;
  return layout::blocked(shape, access.sizePerThread, split.lanes, split.warps, access.order);
}

// Whether `from` is computed, element by element, from a matrix product.
bool LayoutAssigner::isMadeOfProduct(Value from) {
  SetVector<Value> seen;
  seen.insert(from);
  for (size_t i = 0; i < seen.size(); ++i) {
    Operation *op = seen[i].getDefiningOp();
    if (isa_and_nonnull<DotOp, DotScaledOp>(op))
      return true;
    if (op && (isElementwise(op) || isa<BroadcastOp>(op)))
      seen.insert(op->operand_begin(), op->operand_end());
  }
  return false;
}

// Whether rows of the product are taken as a whole: their elements combined, or multiplied by another matrix.
bool LayoutAssigner::isUsedByRows(Value product) {
  int last = int(cast<RankedTensorType>(product.getType()).getRank()) - 1;
  SetVector<Value> seen;
  seen.insert(product);
  for (size_t i = 0; i < seen.size(); ++i)
    for (OpOperand &use : seen[i].getUses()) {
      Operation *user = use.getOwner();
      auto reduce = dyn_cast<ReduceOp>(user);
      if ((reduce && int(reduce.getAxis()) == last) || (isa<DotOp, DotScaledOp>(user) && use.getOperandNumber() == 0))
        return true;
      if (isElementwise(user))
        seen.insert(user->result_begin(), user->result_end());
    }
  return false;
}

// In chains as of attention each warp has rows of its own, if an instruction is small enough: else warps would exchange
// what they reduce of a row, and the left operand of the second matmul.
std::optional<MatrixInstruction> LayoutAssigner::matrixInstruction(DotOp dot) {
  std::optional<MatrixInstruction> usual = target.matrixInstruction(dot, INT64_MAX);
  layout::Shape shape = shapeOf(dot.getD());
  int64_t ofWarp = shape[shape.size() - 2] / warps;
  bool byRows = isMadeOfProduct(dot.getA()) || isUsedByRows(dot.getD());
  if (!usual || !byRows || usual->m <= ofWarp)
    return usual;
  std::optional<MatrixInstruction> smaller = target.matrixInstruction(dot, ofWarp);
  return smaller && smaller->m <= ofWarp ? smaller : usual;
}

// Warps go to matmuls of a batch first: those share no operand. Then they go along the longer side of the result, but
// not beyond what an instruction covers. In chains as of attention they go along rows: what is done with a row then
// stays within a warp, and a product becomes an operand in its registers.
layout::Shape LayoutAssigner::splitAmongWarps(Operation *dot, const MatrixInstruction &instruction) {
  layout::Shape shape = shapeOf(dot->getResult(0));
  size_t rank = shape.size();
  layout::Shape split(rank, 1);
  bool byRows = isMadeOfProduct(dot->getOperand(0)) || isUsedByRows(dot->getResult(0));
  for (int left = warps; left > 1; left /= 2) {
    int64_t rows = shape[rank - 2] / split[rank - 2], columns = shape[rank - 1] / split[rank - 1];
    bool rowsFit = rows >= 2 * instruction.m, columnsFit = columns >= 2 * instruction.n;
    size_t axis = rank == 3 && shape[0] > split[0]                        ? 0
                  : rowsFit && (byRows || rows >= columns || !columnsFit) ? rank - 2
                  : columnsFit                                            ? rank - 1
                                                                          : rank - 2;
    split[axis] *= 2;
  }
  return split;
}

layout::Shape LayoutAssigner::warpsOf(Operation *dot, const MatrixInstruction &instruction) {
  auto [known, isNew] = warpSplits.try_emplace(dot);
  if (isNew)
    known->second = splitAmongWarps(dot, instruction);
  return known->second;
}

/// Whether the matmul, and those that its rows go to or come from, leave each warp group at least 32 columns on
/// average: less is slower than matmuls by single warps, as the groups exchange what they reduce of a row.
bool LayoutAssigner::hasColumnsForGroups(DotOp op) {
  SetVector<Value> seen;
  seen.insert(op.getD());
  seen.insert(op.getA());
  SetVector<DotOp> chain;
  chain.insert(op);
  for (size_t i = 0; i < seen.size(); ++i) {
    Operation *from = seen[i].getDefiningOp();
    if (auto dot = dyn_cast_or_null<DotOp>(from))
      chain.insert(dot);
    else if (from && i > 0 && (isElementwise(from) || isa<BroadcastOp>(from)))
      seen.insert(from->operand_begin(), from->operand_end());
    for (OpOperand &use : seen[i].getUses())
      if (auto dot = dyn_cast<DotOp>(use.getOwner()); dot && use.getOperandNumber() == 0)
        chain.insert(dot);
      else if (isElementwise(use.getOwner()))
        seen.insert(use.getOwner()->getResult(0));
  }
  int64_t columns = 0;
  for (DotOp dot : chain) {
    std::optional<GroupInstruction> group = target.groupInstruction(dot, warps);
    if (!group)
      return false;
    columns += group->n;
  }
  return columns >= 32 * int64_t(chain.size());
}

// In chains as of attention a row stays within a warp, as for instructions of one warp (warpsOf), or two warp groups
// share the columns of 64 rows.
std::optional<GroupInstruction> LayoutAssigner::groupInstruction(DotOp op) {
  std::optional<GroupInstruction> group = warpGroups ? target.groupInstruction(op, warps) : std::nullopt;
  if (!group)
    return std::nullopt;
  bool byRows = isMadeOfProduct(op.getA()) || isUsedByRows(op.getD());
  bool isTf32 = elementTypeOf(op.getA().getType()).isF32();
  bool fits =
      isTf32 ? !byRows && readsAlongK(op, *group) : !byRows || group->groupsAlongN == 1 || hasColumnsForGroups(op);
  return fits ? group : std::nullopt;
}

LinearLayout LayoutAssigner::dotLayout(DotOp op) {
  layout::Shape shape = shapeOf(op.getD());
  size_t rank = shape.size();
  std::optional<GroupInstruction> group = groupInstruction(op);
  groups[op] = group;
  if (group)
    return layout::wgmmaAccumulator(shape, {4 * group->groupsAlongM, group->groupsAlongN}, group->n);
  std::optional<MatrixInstruction> instruction = matrixInstruction(op);
  if (!instruction) {
    layout::Shape size(rank, 1);
    for (size_t axis = rank - 2; axis < rank; ++axis)
      size[axis] = std::min<int64_t>(4, shape[axis]);
    while (countOf(size) > 1 && countOf(shape) / countOf(size) < threads()) {
      auto largest = std::max_element(size.begin(), size.end());
      *largest /= 2;
    }
    return layout::defaultBlocked(shape, size, layout::rowMajor(rank), target.lanesPerWarp(), warps);
  }
  resultLayouts.push_back(target.accumulatorLayout(*instruction, shape, warpsOf(op, *instruction)));
  return resultLayouts.back();
}

LinearLayout LayoutAssigner::storeLayout(StoreOp op) {
  const LinearLayout *layout = own(op.getValue());
  bool inPlace = target.storesResultsInPlace() && layout && llvm::is_contained(resultLayouts, *layout);
  return inPlace ? *layout : accessLayout(op, op.getPtr());
}

LinearLayout LayoutAssigner::reduceLayout(ReduceOp op) {
  auto [known, isNew] = operandLayouts.try_emplace(op);
  if (!isNew)
    return known->second;
  known->second = defaultLayout(shapeOf(op.getSrcs()[0]));
  for (Value source : op.getSrcs())
    if (const LinearLayout *layout = own(source); layout && layout::movesOneAxis(*layout)) {
      known->second = *layout;
      break;
    }
  return known->second;
}

// One that the scan can walk through in order: what the operand has, or runs along the axis in each thread.
LinearLayout LayoutAssigner::scanLayout(ScanOp op) {
  auto axis = int(op.getAxis());
  Value source = op.getSrcs()[0];
  if (const LinearLayout *layout = own(source); layout && layout::isScanOrdered(*layout, axis))
    return *layout;
  return layout::blockedAlong(shapeOf(source), axis, target.lanesPerWarp(), warps);
}

LinearLayout LayoutAssigner::packLayout(MapElementwiseOp op) {
  return layout::blockedByPacks(shapeOf(op.getResult()[0]), op.getPack(), target.lanesPerWarp(), warps);
}

LinearLayout LayoutAssigner::piecesLayout(Operation *op) {
  auto [known, isNew] = operandLayouts.try_emplace(op);
  if (!isNew)
    return known->second;
  layout::Shape shape = shapeOf(op->getOperand(0));
  const LinearLayout *layout = own(op->getOperand(0));
  if (isa<SplitOp>(op)) {
    bool fits = layout && layout::staysInRegisters(*layout, int(shape.size()) - 1);
    return known->second = fits ? *layout : defaultLayout(shape, /*perThread=*/2);
  }
  if (!layout)
    layout = own(op->getOperand(1));
  return known->second = layout ? *layout : defaultLayout(shape);
}

std::optional<LinearLayout> LayoutAssigner::throughShape(Operation *op, const LinearLayout &source) {
  if (auto trans = dyn_cast<TransOp>(op))
    return layout::permuteAxes(source, {trans.getOrder().begin(), trans.getOrder().end()});
  if (auto shaped = dyn_cast<ReshapeOp>(op))
    return layout::reshape(source, shapeOf(shaped.getResult()));
  if (isa<JoinOp>(op))
    return layout::joinTiles(source);
  if (isa<CatOp>(op))
    return layout::concatenateTiles(source);
  return std::nullopt;
}
