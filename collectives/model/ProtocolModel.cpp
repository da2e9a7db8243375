// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes the Promela text: memory with views of each rank, barriers and packets by their atomic steps, planted faults.
#include "collectives/model/ProtocolModel.h"
#include "collectives/model/DataSources.h"
#include "support/Error.h"
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <set>
#include <utility>

namespace heddle {
namespace {

/// What the text of every model begins with.
const char *const rules =
    R"(/* Time is counted in segments: a rank begins a new one with each barrier's release. known[r*RANKS+q] is the last
   segment of rank q that comes before what rank r does now: a release carries what its rank knows, an acquire adds it to
   what the reader knows. Every access of plain memory must come after those it conflicts with in this order, not only in
   time: else the store could become visible too late, or too early for another reader. */
byte known[RANKS * RANKS];

/* Memory that ranks share: a value, who wrote it and in which segment, and in which one each rank last read it. */
byte value[CELLS], writer[CELLS], written[CELLS], readBy[CELLS * RANKS];

/* Signals: each epoch that was ever stored into a barrier's slot, and what the release carried. A poll may see any of
   them. A rank that has seen an epoch forgets it, as it polls for later ones only. */
bit stored[SIGNALS];
byte carried[SIGNALS * RANKS];

/* Packets with flags, by box and round: 0 before one was sent. */
byte packet[BOXES * (ROUNDS + 1)], sent[BOXES], taken[BOXES];
)";

/// Of packets of Lamport's form, each round of which is a launch.
const char *const lamportRules =
    R"(
/* Packets without flags, by box: 0 until one comes. A launch is a segment: its end releases what its rank did, and
   acquires what the packets carry that it has taken, which is what their senders knew when their launches began.
   cleared[] is the segment in which the owner of a box last made it 0: that must come before the next packet there. */
byte boxed[BOXES], cleared[BOXES], told[BOXES * RANKS], learnt[RANKS * RANKS];
)";

/// Of such packets whose data may have any bits.
const char *const escapeRules =
    R"(
/* Any packet may be an escape, of three ranks any of the first one in odd rounds: what is meant comes, a step later or
   much later, into a box of its own, meant[]. It is 0 and cleared as the others are. */
#define ESCAPE 1
byte meant[BOXES], clearedMeant[BOXES];
)";

/// Values are round * tags + tag, rounds from 1, so that none is an escape. Tags of inputs by rank and part, of sums by
/// part, of an address, and of zeros.
constexpr int tags = 32, addressTag = tags - 2, zerosTag = tags - 1;
static_assert(maxModelRanks * maxModelRanks + maxModelRanks < addressTag && (maxModelRounds + 1) * tags <= 256);

/// Numbers for places, in the order in which they are first named: a model has no memory that no step comes to.
class Numbers {
public:
  int of(std::array<int, 4> place) { return numbers.try_emplace(place, int(numbers.size())).first->second; }
  int count() const { return std::max(1, int(numbers.size())); }

private:
  std::map<std::array<int, 4>, int> numbers;
};

enum Area { StagingArea, AddressArea, InputArea, OutputArea };

int bitsOf(const std::set<int> &ranks) {
  int bits = 0;
  for (int rank : ranks)
    bits |= 1 << rank;
  return bits;
}

class ModelWriter : public ProtocolWriter {
public:
  ModelWriter(const Plan &plan, const ModelOptions &options)
      : plan(plan), c(plan.collective), ranks(c.ranks), options(options), sources(dataSources(plan)),
        epochs(options.rounds * plan.epochs + 1) {}

  std::string run();

