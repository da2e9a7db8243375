// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lifetimes of memory objects in the order of the text; objects that are not alive together may share bytes.
#include "compiler/lowering/simt/PlaceShared.h"
#include "compiler/lowering/simt/GpuTarget.h"
#include "compiler/lowering/simt/SharedAccesses.h"
#include "compiler/lowering/simt/WarpPipelines.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

namespace {

struct Lifetime {
  int first, last; ///< numbers of operations, in the order of the text
  int64_t start, end;
  AllocOp op = {};
  bool overlaps(const Lifetime &other) const { return other.first <= last && first <= other.last; }
};

/// Operations in the order of the text, and the last one within each.
class TextOrder {
public:
  explicit TextOrder(triton::FuncOp function) {
    function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<JoinPartitionsOp>(op))
        lastJoin = count;
      first[op] = count++;
    });
    function.getBody().walk<WalkOrder::PostOrder>([&](Operation *op) {
      int within = first[op];
      for (Region &region : op->getRegions())
        for (Operation &inner : region.getOps())
          within = std::max(within, last[&inner]);
      last[op] = within;
    });
  }

  Lifetime lifetimeOf(AllocOp alloc) {
    Lifetime life{first[alloc], first[alloc], 0, 0, alloc};
    if (alloc.getCommon())                           // partitions access it
      life.last = std::max(life.last, lastJoin - 1); // the barrier there comes after it
    for (Operation *user : usersOf(alloc.getRing())) {
      if (isa<InitArrivalsOp>(user)) // an object's memory holds nothing else while others may look at it
        life.last = count;
      Operation *here = alloc->getBlock()->findAncestorOpInBlock(*user);
      life.last = here && !passesOn(user) ? std::max(life.last, last[here]) : count;
      addPipeline(user, life);
    }
    return life;
  }

  /// In the block of `op` itself or around it, before it, or in what the operation of that number is in, after that.
  bool hasBarrierBetween(int number, Operation *op) {
    for (; !isa<triton::FuncOp>(op); op = op->getParentOp()) {
      Operation *before = op->getPrevNode();
      for (; before && first[before] > number; before = before->getPrevNode())
        if (isBarrier(before))
          return true;
      if (before && hasBarrierWithin(before, number))
        return true;
    }
    return false;
  }

private:
  /// Who comes out of `around` has come by it, if he has come by the operation of that number.
  bool hasBarrierWithin(Operation *around, int number) {
    for (Region &region : around->getRegions())
      for (Block &block : region) {
        bool isBehind = false;
        for (Operation &op : block) {
          if (isBehind && isBarrier(&op))
            return true;
          bool isAround = first[&op] <= number && number <= last[&op];
          if (isAround && hasBarrierWithin(&op, number))
            return true;
          isBehind |= isAround;
        }
      }
    return false;
  }

  // Other warps execute other stages at the same time.
  void addPipeline(Operation *user, Lifetime &life) {
    auto stage = user->getParentOfType<StageOp>();
    if (!stage)
      return;
    WarpPipeline pipeline = pipelineOf(stage);
    Operation *from = pipeline.loop ? pipeline.loop.getOperation() : pipeline.stages.front().getOperation();
    Operation *to = pipeline.loop ? pipeline.loop.getOperation() : pipeline.stages.back().getOperation();
    life.first = std::min(life.first, first[from]);
    life.last = std::max(life.last, last[to]);
  }

  DenseMap<Operation *, int> first, last;
  int count = 0, lastJoin = 0;
};

} // namespace

SmallVector<Operation *> simt::usersOf(Value memory) {
  SmallVector<Operation *> users;
  for (Operation *user : memory.getUsers()) {
    users.push_back(user);
    if (isa<IndexOp, SubsliceOp, ViewOp>(user))
      llvm::append_range(users, usersOf(user->getResult(0)));
  }
  return users;
}

bool simt::passesOn(Operation *user) {
  return isa<YieldOp>(user) || !isa_and_nonnull<SimtDialect>(user->getDialect());
}

static int64_t bytesOf(AllocOp alloc) {
  int64_t alignment = alloc.getScratch() ? scratchAlignment : memoryAlignment;
  return int64_t(llvm::alignTo(uint64_t(alloc.getRing().getType().getBytes()), uint64_t(alignment)));
}

/// Bulk copies and warp-group MMAs count the rows of a swizzled tile by bits of addresses.
static int64_t alignmentOf(AllocOp alloc) {
  auto countsRows = [](Operation *user) { return isa<BulkLoadOp, BulkStoreOp, DotSharedOp>(user) || passesOn(user); };
  if (alloc.getScratch())
    return scratchAlignment;
  return llvm::any_of(usersOf(alloc.getRing()), countsRows) ? memoryAlignment
                                                            : leastAlignment(alloc.getRing().getType().getBytes());
}

