// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Flags of tiles, and kernels that compute with what is staged while more of it comes. A block stores into its slot of
// every other rank how many tiles it has stored there in this epoch; slots only grow, so that nothing is cleared.
//
// No wait of such a kernel is circular. A block stores all its tiles, and their flags, before its first wait: stores
// wait for nothing. So every flag comes once the blocks of its rank have begun, and those are all on their devices at
// once (a cooperative launch).
#include "collectives/kernel/KernelWriter.h"
#include "compiler/dialects/peer/Peer.h"
#include "compiler/dialects/ttg/TritonGpu.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle::triton;
using heddle::tile::TileWriter;

namespace heddle {

/// Tiles of a block in one epoch: options.tilesPerRound has this limit.
static constexpr int64_t flagBits = 17;

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

void KernelWriter::signalTiles(Value count) {
  peer::ReleaseFenceOp::create(w.b);
  synchroniseThreads();
  if (collective.ranks == 1)
    return;
  int64_t size = int64_t(llvm::PowerOf2Ceil(uint64_t(collective.ranks)));
  Value flag = flagOfTiles(count);
  w.ifThen(isAmongFirst(size), [&] {
    Value slot =
        w.offset(arena, w.add(w.i64(plan.arena.signals / 8), w.add(w.mul(block, w.i64(collective.ranks)), self)));
    Value ranks = w.range(size),
          isOther = w.bitAnd(w.less(ranks, w.i64(collective.ranks)), w.compare(arith::CmpIPredicate::ne, ranks, self));
    Value slots = w.splat(slot, size);
    Value remote = peer::AddressOp::create(w.b, slots.getType(), slots, w.truncate(ranks, 32), group);
    peer::AtomicWriteOp::create(w.b, MemSemantic::Release, MemScope::System, remote, w.splat(flag, size), isOther);
  });
}

/// `last`: of the tiles in the order of the array, which is the order in which blocks store them.
void KernelWriter::awaitTiles(Value from, Value last) {
  int64_t size = int64_t(llvm::PowerOf2Ceil(uint64_t(plan.blocks)));
  Value blocks = w.range(size);
  Value isAwaited = w.bitAnd(w.less(blocks, w.i64(plan.blocks)), w.compare(arith::CmpIPredicate::sle, blocks, last));
  // The tiles of a block are every so many.
  Value ahead = w.select(isAwaited, w.sub(last, blocks), w.i64(0));
  Value expected = flagOfTiles(w.add(w.divide(ahead, w.i64(plan.blocks)), w.i64(1)));
  Value slots =
      w.offset(arena, w.add(w.add(w.i64(plan.arena.signals / 8), w.mul(blocks, w.i64(collective.ranks))), from));
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
      Value bits = w.i64(flagBits), peers = w.splat(w.truncate(from, 32), size);
      peer::ReportOp::create(w.b, missing, peers, w.shiftRight(expected, bits), w.shiftRight(seen, bits), deadline,
                             group, tag);
    });
  });
  ok = w.bitAnd(ok, w.negate(failed));
}

// A block's pieces of work begin with those of its own rank's input, which nothing is waited for. Beside each of these
// go as many tiles as are needed to have sent all when the first wait comes. Their flag follows a piece later, when the
// stores before it have long arrived.
void KernelWriter::eachPiece(const Body &push) {
  int64_t pieces = operands.piecesOfInput(), all = pieces * collective.ranks;
  int64_t turns = (all + plan.blocks - 1) / plan.blocks, ownTurns = pieces / plan.blocks;
  int64_t tiles = tilesOfRound(plan), pushTurns = std::max<int64_t>(1, ownTurns);
  int64_t tilesOfTurn = (tiles + pushTurns - 1) / pushTurns;
  pushTurns = (tiles + tilesOfTurn - 1) / tilesOfTurn;
  TileWriter::Values after = w.forLoop(w.i64(turns), {ok}, [&](Value turn, ValueRange carried) -> TileWriter::Values {
    ok = carried[0];
    auto until = [&](int64_t limit) { return w.less(turn, w.i64(limit)); };
    auto signalUntil = [&](Value turnsDone) { signalTiles(w.mul(turnsDone, w.i64(tilesOfTurn))); };
    if (ownTurns > 0)
      w.ifThen(w.bitAnd(w.less(w.i64(0), turn), until(pushTurns + 1)), [&] { signalUntil(turn); });
    w.ifThen(until(pushTurns), [&] {
      Value first = w.mul(turn, w.i64(tilesOfTurn)); // the last turn may have fewer tiles
      Value count = w.binary<arith::MinSIOp>(w.i64(tilesOfTurn), w.sub(w.i64(tiles), first));
      w.forLoop(count, {}, [&](Value number, ValueRange) -> TileWriter::Values {
        Value before = ok;
        writeTile(w.add(first, number), push);
        ok = before;
        return {};
      });
      if (ownTurns == 0)
        signalUntil(w.i64(1));
    });
    Value number = w.add(w.mul(turn, w.i64(plan.blocks)), block), soFar = ok;
    return w.ifElse(
        w.less(number, w.i64(all)), w.b.getI1Type(),
        [&]() -> TileWriter::Values {
          Value ahead = w.divide(number, w.i64(pieces)), piece = w.modulo(number, w.i64(pieces));
          Value sum = w.add(self, ahead), isOwn = w.equal(ahead, w.i64(0));
          Value from = w.modulo(sum, w.i64(collective.ranks));
          Value last = w.divide(operands.lastOfPiece(w, piece), w.i64(plan.tileElements));
          ok = w.ifElse(
              isOwn, w.b.getI1Type(), [&]() -> TileWriter::Values { return {ok}; },
              [&]() -> TileWriter::Values {
                awaitTiles(from, last);
                return {ok};
              })[0];
          Value byte =
              w.add(w.mul(parity, w.i64(plan.arena.stagingParity)), w.mul(from, w.i64(plan.arena.stagingSlot)));
          Value staged = w.bitcast(w.offset(staging, w.shiftRight(byte, w.i64(3))), w.pointerTo(element));
          Value input = aligned(w.select(isOwn, extra[0], staged), accessBytes);
          operands.writePiece(w, extra, from, piece, input);
          return {ok};
        },
        [&]() -> TileWriter::Values { return {soFar}; });
  });
  ok = after[0];
}

} // namespace heddle