  void barrier() override;
  void signal() override;
  void await() override;
  TileHandle input(const Rank &part) override;
  void output(const Rank &part, TileHandle tile) override;
  void store(const Rank &at, const Slot &slot, TileHandle tile) override;
  TileHandle load(const Rank &at, const Slot &slot) override;
  void send(const Rank &to, const Slot &slot, TileHandle tile) override;
  TileHandle receive(const Rank &from, const Slot &slot, TileHandle own) override;
  void publish() override;
  TileHandle peerInput(const Rank &of, const Rank &part) override;
  void peerOutput(const Rank &of, const Rank &part, TileHandle tile) override;
  void inTurn(const std::function<void()> &body) override;
  TileHandle fold(const std::function<TileHandle(int rank)> &contribution) override;

private:
  bool has(ProtocolFault fault) const { return options.fault == fault; }
  int resolve(const Rank &rank) const { return rank.of(me, ranks); }

  // The model moves in steps, between which any other rank may come. Each touches shared memory once; what a rank does
  // with its own variables alone, and what is asserted of them, belongs to the step before: no rank sees when it
  // happens.
  void line(const std::string &what) {
    endStep();
    text += "  " + what + "\n";
  }
  void beginStep(const std::string &what) {
    endStep();
    step = what;
  }
  void endStep() {
    if (!step.empty())
      text += "  " + std::exchange(step, "") + " };\n";
  }
  void alongside(const std::string &what) { step += (step.empty() ? "d_step { " : "; ") + what; }
  std::string writeProcess();
  void writeRound();

  TileHandle keep(std::string expression) {
    tiles.push_back(std::move(expression));
    return TileHandle(tiles.size()) - 1;
  }
  std::string newVariable() {
    variables = std::max(variables, ++used);
    return fmt::format("t{}", used - 1);
  }

  bool inputIsCut() const { return plan.algorithm->slices || c.inputParts() > 1; }
  bool outputIsCut() const { return plan.algorithm->slices || c.outputParts() > 1; }
  int cut(const Rank &part, bool isCut) const { return isCut ? resolve(part) : 0; }
  int valueOf(int tag) const { return round * tags + tag; }
  int inputValue(int rank, int part) const { return valueOf(1 + rank * ranks + part); }
  int sumValue(int part) const { return valueOf(1 + ranks * ranks + part); }
  int expectedOutput(int part) const;

  bool isLamport() const { return plan.packets == PacketForm::Lamport; }
  /// All ranks and both buffers do the same: of three ranks one and one buffer are enough, and all are too many states.
  bool maySendEscapes() const {
    return plan.hasEscapes() && (ranks == 2 || (round % 2 == 1 && me <= int(has(ProtocolFault::LateEscape))));
  }
  void endLaunch();
  void sendLamport(int owner, int box, const std::string &value);
  void sendEscapes();
  std::string receiveLamport(int box, bool waits);

  // As kernel/CollectiveKernel.cpp has them.
  int firstEpoch() const { return 1 + (has(ProtocolFault::SameEpoch) ? 0 : round - 1) * plan.epochs; }
  int parityOf(int round) const {
    return has(ProtocolFault::SingleBuffer) || plan.algorithm->oneBuffer ? 0 : (round - 1) & 1;
  }
  int flagOf(int round) const { return has(ProtocolFault::SameEpoch) ? 0 : round; }

  int slotNumber(const Slot &slot) const { return slot.base + resolve(slot.rank); }
  int cell(int at, const Slot &slot) { return cells.of({StagingArea, at, parityOf(round), slotNumber(slot)}); }
  int box(int at, const Slot &slot) { return boxes.of({at, parityOf(round), slotNumber(slot), 0}); }
  int signal(int owner, int sender, int epoch) { return signals.of({owner, sender, epoch, 0}); }
  // Of direct algorithms: where `of` told `owner` that its operands lie, and the operands.
  int addressCell(int owner, int of) { return cells.of({AddressArea, owner, of, 0}); }
  // In place, the smaller array of the two is the rank's own part of the larger one.
  int inputCell(int rank, int part) {
    return cells.of({InputArea, rank, options.inPlace && !inputIsCut() && outputIsCut() ? rank : part, 0});
  }
  int outputCell(int rank, int part) {
    if (options.inPlace)
      return cells.of({InputArea, rank, inputIsCut() && !outputIsCut() ? rank : part, 0});
    return cells.of({OutputArea, rank, part, 0});
  }
  void storeCell(int cell, const std::string &value);
  std::string loadCell(int cell); ///< yields a variable
  void writeInputs();
  void readOutputs();
  std::string comesBefore(int rank, const std::string &when) const {
    return fmt::format("{} <= known[{}]", when, me * ranks + rank);
  }
  std::set<int> others() const;
  std::set<int> awaited() const;
  void storeSignals(int epoch);
  std::string storeSignal(int owner, int epoch);
  void awaitSignal(int sender, int epoch);
  std::string learn(int signal) const; ///< what the acquire of a release adds to what this rank knows
  std::string forget(int signal) const;

