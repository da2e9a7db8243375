// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collectives/model/ProtocolModel.h"
#include "support/Error.h"
#include <fmt/format.h>
#include <set>
#include <utility>

namespace heddle {
namespace {

/// What the text of every model begins with.
const char *const rules =
    R"(/* Time is counted in segments: a rank begins a new one with each release. known[r*RANKS+q] is the last segment of rank
   q that comes before what rank r does now: a release carries what its rank knows, an acquire adds it to what the
   reader knows. Every access of plain memory must come after those it conflicts with in this order, not only in time:
   else the store could become visible too late, or too early for another reader. */
byte segment[RANKS] = 1, known[RANKS * RANKS];

/* Memory that ranks share: a value, who wrote it and when, and when each rank last read it. */
byte value[CELLS], writer[CELLS], written[CELLS], readBy[CELLS * RANKS];

/* The barrier's slots, with all that was ever stored there: a poll may see any of it. Per owner and sender, each epoch:
   whether it was stored, and what the release carried. */
bit stored[RANKS * RANKS * EPOCHS];
byte carried[RANKS * RANKS * EPOCHS * RANKS];

/* Packets, by cell and round: 0 before one was sent. */
byte packet[BOXES * (ROUNDS + 1)], sent[BOXES], taken[BOXES];

)";

/// Values are round * 16 + tag. Tags of inputs by rank and part, of sums by part, of an address, and
/// of zeros.
constexpr int addressTag = 14, zerosTag = 15;

/// Who reads data of whom, which SourcesOnly keeps of the barriers.
class SourceFinder : public ProtocolWriter {
public:
  explicit SourceFinder(const Plan &plan) : plan(plan), sources(size_t(plan.collective.ranks)) {
    for (me = 0; me < plan.collective.ranks; ++me)
      plan.algorithm->write(*this, plan.collective);
  }
  const std::set<int> &of(int rank) const { return sources[size_t(rank)]; }

  void eachTile(const std::function<void()> &body) override { body(); }
  void barrier() override {}
  TileHandle input(const Rank &) override { return 0; }
  void output(const Rank &, TileHandle) override {}
  void store(const Rank &at, const Slot &, TileHandle) override { add(resolve(at), me); }
  TileHandle load(const Rank &at, const Slot &) override {
    add(me, resolve(at));
    return 0;
  }
  void send(const Rank &, const Slot &, TileHandle) override {}
  TileHandle receive(int, const Slot &, TileHandle) override { return 0; }
  void publish() override {}
  TileHandle peerInput(const Rank &of, const Rank &) override {
    add(me, resolve(of));
    return 0;
  }
  void peerOutput(const Rank &of, const Rank &, TileHandle) override { add(resolve(of), me); }
  void inTurn(const std::function<void()> &body) override { body(); }
  TileHandle fold(const std::function<TileHandle(int rank)> &contribution) override {
    for (int rank = 0; rank < plan.collective.ranks; ++rank)
      contribution(rank);
    return 0;
  }

private:
  int resolve(const Rank &rank) const { return rank.of(me, plan.collective.ranks); }
  void add(int reader, int source) {
    if (reader >= 0 && source >= 0 && reader != source)
      sources[size_t(reader)].insert(source);
  }
  const Plan &plan;
  int me = 0;
  std::vector<std::set<int>> sources;
};

class ModelWriter : public ProtocolWriter {
public:
  ModelWriter(const Plan &plan, const ModelOptions &options)
      : plan(plan), c(plan.collective), ranks(c.ranks), options(options), sources(plan),
        slots(plan.algorithm->stagingSlots(ranks)), boxes(plan.algorithm->inboxSlots(ranks)),
        epochs(options.rounds * plan.epochs + 1) {}

