// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How a plan chooses: by what was measured on a chip where there are measurements, else by estimates from its links.
#include "collectives/Plan.h"
#include "binary/PeerAbi.h"
#include "chips/Chip.h"
#include "collectives/LinkLoads.h"
#include "support/Error.h"
#include <algorithm>
#include <bit>
#include <climits>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle {
namespace {

int64_t divideUp(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}
int64_t alignUp(int64_t value, int64_t to) {
  return divideUp(value, to) * to;
}

/// The host's ranks share memory and caches: a barrier costs no more than a packet that a rank waits for, so packets,
/// which handle elements one by one, end early, and copies cost more than waiting. Measured by `heddle bench`.
constexpr Crossovers hostCrossovers = {
    {256, 256, 256, 256, 256}, {256, 256, 256, 256, 256}, 16 << 10, 64 << 10, 128 << 10, INT64_MAX};

constexpr int64_t kB = 1 << 10;

/// Chips of which nothing was measured: what is best is computed from their links (LinkLoads.h), and the limits say
/// nothing.
constexpr CollectiveTable estimatedTable = {
    .mostRanks = INT_MAX,
    .limits = {},
    .packetBlocks = 64,
    .singlePacketBytes = 64 * kB,
    .manyBlocksBytes = 256 * kB,
    .mostWarps = 8,
    .lamportWarps = 8,
    .twoWordsBytes = INT64_MAX,
    .takesRows = true,
};
/// Of a direct algorithm, for each peer: what fills a link. Some 32 compute units fill the links of four MI300X, 48 to
/// 80 those of eight.
constexpr int estimatedBlocksPerPeer = 12;

bool isMeasured(const Chip &chip) {
  return !chip.collectives.empty();
}

/// The last table is for more ranks than any was measured with, too.
const CollectiveTable &tableFor(int ranks, const Chip &chip) {
  for (const CollectiveTable &table : chip.collectives)
    if (ranks <= table.mostRanks)
      return table;
  return isMeasured(chip) ? chip.collectives.back() : estimatedTable;
}

Crossovers crossoversOf(const Collective &collective, const Chip &chip) {
  return chip.vendor == Vendor::Host ? hostCrossovers : tableFor(collective.ranks, chip).limits;
}

int64_t linkPartBytes(const Collective &collective, const Algorithm &algorithm) {
  int64_t elements =
      algorithm.slices ? divideUp(collective.partElements(), collective.ranks) : collective.partElements();
  return elements * elementSizeBytes(collective.type);
}

/// Only of floats is a word of ones no number: its elements are NaNs, and a word of other NaNs can stand for it.
bool hasSpareWord(ElementType type) {
  switch (type) {
  case ElementType::F64:
  case ElementType::F32:
  case ElementType::F16:
  case ElementType::BF16:
  case ElementType::F8E4M3FN:
  case ElementType::F8E5M2:
    return true;
  default:
    return false;
  }
}

const Algorithm &chooseByLinks(const Collective &collective, const PeerLinks &links, bool direct, PacketForm packets) {
  const Algorithm *best = nullptr;
  double least = 0;
  for (const Algorithm *algorithm : allAlgorithms()) {
    if (!algorithm->does(collective.kind) || (algorithm->direct && !direct))
      continue;
    LinkLoads loads = linkLoads(*algorithm, collective, packets);
    double time = estimateNanoseconds(loads, links, linkPartBytes(collective, *algorithm));
    if (!best || time < least)
      best = algorithm, least = time;
  }
  return *best;
}

/// `packets` is the form that they would have.
const Algorithm &chooseAlgorithm(const Collective &collective, const Chip &chip, bool direct, PacketForm packets) {
  if (chip.vendor != Vendor::Host && !isMeasured(chip))
    return chooseByLinks(collective, chip.links, direct, packets);
  Crossovers limits = crossoversOf(collective, chip);
  int64_t bytes = collective.inputElements() * elementSizeBytes(collective.type);
  int64_t larger =
      std::max(collective.inputElements(), collective.outputElements()) * elementSizeBytes(collective.type);
  const PacketLimits &some = packets == PacketForm::Lamport ? limits.lamport : limits.ll;
  bool copies = !direct || larger <= limits.copied;
  switch (collective.kind) {
  case CollectiveKind::AllReduce:
    if (bytes <= some.oneShot)
      return oneShotPackets;
    if (bytes <= some.twoShot)
      return twoShotPackets;
    if (direct)
      return bytes <= limits.oneShot                         ? oneShotPull
             : bytes <= limits.read || collective.ranks == 1 ? twoShotDirect
                                                             : twoShotPush;
    return bytes <= limits.staged || collective.ranks <= 2 ? oneShotPull : twoShotPull;
  case CollectiveKind::AllGather:
    return larger <= some.gathered       ? gatherPackets
           : !copies                     ? gatherDirectPush
           : chip.vendor == Vendor::Host ? gatherPull
                                         : gatherPush;
  case CollectiveKind::ReduceScatter:
    return larger <= some.scattered ? scatterPackets : copies ? scatterPull : scatterDirect;
  case CollectiveKind::AllToAll:
    return larger <= some.swapped ? exchangePackets : copies ? exchangePush : exchangeDirect;
  case CollectiveKind::Permute:
    return permutePull;
  case CollectiveKind::Broadcast:
    return broadcastPull;
  }
  throw internalError("a collective without an algorithm");
}

/// Tiles for vector loops, rounds for the cache: what one round stages in all slots should stay in it.
constexpr int64_t roundBytes = 256 * 1024;
/// Longer tiles are walked once for each array they touch, which processors fetch less well ahead than all arrays side
/// by side: 512 bytes were up to 1.8 times as fast as 16 KB.
constexpr int64_t tileBytes = 512, directTileBytes = 256;
/// Outputs of all ranks together that would only push other things out of the caches. Stores past them spare fetching
/// what is overwritten.
constexpr int64_t streamBytes = 64 << 20;
/// Nothing is staged, so nothing limits a round, and each has two barriers.
constexpr int64_t directTilesPerRound = 1 << 20;

bool stagesNothing(const Plan &plan) {
  return plan.algorithm->direct && plan.algorithm->stagingSlots(plan.collective.ranks) == 0;
}

/// GPUs: what a thread takes of a tile, and how many threads a block has at most.
constexpr int64_t threadBytes = 16, packetWordBytes = 8, llBytes = packetWordBytes / 2;
/// Eight warps and more blocks are faster than sixteen: 4.1 against 4.5 us for 64 KB of packets. Many blocks of a
/// direct algorithm have sixteen: there are some loads more on the way.
constexpr int usualWarps = 8, fewestWarps = 4, manyBlocksWarps = 16, mostBlocks = 64;
constexpr int64_t manyBlocksWarpsBytes = 8 << 20;
/// What one round stages in a slot at most: rounds are there for memory, not for caches. Lamport's packets have one.
constexpr int64_t gpuRoundBytes = 8 << 20, lamportRoundBytes = 32 << 20;
/// The same of rows that are computed at length: every round ends with transfers that no computation hides.
constexpr int64_t costlyRoundBytes = 256 << 20;

/// What a thread takes of a tile of packets: of Lamport's one word, or two of much. `bytes` are those of a slice or
/// part.
int64_t packetBytes(const Plan &plan, const CollectiveTable &table, int64_t bytes) {
  if (plan.packets != PacketForm::Lamport)
    return bytes <= table.singlePacketBytes ? llBytes : 2 * llBytes;
  bool sumsEscapes = plan.hasEscapes() && plan.collective.reduces(); // which two words made slower
  return bytes >= table.twoWordsBytes && !sumsEscapes ? 2 * packetWordBytes : packetWordBytes;
}

/// How often a thread takes as much of a tile: where each waits for a few peers' data only, links would have less on
/// the way than they carry in the time of a load (some 2 us), so it takes more of each. `waves`: the turns that there
/// would be.
int64_t threadTurns(const Plan &plan, int64_t waves) {
  if (plan.algorithm != &exchangeDirect)
    return 1;
  constexpr int64_t loads = 3;
  int64_t peers = std::max(1, (plan.collective.ranks - 1) / 2);
  int64_t turns = int64_t(std::bit_ceil(uint64_t(divideUp(loads, peers))));
  return std::clamp<int64_t>(int64_t(std::bit_floor(uint64_t(waves))), 1, turns);
}

int mostBlocksOf(const Collective &collective, const Chip &chip) {
  return isMeasured(chip) ? maxCollectiveBlocks
                          : std::min(maxCollectiveBlocks, estimatedBlocksPerPeer * std::max(1, collective.ranks - 1));
}

/// Of kernels with matmuls, those that move data and compute nothing, at least. Measured on two H200, 132 blocks: 12 of
/// an all-reduce and 6 of a reduce-scatter, each of which reads 13 GB/s of another device, and of an all-gather 16,
/// which compute too when they have pushed all.
int fewestTransferBlocks(const Collective &collective, int blocks) {
  int others = collective.ranks - 1;
  switch (collective.kind) {
  case CollectiveKind::AllReduce:
    return std::min(blocks / 2, blocks * others / 11);
  case CollectiveKind::ReduceScatter:
    return blocks * others / (11 * collective.ranks);
  default:
    return blocks / 8;
  }
}

/// As few turns of computing blocks as with the fewest transferring ones, and no more of the former than that takes.
int transferBlocksFor(const Collective &collective, int64_t tiles, int blocks) {
  int64_t most = blocks - fewestTransferBlocks(collective, blocks), turns = divideUp(tiles, most);
  return blocks - int(divideUp(tiles, turns));
}

/// How many blocks of so many warps run on the device at once, whatever registers they take.
int mostResidentBlocks(const PlanOptions &options, const Chip &chip, int64_t warps) {
  const int64_t threadsWithAnyRegisters = chip.unit.registers / std::max<int64_t>(1, chip.registersPerThread);
  if (options.computeUnits == 0)
    return maxCollectiveBlocks;
  int64_t perUnit = std::max<int64_t>(1, threadsWithAnyRegisters / (warps * chip.threadsPerWarp));
  return int(std::min<int64_t>(maxCollectiveBlocks, options.computeUnits * perUnit));
}

/// A row is a tile: a kernel that fuses it has all of it at hand.
void chooseRowGeometry(Plan &plan, int64_t blocks, int warps, int64_t roundBytes) {
  int64_t rows = plan.sliceElements / plan.rowElements, size = elementSizeBytes(plan.collective.type);
  plan.tileElements = rowTileElements(plan.rowElements);
  plan.warps = warps;
  plan.blocks = int(std::clamp<int64_t>(plan.algorithm->flags ? plan.costlyTiles() : rows, 1, blocks));
  int64_t tiles = std::max<int64_t>(1, divideUp(rows, plan.blocks));
  if (!plan.algorithm->flags)
    tiles = int64_t(std::bit_ceil(uint64_t(tiles)));
  plan.tilesPerRound = std::clamp<int64_t>(roundBytes / (plan.tileElements * plan.blocks * size), 1, tiles);
  plan.rounds = divideUp(plan.sliceElements, plan.roundElements());
}

/// `bytes` are those of a slice or part; one shot moves a whole part for each slice that two move.
bool hasManyBlocks(const Plan &plan, const Chip &chip, int64_t bytes) {
  int64_t least = tableFor(plan.collective.ranks, chip).manyBlocksBytes;
  bool pulls = plan.algorithm == &oneShotPull && isMeasured(chip);
  return (plan.algorithm->direct && bytes >= least) || (pulls && bytes >= least * plan.collective.ranks);
}

/// Why the plan's packets cannot be Lamport's, and what to ask for instead.
struct NotLamport {
  std::string reason, remedy;
};

std::string algorithmsWithPackets(const Collective &collective) {
  std::vector<std::string> names;
  for (const Algorithm *algorithm : allAlgorithms())
    if (algorithm->does(collective.kind) && algorithm->inboxSlots(collective.ranks) > 0)
      names.push_back(algorithm->name);
  const char *kind = collectiveName(collective.kind);
  return names.empty() ? fmt::format("{} has no algorithm with packets: leave `--packets` away", kind)
                       : fmt::format("give `--algorithm {}`", fmt::join(names, "` or `"));
}

std::optional<NotLamport> whyNotLamport(const Plan &plan, const PlanOptions &options, const Chip &chip) {
  const Collective &collective = plan.collective;
  if (!plan.hasPackets())
    return NotLamport{fmt::format("{}{} has no packets", plan.algorithm->name,
                                  options.algorithm.empty() ? ", which the plan chooses," : ""),
                      algorithmsWithPackets(collective)};
  // A packet that was taken is replaced by ones, which only the end of a launch orders before the next packet there.
  if (plan.rounds > 1)
    return NotLamport{fmt::format("there are {} rounds: such packets have one", plan.rounds),
                      "give a larger `--round` or `--tile`, or more `--blocks`"};
  // Each word has one thread that waits for it and then replaces it.
  int64_t threads = chip.vendor == Vendor::Host ? 1 : plan.warps * chip.threadsPerWarp;
  int64_t words = plan.tileElements * elementSizeBytes(collective.type) / packetWordBytes;
  if (words < threads)
    return NotLamport{fmt::format("a tile has {} words of {} bytes for {} threads", words, packetWordBytes, threads),
                      "give a larger `--tile`, or fewer `--warps`"};
  return std::nullopt;
}

void chooseGpuGeometry(Plan &plan, const PlanOptions &options, const Chip &chip) {
  int64_t most = plan.packets == PacketForm::Lamport ? lamportRoundBytes : gpuRoundBytes;
  if (plan.rowElements && options.costlyRows) {
    int most = plan.algorithm->flags ? maxMatmulBlocks : mostResidentBlocks(options, chip, options.warps);
    int blocks = std::min(most, std::max(1, plan.computeUnits));
    chooseRowGeometry(plan, blocks, options.warps, plan.algorithm->flags ? INT64_MAX : costlyRoundBytes);
    if (plan.algorithm->flags)
      plan.transferBlocks = transferBlocksFor(plan.collective, plan.costlyTiles(), plan.blocks);
    return;
  }
  if (plan.rowElements) {
    int wanted = plan.algorithm == &oneShotPull && isMeasured(chip) ? maxCollectiveBlocks : mostBlocks;
    int warps = rowWarps(rowTileElements(plan.rowElements));
    return chooseRowGeometry(plan, std::min(wanted, mostResidentBlocks(options, chip, warps)), warps, most);
  }
  int64_t elements = plan.sliceElements, size = elementSizeBytes(plan.collective.type), bytes = elements * size;
  bool packets = plan.hasPackets();
  const CollectiveTable &table = tableFor(plan.collective.ranks, chip);
  bool many = hasManyBlocks(plan, chip, bytes);
  int blocksAtMost = packets ? table.packetBlocks : many ? mostBlocksOf(plan.collective, chip) : mostBlocks;
  auto atMost = [&](int64_t warps) { return std::min(blocksAtMost, mostResidentBlocks(options, chip, warps)); };
  int64_t perThread = packets ? packetBytes(plan, table, bytes) : threadBytes;
  int64_t perWarp = perThread * chip.threadsPerWarp;
  int64_t warps = int64_t(std::bit_ceil(uint64_t(std::max<int64_t>(1, divideUp(bytes, perWarp)))));
  int64_t warpsAtMost = bytes > perWarp * usualWarps * atMost(usualWarps) && !plan.algorithm->direct ? table.mostWarps
                        : bytes >= manyBlocksWarpsBytes && many && isMeasured(chip)                  ? manyBlocksWarps
                                                                                                     : usualWarps;
  if (plan.packets == PacketForm::Lamport && bytes <= perWarp * table.lamportWarps * atMost(table.lamportWarps))
    warpsAtMost = table.lamportWarps;
  plan.warps = options.warps ? options.warps : int(std::clamp<int64_t>(warps, fewestWarps, warpsAtMost));
  int64_t perBlock = perWarp * plan.warps;
  int64_t blocks = int64_t(std::bit_ceil(uint64_t(std::max<int64_t>(1, divideUp(bytes, perBlock)))));
  plan.blocks = options.blocks ? options.blocks : int(std::min<int64_t>(blocks, atMost(plan.warps)));
  int64_t tileBytes = perBlock * threadTurns(plan, bytes / (perBlock * plan.blocks));
  plan.tileElements = options.tileElements ? options.tileElements : std::max<int64_t>(4, tileBytes / size);
  int64_t tiles = divideUp(elements, plan.tileElements * plan.blocks);
  int64_t fewest = int64_t(std::bit_ceil(uint64_t(std::max<int64_t>(1, tiles))));
  int64_t fitting = std::max<int64_t>(1, most / (plan.tileElements * plan.blocks * size));
  plan.tilesPerRound = options.tilesPerRound ? options.tilesPerRound
                       : stagesNothing(plan) ? directTilesPerRound
                                             : std::min(fewest, fitting);
  plan.rounds = divideUp(elements, plan.roundElements());
  if (plan.algorithm->flags)
    plan.transferBlocks = fewestTransferBlocks(plan.collective, plan.blocks);
}

void chooseHostGeometry(Plan &plan, const PlanOptions &options) {
  if (plan.rowElements) {
    int64_t most = plan.algorithm->flags ? INT64_MAX : options.costlyRows ? costlyRoundBytes : roundBytes;
    return chooseRowGeometry(plan, 1, 1, most);
  }
  int64_t elements = plan.sliceElements, size = elementSizeBytes(plan.collective.type);
  plan.blocks = options.blocks ? options.blocks : 1;
  int64_t share = std::max<int64_t>(4, divideUp(elements, plan.blocks));
  plan.tileElements = options.tileElements
                          ? options.tileElements
                          : std::min<int64_t>((plan.algorithm->direct ? directTileBytes : tileBytes) / size,
                                              int64_t(std::bit_ceil(uint64_t(share))));
  if (stagesNothing(plan)) {
    plan.tilesPerRound = options.tilesPerRound ? options.tilesPerRound : directTilesPerRound;
    plan.rounds = divideUp(elements, plan.roundElements());
    return;
  }
  int64_t tiles = divideUp(elements, plan.tileElements * plan.blocks);
  int64_t fitting = std::max<int64_t>(1, roundBytes / (plan.tileElements * plan.blocks * size));
  // A power of two, so that few kernels serve all sizes.
  int64_t fewest = int64_t(std::bit_ceil(uint64_t(std::max<int64_t>(1, tiles))));
  plan.tilesPerRound = options.tilesPerRound ? options.tilesPerRound : std::min(fewest, fitting);
  plan.rounds = divideUp(elements, plan.roundElements());
}

/// Two addresses as four packets.
constexpr int64_t operandSlotBytes = 4 * 8;

void layOutArena(Plan &plan) {
  ArenaLayout &arena = plan.arena;
  int ranks = plan.collective.ranks;
  int64_t elements = plan.blocks * plan.tilesPerRound * plan.tileElements;
  int64_t bytes = elements * elementSizeBytes(plan.collective.type);
  arena.counters = 0;
  int64_t room = std::max(maxCollectiveBlocks, plan.blocks);
  arena.tickets = alignUp(room * 8, 256);
  arena.signals = arena.tickets + (plan.algorithm->flags ? 256 : 0);
  arena.operands = arena.signals + alignUp(room * ranks * 8, 256);
  arena.inbox = arena.operands +
                (plan.algorithm->direct ? alignUp(int64_t(maxCollectiveBlocks) * ranks * operandSlotBytes, 256) : 0);
  arena.stagingSlot = alignUp(bytes, 256);
  int64_t staged = arena.stagingSlot * plan.algorithm->stagingSlots(ranks);
  arena.stagingParity = plan.algorithm->oneBuffer ? 0 : staged;
  arena.stagingBytes = staged + arena.stagingParity;
  int64_t dataBytes = plan.packets == PacketForm::Lamport ? packetWordBytes : llBytes; // of a packet
  arena.inboxSlot = alignUp(divideUp(bytes, dataBytes) * packetWordBytes, 256);
  arena.inboxParity = arena.inboxSlot * plan.algorithm->inboxSlots(ranks);
  arena.escapes = arena.inbox + 2 * arena.inboxParity;
  arena.sizeBytes = arena.inbox + plan.inboxBytes();
}

void checkOptions(const PlanOptions &options) {
  int mostBlocks = options.own ? maxMatmulBlocks : maxCollectiveBlocks;
  if (options.blocks < 0 || options.blocks > mostBlocks)
    throw inputError(fmt::format("{} blocks per rank: a collective has 1 to {}", options.blocks, mostBlocks));
  if (options.tileElements < 0 || options.tileElements > (1 << 16) ||
      (options.tileElements && (options.tileElements < 4 || !std::has_single_bit(uint64_t(options.tileElements)))))
    throw inputError(
        fmt::format("a tile of {} elements: it has a power of two from 4 to {}", options.tileElements, 1 << 16));
  if (options.warps < 0 || options.warps > 32 || (options.warps && !std::has_single_bit(uint32_t(options.warps))))
    throw inputError(fmt::format("{} warps of a block: it has a power of two from 1 to 32", options.warps));
  int64_t longest = options.costlyRows ? largestMatmulTile : largestRow;
  if (options.rowElements < 0 || options.rowElements > longest)
    throw inputError(fmt::format("rows of {} elements: they have 1 to {}", options.rowElements, longest));
  if (options.computeUnits < 0)
    throw inputError(fmt::format("{} compute units of a device: there are 1 or more, or 0 for any number of blocks",
                                 options.computeUnits));
  if (options.tilesPerRound < 0 || options.tilesPerRound > (1 << 16))
    throw inputError(fmt::format("{} tiles in a round: there are 1 to {}", options.tilesPerRound, 1 << 16));
}

/// Writes the steps of an algorithm as text.
class StepPrinter : public ProtocolWriter {
public:
  explicit StepPrinter(const Plan &plan) : plan(plan) {}
  std::string text;