  const Plan &plan;
  const Collective &c;
  const int ranks;
  const ModelOptions options;
  const std::vector<std::set<int>> sources;
  const int epochs;

  std::string text, step; ///< `step` has no end yet
  Numbers cells, boxes, signals;
  int me = 0, round = 1, barriers = 0;
  int segment = 1;                ///< of this rank
  bool published = false;         ///< since the last barrier
  std::vector<std::string> tiles; ///< as expressions
  /// Of Lamport's packets with escapes: those sent whose meaning is left, where `variable` is 1.
  struct Escape {
    int owner, box;
    std::string value, variable;
  };
  std::vector<Escape> escapes;
  int used = 0, variables = 0;
  std::map<int, int> forgotten; ///< by sender, the last epoch
  std::set<int> outputs;        ///< parts of this round
};

std::string ModelWriter::run() {
  std::string processes;
  for (me = 0; me < ranks; ++me)
    processes += writeProcess();
  return fmt::format(
      "/* {} by {}, {} rounds, fault: {} */\n"
      "#define RANKS {}\n#define ROUNDS {}\n#define CELLS {}\n#define SIGNALS {}\n#define BOXES {}\n\n{}{}{}\n{}",
      describe(c), plan.algorithm->name, options.rounds, faultName(options.fault), ranks, options.rounds, cells.count(),
      signals.count(), boxes.count(), rules, isLamport() ? lamportRules : "", plan.hasEscapes() ? escapeRules : "",
      processes);
}

std::string ModelWriter::writeProcess() {
  text.clear(), forgotten.clear();
  variables = 0, segment = 1;
  for (round = 1; round <= options.rounds; ++round) {
    line(fmt::format("/* round {} */", round));
    writeRound();
  }
  endStep();
  std::string declared = fmt::format("byte todo = {}", bitsOf(others()));
  for (int i = 0; i < variables; ++i)
    declared += fmt::format(", t{}", i);
  return fmt::format("\nactive proctype rank{}() {{\n  {};\n{}}}\n", me, declared, text);
}

void ModelWriter::writeRound() {
  barriers = used = 0;
  tiles.clear();
  outputs.clear();
  if (plan.algorithm->direct)
    writeInputs();
  plan.algorithm->write(*this, c);
  if (plan.algorithm->direct)
    readOutputs();
  sendEscapes();
  if (isLamport())
    endLaunch();
  for (int part = 0; part < (plan.algorithm->slices ? ranks : c.outputParts()); ++part)
    if (!outputs.count(part))
      alongside(fmt::format("assert(false) /* part {} of the output is not written */", part));
  for (int i = 0; i < variables; ++i)
    alongside(fmt::format("t{} = 0", i));
}

//===-- The barrier: as BlockBarriers.cpp expands it --------------------------------------------------------------===//

std::set<int> ModelWriter::others() const {
  std::set<int> result;
  for (int rank = 0; rank < ranks; ++rank)
    if (rank != me)
      result.insert(rank);
  return result;
}

std::set<int> ModelWriter::awaited() const {
  if (has(ProtocolFault::SourcesOnly))
    return sources[size_t(me)];
  std::set<int> result = others();
  if (has(ProtocolFault::MissingWait))
    result.erase((me + 1) % ranks);
  return result;
}