  std::string run();

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
  void inTurn(const std::function<void()> &body) override;
  TileHandle fold(const std::function<TileHandle(int rank)> &contribution) override;

private:
  bool has(ProtocolFault fault) const { return options.fault == fault; }
  void line(const std::string &what) { text += "  " + what + "\n"; }
  /// Of plain memory: by itself, or one of a phase's.
  void access(const std::string &what) { line(inPhase ? what + ";" : "d_step { " + what + " };"); }
  bool isWhole() const { return options.reduced && boxes == 0; }
  int resolve(const Rank &rank) const { return rank.of(me, ranks); }
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
  int valueOf(int tag) const { return round * 16 + tag; }
  int inputValue(int rank, int part) const { return valueOf(1 + rank * ranks + part); }
  int sumValue(int part) const { return valueOf(1 + ranks * ranks + part); }
  int expectedOutput(int part) const;

  // As kernel/CollectiveKernel.cpp has them.
  int firstEpoch() const { return 1 + (has(ProtocolFault::SameEpoch) ? 0 : round - 1) * plan.epochs; }
  int parityOf(int round) const { return has(ProtocolFault::SingleBuffer) ? 0 : (round - 1) & 1; }
  int flagOf(int round) const { return has(ProtocolFault::SameEpoch) ? 0 : round; }

  int slotNumber(const Slot &slot) const { return slot.base + resolve(slot.rank); }
  int cell(int at, const Slot &slot) const { return (at * 2 + parityOf(round)) * slots + slotNumber(slot); }
  int box(int at, const Slot &slot) const { return (at * 2 + parityOf(round)) * boxes + slotNumber(slot); }
  int signal(int owner, int sender, int epoch) const { return (owner * ranks + sender) * epochs + epoch; }
  // Behind the staging memory, of direct algorithms: where a rank's operands lie, its input, its output.
  int operandCells() const { return plan.algorithm->direct ? 1 + 2 * ranks : 0; }
  int addressCell(int rank) const { return ranks * 2 * slots + rank * operandCells(); }
  // In place, the smaller array of the two is the rank's own part of the larger one.
  int inputCell(int rank, int part) const {
    return addressCell(rank) + 1 + (options.inPlace && !inputIsCut() && outputIsCut() ? rank : part);
  }
  int outputCell(int rank, int part) const {
    if (options.inPlace)
      return addressCell(rank) + 1 + (inputIsCut() && !outputIsCut() ? rank : part);
    return addressCell(rank) + 1 + ranks + part;
  }
  void storeCell(int cell, const std::string &value);
  std::string loadCell(int cell); ///< yields a variable
  void writeInputs();
  void readOutputs();
  std::string comesBefore(int rank, const std::string &when) const {
    return fmt::format("{} <= known[{}]", when, me * ranks + rank);
  }
  std::set<int> awaited() const;
  void storeSignals(int epoch);
  void awaitSignals(int epoch);
  std::string learn(int signal) const; ///< what the acquire of a release adds to what this rank knows

  const Plan &plan;
  const Collective &c;
  const int ranks;
  const ModelOptions options;
  const SourceFinder sources;
  const int slots, boxes, epochs;