  void eachTileOf(const std::vector<Body> &stages) override {
    line(stages.size() == 1 ? "for each tile:" : "for each tile, each step beside the one before of the next tile:");
    for (const Body &stage : stages) {
      ++depth;
      if (stages.size() > 1)
        line(fmt::format("step {}:", &stage - stages.data() + 1));
      depth += stages.size() > 1;
      stage();
      depth -= 1 + (stages.size() > 1);
    }
  }
  bool hasSeveralTiles() const override { return plan.tilesPerRound > 1; }
  void barrier() override { line("barrier"); }
  void signal() override { line("signal: the tile is there"); }
  void await() override { line("wait for the signals of all others"); }
  TileHandle input(const Rank &part) override { return name(fmt::format("input{}", partName(part, inputIsCut()))); }
  void output(const Rank &part, TileHandle tile) override {
    line(fmt::format("output{} = {}", partName(part, outputIsCut()), names[size_t(tile)]));
  }
  void store(const Rank &at, const Slot &slot, TileHandle tile) override {
    line(fmt::format("staging({})[{}] = {}", rankName(at), slotName(slot), names[size_t(tile)]));
  }
  TileHandle load(const Rank &at, const Slot &slot) override {
    return name(fmt::format("staging({})[{}]", rankName(at), slotName(slot)));
  }
  void send(const Rank &to, const Slot &slot, TileHandle tile) override {
    line(fmt::format("send {} to inbox({})[{}]", names[size_t(tile)], rankName(to), slotName(slot)));
  }
  TileHandle receive(const Rank &from, const Slot &slot, TileHandle own) override {
    std::string ifOwn = own < 0 ? "" : fmt::format(" (own: {})", names[size_t(own)]);
    return name(fmt::format("received[{}] from {}{}", slotName(slot), rankName(from), ifOwn));
  }
  void publish() override { line("publish where input and output lie"); }
  TileHandle peerInput(const Rank &of, const Rank &part) override {
    return name(fmt::format("input({}){}", rankName(of), partName(part, inputIsCut())));
  }
  void peerOutput(const Rank &of, const Rank &part, TileHandle tile) override {
    line(fmt::format("output({}){} = {}", rankName(of), partName(part, outputIsCut()), names[size_t(tile)]));
  }
  void inTurn(const std::function<void()> &body) override {
    line(fmt::format("in turn with {}:", rankName(Rank::own(plan.collective.ranks / 2))));
    ++depth;
    body();
    --depth;
  }
  TileHandle fold(const std::function<TileHandle(int rank)> &contribution) override {
    std::vector<std::string> terms;
    for (int rank = 0; rank < plan.collective.ranks; ++rank)
      terms.push_back(names[size_t(contribution(rank))]);
    return name(fmt::format("{}({})", reductionName(plan.collective.reduction), fmt::join(terms, ", ")));
  }

private:
  void line(const std::string &what) { text += std::string(size_t(2 * depth), ' ') + what + "\n"; }
  TileHandle name(std::string what) {
    names.push_back(std::move(what));
    return int(names.size()) - 1;
  }
  bool inputIsCut() const { return plan.algorithm->slices || plan.collective.inputParts() > 1; }
  bool outputIsCut() const { return plan.algorithm->slices || plan.collective.outputParts() > 1; }
  static std::string partName(const Rank &part, bool cut) { return cut ? "[" + rankName(part) + "]" : ""; }
  static std::string rankName(const Rank &rank) {
    switch (rank.form) {
    case Rank::Form::Fixed:
      return std::to_string(rank.value);
    case Rank::Form::Own:
      return rank.value ? fmt::format("me+{}", rank.value) : "me";
    case Rank::Form::Table:
      return fmt::format("{{{}}}[me]", fmt::join(rank.table, ","));
    case Rank::Form::Turn: // of kernels only
      break;
    }
    return "";
  }
  static std::string slotName(const Slot &slot) {
    std::string rank = rankName(slot.rank);
    return slot.base == 0 ? rank : rank == "0" ? std::to_string(slot.base) : fmt::format("{}+{}", slot.base, rank);
  }