/// Where objects are close together.
static int64_t usedBytesOf(AllocOp alloc) {
  return int64_t(llvm::alignTo(uint64_t(alloc.getRing().getType().getBytes()), uint64_t(alignmentOf(alloc))));
}

int64_t simt::placedBytes(triton::FuncOp function) {
  int64_t end = 0;
  function.walk([&](AllocOp alloc) {
    if (alloc.getStart())
      end = std::max(end, int64_t(*alloc.getStart()) + usedBytesOf(alloc));
  });
  return end;
}

/// An object with a place joins the others, if it shares no byte with one that is alive with it.
static LogicalResult addPlaced(AllocOp alloc, TextOrder &order, SmallVectorImpl<Lifetime> &placed) {
  Lifetime life = order.lifetimeOf(alloc);
  life.start = int64_t(*alloc.getStart());
  life.end = life.start + usedBytesOf(alloc);
  for (const Lifetime &other : placed)
    if (other.overlaps(life) && other.start < life.end && life.start < other.end) {
      auto error = alloc.emitOpError() << "has bytes " << life.start << " to " << life.end - 1
                                       << " of shared memory, and another memory object that is in use at the same "
                                          "time has "
                                       << other.start << " to " << other.end - 1
                                       << ": leave `at` out of one of them, and place-shared-memory chooses its bytes";
      error.attachNote(AllocOp(other.op).getLoc()) << "the other memory object";
      return failure();
    }
  placed.push_back(life);
  return success();
}

namespace {

/// One way to place the memory objects of a function that have no place.
class Placement {
public:
  Placement(triton::FuncOp function, const GpuTarget &target, int warps, TextOrder &order,
            const SmallVector<Lifetime> &placed, bool packs)
      : function(function), target(target), warps(warps), order(order), placed(placed), packs(packs) {}

  /// The first object that the chip has no bytes for, or null.
  AllocOp run(ArrayRef<AllocOp> open, ArrayRef<AllocOp> scratch) {
    SmallVector<AllocOp> sorted(open);
    if (packs)
      llvm::stable_sort(sorted, [](AllocOp a, AllocOp b) { return bytesOf(a) > bytesOf(b); });
    for (AllocOp alloc : sorted)
      if (AllocOp left = placeOne(alloc))
        return left;
    placeScratch(
        function,
        {warps, [this](AllocOp alloc, bool isOrdered) { return firstByte(alloc, isOrdered); },
         [this](AllocOp one, AllocOp other) { return order.lifetimeOf(one).overlaps(order.lifetimeOf(other)); }},
        target.sharedBytesBeforeReuse(), target.sharedMemoryBytes());
    for (AllocOp alloc : scratch)
      if (int64_t(*alloc.getStart()) + bytesOf(alloc) > target.sharedMemoryBytes())
        return alloc;
    return {};
  }

private:
  /// At the first place where it shares no byte with one that is alive with it.
  AllocOp placeOne(AllocOp alloc) {
    int64_t alignment = packs ? alignmentOf(alloc) : memoryAlignment;
    Lifetime life = order.lifetimeOf(alloc);
    int64_t bytes = packs ? usedBytesOf(alloc) : bytesOf(alloc);
    for (bool moved = true; moved;) {
      moved = false;
      life.end = life.start + bytes;
      for (const Lifetime &other : placed)
        if (other.overlaps(life) && other.start < life.end && life.start < other.end) {
          life.start = int64_t(llvm::alignTo(uint64_t(other.end), uint64_t(alignment)));
          life.end = life.start + bytes;
          moved = true;
        }
    }
    alloc.setStart(uint64_t(life.start));
    placed.push_back(life);
    return life.end > target.sharedMemoryBytes() ? alloc : AllocOp();
  }

  int64_t firstByte(AllocOp alloc, bool isOrdered) {
    Lifetime life = order.lifetimeOf(alloc);
    int64_t first = 0;
    for (const Lifetime &other : placed) {
      const Lifetime &earlier = other.last < life.first ? other : life, &later = &earlier == &life ? other : life;
      if (other.overlaps(life) || (isOrdered && !order.hasBarrierBetween(earlier.last, later.op)))
        first = std::max(first, other.end);
    }
    return int64_t(llvm::alignTo(uint64_t(first), uint64_t(scratchAlignment)));
  }

  triton::FuncOp function;
  const GpuTarget &target;
  int warps;
  TextOrder &order;
  SmallVector<Lifetime> placed;
  const bool packs;
};

} // namespace

