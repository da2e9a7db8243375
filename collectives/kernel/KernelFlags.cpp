// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels of a collective and a matmul (Algorithm::flags). Their blocks share out the work: most compute tiles one
// after the other, the last ones (Plan::transferBlocks) move data meanwhile, and all of them move the last tiles. A
// block stores into its slot of every rank how many of its tiles are staged in this epoch; slots only grow, so that
// nothing is cleared.
//
// No wait of such a kernel is circular. What stages tiles, be it the blocks that compute them or those that push them,
// waits for nothing before it has staged all of them. So every flag comes once the blocks of its rank have begun, and
// those are all on their devices at once (a cooperative launch).
#include "collectives/kernel/KernelWriter.h"
#include "compiler/dialects/peer/Peer.h"
#include "compiler/dialects/ttg/TritonGpu.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle::triton;
using heddle::tile::TileWriter;

namespace heddle {

/// Of the number of tiles that a block stages in one epoch.
static constexpr int64_t flagBits = llvm::CTLog2<uint64_t(mostStagedTiles)>();
/// A flag waits for the stores before it, so pushed tiles have one for so many bytes.
static constexpr int64_t bytesOfFlag = 128 << 10;

Value KernelWriter::flagOfTiles(Value tiles) {
  return w.add(w.shiftLeft(epoch, w.i64(flagBits)), tiles);
}

void KernelWriter::synchroniseThreads() {
  using gpu::BarrierMemory;
  gpu::BarrierOp::create(w.b, BarrierMemory::Local | BarrierMemory::GlobalRead | BarrierMemory::GlobalWrite);
}

/// Whether this thread is one of the first `count`, which store and poll.
Value KernelWriter::isAmongFirst(int64_t count) {
  return w.compare(arith::CmpIPredicate::ult, peer::ThreadIdOp::create(w.b), w.i32(count));
}

/// Tells every rank, also this one, whose other blocks wait for it, how many tiles this block has staged.
void KernelWriter::signalTiles(Value count) {
  peer::ReleaseFenceOp::create(w.b);
  synchroniseThreads();
  int64_t size = int64_t(llvm::PowerOf2Ceil(uint64_t(collective.ranks)));
  Value flag = flagOfTiles(count);
  w.ifThen(isAmongFirst(size), [&] {
    Value slot =
        w.offset(arena, w.add(w.i64(plan.arena.signals / 8), w.add(w.mul(block, w.i64(collective.ranks)), self)));
    Value ranks = w.range(size), exists = w.less(ranks, w.i64(collective.ranks)), slots = w.splat(slot, size);
    Value remote = peer::AddressOp::create(w.b, slots.getType(), slots, w.truncate(ranks, 32), group);
    peer::AtomicWriteOp::create(w.b, MemSemantic::Release, MemScope::System, remote, w.splat(flag, size), exists);
  });
}

/// Until each awaited block of a rank has staged so many tiles; all are tiles of `size` i64 or one i64 for all.
void KernelWriter::awaitFlags(int64_t size, Value blocks, Value ranks, Value counts, Value isAwaited) {
  Value expected = flagOfTiles(w.select(isAwaited, counts, w.like(w.i64(0), isAwaited)));
  Value place = w.add(w.mul(blocks, w.i64(collective.ranks)), ranks);
  Value slots = w.offset(arena, w.add(place, w.i64(plan.arena.signals / 8)));
  Value isActive = isAmongFirst(size);
  Value seen = w.ifElse(
      isActive, expected.getType(),
      [&]() -> TileWriter::Values {
        Value loaded = peer::AtomicSpinWaitOp::create(w.b, expected.getType(), MemSemantic::Acquire, MemScope::System,
                                                      peer::Comparator::GreaterOrEqual, slots, expected, isAwaited,
                                                      deadline, group);
        return {w.select(isAwaited, loaded, expected)};
      },
      [&]() -> TileWriter::Values { return {expected}; })[0];
  Value missing = w.compare(arith::CmpIPredicate::ult, seen, expected);
  Value failed = w.any(missing);
  w.ifThen(failed, [&] {
    w.ifThen(isActive, [&] {
      Value bits = w.i64(flagBits), peers = w.like(w.truncate(ranks, 32), missing);
      peer::ReportOp::create(w.b, missing, peers, w.shiftRight(expected, bits), w.shiftRight(seen, bits), deadline,
                             group, tag);
    });
  });
  ok = w.bitAnd(ok, w.negate(failed));
}

/// How many of `count` things are those of number `first`, `first` + `every`, ...; both i64.
Value KernelWriter::shareOf(int64_t count, int64_t every, Value first) {
  Value share = w.divide(w.sub(w.i64(count + every - 1), first), w.i64(every));
  return w.select(w.compare(arith::CmpIPredicate::ult, first, w.i64(count)), share, w.i64(0));
}

Value KernelWriter::isTransferBlock() {
  return w.compare(arith::CmpIPredicate::sge, block, w.i64(plan.computeBlocks()));
}

//===-- Tiles that are computed and then summed ------------------------------------------------------------------===//

// At once: a branch between a matmul and its stores keeps ptxas from running wgmma asynchronously.
void KernelWriter::signal() {
  if (stagedTiles)
    signalTiles(stagedTiles);
}

// Tiles are staged in turn for each rank's part, this rank's last: others wait for theirs. A block that computes has
// `staged`, `staged` + computeBlocks, ... of all of these.
void KernelWriter::eachCostlyTile(const std::vector<Body> &stages) {
  int64_t tiles = plan.tileCount(), parts = collective.inputParts(), computing = plan.computeBlocks();
  Value items = w.select(ok, shareOf(plan.costlyTiles(), computing, block), w.i64(0));
  if (plan.transferBlocks)
    items = w.select(isTransferBlock(), w.i64(0), items);
  w.forLoop(items, {}, [&](Value turn, ValueRange) -> TileWriter::Values {
    Value item = w.add(w.mul(turn, w.i64(computing)), block), before = ok;
    Value ahead = w.add(w.modulo(item, w.i64(parts)), w.i64(1));
    turnRank = w.modulo(w.add(self, ahead), w.i64(collective.ranks));
    stagedTiles = w.add(turn, w.i64(1));
    writeTileAt(w.divide(item, w.i64(parts)), stages[0]);
    stagedTiles = {};
    ok = before;
    return {};
  });
  // The last tiles are moved by all blocks, which have nothing else to do then.
  int64_t shared = plan.transferBlocks ? std::min<int64_t>(tiles, plan.blocks) : tiles, early = tiles - shared;
  Value mover = w.sub(block, w.i64(computing)), own = w.i64(0);
  if (early > 0)
    own = w.select(isTransferBlock(), shareOf(early, plan.transferBlocks, mover), own);
  Value count = w.select(ok, w.add(own, shareOf(shared, plan.blocks, block)), w.i64(0));
  TileWriter::Values after = w.forLoop(count, {ok}, [&](Value turn, ValueRange carried) -> TileWriter::Values {
    ok = carried[0];
    Value late = w.add(w.add(w.mul(w.sub(turn, own), w.i64(plan.blocks)), block), w.i64(early)), number = late;
    if (early > 0)
      number = w.select(w.less(turn, own), w.add(w.mul(turn, w.i64(plan.transferBlocks)), mover), late);
    awaitedTile = number;
    writeTileAt(number, stages[1]);
    return {ok};
  });
  ok = after[0];
}

// Of the tile that is to be summed, all ranks.
void KernelWriter::await() {
  if (operands.piecesOfInput())
    return;
  int64_t size = int64_t(llvm::PowerOf2Ceil(uint64_t(collective.ranks))), parts = collective.inputParts();
  Value ranks = w.range(size), item = w.like(awaitedTile, ranks), computing = w.i64(plan.computeBlocks());
  if (parts > 1) { // this rank comes so many turns after the next one
    Value turn = w.modulo(w.sub(w.add(self, w.i64(2 * collective.ranks - 1)), ranks), w.i64(parts));
    item = w.add(w.mul(item, w.i64(parts)), turn);
  }
  awaitFlags(size, w.modulo(item, computing), ranks, w.add(w.divide(item, computing), w.i64(1)),
             w.less(ranks, w.i64(collective.ranks)));
}

//===-- Tiles that are pushed and then computed with -------------------------------------------------------------===//

/// `last`: of the tiles in the order of the array, which is the order in which blocks push them.
void KernelWriter::awaitTiles(Value from, Value last) {
  int64_t pushing = plan.transferBlocks ? plan.transferBlocks : plan.blocks;
  int64_t size = int64_t(llvm::PowerOf2Ceil(uint64_t(pushing)));
  Value movers = w.range(size);
  Value isAwaited = w.bitAnd(w.less(movers, w.i64(pushing)), w.compare(arith::CmpIPredicate::sle, movers, last));
  Value ahead = w.select(isAwaited, w.sub(last, movers), w.like(w.i64(0), movers));
  Value count = w.add(w.divide(ahead, w.i64(pushing)), w.i64(1));
  awaitFlags(size, w.add(movers, w.i64(plan.blocks - pushing)), from, count, isAwaited);
}

/// The next piece of work; one for each block goes beyond the last.
Value KernelWriter::takeTicket(Value counter) {
  return AtomicRMWOp::create(w.b, w.b.getI64Type(), RMWOp::Add, counter, w.i64(1), Value(), MemSemantic::Relaxed,
                             MemScope::Gpu);
}

// Pieces of work, in order those of the own rank's input first, which nothing is waited for, go to the next idle block:
// blocks that push come later. A launch leaves the counter of the next one at zero.
void KernelWriter::eachPiece(const Body &push) {
  int64_t pieces = operands.piecesOfInput(), all = pieces * collective.ranks, tiles = plan.tileCount();
  int64_t pushing = plan.transferBlocks ? plan.transferBlocks : plan.blocks;
  int64_t tilesOfFlag = std::max<int64_t>(1, bytesOfFlag / (plan.tileElements * elementSizeBytes(collective.type)));
  Value counters = w.offset(arena, w.i64(plan.arena.tickets / 8));
  Value next = w.offset(counters, w.sub(w.i64(1), parity)); // all blocks store the same
  peer::AtomicWriteOp::create(w.b, MemSemantic::Relaxed, MemScope::Gpu, next, w.i64(0), Value());
  Value counter = w.offset(counters, parity), mover = w.sub(block, w.i64(plan.blocks - pushing));
  Value count = w.select(ok, shareOf(tiles, pushing, mover), w.i64(0)), healthy = ok;
  if (plan.transferBlocks)
    count = w.select(isTransferBlock(), count, w.i64(0));
  w.forLoop(count, {}, [&](Value number, ValueRange) -> TileWriter::Values {
    writeTileAt(w.add(w.mul(number, w.i64(pushing)), mover), push);
    ok = healthy;
    Value done = w.add(number, w.i64(1));
    Value isTold = w.bitOr(w.equal(done, count), w.equal(w.modulo(done, w.i64(tilesOfFlag)), w.i64(0)));
    w.ifThen(isTold, [&] { signalTiles(done); });
    return {};
  });
  auto work = [&](Value number) {
    Value ahead = w.divide(number, w.i64(pieces)), piece = w.modulo(number, w.i64(pieces));
    Value isOwn = w.equal(ahead, w.i64(0)), from = w.modulo(w.add(self, ahead), w.i64(collective.ranks));
    Value last = w.divide(operands.lastOfPiece(w, piece), w.i64(plan.tileElements));
    ok = w.ifElse(
        isOwn, w.b.getI1Type(), [&]() -> TileWriter::Values { return {ok}; },
        [&]() -> TileWriter::Values {
          awaitTiles(from, last);
          return {ok};
        })[0];
    Value byte = w.add(w.mul(parity, w.i64(plan.arena.stagingParity)), w.mul(from, w.i64(plan.arena.stagingSlot)));
    Value staged = w.bitcast(w.offset(staging, w.shiftRight(byte, w.i64(3))), w.pointerTo(element));
    Value input = aligned(w.select(isOwn, extra[0], staged), accessBytes);
    operands.writePiece(w, extra, from, piece, input);
  };
  Value first = w.select(ok, takeTicket(counter), w.i64(all));
  ok = w.whileLoop(
      {first, ok}, [&](ValueRange carried) { return w.less(carried[0], w.i64(all)); },
      [&](ValueRange carried) -> TileWriter::Values {
        ok = carried[1];
        work(carried[0]);
        return {takeTicket(counter), ok};
      })[1];
}

} // namespace heddle
