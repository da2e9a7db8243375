// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The order of accesses to global memory (Check::GlobalRace, GlobalSameValue, NarrowScope), by happens-before and so
// independent of what the caches of a run happened to do.
//
// A wave knows accesses of others at three distances. Inside a workgroup the shared vector cache orders vector memory
// by issue, so that a barrier passes on everything. To the waves of the device it publishes what buffer_wbl2 sc1 has
// written back, once s_waitcnt has proved it, and what was stored with sc1, once that is complete; to everyone the same
// with sc0 sc1. A store or read-modify-write that carries a scope leaves at its address what the wave had published
// when it issued it (Release), and itself if nothing of its stream was outstanding. A load that finds it there has seen
// it when it is complete; its plain loads profit only after buffer_inv of that scope. Reads and writes of the same
// bytes that this does not order are a race. Source: LLVM's AMDGPU user guide, "Memory Model GFX942".
#pragma once
#include "simulator/checks/Findings.h"
#include "simulator/checks/OrderShadow.h"
#include "simulator/checks/StoredValues.h"
#include "simulator/memory/MemorySystem.h"
#include "simulator/memory/Watcher.h"
#include <map>
#include <unordered_map>

namespace heddle::simulator {

class OrderCheck final : public Watcher {
public:
  using Epochs = std::array<uint32_t, streamCount>;
  /// What a wave had published when it wrote. Its own accesses, of which each release has newer ones, are kept apart
  /// from what it knew of others', so that making one copies no entries: the waves that find it join the two.
  struct Release {
    struct Part {
      Knowledge others;
      Epochs own = {};
    };
    uint32_t wave = 0, group = 0, device = 0; ///< numbers of the writer's
    Part workgroup, agent, system;
    Part all; ///< had everything been written back and waited for, to say what is missing
    void addTo(Knowledge &knowledge, const Part &part) const;
  };
  using ReleaseRef = std::shared_ptr<const Release>;

  /// What accesses with a scope, and write-backs, carry.
  struct Carried {
    ReleaseRef release;           ///< of a write with a scope
    std::vector<ReleaseRef> seen; ///< by a read with a scope
    // Of a write-back:
    Knowledge known;
    Epochs issued = {};
  };
  /// A request between issue and completion.
  struct Outstanding {
    uint32_t serial = 0;
    Stream stream = Stream::Everywhere;
    uint32_t epoch = 0;
    std::unique_ptr<Carried> carried; ///< null for most
    Carried &carry() {
      if (!carried)
        carried = std::make_unique<Carried>();
      return *carried;
    }
  };

  /// In the scalar cache, where no other wave looks: it counts as issued when it has been written back.
  struct ScalarStore {
    uint32_t serial = 0;
    uint64_t address = 0, words = 0; ///< a bit for each word
    const Instruction *instruction = nullptr;
  };
  /// When the last accesses were issued.
  struct Recent {
    uint32_t epoch = 0;
    uint8_t stream = 0;
    WaveTime when;
  };
  static constexpr unsigned recentCount = 32;

  struct WaveState {
    Recent recent[recentCount]; ///< by the number of accesses, modulo
    uint32_t accesses = 0;
    Epochs issued = {}, complete = {};
    Epochs toAgent = {}, toSystem = {}; ///< own accesses that the others know
    Knowledge known;                    ///< what its plain loads are ordered after
    Knowledge seenAgent, seenSystem;    ///< what its other accesses are ordered after too
    Knowledge agent, system;            ///< published: others' accesses that it passes on
    Knowledge all;
    std::vector<Outstanding> outstanding;  ///< in order of issue
    std::vector<ScalarStore> scalarStores; ///< without glc, that no s_dcache_wb has written back
    bool mayCompleteEarly = false;         ///< scalar accesses, which return in any order, are in the other streams too
  };

  OrderCheck(Findings &findings, CheckSet checks, MemorySystem &system)
      : findings(findings), checks(checks), system(system) {}