/// Rule K2: what is live at the same time fits into the shared memory that a block may have.
static LogicalResult reportNoRoom(triton::FuncOp function, AllocOp alloc, int64_t sharedBytes) {
  auto start = int64_t(*alloc.getStart());
  if (alloc.getScratch())
    return emitError(function.getLoc()) << "kernel '" << function.getName() << "' needs " << start + bytesOf(alloc)
                                        << " bytes of shared memory for each block; the chip has " << sharedBytes;
  return alloc.emitOpError() << "needs " << bytesOf(alloc) << " bytes from byte " << start << " of shared memory on"
                             << (start ? ", after the memory objects that are live at the same time" : "")
                             << "; the chip has " << sharedBytes
                             << " for a block: take smaller tiles, or fewer in a ring";
}

// In the order of the text, and where that needs more than the chip has, the largest ones first and the small ones
// close together.
static LogicalResult place(triton::FuncOp function, const GpuTarget &target, int warps) {
  TextOrder order(function);
  SmallVector<Lifetime> placed;
  SmallVector<AllocOp> open, scratch;
  bool isApart = true;
  function.getBody().walk<WalkOrder::PreOrder>([&](AllocOp alloc) {
    if (alloc.getCommon() && isPartition(function)) // the kernel's
      return;
    if (alloc.getStart())
      isApart = isApart && succeeded(addPlaced(alloc, order, placed));
    else
      (alloc.getScratch() ? scratch : open).push_back(alloc);
  });
  if (!isApart)
    return failure();
  AllocOp withoutRoom;
  for (bool packs : {false, true, false}) { // the message is of the order of the text
    for (const SmallVector<AllocOp> *objects : {&open, &scratch})
      for (AllocOp alloc : *objects)
        alloc.removeStartAttr();
    withoutRoom = Placement(function, target, warps, order, placed, packs).run(open, scratch);
    if (!withoutRoom)
      return success();
  }
  return reportNoRoom(function, withoutRoom, target.sharedMemoryBytes());
}

LogicalResult simt::verifyPlaces(triton::FuncOp function) {
  TextOrder order(function);
  SmallVector<Lifetime> placed;
  WalkResult walked = function.getBody().walk<WalkOrder::PreOrder>([&](AllocOp alloc) {
    return !alloc.getStart() || alloc.getCommon() || succeeded(addPlaced(alloc, order, placed))
               ? WalkResult::advance()
               : WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

// What a partition has for itself lies after all that comes before: it is alive together with the kernel's memory, and
// with that of other partitions.
static LogicalResult placePartition(triton::FuncOp function, const GpuTarget &target, int warps,
                                    const DenseMap<int64_t, int64_t> &common, int64_t &end) {
  SmallVector<AllocOp> own;
  function.walk([&](AllocOp alloc) {
    if (!alloc.getStart() && !alloc.getCommon())
      own.push_back(alloc);
  });
  if (failed(place(function, target, warps)))
    return failure();
  auto base = int64_t(llvm::alignTo(uint64_t(end), uint64_t(memoryAlignment)));
  for (AllocOp alloc : own)
    alloc.setStart(uint64_t(base + int64_t(*alloc.getStart())));
  WalkResult walked = function.walk([&](AllocOp alloc) {
    if (alloc.getCommon() && !alloc.getStart()) {
      auto start = common.find(int64_t(*alloc.getCommon()));
      if (start == common.end()) {
        alloc.emitOpError() << "is memory `common " << *alloc.getCommon() << "`, which the kernel has not";
        return WalkResult::interrupt();
      }
      alloc.setStart(uint64_t(start->second));
    }
    return WalkResult::advance();
  });
  end = std::max(end, placedBytes(function));
  if (end > target.sharedMemoryBytes()) // rule K2
    return emitError(function.getLoc()) << "the kernel needs " << end
                                        << " bytes of shared memory for each block with that of "
                                        << "its partitions; the chip has " << target.sharedMemoryBytes();
  return failure(walked.wasInterrupted());
}

LogicalResult simt::placeSharedMemory(ModuleOp module, const GpuTarget &target, int warps) {
  DenseMap<int64_t, int64_t> common;
  int64_t end = 0;
  for (auto function : module.getOps<triton::FuncOp>())
    if (!isPartition(function)) {
      if (failed(place(function, target, warpsOf(function, warps))))
        return failure();
      end = std::max(end, placedBytes(function));
      function.walk([&](AllocOp alloc) {
        if (alloc.getCommon())
          common[int64_t(*alloc.getCommon())] = int64_t(*alloc.getStart());
      });
    }
  for (auto function : module.getOps<triton::FuncOp>())
    if (isPartition(function) && failed(placePartition(function, target, warpsOf(function, warps), common, end)))
      return failure();
  return success();
}