  const Plan &plan;
  int depth = 1;
  std::vector<std::string> names;
};

} // namespace

int64_t rowTileElements(int64_t rowElements) {
  return std::max<int64_t>(4, int64_t(std::bit_ceil(uint64_t(rowElements))));
}

int rowWarps(int64_t tileElements) {
  constexpr int64_t elementsPerWarp = 512; // two accesses of 16 bytes for each thread and array of 16-bit elements
  return int(std::clamp<int64_t>(tileElements / elementsPerWarp, 4, 32));
}

bool Plan::hasEscapes() const {
  return packets == PacketForm::Lamport && !(collective.reduces() && hasSpareWord(collective.type));
}

const char *packetFormName(PacketForm form) {
  return form == PacketForm::LL ? "ll" : "lamport";
}

PacketForm parsePacketForm(const std::string &name) {
  for (PacketForm form : {PacketForm::LL, PacketForm::Lamport})
    if (name == packetFormName(form))
      return form;
  throw inputError(fmt::format("packets of form `{}`: they are `ll` or `lamport`", name));
}

bool takesRowsWell(const Chip &chip, int ranks) {
  if (isMeasured(chip))
    return tableFor(ranks, chip).takesRows;
  return chip.vendor == Vendor::Host || chip.links.perPair > 0 || ranks <= 2; // one block fills no link to a switch
}