  std::string text;
  int me = 0, round = 1, barriers = 0;
  bool published = false;         ///< since the last barrier
  bool inPhase = false;           ///< accesses of plain memory are parts of one step
  std::vector<std::string> tiles; ///< as expressions
  int used = 0, variables = 0;
  std::set<int> outputs; ///< parts of this round
};

std::string ModelWriter::run() {
  std::string processes;
  for (me = 0; me < ranks; ++me) {
    text.clear();
    variables = 0;
    for (round = 1; round <= options.rounds; ++round) {
      line(fmt::format("/* round {} */", round));
      barriers = used = 0;
      tiles.clear();
      outputs.clear();
      if (plan.algorithm->direct)
        writeInputs();
      plan.algorithm->write(*this, c);
      if (plan.algorithm->direct)
        readOutputs();
      for (int part = 0; part < (plan.algorithm->slices ? ranks : c.outputParts()); ++part)
        if (!outputs.count(part))
          line(fmt::format("assert(false); /* part {} of the output is not written */", part));
      std::string forget = "d_step { skip";
      for (int i = 0; i < variables; ++i)
        forget += fmt::format("; t{} = 0", i);
      line(forget + " };");
    }
    std::string declared = "byte todo";
    for (int i = 0; i < variables; ++i)
      declared += fmt::format(", t{}", i);
    processes += fmt::format("\nactive proctype rank{}() {{\n  {};\n{}}}\n", me, declared, text);
  }
  return fmt::format(
      "/* {} by {}, {} rounds, fault: {} */\n"
      "#define RANKS {}\n#define ROUNDS {}\n#define EPOCHS {}\n#define CELLS {}\n#define BOXES {}\n\n{}{}",
      describe(c), plan.algorithm->name, options.rounds, faultName(options.fault), ranks, options.rounds, epochs,
      std::max(1, addressCell(ranks)), std::max(1, ranks * 2 * boxes), rules, processes);
}

//===-- The barrier: as ExpandPeer.cpp expands it ----------------------------------------------------------------===//

std::set<int> ModelWriter::awaited() const {
  if (has(ProtocolFault::SourcesOnly))
    return sources.of(me);
  std::set<int> others;
  for (int rank = 0; rank < ranks; ++rank)
    if (rank != me && !(has(ProtocolFault::MissingWait) && rank == (me + 1) % ranks))
      others.insert(rank);
  return others;
}

void ModelWriter::barrier() {
  int epoch = firstEpoch() + barriers++;
  if (ranks == 1 || (has(ProtocolFault::SecondBarrier) && barriers == 2))
    return;
  storeSignals(epoch);
  awaitSignals(epoch);
  if (!std::exchange(published, false))
    return;
  for (int rank = 0; rank < ranks; ++rank)
    if (rank != me)
      line(fmt::format("assert({} == {});", loadCell(addressCell(rank)), valueOf(addressTag)));
}

// Lanes store and poll in no order among themselves.
void ModelWriter::storeSignals(int epoch) {
  line(fmt::format("todo = {};", ((1 << ranks) - 1) & ~(1 << me)));
  line("do");
  for (int owner = 0; owner < ranks; ++owner) {
    if (owner == me)
      continue;
    int at = signal(owner, me, epoch);
    std::string step = fmt::format("(todo & {}) -> stored[{}] = 1", 1 << owner, at);
    for (int rank = 0; rank < ranks && !has(ProtocolFault::RelaxedSignal); ++rank)
      step += fmt::format("; carried[{}] = {}", at * ranks + rank,
                          rank == me ? fmt::format("segment[{}]", me) : fmt::format("known[{}]", me * ranks + rank));
    line(fmt::format(":: d_step {{ {}; todo = todo - {} }}", step, 1 << owner));
  }
  line(fmt::format(":: d_step {{ todo == 0 -> segment[{}]++ }} -> break", me));
  line("od;");
}

// All polls of a rank in one step, when all can end: as each may see anything that was stored before, polls at
// different times see nothing else.
void ModelWriter::awaitSignals(int epoch) {
  struct Choice {
    std::string stored = "true", learns;
  };
  std::vector<Choice> choices = {{}};
  for (int rank : awaited()) {
    std::vector<Choice> longer;
    for (const Choice &choice : choices)
      for (int seen = epoch; seen < (options.reduced ? epoch + 1 : epochs); ++seen) {
        int at = signal(me, rank, seen);
        longer.push_back({fmt::format("{} && stored[{}]", choice.stored, at), choice.learns + learn(at)});
      }
    choices = std::move(longer);
  }
  line("if");
  for (const Choice &choice : choices)
    line(fmt::format(":: d_step {{ {} -> skip{} }}", choice.stored, choice.learns));
  line("fi;");
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

void ModelWriter::eachTile(const std::function<void()> &body) {
  inPhase = isWhole();
  if (inPhase)
    line("d_step { skip;");
  body();
  if (std::exchange(inPhase, false))
    line("};");
}

//===-- Memory ---------------------------------------------------------------------------------------------------===//

void ModelWriter::storeCell(int cell, const std::string &value) {
  std::string checks;
  for (int rank = 0; rank < ranks; ++rank)
    if (rank != me)
      checks += fmt::format("assert({}); assert(writer[{}] != {} || {}); ",
                            comesBefore(rank, fmt::format("readBy[{}]", cell * ranks + rank)), cell, rank,
                            comesBefore(rank, fmt::format("written[{}]", cell)));
  access(fmt::format("{}value[{}] = {}; writer[{}] = {}; written[{}] = segment[{}]", checks, cell, value, cell, me,
                     cell, me));
}

std::string ModelWriter::loadCell(int cell) {
  std::string checks, result = newVariable();
  for (int rank = 0; rank < ranks; ++rank)
    if (rank != me)
      checks += fmt::format("assert(writer[{}] != {} || {}); ", cell, rank,
                            comesBefore(rank, fmt::format("written[{}]", cell)));
  access(fmt::format("{}{} = value[{}]; assert({} / 16 == {}); readBy[{}] = segment[{}]", checks, result, cell, result,
                     round, cell * ranks + me, me));
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

// What comes before and after each call of a direct algorithm: the user fills the input anew and reads the output.
void ModelWriter::writeInputs() {
  for (int part = 0; part < (inputIsCut() ? ranks : 1); ++part)
    storeCell(inputCell(me, part), std::to_string(inputValue(me, part)));
}

void ModelWriter::readOutputs() {
  for (int part = 0; part < (outputIsCut() ? ranks : 1); ++part) {
    outputs.insert(part);
    line(fmt::format("assert({} == {});", loadCell(outputCell(me, part)), expectedOutput(part)));
  }
}

void ModelWriter::publish() {
  storeCell(addressCell(me), std::to_string(valueOf(addressTag)));
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
  int at = box(resolve(to), slot);
  line(fmt::format("d_step {{ assert(sent[{}] == taken[{}]); packet[{}] = {}; sent[{}] = {} }};", at, at,
                   at * (options.rounds + 1) + round, tiles[size_t(tile)], at, round));
}

// Any packet that was ever sent there may be seen, as long as it has the flag.
TileHandle ModelWriter::receive(int from, const Slot &slot, TileHandle own) {
  if (from == me)
    return own;
  int at = box(me, slot);
  bool waits = !(has(ProtocolFault::MissingWait) && from == (me + 1) % ranks);
  std::string result = newVariable();
  line("if");
  for (int other = 1; other <= options.rounds; ++other) {
    if (parityOf(other) != parityOf(round) || (waits && flagOf(other) != flagOf(round)))
      continue;
    int seen = at * (options.rounds + 1) + other;
    line(fmt::format(":: d_step {{ packet[{}] != 0 -> {} = packet[{}]; taken[{}] = {} }}", seen, result, seen, at,
                     round));
  }
  if (!waits)
    line(fmt::format(":: {} = 0", result));
  line("fi;");
  line(fmt::format("assert({} / 16 == {});", result, round));
  return keep(result);
}

//===-- Values ---------------------------------------------------------------------------------------------------===//

// Part p of every rank, in their order, becomes the sum of part p.
TileHandle ModelWriter::fold(const std::function<TileHandle(int rank)> &contribution) {
  std::string first;
  for (int rank = 0; rank < ranks; ++rank) {
    std::string term = tiles[size_t(contribution(rank))];
    if (rank == 0)
      first = term;
    line(rank == 0 ? fmt::format("assert({} % 16 >= 1 && {} % 16 <= {});", first, first, ranks)
                   : fmt::format("assert({} == {} + {});", term, first, rank * ranks));
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
    return inputValue(0, 0);
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
  line(fmt::format("assert({} == {});", tiles[size_t(tile)], expectedOutput(to)));
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
  }
  return "";
}

const std::vector<ProtocolFault> &allProtocolFaults() {
  static const std::vector<ProtocolFault> all = {ProtocolFault::RelaxedSignal, ProtocolFault::RelaxedWait,
                                                 ProtocolFault::MissingWait,   ProtocolFault::SingleBuffer,
                                                 ProtocolFault::SameEpoch,     ProtocolFault::SecondBarrier,
                                                 ProtocolFault::SourcesOnly};
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
