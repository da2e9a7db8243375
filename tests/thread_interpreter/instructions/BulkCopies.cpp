// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cp.async.bulk.tensor: boxes of tensors between device memory and shared memory. They happen as late as allowed: a
// load's data appear when its phase ends, which is when a thread waits for it and nothing else can run; a store reads
// shared memory at the wait for its group, and writes device memory at the wait that is for writes too, or when its
// block ends. Source: PTX ISA, "Asynchronous copy: tensor" and "Swizzling modes".
#include "tests/thread_interpreter/instructions/Elementwise.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <optional>

using namespace heddle::threads;

//===-- Boxes ----------------------------------------------------------------------------------------------------===//

static constexpr uint32_t chunkBytes = 16, sharedAlignment = 128;

/// Calls `body(offset in the box, address, bytes)` for the part of each row of the box that is inside the tensor.
template <class Body>
static void eachRow(const BulkCopy &copy, Body &&body) {
  const TensorMap &map = *copy.map;
  int64_t begin = std::max<int64_t>(0, -int64_t(copy.coordinates[0]));
  int64_t end = std::min<int64_t>(map.box[0], int64_t(map.sizes[0]) - copy.coordinates[0]);
  if (begin >= end)
    return;
  uint64_t elementBytes = map.strideBytes[0];
  uint32_t rows = map.boxBytes() / map.rowBytes();
  for (uint32_t row = 0; row < rows; ++row) {
    uint64_t address = map.address + uint64_t(copy.coordinates[0] + begin) * elementBytes;
    bool isInside = true;
    uint32_t rest = row;
    for (unsigned axis = 1; axis < map.rank; rest /= map.box[axis++]) {
      int64_t at = int64_t(copy.coordinates[axis]) + rest % map.box[axis];
      isInside &= at >= 0 && at < int64_t(map.sizes[axis]);
      address += uint64_t(at) * map.strideBytes[axis];
    }
    if (isInside)
      body(uint32_t(row * map.rowBytes() + begin * elementBytes), address, uint32_t((end - begin) * elementBytes));
  }
}

/// Calls `body(offset in the box, offset in shared memory)` for each 16 bytes of the box: bits 4 and up of the shared
/// address are those of the row, xor bits 7 and up.
template <class Body>
static void eachChunk(const BulkCopy &copy, Body &&body) {
  uint32_t pattern = copy.map->swizzle ? copy.map->swizzle - chunkBytes : 0;
  for (uint32_t at = 0; at < copy.map->boxBytes(); at += chunkBytes) {
    uint32_t shared = copy.shared + at;
    body(at, shared ^ (shared >> 3 & pattern));
  }
}

/// The map, the coordinates and the shared memory of an instruction whose operands begin with the shared address and
/// end with the cache hint and its flag.
static BulkCopy readCopy(Warp &warp, const Op &op, unsigned lane, unsigned firstOfMap) {
  const std::vector<TensorMap> &maps = warp.block.rank.launch.tensorMaps;
  uint64_t address = warp.reg(op.in[firstOfMap])[lane];
  auto isHere = [&](const TensorMap &map) { return reinterpret_cast<uint64_t>(&map) == address; };
  auto map = std::ranges::find_if(maps, isHere);
  if (map == maps.end())
    warp.fail(op, lane,
              fmt::format("address {:#x} is none of the launch's {} tensor maps, which are parameters by value",
                          address, maps.size()));
  unsigned rank = op.ins - firstOfMap - 3u;
  if (map->rank != rank)
    warp.fail(op, lane, fmt::format("a copy of {} axes, and the tensor map has {}", rank, map->rank));
  BulkCopy copy = {&op, &*map, {}, 0};
  for (unsigned axis = 0; axis < rank; ++axis)
    copy.coordinates[axis] = int32_t(warp.reg(op.in[firstOfMap + 1 + axis])[lane]);
  uint32_t bytes = map->boxBytes();
  if (map->rowBytes() % chunkBytes || bytes % std::max<uint32_t>(map->swizzle, chunkBytes) ||
      (map->swizzle && map->rowBytes() > map->swizzle))
    warp.fail(
        op, lane,
        fmt::format("a box of {} bytes with rows of {}, and a swizzle of {}: rows are multiples of 16 bytes and at "
                    "most a swizzle's pattern, whose multiple the box is",
                    bytes, map->rowBytes(), map->swizzle));
  copy.shared = locate(warp, op, lane, warp.reg(op.in[0])[lane], bytes, Shared, sharedAlignment).offset;
  return copy;
}

static void noteRows(Warp &warp, unsigned lane, const BulkCopy &copy, Access access) {
  eachRow(copy, [&](uint32_t, uint64_t address, uint32_t bytes) {
    note(warp, *copy.op, lane, locate(warp, *copy.op, lane, address, bytes, Global, 1), bytes, access);
  });
}

//===-- Loads ----------------------------------------------------------------------------------------------------===//