static const Algorithm &algorithmFor(const Collective &collective, const Chip &chip, const PlanOptions &options,
                                     PacketForm form) {
  if (!options.own)
    return options.algorithm.empty() ? chooseAlgorithm(collective, chip, options.direct, form)
                                     : findAlgorithm(collective.kind, options.algorithm);
  if (!options.own->does(collective.kind))
    throw inputError(fmt::format("algorithm `{}` does no {}", options.own->name, collectiveName(collective.kind)));
  return *options.own;
}

/// With packets of `form`, if the algorithm has any.
static Plan planWith(PacketForm form, const Collective &collective, const Chip &chip, const PlanOptions &options) {
  Plan plan;
  plan.collective = collective;
  plan.algorithm = &algorithmFor(collective, chip, options, form);
  plan.windows = options.windows && plan.algorithm->direct;
  plan.packets = plan.hasPackets() ? form : PacketForm::LL;
  plan.sliceElements =
      plan.algorithm->slices ? divideUp(collective.partElements(), collective.ranks) : collective.partElements();
  plan.target = chip.name;
  plan.chip = &chip;
  plan.rowElements = options.rowElements;
  plan.computeUnits = options.computeUnits ? options.computeUnits : chip.computeUnits;
  if (plan.rowElements && collective.partElements() % plan.rowElements)
    throw internalError(
        fmt::format("rows of {} elements in a part of {}", plan.rowElements, collective.partElements()));
  if (plan.rowElements)
    plan.sliceElements = alignUp(plan.sliceElements, plan.rowElements);
  else if (plan.slicesAreChunks())
    plan.sliceElements = alignUp(plan.sliceElements, directSliceBytes / elementSizeBytes(collective.type));
  plan.epochs = std::max(1, plan.algorithm->barriers);
  if (chip.vendor == Vendor::Host)
    chooseHostGeometry(plan, options);
  else
    chooseGpuGeometry(plan, options, chip);
  plan.streams = chip.vendor == Vendor::Host && plan.algorithm->direct &&
                 collective.outputElements() * elementSizeBytes(collective.type) >= streamBytes / collective.ranks;
  if (plan.algorithm->flags && plan.costlyTiles() / plan.computeBlocks() >= mostStagedTiles)
    throw internalError(
        fmt::format("{} tiles of {} blocks are more than flags count", plan.costlyTiles(), plan.computeBlocks()));
  layOutArena(plan);
  return plan;
}

