// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Describes an access as an object, a tile of its ring and a box in it, and tells whether two overlap.
#include "compiler/lowering/simt/SharedAccesses.h"
#include "compiler/analysis/Uniformity.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

using Box = decltype(SharedPart::box);

static std::pair<int64_t, int64_t> bytesOf(AllocOp object) {
  int64_t start = int64_t(object.getStart().value_or(0));
  return {start, start + object.getRing().getType().getBytes()};
}

/// Whether two boxes of a tile have no element in common. Those of tiles of a ring are at the same place in each of
/// them.
static bool areApart(const Box &one, const Box &other) {
  if (one.size() != other.size())
    return false;
  for (auto [x, y] : llvm::zip(one, other))
    if (x.second <= y.first || y.second <= x.first)
      return true;
  return false;
}

bool SharedPart::mayOverlap(const SharedPart &other) const {
  if (!object || !other.object)
    return true;
  if (object != other.object) {
    auto [start, end] = bytesOf(object);
    auto [otherStart, otherEnd] = bytesOf(other.object);
    return start < otherEnd && otherStart < end;
  }
  if (areApart(box, other.box))
    return false;
  if (kind == Tile && other.kind == Tile)
    return number == other.number;
  if (kind == Turn && other.kind == Turn && loop == other.loop && modulus == other.modulus)
    return number == other.number;
  return true;
}

bool SharedPart::isSame(const SharedPart &other) const {
  return object && kind != Whole && !isWithinBox && key() == other.key();
}

/// The tile of the ring `object` that a number of it tells.
static SharedPart tileOf(AllocOp object, Value number) {
  SharedPart part{object};
  int64_t stages = object.getRing().getType().getStages();
  APInt constant;
  if (stages == 1) {
    part.kind = SharedPart::Tile;
  } else if (matchPattern(number, m_ConstantInt(&constant))) {
    part.kind = SharedPart::Tile;
    part.number = constant.getSExtValue();
  } else if (auto turn = analysis::ringNumberOf(number); turn && turn->modulus <= stages) {
    part.kind = SharedPart::Turn;
    part.loop = turn->loop;
    part.number = turn->offset;
    part.modulus = turn->modulus;
  }
  return part;
}

/// What `inner` (of the part; empty: all) is of the tile that `slice` takes a part of.
static Box boxWithin(SubsliceOp slice, const Box &inner) {
  Box box;
  for (auto [axis, start] : llvm::enumerate(slice.getOffsets())) {
    std::pair<int64_t, int64_t> side =
        inner.empty() ? std::pair<int64_t, int64_t>(0, slice.getPart().getType().getShape()[axis]) : inner[axis];
    box.emplace_back(start + side.first, start + side.second);
  }
  return box;
}

SharedPart simt::partOf(Value memory, Value stage) {
  Value number = cast<SharedType>(memory.getType()).getStages() == 1 ? Value() : stage; // there is but one
  bool isOfRing = true; // numbers are those of the object's tiles
  Box box;
  bool isWithinBox = false;
  while (Operation *op = memory.getDefiningOp()) {
    if (auto object = dyn_cast<AllocOp>(op)) {
      bool isTile = isOfRing && (number || object.getRing().getType().getStages() == 1);
      SharedPart part = isTile ? tileOf(object, number) : SharedPart{object};
      part.box = std::move(box);
      part.isWithinBox = isWithinBox;
      return part;
    }
    if (auto index = dyn_cast<IndexOp>(op)) {
      isOfRing &= !number;
      number = index.getStage();
    } else if (auto view = dyn_cast<ViewOp>(op)) {
      SharedType from = view.getSource().getType(), to = view.getResult().getType();
      isOfRing &= !number || (from.getTileBytes() == to.getTileBytes() && from.getStages() == to.getStages());
      isWithinBox |= !box.empty();
      box.clear(); // its coordinates are those of the view
    } else if (auto slice = dyn_cast<SubsliceOp>(op)) {
      box = boxWithin(slice, box);
    } else {
      break;
    }
    memory = op->getOperand(0);
  }
  return {};
}