void ModelWriter::barrier() {
  barriers++;
  if (ranks == 1 || (has(ProtocolFault::SecondBarrier) && barriers == 2))
    return;
  storeSignals(firstEpoch() + barriers - 1);
  ++segment;
  await();
  if (!std::exchange(published, false))
    return;
  for (int rank : others())
    alongside(fmt::format("assert({} == {})", loadCell(addressCell(me, rank)), valueOf(addressTag)));
}

// A flag of the one tile of a round is the half of a barrier: both are epochs in slots of block and rank.
void ModelWriter::signal() {
  if (ranks == 1)
    return;
  storeSignals(firstEpoch());
  ++segment;
  if (!awaited().empty())
    line("skip;"); // as after a barrier's
}

void ModelWriter::await() {
  int epoch = firstEpoch() + std::max(0, barriers - 1);
  for (int sender : awaited())
    awaitSignal(sender, epoch);
}

// Lanes store in no order among themselves. The bits of `todo` are the ranks still to be told; the last store leaves
// the loop.
void ModelWriter::storeSignals(int epoch) {
  int all = bitsOf(others());
  line("do");
  for (int owner : others()) {
    int bit = 1 << owner;
    std::string stores = storeSignal(owner, epoch);
    if (all != bit)
      line(fmt::format(":: d_step {{ (todo & {}) && todo != {} -> {}; todo = todo - {} }}", bit, bit, stores, bit));
    line(fmt::format(":: d_step {{ todo == {} -> {}; todo = {} }} -> break", bit, stores, all));
  }
  line("od;");
  if (awaited().empty()) // SPIN refuses to leave a loop for a d_step
    line("skip;");
}

std::string ModelWriter::storeSignal(int owner, int epoch) {
  int at = signal(owner, me, epoch);
  std::string step = fmt::format("stored[{}] = 1", at);
  for (int rank = 0; rank < ranks && !has(ProtocolFault::RelaxedSignal); ++rank)
    if (rank != owner)
      step += fmt::format("; carried[{}] = {}", at * ranks + rank,
                          rank == me ? std::to_string(segment) : fmt::format("known[{}]", me * ranks + rank));
  return step;
}

// Polls of a rank come one after another, after its stores. In truth each lane polls when it has stored, but as a poll
// may see anything that was stored before, one that comes later may see no less, and until all have ended no rank sees
// of any that it has.
void ModelWriter::awaitSignal(int sender, int epoch) {
  if (epoch <= forgotten[sender])
    throw internalError(fmt::format("a model polls for epoch {} after {}", epoch, forgotten[sender]));
  bool forgets = !has(ProtocolFault::SameEpoch);
  line("if");
  for (int seen = epoch; seen < epochs; ++seen) {
    int at = signal(me, sender, seen);
    line(fmt::format(":: d_step {{ stored[{}] -> skip{}{} }}", at, learn(at),
                     forgets ? forget(signal(me, sender, epoch)) : ""));
  }
  line("fi;");
  if (forgets)
    forgotten[sender] = epoch;
}

std::string ModelWriter::learn(int signal) const {
  std::string steps;
  for (int rank = 0; rank < ranks && !has(ProtocolFault::RelaxedWait); ++rank) {
    std::string knows = fmt::format("known[{}]", me * ranks + rank),
                tells = fmt::format("carried[{}]", signal * ranks + rank);
    if (rank != me)
      steps += fmt::format("; {} = ({} > {} -> {} : {})", knows, tells, knows, tells, knows);
  }
  return steps;
}

std::string ModelWriter::forget(int signal) const {
  std::string steps = fmt::format("; stored[{}] = 0", signal);
  for (int rank : others())
    steps += fmt::format("; carried[{}] = 0", signal * ranks + rank);
  return steps;
}

//===-- Memory ---------------------------------------------------------------------------------------------------===//