Plan makePlan(const Collective &collective, const Chip &chip, const PlanOptions &options) {
  checkCollective(collective);
  checkOptions(options);
  if (options.packets != PacketForm::LL) {
    Plan plan = planWith(PacketForm::Lamport, collective, chip, options);
    std::optional<NotLamport> why = whyNotLamport(plan, options, chip);
    if (!why || (!options.packets && !plan.hasPackets()))
      return plan;
    if (options.packets)
      throw inputError(fmt::format("`{}` has no packets of the form lamport: {}", describe(collective), why->reason),
                       {why->remedy});
  }
  return planWith(PacketForm::LL, collective, chip, options);
}

Plan makePlanBeside(int reservedUnits, const Collective &collective, const Chip &chip, const PlanOptions &options) {
  Plan plan = makePlan(collective, chip, options);
  if (!plan.isGpu() || reservedUnits <= 0)
    return plan;
  int left = std::max({1, options.computeUnits - reservedUnits, options.computeUnits / 2});
  if (plan.blocks <= left)
    return plan;
  PlanOptions fewer = options;
  constexpr int mostDoubledWarps = 8;
  bool hasRoom = plan.blocks / 2 <= left && plan.warps <= mostDoubledWarps && !plan.rowElements && !options.warps;
  fewer.blocks = hasRoom ? plan.blocks / 2 : left >= 64 ? left / 32 * 32 : left;
  fewer.warps = hasRoom ? plan.warps * 2 : options.warps; // as many threads
  return makePlan(collective, chip, fewer);
}