SmallVector<SharedAccess, 2> simt::accessesOf(Operation *op) {
  using Accesses = SmallVector<SharedAccess, 2>;
  return llvm::TypeSwitch<Operation *, Accesses>(op)
      .Case([&](StoreSharedOp store) -> Accesses {
        return {{.part = partOf(store.getRing(), store.getStage()), .op = op, .writes = true}};
      })
      .Case(
          [&](LoadSharedOp load) -> Accesses { return {{.part = partOf(load.getRing(), load.getStage()), .op = op}}; })
      .Case<GatherSharedOp, LoadRepackedOp>(
          [&](auto read) -> Accesses { return {{.part = partOf(read.getRing(), Value()), .op = op}}; })
      .Case<ScatterSharedOp, UpdateSharedOp>([&](auto change) -> Accesses {
        return {{.part = partOf(change.getRing(), Value()), .op = op, .writes = true}};
      })
      .Case<AsyncCopyOp, AsyncBufferCopyOp>([&](auto copy) -> Accesses {
        return {{.part = partOf(copy.getRing(), copy.getStage()),
                 .op = op,
                 .writes = true,
                 .inFlight = SharedAccess::Copy}};
      })
      .Case([&](DotSharedOp dot) -> Accesses {
        Accesses reads = {{.part = partOf(dot.getB(), dot.getBStage()), .op = op, .inFlight = SharedAccess::Matmul}};
        if (!dot.hasAInRegisters())
          reads.push_back({.part = partOf(dot.getA(), dot.getAStage()), .op = op, .inFlight = SharedAccess::Matmul});
        return reads;
      })
      .Case([&](InitArrivalsOp init) -> Accesses {
        return {{.part = partOf(init.getObjects(), Value()), .op = op, .writes = true}};
      })
      .Case([&](EndArrivalsOp end) -> Accesses {
        return {{.part = partOf(end.getObjects(), Value()), .op = op, .writes = true}};
      })
      // Threads use barrier objects at the same time; that they are made before and ended after is ordered.
      .Case<ArriveOp, ArriveOnceOp, ExpectBytesOp, WaitArrivalsOp>(
          [&](auto use) -> Accesses { return {{.part = partOf(use.getObjects(), use.getStage()), .op = op}}; })
      .Case([&](BulkLoadOp copy) -> Accesses {
        return {{.part = partOf(copy.getMemory(), Value()), .op = op, .writes = true},
                {.part = partOf(copy.getObjects(), Value()), .op = op}};
      })
      .Case([&](BulkStoreOp copy) -> Accesses {
        return {{.part = partOf(copy.getMemory(), Value()), .op = op, .inFlight = SharedAccess::Bulk}};
      })
      .Case([&](DotScratchOp dot) -> Accesses {
        return {{.part = partOf(dot.getA(), Value()), .op = op}, {.part = partOf(dot.getB(), Value()), .op = op}};
      })
      .Default([](Operation *) -> Accesses { return {}; });
}

bool simt::isBarrier(Operation *op) {
  if (auto barrier = dyn_cast<BarrierOp>(op))
    return !barrier.getWarp() && !barrier.getBare();
  return isa<StartPartitionsOp, JoinPartitionsOp>(op) || analysis::isAny(op);
}

std::optional<layout::LinearLayout> simt::warpOfPlaces(Operation *op, int warps) {
  using layout::Dim;
  Value memory, tile;
  if (auto store = dyn_cast<StoreSharedOp>(op))
    memory = store.getRing(), tile = store.getTile();
  else if (auto load = dyn_cast<LoadSharedOp>(op))
    memory = load.getRing(), tile = load.getTile();
  if (!memory || !memory.getDefiningOp<AllocOp>() || cast<SharedType>(memory.getType()).getStages() > 1)
    return std::nullopt;
  const layout::LinearLayout &layout = layoutOf(tile.getType());
  if (layout.freeBits(Dim::Warp) || layout.inputSize(Dim::Warp) != warps)
    return std::nullopt;
  layout::LinearLayout holders = cast<SharedType>(memory.getType()).getLayout().invertAndCompose(layout);
  std::vector<Dim> places;
  for (const layout::LinearLayout::Input &input : holders.inputs())
    places.push_back(input.dim);
  layout::LinearLayout warp = holders.sublayout(places, {Dim::Warp});
  // The next part of the tile lies in the same place.
  if (holders.hasInput(Dim::Register) && !warp.sublayoutIsZero({Dim::Register}, {Dim::Warp}))
    return std::nullopt;
  return warp;
}

Value simt::sourceOfExchange(LoadSharedOp load) {
  auto scratch = load.getRing().getDefiningOp<AllocOp>();
  if (!scratch || !scratch.getScratch())
    return {};
  Value tile;
  for (Operation *user : scratch.getRing().getUsers()) {
    auto store = dyn_cast<StoreSharedOp>(user);
    if (!store && !isa<LoadSharedOp>(user))
      return {};
    if (store && tile)
      return {};
    if (store)
      tile = store.getTile();
  }
  return tile;
}