void ModelWriter::storeCell(int cell, const std::string &value) {
  std::string checks;
  for (int rank = 0; rank < ranks; ++rank)
    if (rank != me)
      checks += fmt::format("assert({}); assert(writer[{}] != {} || {}); ",
                            comesBefore(rank, fmt::format("readBy[{}]", cell * ranks + rank)), cell, rank,
                            comesBefore(rank, fmt::format("written[{}]", cell)));
  beginStep(fmt::format("d_step {{ {}value[{}] = {}; writer[{}] = {}; written[{}] = {}", checks, cell, value, cell, me,
                        cell, segment));
}

std::string ModelWriter::loadCell(int cell) {
  std::string checks, result = newVariable();
  for (int rank = 0; rank < ranks; ++rank)
    if (rank != me)
      checks += fmt::format("assert(writer[{}] != {} || {}); ", cell, rank,
                            comesBefore(rank, fmt::format("written[{}]", cell)));
  beginStep(fmt::format("d_step {{ {}{} = value[{}]; assert({} / {} == {}); readBy[{}] = {}", checks, result, cell,
                        result, tags, round, cell * ranks + me, segment));
  return result;
}

void ModelWriter::store(const Rank &at, const Slot &slot, TileHandle tile) {
  if (int owner = resolve(at); owner >= 0)
    storeCell(cell(owner, slot), tiles[size_t(tile)]);
}

TileHandle ModelWriter::load(const Rank &at, const Slot &slot) {
  int owner = resolve(at);
  return keep(owner < 0 ? std::to_string(valueOf(zerosTag)) : loadCell(cell(owner, slot)));
}

// What comes before and after each call of a direct algorithm: the user fills the input again and reads the output.
void ModelWriter::writeInputs() {
  for (int part = 0; part < (inputIsCut() ? ranks : 1); ++part)
    storeCell(inputCell(me, part), std::to_string(inputValue(me, part)));
}

void ModelWriter::readOutputs() {
  for (int part = 0; part < (outputIsCut() ? ranks : 1); ++part) {
    outputs.insert(part);
    alongside(fmt::format("assert({} == {})", loadCell(outputCell(me, part)), expectedOutput(part)));
  }
}

void ModelWriter::publish() {
  for (int peer : others())
    storeCell(addressCell(peer, me), std::to_string(valueOf(addressTag)));
  published = true;
}

TileHandle ModelWriter::peerInput(const Rank &of, const Rank &part) {
  return keep(loadCell(inputCell(resolve(of), cut(part, inputIsCut()))));
}

void ModelWriter::peerOutput(const Rank &of, const Rank &part, TileHandle tile) {
  storeCell(outputCell(resolve(of), cut(part, outputIsCut())), tiles[size_t(tile)]);
}

// The one tile of a round is the next one after that of the round before.
void ModelWriter::inTurn(const std::function<void()> &body) {
  if ((me >= ranks / 2) == (round % 2 == 0))
    body();
}

// A packet replaces the one before it, which must have been taken: a store does not come before the poll that the rank
// left in order to reach it.
void ModelWriter::send(const Rank &to, const Slot &slot, TileHandle tile) {
  int owner = resolve(to), at = box(owner, slot);
  if (isLamport())
    return sendLamport(owner, at, tiles[size_t(tile)]);
  beginStep(fmt::format("d_step {{ assert(sent[{}] == taken[{}]); packet[{}] = {}; sent[{}] = {}", at, at,
                        at * (options.rounds + 1) + round, tiles[size_t(tile)], at, round));
}

void ModelWriter::sendLamport(int owner, int box, const std::string &value) {
  std::string tells;
  for (int rank = 0; rank < ranks && !has(ProtocolFault::RelaxedSignal); ++rank)
    tells += fmt::format("; told[{}] = {}", box * ranks + rank,
                         rank == me ? std::to_string(segment - 1) : fmt::format("known[{}]", me * ranks + rank));
  auto put = [&](const std::string &word) {
    return fmt::format("d_step {{ assert(boxed[{}] == 0 && {}); boxed[{}] = {}{}", box,
                       comesBefore(owner, fmt::format("cleared[{}]", box)), box, word, tells);
  };
  if (!maySendEscapes())
    return beginStep(put(value));
  escapes.push_back({owner, box, value, newVariable()});
  line(fmt::format("if :: {} }} :: {}; {} = 1 }} fi;", put(value), put("ESCAPE"), escapes.back().variable));
}