static std::string describePackets(const Plan &plan) {
  if (!plan.hasPackets())
    return "";
  if (plan.packets == PacketForm::LL)
    return "packets         ll: words of 4 bytes of data and 4 of the round's flag\n";
  return fmt::format("packets         lamport: words of 8 bytes of data, all ones until they come{}\n",
                     plan.hasEscapes() ? "; data of ones go by a second inbox" : "");
}

/// The line on the links of a mesh; nothing for devices that are joined otherwise.
static std::string describeLinks(const Plan &plan) {
  const PeerLinks &links = plan.chip->links;
  int ranks = plan.collective.ranks;
  if (links.perPair == 0 || ranks == 1)
    return "";
  int64_t partBytes = plan.sliceElements * elementSizeBytes(plan.collective.type);
  LinkLoads loads = linkLoads(*plan.algorithm, plan.collective, plan.packets);
  std::vector<std::string> phases;
  for (const LinkLoads::Phase &phase : loads.phases)
    if (!phase.isIdle()) {
      auto bytes = [&](double parts) { return int64_t(parts * double(partBytes)); };
      int64_t least = bytes(phase.smallest(ranks)), most = bytes(phase.largest());
      phases.push_back(least == most ? std::to_string(most) : fmt::format("{} to {}", least, most));
    }
  return fmt::format("links           {} of {:.1f} GB/s, {} for each rank and peer; bytes on each: {}\n",
                     ranks * (ranks - 1) * links.perPair, double(links.bytesPerSecond) * 1e-9, links.perPair,
                     fmt::join(phases, ", then "));
}

