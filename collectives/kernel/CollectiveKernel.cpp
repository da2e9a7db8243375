// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads an algorithm as the code of its kernel. The function loads the block's epoch from its counter, runs the rounds,
// and stores the epoch back: nothing of the protocol comes from the host, so that a launch can be replayed.
#include "collectives/kernel/CollectiveKernel.h"
#include "binary/PeerAbi.h"
#include "collectives/kernel/Fold.h"
#include "collectives/kernel/Packets.h"
#include "compiler/dialects/peer/Peer.h"
#include "support/Error.h"

using namespace mlir;
using namespace heddle::triton;
using heddle::tile::TileWriter;

namespace heddle {

void loadCollectiveDialects(MLIRContext &context) {
  tile::loadDialects(context);
  context.loadDialect<peer::PeerDialect>();
}

//===-- Plain operands -------------------------------------------------------------------------------------------===//

std::vector<TileWriter::Argument> BufferOperands::arguments(TileWriter &w) const {
  Type pointer = w.pointerTo(tile::storageType(*w.b.getContext(), type));
  return {{"input", pointer}, {"output", pointer}};
}

Value BufferOperands::input(TileWriter &w, ValueRange arguments, Value index, Value mask) const {
  return w.load(w.offset(arguments[0], index), mask);
}

void BufferOperands::output(TileWriter &w, ValueRange arguments, Value index, Value mask, Value tile) const {
  w.store(w.offset(arguments[1], index), tile, mask, streams);
}

//===-- The kernel -----------------------------------------------------------------------------------------------===//

namespace {

class KernelWriter : public ProtocolWriter {
public:
  KernelWriter(MLIRContext &context, const Plan &plan, const CollectiveOperands &operands)
      : plan(plan), collective(plan.collective), operands(operands), w(context),
        element(tile::storageType(context, plan.collective.type)) {}

  OwningOpRef<ModuleOp> run();

  void eachTile(const std::function<void()> &body) override;
  void barrier() override;
  TileHandle input(const Rank &part) override;
  void output(const Rank &part, TileHandle tile) override;
  void store(const Rank &at, const Slot &slot, TileHandle tile) override;
  TileHandle load(const Rank &at, const Slot &slot) override;
  void send(const Rank &to, const Slot &slot, TileHandle tile) override;
  TileHandle receive(int from, const Slot &slot, TileHandle own) override;
  void publish() override;
  TileHandle peerInput(const Rank &of, const Rank &part) override;
  void peerOutput(const Rank &of, const Rank &part, TileHandle tile) override;
  TileHandle fold(const std::function<TileHandle(int rank)> &contribution) override;

private:
  /// A rank as an i64 scalar and, for a table, whether it is somebody; the own rank needs no address of a peer.
  struct Place {
    Value rank;     ///< i64
    Value somebody; ///< i1 or null
    bool isOwn = false;
  };
  Place place(const Rank &rank);
  void round(Value number);
  /// The first byte of a slot of this rank's memory, as the same place in the memory of `at`.
  Value slotPointer(int64_t areaBytes, int64_t parityBytes, int64_t slotBytes, const Slot &slot, const Place &at,
                    Type pointee);
  Value stagingTile(const Place &at, const Slot &slot);
  SmallVector<Value, 2> packetTiles(const Place &at, const Slot &slot);
  Value operandSlots(); ///< of this block, in this rank's memory
  /// The operands of a rank, which has published them.
  SmallVector<Value> operandsOf(const Rank &rank);
  /// The tile's place in the array [outer][parts][inner]; `mask` is the elements that exist there.
  Value arrayIndex(const Rank &part, int parts, Value &mask);
  void writeTile(Value start, const std::function<void()> &body);
  Value both(Value mask, Value condition) {
    return !condition ? mask : mask ? w.bitAnd(mask, w.like(condition, mask)) : w.splat(condition, plan.tileElements);
  }
  TileHandle keep(Value tile) {
    tiles.push_back(tile);
    return TileHandle(tiles.size()) - 1;
  }
  Value divideUp(Value x, Value y) { return w.divide(w.add(x, w.sub(y, w.i64(1))), y); }
  void fail(Value failed) { ok = w.bitAnd(ok, w.negate(failed)); }

