// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The steps of an algorithm as tile code: where slots, packets and the arrays of this rank and of its peers lie, and
// what is loaded, stored, sent, received and folded there.
#include "collectives/kernel/Fold.h"
#include "collectives/kernel/KernelWriter.h"
#include "collectives/kernel/Packets.h"
#include "compiler/dialects/peer/Peer.h"

using namespace mlir;
using namespace heddle::triton;

namespace heddle {

//===-- Operands of peers ----------------------------------------------------------------------------------------===//

void KernelWriter::publish() {
  published = true;
}

// Asked for before the exchange, whose wait they then share.
void KernelWriter::loadShifts() {
  shifts.assign(size_t(collective.ranks), {});
  for (int rank = 0; rank < collective.ranks; ++rank)
    for (size_t operand = 0; operand < extra.size(); ++operand) {
      size_t at = offsetof(CollectiveGroups, shift) / sizeof(uint64_t) + operand * maxWorldSize + size_t(rank);
      shifts[size_t(rank)].push_back(w.load(w.offset(group, w.i64(int64_t(at)))));
    }
}

// Every thread receives the packets, which have come: what threads tell each other of them is when, not what. None
// has sent any of this rank itself.
SmallVector<Value> KernelWriter::receiveOperands(int rank, Value flag) {
  int64_t words = 2 * int64_t(extra.size());
  Value row = w.add(w.mul(block, w.i64(collective.ranks)), w.i64(rank));
  Value slots = w.offset(arena, w.add(w.i64(plan.arena.operands / 8), w.mul(row, w.i64(words))));
  Value isOther = w.negate(w.equal(self, w.i64(rank)));
  SmallVector<Value> halves, result;
  for (int64_t word = 0; word < words; ++word)
    halves.push_back(peer::PacketReceiveOp::create(w.b, w.b.getI32Type(), w.b.getI1Type(), w.offset(slots, w.i64(word)),
                                                   flag, isOther, deadline, group)
                         .getData());
  for (auto [number, own] : llvm::enumerate(extra)) {
    Value low = w.extend(halves[2 * number], 64), high = w.extend(halves[2 * number + 1], 64);
    Value address = w.bitOr(low, w.shiftLeft(high, w.i64(32)));
    if (plan.windows)
      address = w.add(address, shifts[size_t(rank)][number]);
    Value theirs = IntToPtrOp::create(w.b, own.getType(), address);
    result.push_back(w.select(isOther, theirs, own));
  }
  return result;
}

SmallVector<Value> KernelWriter::operandsOf(const Rank &rank) {
  if (rank.form == Rank::Form::Fixed)
    return operandsByRank[size_t(rank.value)];
  Place at = place(rank);
  if (at.isOwn)
    return extra;
  SmallVector<Value> result = operandsByRank[0];
  for (int other = 1; other < collective.ranks; ++other)
    for (size_t number = 0; number < result.size(); ++number)
      result[number] = w.select(w.equal(at.rank, w.i64(other)), operandsByRank[size_t(other)][number], result[number]);
  return result;
}

TileHandle KernelWriter::peerInput(const Rank &of, const Rank &part) {
  Value mask, index = arrayIndex(part, collective.inputParts(), mask);
  return keep(operands.input(w, forTile(operandsOf(of)), index, mask, {}));
}

void KernelWriter::peerOutput(const Rank &of, const Rank &part, TileHandle tile) {
  Value mask, index = arrayIndex(part, collective.outputParts(), mask);
  operands.output(w, forTile(operandsOf(of)), index, mask, valueOf(tile), firstOf(part, collective.outputParts()));
}

// By block as well: so both ranks have work at any time, however few tiles a block has.
void KernelWriter::inTurn(const std::function<void()> &body) {
  Value turn = w.bitAnd(w.add(w.add(tileInBlock, roundNumber), block), w.i64(1));
  Value isUpper = w.compare(arith::CmpIPredicate::sge, self, w.i64(collective.ranks / 2));
  w.ifThen(w.equal(w.equal(turn, w.i64(1)), isUpper), body);
}

//===-- Alignment ------------------------------------------------------------------------------------------------===//

/// Of arenas, areas and slots.
static constexpr int64_t slotAlignment = 256;

Value KernelWriter::aligned(Value pointer, int64_t bytes) {
  Value address = PtrToIntOp::create(w.b, w.b.getI64Type(), pointer);
  return IntToPtrOp::create(w.b, pointer.getType(), w.bitAnd(address, w.i64(-bytes)));
}

SmallVector<Value> KernelWriter::forTile(ValueRange pointers) {
  SmallVector<Value> result(pointers);
  if (knowsAligned)
    for (Value &pointer : result)
      pointer = aligned(pointer, accessBytes);
  return result;
}

/// So many elements, or fewer: a number of which the compiler sees that it is one of whole accesses.
Value KernelWriter::wholeAccesses(Value elements) {
  int64_t access = std::max<int64_t>(1, accessBytes / elementSizeBytes(collective.type));
  return w.bitAnd(elements, w.i64(-std::min(access, plan.tileElements)));
}

Value KernelWriter::lowBits(ValueRange pointers) {
  Value bits;
  for (Value pointer : pointers) {
    Value address = PtrToIntOp::create(w.b, w.b.getI64Type(), pointer);
    bits = bits ? w.bitOr(bits, address) : address;
  }
  return w.bitAnd(bits, w.i64(accessBytes - 1));
}

//===-- Places ---------------------------------------------------------------------------------------------------===//

KernelWriter::Place KernelWriter::place(const Rank &rank) {
  switch (rank.form) {
  case Rank::Form::Fixed:
    return {w.i64(rank.value), {}};
  case Rank::Form::Own: {
    if (rank.value % collective.ranks == 0)
      return {self, {}, /*isOwn=*/true};
    int ahead = rank.value % collective.ranks;
    Value sum = w.add(self, w.i64(ahead)), size = w.i64(collective.ranks);
    Value wraps = w.compare(arith::CmpIPredicate::sge, sum, size);
    return {w.select(wraps, w.sub(sum, size), sum), {}, /*isOwn=*/false, ahead};
  }
  case Rank::Form::Table: {
    Value found = w.i64(-1);
    for (int own = 0; own < int(rank.table.size()); ++own)
      found = w.select(w.equal(self, w.i64(own)), w.i64(rank.table[size_t(own)]), found);
    Value somebody = w.compare(arith::CmpIPredicate::sge, found, w.i64(0));
    return {w.select(somebody, found, self), somebody};
  }
  case Rank::Form::Turn:
    return {turnRank, {}};
  }
  llvm_unreachable("unknown form of a rank");
}

Value KernelWriter::slotPointer(const Area &area, const Slot &slot, const Place &at, Type pointee) {
  Value number = w.add(place(slot.rank).rank, w.i64(slot.base));
  Value bytes =
      w.add(w.i64(area.firstByte), w.add(w.mul(parity, w.i64(area.parityBytes)), w.mul(number, w.i64(area.slotBytes))));
  bool isFound = at.ahead > 0 && area.memory == arena && plan.hasPackets();
  Value memory = isFound ? peers[size_t(at.ahead)] : area.memory;
  Value pointer = w.offset(memory, w.shiftRight(bytes, w.i64(3))); // areas and slots are multiples of 256 bytes
  if (!at.isOwn && !isFound)
    pointer = peer::AddressOp::create(w.b, pointer.getType(), pointer, w.truncate(at.rank, 32), area.group);
  return w.bitcast(isGpu() ? aligned(pointer, slotAlignment) : pointer, w.pointerTo(pointee));
}

Value KernelWriter::stagingTile(const Place &at, const Slot &slot) {
  Value first =
      slotPointer({staging, stagingGroup, 0, plan.arena.stagingParity, plan.arena.stagingSlot}, slot, at, element);
  return w.offset(first, w.add(lanes, tileInRound));
}

// Of 8-byte elements the low words' packets of a tile come before those of the high words.
SmallVector<Value, 2> KernelWriter::packetTiles(const Place &at, const Slot &slot, int64_t inbox) {
  int64_t size = elementSizeBytes(collective.type), data = bytesOfPacket();
  int64_t packets = plan.tileElements * std::min(size, data) / data;
  Value first =
      slotPointer({arena, group, inbox, plan.arena.inboxParity, plan.arena.inboxSlot}, slot, at, w.b.getI64Type());
  Value start = w.shiftRight(w.mul(tileInRound, w.i64(size)), w.i64(llvm::Log2_64(uint64_t(data))));
  SmallVector<Value, 2> result;
  for (int64_t half = 0; half < (size > data ? 2 : 1); ++half)
    result.push_back(w.offset(first, w.add(w.range(packets), w.add(start, w.i64(half * packets)))));
  return result;
}

Value KernelWriter::arrayIndex(const Rank &part, int parts, Value &mask) {
  mask = present;
  if (plan.algorithm->slices) { // slice `part` of the one part
    Value index = w.add(element0, w.mul(place(part).rank, sliceElements));
    if (mask && !isWhole)
      mask = w.bitAnd(mask, w.less(index, knowsAligned ? wholeAccesses(partElements) : partElements));
    return index;
  }
  if (parts == 1)
    return element0;
  Value row = inner;
  if (knowsAligned) // a multiple of what is accessed at once
    row = wholeAccesses(inner);
  Value skip = w.mul(place(part).rank, row);
  if (plan.partsAreRuns())
    return w.add(element0, skip);
  Value line = w.divide(element0, inner), column = w.modulo(element0, inner);
  return w.add(w.add(w.mul(line, w.mul(inner, w.i64(parts))), column), skip);
}

Value KernelWriter::firstOf(const Rank &part, int parts) {
  if (!plan.rowElements) // none asks
    return {};
  if (!plan.algorithm->slices && parts == 1)
    return tileStart;
  return w.add(tileStart, w.mul(place(part).rank, plan.algorithm->slices ? sliceElements : inner));
}

//===-- Steps ----------------------------------------------------------------------------------------------------===//

TileHandle KernelWriter::input(const Rank &part) {
  Value mask, index = arrayIndex(part, collective.inputParts(), mask);
  Value tile = operands.input(w, forTile(extra), index, mask, firstOf(part, collective.inputParts()));
  int64_t bytes = elementSizeBytes(collective.type);
  return keep(arrangesPackets() ? w.arranged(tile, std::max<int64_t>(1, bytesOfPacket() / bytes), spanOf(bytes))
                                : tile);
}

CollectiveOperands::RestOfOutput KernelWriter::beginOutput(const Rank &part) {
  Value mask, index = arrayIndex(part, collective.outputParts(), mask);
  return operands.beginOutput(w, extra, index, mask, firstOf(part, collective.outputParts()));
}

void KernelWriter::endOutputs() {
  for (const Ending &ending : std::exchange(endings, {}))
    ending.rest(ending.tile);
}

void KernelWriter::output(const Rank &part, TileHandle tile) {
  if (operands.piecesOfInput())
    return;
  if (!operands.arePlainBuffers()) {
    Value all = valueOf(tile);
    if (arrangesPackets())
      all = w.arranged(all, accessBytes / elementSizeBytes(collective.type));
    endings.push_back({begun ? std::exchange(begun, {}) : beginOutput(part), all});
    return;
  }
  settle(); // of packets with flags: in place, no thread stores what another one has not loaded
  Value mask, index = arrayIndex(part, collective.outputParts(), mask);
  operands.output(w, forTile(extra), index, mask, valueOf(tile), firstOf(part, collective.outputParts()));
}

void KernelWriter::store(const Rank &at, const Slot &slot, TileHandle tile) {
  Place to = place(at);
  w.store(stagingTile(to, slot), valueOf(tile), both(present, to.somebody));
}

TileHandle KernelWriter::load(const Rank &at, const Slot &slot) {
  Place from = place(at);
  return keep(w.load(stagingTile(from, slot), both(present, from.somebody)));
}

/// A word of NaNs of any type, whose highest element differs from those of a missing word.
static constexpr int64_t otherNaNs = INT64_MAX;
static constexpr auto missing = int64_t(missingWord), escape = int64_t(escapedWord);

const KernelWriter::Words &KernelWriter::wordsOf(TileHandle tile) {
  auto [known, isNew] = words.try_emplace(tile);
  Words &result = known->second;
  if (!isNew)
    return result;
  result.data = toWords(w, valueOf(tile), isLamport() ? 64 : 32);
  result.sent = result.data;
  if (!isLamport())
    return result;
  Value word = result.data[0];
  auto constant = [&](int64_t value) { return w.like(w.i64(value), word); };
  Value isMissing = w.equal(word, w.i64(missing));
  result.sent[0] = w.select(isMissing, constant(plan.hasEscapes() ? escape : otherNaNs), word);
  if (plan.hasEscapes()) {
    result.escaped = w.equal(result.sent[0], w.i64(escape));
    return result;
  }
  result.data = result.sent; // this rank goes on with the same bits as the others
  tiles[size_t(tile)] = fromWords(w, result.data, element);
  return result;
}

// A word exists when one of its elements does: the words of a tile that the slice ends in are sent whole, with zeros.
// Where they go is looked up while they are in flight.
void KernelWriter::send(const Rank &to, const Slot &slot, TileHandle tile) {
  openRound();
  Place owner = place(to);
  SmallVector<Value, 2> targets = packetTiles(owner, slot, plan.arena.inbox);
  const Words &packets = wordsOf(tile);
  auto write = [this](Value target, Value word, Value mask) {
    peer::AtomicWriteOp::create(w.b, MemSemantic::Relaxed, MemScope::System, arranged(target), word, mask);
  };
  for (auto [target, word] : llvm::zip(targets, packets.sent)) {
    if (isLamport())
      write(target, word, Value());
    else
      peer::PacketSendOp::create(w.b, arranged(target), word, flag, Value());
  }
  if (packets.escaped) // 1: of a missing word, 0: of an escape
    pendingEscapes.push_back([=, this, data = packets.data[0], escaped = packets.escaped] {
      Value isMissing = w.equal(data, w.i64(missing));
      write(packetTiles(owner, slot, plan.arena.escapes)[0], w.extend(isMissing, 64), escaped);
    });
}

// They are few, if there are any: first goes what all wait for.
void KernelWriter::sendEscapes() {
  for (const Body &send : std::exchange(pendingEscapes, {}))
    send();
}

std::pair<Value, Value> KernelWriter::take(Value source, Value mask) {
  auto shape = cast<RankedTensorType>(source.getType()).getShape();
  auto tileOf = [&](unsigned bits) { return RankedTensorType::get(shape, w.b.getIntegerType(bits)); };
  if (!isLamport()) {
    auto packet = peer::PacketReceiveOp::create(w.b, tileOf(32), tileOf(1), source, flag, mask, deadline, group);
    return {packet.getData(), packet.getOk()};
  }
  Value ones = w.i64(missing); // the largest, as comparators are unsigned
  Value word = peer::AtomicSpinWaitOp::create(w.b, tileOf(64), MemSemantic::Relaxed, MemScope::System,
                                              peer::Comparator::LessThan, source, ones, mask, deadline, group);
  return {word, w.compare(arith::CmpIPredicate::ne, word, ones)};
}

TileHandle KernelWriter::receive(const Rank &from, const Slot &slot, TileHandle own) {
  openRound();
  sendEscapes(); // no thread waits while others wait for what it has
  Place sender = place(from), here = {self, {}, /*isOwn=*/true};
  Value isOwn = own < 0 ? Value() : w.equal(self, sender.rank), others = ok;
  if (isOwn)
    others = w.bitAnd(w.negate(isOwn), ok);
  SmallVector<Value, 2> received;
  for (Value source : packetTiles(here, slot, plan.arena.inbox)) {
    Value place = arranged(source); // a report reads `source` as it likes
    auto [data, arrived] = take(place, w.like(others, source));
    received.push_back(data);
    receipts.push_back({sender.rank, source, place, arrived, {}});
  }
  if (plan.hasEscapes()) {
    Value place = arranged(packetTiles(here, slot, plan.arena.escapes)[0]);
    arrivals.push_back({keep({}), sender.rank, place, received[0], isOwn, isOwn ? wordsOf(own).data[0] : Value()});
    return arrivals.back().tile;
  }
  for (size_t number = 0; isOwn && number < received.size(); ++number)
    received[number] = w.select(isOwn, wordsOf(own).data[number], received[number]);
  return keep(fromWords(w, received, element));
}

// All words that came are there before the first escape is waited for: the waits of each kind become one.
void KernelWriter::readEscapes() {
  std::vector<Arrival> all = std::exchange(arrivals, {});
  std::vector<Value> meanings;
  for (const Arrival &arrival : all) {
    Value isEscape = w.equal(arrival.word, w.i64(escape));
    auto [meaning, arrived] = take(arrival.place, isEscape);
    meanings.push_back(w.bitAnd(isEscape, w.equal(meaning, w.i64(1))));
    receipts.push_back({arrival.from, arrival.place, arrival.place, arrived, isEscape});
  }
  for (auto [arrival, isMissing] : llvm::zip(all, meanings)) {
    Value word = w.select(isMissing, w.like(w.i64(missing), arrival.word), arrival.word);
    if (arrival.isOwn)
      word = w.select(arrival.isOwn, arrival.own, word);
    tiles[size_t(arrival.tile)] = fromWords(w, {word}, element);
  }
}

// A tile has a word or more for each thread, and the store has the pointers of the wait, so their layout: the one
// thread that has waited for a word replaces it.
void KernelWriter::settleLamport() {
  readEscapes(); // of tiles that nothing is made of
  for (const Receipt &receipt : std::exchange(receipts, {})) {
    peer::AtomicWriteOp::create(w.b, MemSemantic::Relaxed, MemScope::System, receipt.place,
                                w.like(w.i64(missing), receipt.place), receipt.mask);
    late = w.select(receipt.arrived, late, w.like(w.add(w.truncate(receipt.from, 32), w.i32(1)), late));
  }
}

// Once for all tiles: threads do not wait for each other in between.
void KernelWriter::reportLate() {
  Value isLate = w.compare(arith::CmpIPredicate::ne, late, w.i32(0)), failed = w.any(isLate);
  w.ifThen(failed, [&] {
    peer::ReportOp::create(w.b, isLate, w.sub(late, w.i32(1)), epochOf(w.extend(flag, 64)), w.i64(0), deadline, group,
                           tag);
  });
  ok = w.bitAnd(ok, w.negate(failed));
}

// The waits share one deadline, so that several late packets are as late as one. A rank that missed a packet waits for
// nothing any more.
void KernelWriter::settle() {
  if (isLamport())
    return settleLamport();
  if (receipts.empty())
    return;
  Value all = receipts.front().arrived;
  for (const Receipt &receipt : receipts)
    all = w.bitAnd(all, receipt.arrived);
  Value failed = w.any(w.negate(all));
  w.ifThen(failed, [&] {
    for (const Receipt &receipt : receipts) {
      Value seen = w.shiftRight(w.load(receipt.source, {}, /*isVolatile=*/true), w.i64(32));
      peer::ReportOp::create(w.b, w.negate(receipt.arrived), w.truncate(receipt.from, 32), epochOf(w.extend(flag, 64)),
                             epochOf(seen), deadline, group, tag);
    }
  });
  ok = w.bitAnd(ok, w.negate(failed));
  receipts.clear();
}

TileHandle KernelWriter::fold(const std::function<TileHandle(int rank)> &contribution) {
  Fold fold(w, collective.type, collective.reduction);
  if (!operands.arePlainBuffers() && !plan.algorithm->slices) // the sum is what is put out: meanwhile the rest may come
    begun = beginOutput(Rank::fixed(0));
  std::vector<TileHandle> contributions; // all of them before the first is used: packets are waited for together
  for (int rank = 0; rank < collective.ranks; ++rank)
    contributions.push_back(contribution(rank));
  Value accumulator;
  for (TileHandle tile : contributions)
    accumulator = fold.step(accumulator, valueOf(tile));
  settle();
  return keep(fold.round(accumulator));
}

} // namespace heddle