int64_t tilesOfRound(const Plan &plan) {
  return std::min(plan.tilesPerRound, divideUp(plan.sliceElements, plan.tileStride() * plan.blocks));
}

static std::string describeBlocks(const Plan &plan) {
  std::string text = plan.isGpu() ? fmt::format(" of {} warps", plan.warps) : "";
  return plan.transferBlocks ? fmt::format("{}, {} of which move data,", text, plan.transferBlocks) : text;
}

std::string describe(const Plan &plan) {
  int64_t size = elementSizeBytes(plan.collective.type);
  StepPrinter steps(plan);
  plan.algorithm->write(steps, plan.collective);
  int64_t tiles = tilesOfRound(plan);
  return fmt::format(
      "{}\n"
      "algorithm       {}: {}\n"
      "launch          {} block{}{} per rank, {} round{} of {} tile{} of {} elements ({} bytes) per block\n"
      "symmetric bytes {}: {} staging, {} inbox, {} counters and signals\n{}{}"
      "each round, on every rank (me):\n{}",
      describe(plan.collective), plan.algorithm->name, plan.algorithm->sentence, plan.blocks,
      plan.blocks == 1 ? "" : "s", describeBlocks(plan), plan.rounds, plan.rounds == 1 ? "" : "s", tiles,
      tiles == 1 ? "" : "s", plan.tileStride(), plan.tileStride() * size,
      plan.arena.sizeBytes + plan.arena.stagingBytes, plan.arena.stagingBytes, plan.inboxBytes(), plan.arena.inbox,
      describePackets(plan), describeLinks(plan), steps.text);
}