/// in: shared target, mbarrier, tensor map, coordinates, cache hint and its flag.
static Flow beginLoad(Warp &warp, const Op &op) {
  eachLane(warp.active, [&](unsigned lane) {
    BulkCopy copy = readCopy(warp, op, lane, 2);
    ArrivalBarrier &object = objectOfLoad(warp, op, lane, warp.reg(op.in[1])[lane]);
    noteRows(warp, lane, copy, Access::Read);
    warp.block.checks.depart(warp, lane, op, copy.shared, copy.map->boxBytes());
    object.loads.push_back({copy, &warp, lane, ++warp.clock, warp.deviceClock});
    ++warp.clock, ++warp.deviceClock;
  });
  return Flow::Next;
}

void heddle::threads::landLoad(const BulkLoad &load) {
  Block &block = load.warp->block;
  std::vector<uint8_t> box(load.map->boxBytes()); // zeros outside of the tensor
  eachRow(load, [&](uint32_t offset, uint64_t address, uint32_t bytes) {
    std::memcpy(box.data() + offset, reinterpret_cast<const uint8_t *>(address), bytes);
  });
  eachChunk(load, [&](uint32_t offset, uint32_t shared) {
    std::memcpy(block.shared.data() + shared, box.data() + offset, chunkBytes);
  });
  block.checks.arrive(*load.warp, load.lane, *load.op, load.shared, uint32_t(box.size()), load.clock);
}

//===-- Stores ---------------------------------------------------------------------------------------------------===//

enum class Reduction : uint8_t { None, Add, Min, Max, And, Or, Xor };

template <class Format>
static std::optional<uint64_t> reduceFloats(Reduction reduction, uint64_t a, uint64_t b) {
  auto x = Format::get(a), y = Format::get(b);
  switch (reduction) {
  case Reduction::Add:
    return Format::put(x + y);
  case Reduction::Min:
    return Format::put(std::fmin(x, y));
  case Reduction::Max:
    return Format::put(std::fmax(x, y));
  default:
    return std::nullopt;
  }
}

template <class Integer>
static std::optional<uint64_t> reduceIntegers(Reduction reduction, uint64_t a, uint64_t b) {
  switch (reduction) {
  case Reduction::Add:
    return a + b;
  case Reduction::Min:
    return Integer(a) < Integer(b) ? a : b;
  case Reduction::Max:
    return Integer(a) > Integer(b) ? a : b;
  case Reduction::And:
    return a & b;
  case Reduction::Or:
    return a | b;
  case Reduction::Xor:
    return a ^ b;
  default:
    return std::nullopt;
  }
}

/// Nothing where the hardware has no such reduction. PTX ISA, "cp.reduce.async.bulk", table of operations and types.
static std::optional<uint64_t> reduce(TensorElement element, Reduction reduction, uint64_t a, uint64_t b) {
  switch (element) {
  case TensorElement::F16:
    return reduceFloats<F16>(reduction, a, b);
  case TensorElement::BF16:
    return reduceFloats<BF16>(reduction, a, b);
  case TensorElement::F32:
    return reduction == Reduction::Add ? reduceFloats<F32>(reduction, a, b) : std::nullopt;
  case TensorElement::F64:
    return reduction == Reduction::Add ? reduceFloats<F64>(reduction, a, b) : std::nullopt;
  case TensorElement::I32:
    return reduceIntegers<int32_t>(reduction, a, b);
  case TensorElement::I64:
    return reduceIntegers<int64_t>(reduction, a, b);
  default:
    return std::nullopt;
  }
}

/// in: shared source, tensor map, coordinates, cache hint and its flag.
template <Reduction How>
static Flow beginStore(Warp &warp, const Op &op) {
  eachLane(warp.active, [&](unsigned lane) {
    BulkCopy copy = readCopy(warp, op, lane, 1);
    if (How != Reduction::None && !reduce(copy.map->element, How, 0, 0))
      warp.fail(op, lane, "elements of the tensor map's type have no such reduction");
    for (unsigned axis = 0; axis < copy.map->rank; ++axis)
      if (copy.coordinates[axis] < 0) // an illegal instruction on an H200
        warp.fail(
            op, lane,
            fmt::format("a bulk store at coordinate {}: one begins at no negative coordinate", copy.coordinates[axis]));
    noteRows(warp, lane, copy, How == Reduction::None ? Access::Write : Access::Update);
    warp.block.checks.holdRead(warp, lane, op, copy.shared, copy.map->boxBytes());
    warp.bulkStores[lane].push_back({copy, uint8_t(How)});
  });
  return Flow::Next;
}

static void readSource(Warp &warp, unsigned lane, BulkStore &store) {
  if (store.isRead)
    return;
  store.isRead = true;
  store.data.resize(store.map->boxBytes());
  eachChunk(store, [&](uint32_t offset, uint32_t shared) {
    std::memcpy(store.data.data() + offset, warp.block.shared.data() + shared, chunkBytes);
  });
  warp.block.checks.releaseRead(warp, lane, *store.op, store.shared, uint32_t(store.data.size()));
}