// After all that is sent before the rank waits.
void ModelWriter::sendEscapes() {
  for (const Escape &escape : std::exchange(escapes, {}))
    line(fmt::format("if :: d_step {{ {} -> assert(meant[{}] == 0 && {}); meant[{}] = {}; {} = 0 }} :: else fi;",
                     escape.variable, escape.box,
                     comesBefore(escape.owner, fmt::format("clearedMeant[{}]", escape.box)), escape.box, escape.value,
                     escape.variable));
}

// Any packet that was ever sent there may be seen, as long as it has the flag.
TileHandle ModelWriter::receive(const Rank &sender, const Slot &slot, TileHandle own) {
  int from = resolve(sender), at = box(me, slot);
  if (!has(ProtocolFault::LateEscape))
    sendEscapes();
  if (from == me)
    return own;
  bool waits = !(has(ProtocolFault::MissingWait) && from == (me + 1) % ranks);
  if (isLamport())
    return keep(receiveLamport(at, waits));
  std::string result = newVariable();
  std::string choices;
  for (int other = 1; other <= options.rounds; ++other) {
    if (parityOf(other) != parityOf(round) || (waits && flagOf(other) != flagOf(round)))
      continue;
    int seen = at * (options.rounds + 1) + other;
    choices += fmt::format(" :: d_step {{ packet[{}] != 0 -> {} = packet[{}]; taken[{}] = {} }}", seen, result, seen,
                           at, round);
  }
  if (!waits)
    choices += fmt::format(" :: {} = 0", result);
  beginStep(fmt::format("atomic {{ if{} fi; assert({} / {} == {})", choices, result, tags, round));
  return keep(result);
}

// The owner clears the box in a step of its own.
std::string ModelWriter::receiveLamport(int box, bool waits) {
  std::string result = newVariable(), learns;
  for (int rank = 0; rank < ranks && !has(ProtocolFault::RelaxedWait); ++rank)
    if (rank != me) {
      std::string knows = fmt::format("learnt[{}]", me * ranks + rank),
                  tells = fmt::format("told[{}]", box * ranks + rank);
      learns += fmt::format("; {} = ({} > {} -> {} : {})", knows, tells, knows, tells, knows);
    }
  auto take = [&](const char *where, bool waits) {
    return fmt::format("d_step {{ {} -> {} = {}[{}]", waits ? fmt::format("{}[{}] != 0", where, box) : "true", result,
                       where, box);
  };
  auto clear = [&](const char *where, const char *when) {
    return fmt::format("d_step {{ {}[{}] = 0; {}[{}] = {}", where, box, when, box, segment);
  };
  beginStep(take("boxed", waits) + learns);
  if (!has(ProtocolFault::KeptPacket))
    beginStep(clear("boxed", "cleared"));
  if (plan.hasEscapes()) {
    std::string cleared = has(ProtocolFault::KeptEscape) ? "" : clear("meant", "clearedMeant") + " }; ";
    line(fmt::format("if :: {} == ESCAPE -> {} }}; {}:: else fi;", result,
                     take("meant", !has(ProtocolFault::EagerEscape)), cleared));
  }
  alongside(fmt::format("assert({} / {} == {})", result, tags, round));
  return result;
}

void ModelWriter::endLaunch() {
  std::string learns;
  for (int rank : others()) {
    std::string knows = fmt::format("known[{}]", me * ranks + rank),
                news = fmt::format("learnt[{}]", me * ranks + rank);
    learns += fmt::format("{}{} = ({} > {} -> {} : {})", learns.empty() ? "" : "; ", knows, news, knows, news, knows);
  }
  if (!learns.empty())
    beginStep("d_step { " + learns);
  ++segment;
}

//===-- Values ---------------------------------------------------------------------------------------------------===//