std::string planKey(const Plan &plan) {
  return fmt::format("{}, part [{}][{}]", kernelKey(plan), plan.collective.outer, plan.collective.inner);
}

std::string kernelKey(const Plan &plan) {
  const Collective &c = plan.collective;
  return fmt::format("{} {} {}, {} ranks, sources {{{}}}, {}, {} blocks, {} tiles of {}, {}{}{}",
                     collectiveName(c.kind), c.reduces() ? reductionName(c.reduction) : "copy", elementTypeName(c.type),
                     c.ranks, fmt::join(c.sources, ","), plan.algorithm->name, plan.blocks, plan.tilesPerRound,
                     plan.tileElements, plan.partsAreRuns() ? "runs" : "rows", plan.streams ? ", streams" : "",
                     plan.rowElements ? fmt::format(", rows of {}", plan.rowElements) : "") +
         (plan.transferBlocks ? fmt::format(", {} for transfers", plan.transferBlocks) : "") +
         (c.root ? fmt::format(", root {}", c.root) : "") + (plan.windows ? ", windows" : "") +
         (plan.hasPackets() ? fmt::format(", {}", packetFormName(plan.packets)) : "") +
         (!plan.isGpu() ? "" : fmt::format(", {} of {} units, {} warps", plan.target, plan.computeUnits, plan.warps));
}

std::string layoutKey(const Plan &plan) {
  const ArenaLayout &a = plan.arena;
  return fmt::format("protocol {}, counters {}, signals {}, operands {}, staging {} {} {}, inbox {} {} {} {}, {} bytes",
                     protocolVersion, a.counters, a.signals, a.operands, a.stagingSlot, a.stagingParity, a.stagingBytes,
                     a.inbox, a.escapes, a.inboxSlot, a.inboxParity, a.sizeBytes);
}

} // namespace heddle