static void writeTarget(Warp &warp, unsigned lane, BulkStore &store) {
  readSource(warp, lane, store);
  auto how = Reduction(store.reduction);
  noteRows(warp, lane, store, how == Reduction::None ? Access::Write : Access::Update);
  size_t size = store.map->strideBytes[0];
  eachRow(store, [&](uint32_t offset, uint64_t address, uint32_t bytes) {
    auto *target = reinterpret_cast<uint8_t *>(address);
    const uint8_t *source = store.data.data() + offset;
    if (how == Reduction::None) {
      std::memcpy(target, source, bytes);
      return;
    }
    for (size_t at = 0; at < bytes; at += size) {
      uint64_t before = 0, value = 0;
      std::memcpy(&before, target + at, size);
      std::memcpy(&value, source + at, size);
      value = *reduce(store.map->element, how, before, value);
      std::memcpy(target + at, &value, size);
    }
  });
}

static Flow commitGroup(Warp &warp, const Op &) {
  eachLane(warp.active, [&](unsigned lane) { warp.bulkGroups[lane].push_back(std::move(warp.bulkStores[lane])); });
  eachLane(warp.active, [&](unsigned lane) { warp.bulkStores[lane].clear(); });
  return Flow::Next;
}

/// in: how many of the lane's latest groups may be pending.
template <bool OnlyReads>
static Flow waitGroups(Warp &warp, const Op &op) {
  eachLane(warp.active, [&](unsigned lane) {
    auto &groups = warp.bulkGroups[lane];
    size_t pending = std::min<size_t>(warp.reg(op.in[0])[lane], groups.size());
    auto end = groups.end() - std::ptrdiff_t(pending);
    for (auto group = groups.begin(); group != end; ++group)
      for (BulkStore &store : *group)
        OnlyReads ? readSource(warp, lane, store) : writeTarget(warp, lane, store);
    if (!OnlyReads)
      groups.erase(groups.begin(), end);
  });
  return Flow::Next;
}

//===-- The end of a block ---------------------------------------------------------------------------------------===//

static void findUnfinished(Warp &warp, unsigned lane, const Op &op, const std::string &what) {
  warp.machine().find(FindingKind::UnfinishedCopy, &op, nullptr, [&] {
    return fmt::format("`{}` by {}: the block ends before {}", warp.program().describe(op), warp.name(lane), what);
  });
}

void heddle::threads::endBulkCopies(Block &block) {
  for (const auto &[offset, object] : block.arrivalBarriers)
    for (const BulkLoad &load : object.loads)
      findUnfinished(*load.warp, load.lane, *load.op, "a thread has waited for " + object.describe(offset));
  for (const auto &warp : block.warps)
    for (unsigned lane = 0; lane < warpSize; ++lane) {
      auto groups = std::move(warp->bulkGroups[lane]);
      groups.push_back(std::move(warp->bulkStores[lane]));
      for (std::vector<BulkStore> &group : groups)
        for (BulkStore &store : group) {
          if (!store.isRead)
            findUnfinished(*warp, lane, *store.op,
                           "the thread has waited for the copy's group, which reads shared memory");
          writeTarget(*warp, lane, store);
        }
    }
}

template <Reduction How>
static void addStores(std::vector<Entry> &rows, const std::string &name) {
  static std::deque<std::string> names;
  for (unsigned rank = 1; rank <= TensorMap::mostAxes; ++rank)
    rows.push_back(forAll(names.emplace_back(fmt::format("{}.tile.{}d", name, rank)), beginStore<How>));
}

std::span<const Entry> heddle::threads::bulkCopyTable() {
  static const std::vector<Entry> rows = [] {
    std::vector<Entry> made = {
        forAll("llvm.nvvm.cp.async.bulk.tensor.g2s.cta.tile.1d", beginLoad),
        forAll("llvm.nvvm.cp.async.bulk.tensor.g2s.cta.tile.2d", beginLoad),
        forAll("llvm.nvvm.cp.async.bulk.tensor.g2s.cta.tile.3d", beginLoad),
        forAll("llvm.nvvm.cp.async.bulk.tensor.g2s.cta.tile.4d", beginLoad),
        forAll("llvm.nvvm.cp.async.bulk.tensor.g2s.cta.tile.5d", beginLoad),
        forAll("llvm.nvvm.cp.async.bulk.commit.group", commitGroup),
        forAll("llvm.nvvm.cp.async.bulk.wait.group", waitGroups<false>),
        forAll("llvm.nvvm.cp.async.bulk.wait.group.read", waitGroups<true>),
    };
    std::string reduces = "llvm.nvvm.cp.async.bulk.tensor.reduce.";
    addStores<Reduction::None>(made, "llvm.nvvm.cp.async.bulk.tensor.s2g");
    addStores<Reduction::Add>(made, reduces + "add");
    addStores<Reduction::Min>(made, reduces + "min");
    addStores<Reduction::Max>(made, reduces + "max");
    addStores<Reduction::And>(made, reduces + "and");
    addStores<Reduction::Or>(made, reduces + "or");
    addStores<Reduction::Xor>(made, reduces + "xor");
    return made;
  }();
  return rows;
}
