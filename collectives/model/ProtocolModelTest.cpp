// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPIN on the model of every algorithm: all interleavings are right, and every planted fault that matters is found.
#include "collectives/model/ProtocolModel.h"
#include "chips/Chip.h"
#include "support/Error.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <regex>
#include <sstream>
#include <unistd.h>

using namespace heddle;

namespace {

/// What SPIN says of one model.
struct Verdict {
  bool complete = false; ///< all states were searched, or an error was found
  int errors = -1;
  long states = 0;
  std::string report;
};

std::string readFile(const std::filesystem::path &path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

long numberBefore(const std::string &text, const std::string &what) {
  size_t end = text.find(what);
  if (end == std::string::npos)
    return -1;
  size_t begin = text.find_last_of(" \n", text.find_last_not_of(' ', end - 1));
  return std::atol(text.c_str() + (begin == std::string::npos ? 0 : begin));
}

class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "heddle-model-XXXXXX").string();
    if (!mkdtemp(name.data()))
      throw environmentError("cannot make the folder '" + name + "'");
    path = name;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

Verdict check(const std::string &model) {
  TemporaryFolder folder;
  std::ofstream(folder.path / "model.pml") << model;
  // Memory for 10 million states at most; a search that ends there is not complete.
  std::string command = "cd '" + folder.path.string() +
                        "' && " HEDDLE_SPIN " -a model.pml > report.txt 2>&1 && " HEDDLE_C_COMPILER
                        " -w -DSAFETY -DMEMLIM=2000 -o pan pan.c >> report.txt 2>&1 && "
                        "./pan -w20 -m100000 > report.txt 2>&1";
  int status = std::system(command.c_str());
  Verdict verdict;
  verdict.report = readFile(folder.path / "report.txt");
  size_t errors = verdict.report.find("errors: ");
  if (status != 0 || errors == std::string::npos)
    return verdict;
  verdict.errors = std::atoi(verdict.report.c_str() + errors + 8);
  verdict.states = numberBefore(verdict.report, " states, stored");
  auto says = [&](const char *what) { return verdict.report.find(what) != std::string::npos; };
  verdict.complete = verdict.errors > 0 || (!says("not completed") && !says("too small") && !says("-end-"));
  return verdict;
}

Plan planOf(const Algorithm &algorithm, int ranks, PacketForm packets = PacketForm::LL,
            ElementType type = ElementType::F32) {
  Collective collective;
  collective.kind = algorithm.kinds[0];
  collective.type = type;
  collective.ranks = ranks;
  collective.inner = 4;
  if (collective.kind == CollectiveKind::Permute) // each rank to the next one, and none to rank 0
    for (int rank = 0; rank < ranks; ++rank)
      collective.sources.push_back(rank - 1);
  PlanOptions options{.blocks = 1, .tileElements = 4, .tilesPerRound = 1, .packets = packets};
  options.own = &algorithm;
  return makePlan(collective, hostChip, options);
}

/// What there is a model of.
struct Subject {
  const Algorithm *algorithm;
  PacketForm packets;
  ElementType type = ElementType::F32;
  Plan plan(int ranks) const { return planOf(*algorithm, ranks, packets, type); }
  std::string name() const {
    const char *form = packets == PacketForm::LL ? "" : plan(2).hasEscapes() ? "_escapes" : "_lamport";
    return std::string(algorithm->name) + form;
  }
};

std::vector<Subject> subjects() {
  std::vector<Subject> all;
  for (const Algorithm *algorithm : allAlgorithms()) {
    all.push_back({algorithm, PacketForm::LL});
    if (algorithm->inboxSlots(2) > 0)
      all.push_back({algorithm, PacketForm::Lamport});
    if (algorithm->inboxSlots(2) > 0 && reduces(algorithm->kinds[0]))
      all.push_back({algorithm, PacketForm::Lamport, ElementType::I32});
  }
  for (const Algorithm *algorithm : {&oneShotFlags, &scatterFlags, &gatherFlags})
    all.push_back({algorithm, PacketForm::LL});
  return all;
}

void expectRight(const Plan &plan, const ModelOptions &options) {
  Verdict verdict = check(promelaModel(plan, options));
  EXPECT_TRUE(verdict.complete && verdict.errors == 0) << verdict.report;
  std::printf("%-18s %-7s %d ranks, %d rounds%s: %ld states\n", plan.algorithm->name,
              plan.hasPackets() ? packetFormName(plan.packets) : "", plan.collective.ranks, options.rounds,
              options.inPlace ? ", in place" : "", verdict.states);
}

/// One case for each algorithm, so that CTest can share them out.
class OfAlgorithm : public testing::TestWithParam<Subject> {
protected:
  const Algorithm &algorithm = *GetParam().algorithm;
};

INSTANTIATE_TEST_SUITE_P(ProtocolModel, OfAlgorithm, testing::ValuesIn(subjects()),
                         [](const auto &info) { return info.param.name(); });

TEST_P(OfAlgorithm, IsRightInEveryInterleaving) {
  for (int ranks : {2, 3})
    expectRight(GetParam().plan(ranks), {4});
}

// What ranks forget they could not have seen again.
TEST_P(OfAlgorithm, IsRightWhenNothingIsForgotten) {
  std::string model = promelaModel(GetParam().plan(2), {4});
  std::string remembering = std::regex_replace(model, std::regex("; (stored|carried)\\[[0-9]+\\] = 0"), "");
  bool hasSignals = algorithm.barriers > 0 || algorithm.flags;
  EXPECT_EQ(remembering != model, hasSignals);
  if (!hasSignals)
    return;
  Verdict all = check(remembering);
  EXPECT_TRUE(all.complete && all.errors == 0) << all.report;
  EXPECT_GE(all.states, check(model).states);
}

TEST_P(OfAlgorithm, IsRightInPlace) {
  for (int ranks : {2, 3}) {
    ModelOptions options;
    options.inPlace = true;
    if (algorithm.direct)
      expectRight(GetParam().plan(ranks), options);
  }
}

/// What the direct algorithms avoid: right as long as input and output are different memory.
void pushParts(ProtocolWriter &w, const Collective &collective) {
  w.publish();
  w.barrier();
  w.eachTile([&] {
    for (int k = 0; k < collective.ranks; ++k)
      w.peerOutput(Rank::own(k), Rank::own(), w.input(Rank::own(k)));
  });
  w.barrier();
}

void pullInputs(ProtocolWriter &w, const Collective &collective) {
  w.publish();
  w.barrier();
  w.eachTile([&] {
    for (int k = 0; k < collective.ranks; ++k)
      w.output(Rank::own(k), w.peerInput(Rank::own(k), Rank::fixed(0)));
  });
  w.barrier();
}

TEST(ProtocolModel, FaultsOfOperandsInPlaceAreFound) {
  Algorithm exchange = exchangeDirect, gather = gatherDirectPull;
  exchange.name = "push_parts", exchange.write = pushParts;
  gather.name = "pull_inputs", gather.write = pullInputs;
  for (auto [wrong, right] : {std::pair{&exchange, &exchangeDirect}, {&gather, &gatherDirectPull}}) {
    Plan plan = planOf(*right, 2);
    plan.algorithm = wrong;
    ModelOptions options;
    expectRight(plan, options);
    options.inPlace = true;
    EXPECT_EQ(check(promelaModel(plan, options)).errors, 1) << wrong->name;
  }
}

/// No operand is touched, only where they lie is told. There is one slot for each sender, for every round the same.
void publishOnly(ProtocolWriter &w, const Collective &) {
  w.publish();
  w.barrier();
  w.eachTile([&] { w.output(Rank::fixed(0), w.input(Rank::fixed(0))); });
}

void publishAndMeet(ProtocolWriter &w, const Collective &collective) {
  publishOnly(w, collective);
  w.barrier();
}

TEST(ProtocolModel, AddressesNeedTheSecondBarrier) {
  Algorithm algorithm = permutePull;
  algorithm.name = "publish", algorithm.direct = true;
  for (int ranks : {2, 3}) {
    Plan plan = planOf(permutePull, ranks);
    plan.algorithm = &algorithm;
    plan.epochs = 2;
    for (int rank = 0; rank < ranks; ++rank)
      plan.collective.sources[size_t(rank)] = rank;
    algorithm.write = publishOnly;
    EXPECT_EQ(check(promelaModel(plan, {2})).errors, 1) << ranks << " ranks";
    algorithm.write = publishAndMeet;
    expectRight(plan, {2});
  }
}

TEST(ProtocolModel, PermutationsInACircle) {
  for (int ranks : {2, 3}) {
    Plan plan = planOf(permutePull, ranks);
    for (int &source : plan.collective.sources)
      source = (source + ranks) % ranks;
    expectRight(plan, {3});
  }
}

/// Whether the search finds a fault: `caught` with two ranks and with three; `harmless` with neither; `-` when the
/// algorithm has nothing that could be wrong so. A sum comes back to two_shot_packets only from a rank that has taken
/// this rank's packets of the round, so one buffer would do there.
const char *const faultColumns = "relaxed_signal relaxed_wait missing_wait single_buffer same_epoch second_barrier "
                                 "sources_only kept_packet kept_escape eager_escape late_escape";
const std::map<std::string, std::string> faultTable = {
    {"one_shot_packets", "- - caught caught caught - - - - - -"},
    {"one_shot_packets_lamport", "caught caught caught caught - - - caught - - -"},
    {"one_shot_packets_escapes", "caught caught caught caught - - - caught caught caught caught"},
    {"one_shot_flags", "caught caught caught caught caught - - - - - -"},
    {"one_shot_pull", "caught caught caught caught caught - - - - - -"},
    {"two_shot_packets", "- - caught harmless caught - - - - - -"},
    {"two_shot_packets_lamport", "caught caught caught caught - - - caught - - -"},
    {"two_shot_packets_escapes", "caught caught caught caught - - - caught caught caught caught"},
    {"two_shot_direct", "caught caught caught - caught caught - - - - -"},
    {"two_shot_push", "caught caught caught - caught caught - - - - -"},
    {"two_shot_pull", "caught caught caught caught caught caught - - - - -"},
    {"gather_packets", "- - caught caught caught - - - - - -"},
    {"gather_packets_escapes", "caught caught caught caught - - - caught caught caught caught"},
    {"gather_flags", "caught caught caught caught caught - - - - - -"},
    {"gather_push", "caught caught caught caught caught - - - - - -"},
    {"gather_pull", "caught caught caught caught caught - - - - - -"},
    {"gather_direct_push", "caught caught caught - caught caught - - - - -"},
    {"gather_direct_pull", "caught caught caught - caught caught - - - - -"},
    {"scatter_packets", "- - caught caught caught - - - - - -"},
    {"scatter_packets_lamport", "caught caught caught caught - - - caught - - -"},
    {"scatter_packets_escapes", "caught caught caught caught - - - caught caught caught caught"},
    {"scatter_flags", "caught caught caught caught caught - - - - - -"},
    {"scatter_pull", "caught caught caught caught caught - - - - - -"},
    {"scatter_direct", "caught caught caught - caught caught - - - - -"},
    {"exchange_packets", "- - caught caught caught - - - - - -"},
    {"exchange_packets_escapes", "caught caught caught caught - - - caught caught caught caught"},
    {"exchange_push", "caught caught caught caught caught - - - - - -"},
    {"exchange_direct", "caught caught caught - caught caught - - - - -"},
    {"permute_pull", "caught caught caught caught caught - caught - - - -"},
    {"broadcast_pull", "caught caught caught caught caught - caught - - - -"},
    {"broadcast_scatter", "caught caught caught caught caught - - - - - -"},
};

/// The model with a fault, or nothing where it is the same as without.
std::string faultyModel(const Subject &subject, int ranks, ProtocolFault fault) {
  auto model = [&](ProtocolFault fault) {
    std::string text = promelaModel(subject.plan(ranks), {3, fault});
    return text.substr(text.find('\n')); // without the title, which names the fault
  };
  std::string wrong = model(fault);
  return wrong == model(ProtocolFault::None) ? "" : wrong;
}

std::string found(const Subject &subject, int ranks, ProtocolFault fault) {
  std::string model = faultyModel(subject, ranks, fault);
  if (model.empty())
    return "-";
  Verdict verdict = check(model);
  EXPECT_TRUE(verdict.complete) << verdict.report;
  return verdict.errors > 0 ? "caught" : "harmless";
}

TEST_P(OfAlgorithm, ShowsPlantedFaults) {
  for (int ranks : {2, 3}) {
    std::string row;
    for (ProtocolFault fault : allProtocolFaults())
      row += (row.empty() ? "" : " ") + found(GetParam(), ranks, fault);
    EXPECT_EQ(row, faultTable.at(GetParam().name())) << ranks << " ranks";
  }
}

TEST(ProtocolModel, FaultTableHasAllColumns) {
  std::string columns;
  for (ProtocolFault fault : allProtocolFaults())
    columns += (columns.empty() ? "" : " ") + std::string(faultName(fault));
  EXPECT_EQ(columns, faultColumns);
  EXPECT_EQ(faultTable.size(), subjects().size());
}

TEST(ProtocolModel, RefusesWhatItHasNoNamesFor) {
  for (auto [ranks, rounds] : {std::pair{4, 3}, {2, 0}, {2, 8}})
    EXPECT_THROW(promelaModel(planOf(oneShotPull, ranks), {rounds}), Error);
}

} // namespace
