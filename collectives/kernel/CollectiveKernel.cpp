// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads an algorithm as the code of its kernel. The function loads the block's epoch from its counter, runs the rounds,
// and stores the epoch back: nothing of the protocol comes from the host, so that a launch can be replayed.
#include "collectives/kernel/CollectiveKernel.h"
#include "binary/PeerAbi.h"
#include "chips/Chip.h"
#include "collectives/kernel/KernelWriter.h"
#include "compiler/dialects/peer/Peer.h"
#include "compiler/dialects/ttg/TritonGpu.h"
#include "support/Error.h"

using namespace mlir;
using namespace heddle::triton;
using heddle::tile::TileWriter;

namespace heddle {

void loadCollectiveDialects(MLIRContext &context) {
  tile::loadDialects(context);
  context.loadDialect<peer::PeerDialect, triton::gpu::TritonGpuDialect>();
}

//===-- Plain operands -------------------------------------------------------------------------------------------===//

std::vector<TileWriter::Argument> BufferOperands::arguments(TileWriter &w) const {
  Type pointer = w.pointerTo(tile::storageType(*w.b.getContext(), type));
  return {{"input", pointer}, {"output", pointer}};
}

Value BufferOperands::input(TileWriter &w, ValueRange arguments, Value index, Value mask, Value) const {
  return w.load(w.offset(arguments[0], index), mask);
}

void BufferOperands::output(TileWriter &w, ValueRange arguments, Value index, Value mask, Value tile, Value) const {
  w.store(w.offset(arguments[1], index), tile, mask, streams);
}

/// What the counter of a block holds for good when it has missed a peer. Epochs do not come so far.
static constexpr int64_t failedCounter = -1;

//===-- The kernel -----------------------------------------------------------------------------------------------===//

/// Of each unit, so that four of these launches fit on the device: then the next one may lie ready while this one runs
/// (docs/cuda.md). 1: the kernel has the registers that it likes. So it is where the start of a launch matters little,
/// where the input is computed at length, where more than 1024 threads would have too few, and for one shot of plain
/// buffers, which takes as few by itself.
int64_t KernelWriter::residentBlocks() const {
  const Chip &chip = *plan.chip;
  bool isPlainShot = plan.algorithm == &oneShotPackets && operands.arePlainBuffers();
  if (!chip.dependentLaunches || !isOneTile() || isPlainShot || operands.hasCostlyInput())
    return 1;
  int64_t blocks = (4 * plan.blocks + plan.computeUnits - 1) / plan.computeUnits;
  return blocks * plan.warps * chip.threadsPerWarp <= 1024 ? blocks : 1;
}

OwningOpRef<ModuleOp> KernelWriter::run() {
  Type words = w.pointerTo(w.b.getI64Type());
  Type integer = w.b.getI64Type();
  SmallVector<TileWriter::Argument> arguments = {{"group", words},   {"arena", words},  {"staging_group", words},
                                                 {"staging", words}, {"rank", integer}, {"tag", integer},
                                                 {"outer", integer}, {"inner", integer}};
  llvm::append_range(arguments, operands.arguments(w));
  std::string name = collectiveName(collective.kind);
  std::replace(name.begin(), name.end(), '-', '_');
  SmallVector<Value> values = w.begin(name, arguments);
  Operation *kernel = w.b.getInsertionBlock()->getParentOp();
  kernel->setAttr(peer::writesOnceAttribute, w.b.getUnitAttr());
  // With one on each unit: more registers, as a matmul wants them.
  if (int64_t blocks = residentBlocks(); blocks > 1 || plan.algorithm->flags)
    kernel->setAttr("simt.resident_blocks", w.b.getI64IntegerAttr(blocks));
  group = values[0], arena = values[1], stagingGroup = values[2], staging = values[3], self = values[4];
  tag = values[5], inner = values[7];
  Value outer = values[6];
  if (!operands.arePlainBuffers()) // a kernel of one size
    outer = w.i64(collective.outer), inner = w.i64(collective.inner);
  extra.assign(values.begin() + protocolArguments, values.end());
  partElements = w.mul(outer, inner);
  Value ranks = w.i64(collective.ranks);
  sliceElements = plan.algorithm->slices ? divideUp(partElements, ranks) : partElements;
  if (!operands.arePlainBuffers()) {
    sliceElements = w.i64(plan.sliceElements);
  } else if (plan.slicesAreChunks()) {
    Value chunk = w.i64(directSliceBytes / elementSizeBytes(collective.type));
    sliceElements = w.mul(divideUp(sliceElements, chunk), chunk);
  }

  loadPeers();
  deadline = isOneTile() ? w.i64(0) : Value(peer::DeadlineOp::create(w.b, group));
  block = w.extend(GetProgramIdOp::create(w.b, ProgramDim::X), 64);
  lanes = w.range(plan.tileElements);
  Value counter = w.offset(w.offset(arena, w.i64(plan.arena.counters / 8)), block);
  Value before = w.load(counter);
  if (isGpu() && operands.arePlainBuffers()) {
    Value bits = lowBits(extra);
    if (!plan.algorithm->slices && (collective.inputParts() > 1 || collective.outputParts() > 1))
      bits = w.bitOr(bits, w.bitAnd(w.mul(inner, w.i64(elementSizeBytes(collective.type))), w.i64(15)));
    isAligned = w.equal(bits, w.i64(0));
  }
  TileWriter::Values after = isOneTile() ? onlyRound(before) : rounds(before);
  Value last = w.sub(after[0], w.i64(1));
  w.store(counter, marksFailure() ? w.select(after[1], last, w.i64(failedCounter)) : last);
  operands.finish(w, extra);
  return w.end();
}

// Packets go to every peer: where they go is loaded before anything is waited for, and without the own address, which
// an address of the own memory would be compared with.
void KernelWriter::loadPeers() {
  peers.assign(1, arena);
  for (int ahead = 1; ahead < collective.ranks && plan.hasPackets(); ++ahead) {
    constexpr int64_t first = offsetof(PeerGroup, arena) / sizeof(uint64_t);
    Value address = w.load(w.offset(group, w.add(place(Rank::own(ahead)).rank, w.i64(first))));
    peers.push_back(IntToPtrOp::create(w.b, arena.getType(), address));
  }
}

// A block that has missed a peer tells the others nothing in later calls: a late one may still read the addresses and
// the staged data of the failed call. Packets are whole whatever becomes of them, so on devices a later call may send
// on: its waits end by the error record. Of Lamport's no rank could tell in which call they were sent.
bool KernelWriter::marksFailure() const {
  return !isGpu() || plan.arena.stagingBytes > 0 || plan.algorithm->barriers > 0 || isLamport();
}

Value KernelWriter::isHealthy(Value counter) {
  return marksFailure() ? w.compare(arith::CmpIPredicate::ne, counter, w.i64(failedCounter)) : w.boolean(true);
}

TileWriter::Values KernelWriter::rounds(Value before) {
  TileWriter::Values first = {w.add(before, w.i64(1)), isHealthy(before)};
  return w.forLoop(divideUp(sliceElements, w.i64(plan.roundElements())), first,
                   [&](Value number, ValueRange carried) -> TileWriter::Values {
                     epoch = carried[0], ok = carried[1];
                     // After a failure nothing is worth waiting for.
                     TileWriter::Values ended = w.ifElse(
                         ok, w.b.getI1Type(),
                         [&]() -> TileWriter::Values {
                           round(number);
                           return {ok};
                         },
                         [&]() -> TileWriter::Values { return {w.boolean(false)}; });
                     return {w.add(carried[0], w.i64(plan.epochs)), ended[0]};
                   });
}

// No branch, and nothing that waits for the counter before the tile's input is asked for: both are in flight at
// once.
TileWriter::Values KernelWriter::onlyRound(Value before) {
  counterBefore = before, loadedPeers = peers;
  roundNumber = w.i64(0), barriers = 0;
  plan.algorithm->write(*this, collective);
  return {w.add(before, w.i64(1 + plan.epochs)), ok};
}

void KernelWriter::followCounter(Value before) {
  ok = isHealthy(before);
  enterEpoch(w.add(before, w.i64(1)));
}

// Who has missed a peer waits for nothing and sends to itself, into its own slots, which no rank reads.
void KernelWriter::openRound() {
  if (!isOneTile() || std::exchange(isRoundOpen, true))
    return;
  followCounter(peer::HoldOp::create(w.b, w.b.getI64Type(), counterBefore));
  for (size_t ahead = 1; ahead < peers.size(); ++ahead)
    peers[ahead] = w.select(ok, loadedPeers[ahead], arena);
  deadline = peer::DeadlineOp::create(w.b, group);
}

void KernelWriter::round(Value number) {
  roundNumber = number, barriers = 0;
  enterEpoch(epoch);
  plan.algorithm->write(*this, collective);
}

void KernelWriter::enterEpoch(Value first) {
  epoch = first;
  Value count = w.divide(w.sub(epoch, w.i64(1)), w.i64(plan.epochs));
  parity = w.bitAnd(count, w.i64(1));
  // Flags repeat after 2^32 - 1 epochs, long after each slot has been written again: every call of the sizes that share
  // an arena writes every slot that it reads.
  flag = flagOf(epoch);
}

void KernelWriter::eachTileOf(const std::vector<Body> &stages) {
  if (plan.algorithm->flags)
    return operands.piecesOfInput() ? eachPiece(stages.front()) : eachCostlyTile(stages);
  // The last round may have fewer tiles than the others; each block takes as many, so that all pass as many barriers.
  Value left = w.sub(sliceElements, w.mul(roundNumber, w.i64(plan.roundElements())));
  Value tilesLeft = divideUp(left, w.i64(plan.blocks * plan.tileStride()));
  Value count = w.binary<arith::MinSIOp>(tilesLeft, w.i64(plan.tilesPerRound));
  // After a missed peer nothing here is worth doing, and where a peer's operands lie is not even known.
  if (!isOneTile())
    count = w.select(ok, count, w.i64(0));
  if (isLamport())
    late = w.splat(w.i32(0), plan.tileElements * elementSizeBytes(collective.type) / bytesOfPacket());
  TileWriter::Values begin = progress();
  // Stage k of a tile has its turn k turns after the first one.
  auto last = int64_t(stages.size()) - 1;
  TileWriter::Values after =
      w.forLoop(w.add(count, w.i64(last)), begin, [&](Value turn, ValueRange carried) -> TileWriter::Values {
        resume(carried);
        if (last == 0)
          writeTile(turn, stages[0]);
        for (int64_t stage = 0; stage <= last && last > 0; ++stage)
          writeStage(w.sub(turn, w.i64(stage)), count, stages[size_t(stage)]);
        return progress();
      });
  resume(after);
  if (isOneTile())
    followCounter(counterBefore);
  if (isLamport())
    reportLate();
}

// Before the first tile and after the last one a stage has nothing to do.
void KernelWriter::writeStage(Value tile, Value count, const Body &body) {
  TileWriter::Values before = progress();
  resume(w.ifElse(
      w.compare(arith::CmpIPredicate::ult, tile, count), llvm::to_vector(ValueRange(before).getTypes()),
      [&] {
        writeTile(tile, body);
        return progress();
      },
      [&] { return before; }));
}

void KernelWriter::writeTile(Value number, const Body &body) {
  tileInBlock = number;
  writeTileAt(w.add(w.mul(number, w.i64(plan.blocks)), block), body);
}

void KernelWriter::writeTileAt(Value inRound, const Body &body) {
  tileInRound = w.mul(inRound, w.i64(plan.tileElements));
  tileStart = w.add(w.mul(roundNumber, w.i64(plan.roundElements())), w.mul(inRound, w.i64(plan.tileStride())));
  element0 = w.add(lanes, tileStart);
  writeForms(body);
}

TileWriter::Values KernelWriter::progress() const {
  return isLamport() ? TileWriter::Values{late, deadline} : TileWriter::Values{ok};
}

void KernelWriter::resume(ValueRange values) {
  if (!isLamport())
    ok = values[0];
  else
    late = values[0], deadline = values[1];
}

bool KernelWriter::everyTileIsWhole() const {
  int64_t inTurn = plan.algorithm->flags ? 1 : plan.blocks; // of which a turn takes so many
  bool fits = plan.sliceElements % (inTurn * plan.tileStride()) == 0;
  int64_t slices = plan.algorithm->slices ? collective.ranks : 1;
  return !operands.arePlainBuffers() && fits && slices * plan.sliceElements == collective.partElements();
}

// There are two codes: nearly all tiles exist in every part or slice, and need no mask, but for the end of a row that
// is shorter than its tile. GPUs have a third, for tiles that a part of whole accesses ends in: a mask says the same of
// all elements of an access then. It is not for all tiles, since even such a mask made small all-reduces slower.
void KernelWriter::writeForms(const Body &body) {
  auto masked = [&](Value mask, bool whole) -> TileWriter::Values {
    present = mask;
    isWhole = whole;
    tiles.clear();
    words.clear();
    isRoundOpen = false;
    body();
    sendEscapes();
    settle();
    endOutputs();
    return progress();
  };
  bool isPlain = operands.arePlainBuffers(), hasInbox = plan.hasPackets();
  Value inRow = plan.tileStride() < plan.tileElements ? w.less(lanes, w.i64(plan.rowElements)) : Value();
  if (everyTileIsWhole() && plan.partsAreRuns()) {
    masked(inRow, true);
    return;
  }
  if (isGpu() ? !plan.partsAreRuns() : !isPlain || hasInbox) {
    masked(both(w.less(element0, sliceElements), inRow), false);
    return;
  }
  Value inAll = plan.algorithm->slices // the last slice is the shortest
                    ? w.sub(partElements, w.mul(sliceElements, w.i64(collective.ranks - 1)))
                    : sliceElements;
  Value end = w.add(tileStart, w.i64(plan.tileStride()));
  TileWriter::Values before = progress();
  SmallVector<Type> types = llvm::to_vector(ValueRange(before).getTypes());
  auto aligned = [&](Value mask, bool whole) {
    resume(before);
    knowsAligned = isAligned != nullptr;
    auto result = masked(mask, whole);
    knowsAligned = false;
    return result;
  };
  auto byElements = [&] {
    resume(before);
    return masked(both(w.less(element0, sliceElements), inRow), false);
  };
  auto partly = [&] {
    if (!isAligned)
      return byElements();
    Value isEven = w.bitAnd(isAligned, w.equal(partElements, wholeAccesses(partElements)));
    return w.ifElse(
        isEven, types, [&] { return aligned(both(w.less(element0, wholeAccesses(sliceElements)), inRow), false); },
        byElements);
  };
  Value exists = w.compare(arith::CmpIPredicate::sle, end, inAll);
  if (isAligned)
    exists = w.bitAnd(exists, isAligned);
  resume(w.ifElse(exists, types, [&] { return aligned(inRow, true); }, partly));
}

void KernelWriter::barrier() {
  Value now = w.add(epoch, w.i64(barriers++));
  if (std::exchange(published, false))
    return exchangeOperands(now);
  Value signals = w.offset(arena, w.i64(plan.arena.signals / 8));
  Value met = peer::BlockBarrierOp::create(w.b, w.b.getI1Type(), signals, now, deadline, group, tag,
                                           uint32_t(collective.ranks));
  ok = w.bitAnd(ok, met);
}

// The inputs are those of earlier kernels, so there is nothing to release on devices, where the end of a kernel does
// that; on the host it costs nothing.
void KernelWriter::exchangeOperands(Value now) {
  SmallVector<Value> addresses;
  for (Value operand : extra)
    addresses.push_back(PtrToIntOp::create(w.b, w.b.getI64Type(), operand));
  if (plan.windows)
    loadShifts();
  Value slots = w.offset(arena, w.i64(plan.arena.operands / 8));
  Value met = peer::BlockExchangeOp::create(w.b, w.b.getI1Type(),
                                            isGpu() ? triton::MemSemantic::Relaxed : triton::MemSemantic::Release,
                                            slots, addresses, now, deadline, group, tag, uint32_t(collective.ranks));
  ok = w.bitAnd(ok, met);
  operandsByRank.clear();
  for (int rank = 0; rank < collective.ranks; ++rank)
    operandsByRank.push_back(receiveOperands(rank, flagOf(now)));
  if (!isAligned)
    return;
  for (const auto &pointers : operandsByRank)
    isAligned = w.bitAnd(isAligned, w.equal(lowBits(pointers), w.i64(0)));
}

OwningOpRef<ModuleOp> writeKernel(MLIRContext &context, const Plan &plan, const CollectiveOperands &operands) {
  if (plan.algorithm->direct && !operands.arePlainBuffers())
    throw internalError(std::string(plan.algorithm->name) +
                        " reaches into the operands of peers: they have to be plain "
                        "buffers");
  if (plan.algorithm->flags && !operands.piecesOfInput() && !operands.hasCostlyInput())
    throw internalError(std::string(plan.algorithm->name) + " is for kernels with a matmul");
  return KernelWriter(context, plan, operands).run();
}

} // namespace heddle