  void groupBegins(Workgroup &group) override;
  void waveEnds(Wave &wave) override;
  void issued(Wave &wave, MemoryRequest &request) override;
  void performed(Wave &wave, MemoryRequest &request) override;
  void completed(Wave &wave, MemoryRequest &request) override;
  void barrierOpens(Workgroup &group, bool someEnded) override;
  void kernelBegins(Device &device) override;
  void kernelEnds(Device &device) override;

private:
  void passOn(const Wave &wave);

  using Stamp = AccessStamp;
  struct WaveInfo {
    Site site;
    uint32_t group = 0, launch = 0;
    bool ended = false;
  };
  struct LaunchTimes {
    uint64_t began = 0, ended = 0; ///< ended 0: it runs
    Knowledge knownAtBegin, passedOn;
  };
  /// What a location holds that can be synchronised with.
  struct Location {
    ReleaseRef release; ///< null: nothing
    uint32_t value = 0;
    bool valueKnown = false; ///< then a load of another value has found something older
  };
  /// The locations of 256 bytes: lanes that access contiguous words look their page up once.
  using LocationPage = std::array<Location, 64>;
  class LocationFinder;
  /// A plain load that races with atomic accesses is harmless when all that comes of it is the value that a
  /// compare-and-swap expects, as LLVM expands read-modify-writes which the chip lacks. So it is reported when its wave
  /// has ended without that, or loads from there again: then it may wait for a store that its cache never shows it.
  struct Doubt {
    uint64_t address;
    Stamp before, now;
    Finding finding;
    Likelihood likelihood;
    bool isReported = false;
    const Stamp &reader() const { return before.writes ? now : before; }
  };
  class Judge;

  static Stream streamOf(const MemoryRequest &request, PageType page);
  ReleaseRef makeRelease(const Wave &wave, const WaveState &state, const Outstanding &access, Scope scope) const;
  static ReleaseRef mergeReleases(const Release &own, const Release &before);
  void join(WaveState &state, const Wave &wave, const Outstanding &request, Scope scope);
  void check(Wave &wave, const MemoryRequest &request, const Stamp &kind);
  void writeBackScalars(Wave &wave, uint32_t serial);
  void reportKeptStores(Wave &wave);
  static uint32_t completedEpoch(const WaveState &state, const Outstanding &entry);
  void checkLanes(Judge &judge, const MemoryRequest &request, const Stamp &kind);
  Doubt *earlierDoubt(const Stamp &reader, uint64_t address);
  void settleDoubts(uint32_t wave, uint64_t address);
  void reportRace(const Wave &wave, const Stamp &before, const Stamp &now, uint64_t address);
  Likelihood likelihoodOf(const Wave &wave, const Stamp &before, const Stamp &now, Check check) const;
  Scope scopeOfBoth(uint32_t first, uint32_t second) const;
  std::optional<bool> storedTheSame(const Stamp &before, const Stamp &now, uint64_t address) const;
  std::string whatIsMissing(const WaveState &state, const Stamp &before, const Stamp &now) const;
  uint32_t indexOf(const Instruction &instruction);
  Site siteOf(const Stamp &stamp) const;

  Findings &findings;
  CheckSet checks;
  MemorySystem &system;
  std::vector<WaveInfo> waves; ///< by number
  std::vector<LaunchTimes> launches;
  Knowledge passedOn; ///< by launches that have ended
  uint64_t time = 0;
  Knowledge backToAgent, backToSystem; ///< what any buffer_wbl2 covered when it was issued
  uint32_t nextGroup = 0;
  std::vector<const Instruction *> instructions;
  std::unordered_map<const Instruction *, uint32_t> instructionIndex;
  struct RecentInstruction {
    const Instruction *instruction = nullptr;
    uint32_t index = 0;
  };
  RecentInstruction recentInstructions[256];
  OrderShadow shadow;
  StoredValues stored;
  /// By the number of the wave that loads, then by address / 8, in whose order they are reported.
  std::unordered_map<uint32_t, std::map<uint64_t, std::vector<Doubt>>> doubts;
  std::unordered_map<uint64_t, LocationPage> locations; ///< by address / 256
};

} // namespace heddle::simulator