// Part p of every rank, in their order, becomes the sum of part p.
TileHandle ModelWriter::fold(const std::function<TileHandle(int rank)> &contribution) {
  std::string first;
  for (int rank = 0; rank < ranks; ++rank) {
    std::string term = tiles[size_t(contribution(rank))];
    if (rank == 0)
      first = term;
    alongside(rank == 0 ? fmt::format("assert({} % {} >= 1 && {} % {} <= {})", first, tags, first, tags, ranks)
                        : fmt::format("assert({} == {} + {})", term, first, rank * ranks));
  }
  return keep(fmt::format("({} + {})", first, ranks * ranks));
}

int ModelWriter::expectedOutput(int part) const {
  switch (c.kind) {
  case CollectiveKind::AllReduce:
    return sumValue(part);
  case CollectiveKind::AllGather:
    return inputValue(part, 0);
  case CollectiveKind::ReduceScatter:
    return sumValue(me);
  case CollectiveKind::AllToAll:
    return inputValue(part, me);
  case CollectiveKind::Permute:
    return c.sources[size_t(me)] < 0 ? valueOf(zerosTag) : inputValue(c.sources[size_t(me)], 0);
  case CollectiveKind::Broadcast:
    return inputValue(c.root, part);
  }
  return 0;
}

// A direct algorithm has its operands in memory that others reach.
TileHandle ModelWriter::input(const Rank &part) {
  int from = cut(part, inputIsCut());
  return keep(plan.algorithm->direct ? loadCell(inputCell(me, from)) : std::to_string(inputValue(me, from)));
}

void ModelWriter::output(const Rank &part, TileHandle tile) {
  int to = cut(part, outputIsCut());
  if (plan.algorithm->direct)
    return storeCell(outputCell(me, to), tiles[size_t(tile)]);
  outputs.insert(to);
  alongside(fmt::format("assert({} == {})", tiles[size_t(tile)], expectedOutput(to)));
}

} // namespace

const char *faultName(ProtocolFault fault) {
  switch (fault) {
  case ProtocolFault::None:
    return "none";
  case ProtocolFault::RelaxedSignal:
    return "relaxed_signal";
  case ProtocolFault::RelaxedWait:
    return "relaxed_wait";
  case ProtocolFault::MissingWait:
    return "missing_wait";
  case ProtocolFault::SingleBuffer:
    return "single_buffer";
  case ProtocolFault::SameEpoch:
    return "same_epoch";
  case ProtocolFault::SecondBarrier:
    return "second_barrier";
  case ProtocolFault::SourcesOnly:
    return "sources_only";
  case ProtocolFault::KeptPacket:
    return "kept_packet";
  case ProtocolFault::KeptEscape:
    return "kept_escape";
  case ProtocolFault::EagerEscape:
    return "eager_escape";
  case ProtocolFault::LateEscape:
    return "late_escape";
  }
  return "";
}

const std::vector<ProtocolFault> &allProtocolFaults() {
  static const std::vector<ProtocolFault> all = {
      ProtocolFault::RelaxedSignal, ProtocolFault::RelaxedWait, ProtocolFault::MissingWait,
      ProtocolFault::SingleBuffer,  ProtocolFault::SameEpoch,   ProtocolFault::SecondBarrier,
      ProtocolFault::SourcesOnly,   ProtocolFault::KeptPacket,  ProtocolFault::KeptEscape,
      ProtocolFault::EagerEscape,   ProtocolFault::LateEscape};
  return all;
}

std::string promelaModel(const Plan &plan, const ModelOptions &options) {
  if (plan.collective.ranks > maxModelRanks)
    throw inputError(fmt::format("a model of {} ranks: it has at most {}", plan.collective.ranks, maxModelRanks),
                     {fmt::format("give `--devices {}` or fewer", maxModelRanks)});
  if (options.rounds < 1 || options.rounds > maxModelRounds)
    throw inputError(fmt::format("a model of {} rounds: it has 1 to {}", options.rounds, maxModelRounds));
  return ModelWriter(plan, options).run();
}

} // namespace heddle