  const Plan &plan;
  const Collective &collective;
  const CollectiveOperands &operands;
  TileWriter w;
  Type element;

  SmallVector<Value> extra; ///< the kernel's arguments of `operands`
  Value group, arena, tag, deadline, self, block;
  Value inner, partElements, sliceElements;                   ///< i64
  Value epoch;                                                ///< i64, the first epoch of the round
  Value parity;                                               ///< i64, 0 or 1
  Value flag;                                                 ///< i32, of the round's packets
  Value ok;                                                   ///< i1: every wait so far succeeded
  Value roundNumber;                                          ///< i64
  int barriers = 0;                                           ///< in this round so far
  bool published = false;                                     ///< since the last barrier
  SmallVector<SmallVector<Value>> fixedOperands, ownOperands; ///< operandsOf(fixed(i)), operandsOf(own(i))
  Value tileInRound; ///< i64: elements before this tile in the slots of the round
  Value element0;    ///< index of the tile's elements in the slice, i64
  Value present;     ///< which of them exist; null: all, in every part or slice
  Value lanes;       ///< i64: 0 ... tile - 1
  std::vector<Value> tiles;
};

OwningOpRef<ModuleOp> KernelWriter::run() {
  Type words = w.pointerTo(w.b.getI64Type());
  Type integer = w.b.getI64Type();
  SmallVector<TileWriter::Argument> arguments = {
      {"group", words}, {"arena", words}, {"tag", integer}, {"outer", integer}, {"inner", integer}};
  llvm::append_range(arguments, operands.arguments(w));
  std::string name = collectiveName(collective.kind);
  std::replace(name.begin(), name.end(), '-', '_');
  SmallVector<Value> values = w.begin(name, arguments);
  group = values[0], arena = values[1], tag = values[2], inner = values[4];
  extra.assign(values.begin() + protocolArguments, values.end());
  partElements = w.mul(values[3], inner);
  Value ranks = w.i64(collective.ranks);
  sliceElements = plan.algorithm->slices ? divideUp(partElements, ranks) : partElements;
  if (plan.algorithm->direct) {
    Value chunk = w.i64(directSliceBytes / elementSizeBytes(collective.type));
    sliceElements = w.mul(divideUp(sliceElements, chunk), chunk);
  }

  deadline = peer::DeadlineOp::create(w.b, group);
  Value rank = peer::RankOp::create(w.b, w.b.getI32Type(), group);
  self = w.extend(rank, 64);
  block = w.extend(GetProgramIdOp::create(w.b, ProgramDim::X), 64);
  lanes = w.range(plan.tileElements);
  Value counter = w.offset(w.offset(arena, w.i64(plan.arena.counters / 8)), block);
  Value first = w.add(w.load(counter, {}, /*isVolatile=*/true), w.i64(1));
  // A rank that has missed a peer waits for nobody any more: the calls queued behind that one end at once.
  Value record = w.load(w.offset(group, w.i64(offsetof(PeerGroup, error) / 8)));
  Value failures = w.load(IntToPtrOp::create(w.b, words, record), {}, /*isVolatile=*/true);
  Value isHealthy = w.equal(failures, w.i64(int64_t(PeerErrorState::Free)));
  TileWriter::Values after = w.forLoop(divideUp(sliceElements, w.i64(plan.roundElements())), {first, isHealthy},
                                       [&](Value number, ValueRange carried) -> TileWriter::Values {
                                         epoch = carried[0], ok = carried[1];
                                         // After a failure nothing is worth waiting for; the rounds that are left only
                                         // count.
                                         TileWriter::Values ended = w.ifElse(
                                             ok, w.b.getI1Type(),
                                             [&]() -> TileWriter::Values {
                                               round(number);
                                               return {ok};
                                             },
                                             [&]() -> TileWriter::Values { return {w.boolean(false)}; });
                                         return {w.add(carried[0], w.i64(plan.epochs)), ended[0]};
                                       });
  w.store(counter, w.sub(after[0], w.i64(1)));
  operands.finish(w, extra);
  return w.end();
}

void KernelWriter::round(Value number) {
  roundNumber = number;
  barriers = 0;
  Value count = w.divide(w.sub(epoch, w.i64(1)), w.i64(plan.epochs));
  parity = w.bitAnd(count, w.i64(1));
  // Flags are never 0, which is what memory holds before the first packet. They repeat after 2^32 - 1 epochs, long
  // after each slot has been written again: every call of the sizes that share an arena writes every slot that it
  // reads.
  flag = w.truncate(w.add(w.modulo(epoch, w.i64(0xFFFFFFFF)), w.i64(1)), 32);
  plan.algorithm->write(*this, collective);
}

void KernelWriter::eachTile(const std::function<void()> &body) {
  // The last round may have fewer tiles than the others; each block takes as many, so that all meet as often.
  Value left = w.sub(sliceElements, w.mul(roundNumber, w.i64(plan.roundElements())));
  Value tilesLeft = divideUp(left, w.i64(plan.blocks * plan.tileElements));
  Value count = w.binary<arith::MinSIOp>(tilesLeft, w.i64(plan.tilesPerRound));
  // After a missed peer nothing here is worth doing, and where a peer's operands lie is not even known.
  count = w.select(ok, count, w.i64(0));
  TileWriter::Values after = w.forLoop(count, {ok}, [&](Value t, ValueRange carried) -> TileWriter::Values {
    ok = carried[0];
    Value inRound = w.add(w.mul(t, w.i64(plan.blocks)), block);
    tileInRound = w.mul(inRound, w.i64(plan.tileElements));
    Value start = w.add(w.mul(roundNumber, w.i64(plan.roundElements())), tileInRound);
    element0 = w.add(lanes, start);
    writeTile(start, body);
    return {ok};
  });
  ok = after[0];
}

// Plain buffers have two codes: nearly all tiles exist in every part or slice, and need no mask.
void KernelWriter::writeTile(Value start, const std::function<void()> &body) {
  auto masked = [&](Value mask) -> TileWriter::Values {
    present = mask;
    tiles.clear();
    body();
    return {ok};
  };
  if (!operands.arePlainBuffers() || plan.algorithm->inboxSlots(collective.ranks) > 0) {
    masked(w.less(element0, sliceElements));
    return;
  }
  Value inAll = plan.algorithm->slices // the last slice is the shortest
                    ? w.sub(partElements, w.mul(sliceElements, w.i64(collective.ranks - 1)))
                    : sliceElements;
  Value isWhole = w.compare(arith::CmpIPredicate::sle, w.add(start, w.i64(plan.tileElements)), inAll), before = ok;
  ok = w.ifElse(
      isWhole, w.b.getI1Type(), [&] { return masked({}); },
      [&] {
        ok = before;
        return masked(w.less(element0, sliceElements));
      })[0];
}

void KernelWriter::barrier() {
  Value signals = w.offset(arena, w.i64(plan.arena.signals / 8));
  Value met = peer::BlockBarrierOp::create(w.b, w.b.getI1Type(), signals, w.add(epoch, w.i64(barriers++)), deadline,
                                           group, tag, uint32_t(collective.ranks));
  ok = w.bitAnd(ok, met);
  if (!std::exchange(published, false))
    return;
  fixedOperands.clear(), ownOperands.clear();
  for (int i = 0; i < collective.ranks; ++i) {
    fixedOperands.push_back(operandsOf(Rank::fixed(i)));
    ownOperands.push_back(operandsOf(Rank::own(i)));
  }
}

//===-- Operands of peers ----------------------------------------------------------------------------------------===//

Value KernelWriter::operandSlots() {
  return w.offset(arena, w.add(w.i64(plan.arena.operands / 8), w.mul(block, w.i64(2))));
}

void KernelWriter::publish() {
  for (int i = 0; i < 2; ++i)
    w.store(w.offset(operandSlots(), w.i64(i)), PtrToIntOp::create(w.b, w.b.getI64Type(), extra[i]));
  published = true;
}

SmallVector<Value> KernelWriter::operandsOf(const Rank &rank) {
  Place at = place(rank);
  if (at.isOwn)
    return extra;
  Value slots = operandSlots();
  slots = peer::AddressOp::create(w.b, slots.getType(), slots, w.truncate(at.rank, 32), group);
  SmallVector<Value> result;
  for (int i = 0; i < 2; ++i)
    result.push_back(IntToPtrOp::create(w.b, extra[i].getType(), w.load(w.offset(slots, w.i64(i)))));
  return result;
}

static size_t placeOf(const Rank &rank, int ranks) {
  return size_t((rank.value % ranks + ranks) % ranks);
}

TileHandle KernelWriter::peerInput(const Rank &of, const Rank &part) {
  Value mask, index = arrayIndex(part, collective.inputParts(), mask);
  const auto &known = of.form == Rank::Form::Fixed ? fixedOperands : ownOperands;
  return keep(operands.input(w, known[placeOf(of, collective.ranks)], index, mask));
}

void KernelWriter::peerOutput(const Rank &of, const Rank &part, TileHandle tile) {
  Value mask, index = arrayIndex(part, collective.outputParts(), mask);
  const auto &known = of.form == Rank::Form::Fixed ? fixedOperands : ownOperands;
  operands.output(w, known[placeOf(of, collective.ranks)], index, mask, tiles[size_t(tile)]);
}

//===-- Places ---------------------------------------------------------------------------------------------------===//

KernelWriter::Place KernelWriter::place(const Rank &rank) {
  switch (rank.form) {
  case Rank::Form::Fixed:
    return {w.i64(rank.value), {}};
  case Rank::Form::Own: {
    if (rank.value % collective.ranks == 0)
      return {self, {}, /*isOwn=*/true};
    Value sum = w.add(self, w.i64(rank.value % collective.ranks)), size = w.i64(collective.ranks);
    Value wraps = w.compare(arith::CmpIPredicate::sge, sum, size);
    return {w.select(wraps, w.sub(sum, size), sum), {}};
  }
  case Rank::Form::Table: {
    Value found = w.i64(-1);
    for (int own = 0; own < int(rank.table.size()); ++own)
      found = w.select(w.equal(self, w.i64(own)), w.i64(rank.table[size_t(own)]), found);
    Value somebody = w.compare(arith::CmpIPredicate::sge, found, w.i64(0));
    return {w.select(somebody, found, self), somebody};
  }
  }
  llvm_unreachable("unknown form of a rank");
}

Value KernelWriter::slotPointer(int64_t areaBytes, int64_t parityBytes, int64_t slotBytes, const Slot &slot,
                                const Place &at, Type pointee) {
  Value number = w.add(place(slot.rank).rank, w.i64(slot.base));
  Value bytes = w.add(w.i64(areaBytes), w.add(w.mul(parity, w.i64(parityBytes)), w.mul(number, w.i64(slotBytes))));
  Value pointer = w.offset(arena, w.shiftRight(bytes, w.i64(3))); // areas and slots are multiples of 256 bytes
  if (!at.isOwn)
    pointer = peer::AddressOp::create(w.b, pointer.getType(), pointer, w.truncate(at.rank, 32), group);
  return w.bitcast(pointer, w.pointerTo(pointee));
}

Value KernelWriter::stagingTile(const Place &at, const Slot &slot) {
  const ArenaLayout &arena = plan.arena;
  Value first = slotPointer(arena.staging, arena.stagingParity, arena.stagingSlot, slot, at, element);
  return w.offset(first, w.add(lanes, tileInRound));
}

// Of 8-byte elements the low words' packets of a tile come before those of the high words.
SmallVector<Value, 2> KernelWriter::packetTiles(const Place &at, const Slot &slot) {
  const ArenaLayout &arena = plan.arena;
  int64_t size = elementSizeBytes(collective.type), packets = plan.tileElements * std::min<int64_t>(size, 4) / 4;
  Value first = slotPointer(arena.inbox, arena.inboxParity, arena.inboxSlot, slot, at, w.b.getI64Type());
  Value start = w.shiftRight(w.mul(tileInRound, w.i64(size)), w.i64(2));
  SmallVector<Value, 2> result;
  for (int64_t half = 0; half < (size == 8 ? 2 : 1); ++half)
    result.push_back(w.offset(first, w.add(w.range(packets), w.add(start, w.i64(half * packets)))));
  return result;
}

Value KernelWriter::arrayIndex(const Rank &part, int parts, Value &mask) {
  mask = present;
  if (plan.algorithm->slices) { // slice `part` of the one part
    Value index = w.add(element0, w.mul(place(part).rank, sliceElements));
    if (mask)
      mask = w.bitAnd(mask, w.less(index, partElements));
    return index;
  }
  if (parts == 1)
    return element0;
  Value skip = w.mul(place(part).rank, inner);
  if (plan.partsAreRuns())
    return w.add(element0, skip);
  Value row = w.divide(element0, inner), column = w.modulo(element0, inner);
  return w.add(w.add(w.mul(row, w.mul(inner, w.i64(parts))), column), skip);
}

//===-- Steps ----------------------------------------------------------------------------------------------------===//

TileHandle KernelWriter::input(const Rank &part) {
  Value mask, index = arrayIndex(part, collective.inputParts(), mask);
  return keep(operands.input(w, extra, index, mask));
}

void KernelWriter::output(const Rank &part, TileHandle tile) {
  Value mask, index = arrayIndex(part, collective.outputParts(), mask);
  operands.output(w, extra, index, mask, tiles[size_t(tile)]);
}

void KernelWriter::store(const Rank &at, const Slot &slot, TileHandle tile) {
  Place to = place(at);
  w.store(stagingTile(to, slot), tiles[size_t(tile)], both(present, to.somebody));
}

TileHandle KernelWriter::load(const Rank &at, const Slot &slot) {
  Place from = place(at);
  return keep(w.load(stagingTile(from, slot), both(present, from.somebody)));
}

// A word exists when one of its elements does: the words of a tile that the slice ends in are sent whole, with zeros.
void KernelWriter::send(const Rank &to, const Slot &slot, TileHandle tile) {
  SmallVector<Value, 2> words = toWords(w, tiles[size_t(tile)]), targets = packetTiles(place(to), slot);
  for (auto [target, word] : llvm::zip(targets, words))
    peer::PacketSendOp::create(w.b, target, word, flag, Value());
}

TileHandle KernelWriter::receive(int from, const Slot &slot, TileHandle own) {
  // Whoever missed a packet waits for no other: a whole round of late packets is as late as one.
  Value isOwn = w.equal(self, w.i64(from)), others = w.bitAnd(w.negate(isOwn), ok);
  SmallVector<Value, 2> words;
  for (Value source : packetTiles({self, {}, /*isOwn=*/true}, slot)) {
    auto shape = cast<RankedTensorType>(source.getType()).getShape();
    Type data = RankedTensorType::get(shape, w.b.getI32Type()), bits = RankedTensorType::get(shape, w.b.getI1Type());
    auto packet = peer::PacketReceiveOp::create(w.b, data, bits, source, flag, w.like(others, source), deadline, group);
    words.push_back(packet.getData());
    Value failed = w.any(w.negate(packet.getOk()));
    w.ifThen(failed, [&] {
      Value seen = w.shiftRight(w.load(source, {}, /*isVolatile=*/true), w.i64(32));
      peer::ReportOp::create(w.b, w.negate(packet.getOk()), w.i32(from), w.extend(flag, 64), seen, deadline, group,
                             tag);
    });
    fail(failed);
  }
  return keep(w.select(isOwn, tiles[size_t(own)], fromWords(w, words, element)));
}

TileHandle KernelWriter::fold(const std::function<TileHandle(int rank)> &contribution) {
  Fold fold(w, collective.type, collective.reduction);
  Value accumulator;
  for (int rank = 0; rank < collective.ranks; ++rank) {
    TileHandle tile = contribution(rank);
    accumulator = fold.step(accumulator, tiles[size_t(tile)]);
  }
  return keep(fold.round(accumulator));
}

} // namespace

OwningOpRef<ModuleOp> writeKernel(MLIRContext &context, const Plan &plan, const CollectiveOperands &operands) {
  if (plan.algorithm->direct && !operands.arePlainBuffers())
    throw internalError(std::string(plan.algorithm->name) +
                        " reaches into the operands of peers: they have to be plain "
                        "buffers");
  return KernelWriter(context, plan, operands).run();
}

} // namespace heddle
