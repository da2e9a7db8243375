// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What OrderCheck says about what it found.
#include "simulator/checks/Checks.h"
#include "simulator/state/Workgroup.h"
#include <algorithm>
#include <fmt/format.h>

namespace heddle::simulator {

static const char *bitsOf(Scope scope) {
  return scope == Scope::System ? "sc0 sc1" : scope == Scope::Agent ? "sc1" : "sc0";
}

Site OrderCheck::siteOf(const Stamp &stamp) const {
  Site site = waves[stamp.wave].site;
  site.instruction = instructions[stamp.instruction];
  site.lane = stamp.stream == uint8_t(Stream::ScalarRead) ? -1 : stamp.lane;
  return site;
}

/// Two accesses of a wave, or of two waves that meet at barriers, have a time in common.
Likelihood OrderCheck::likelihoodOf(const Wave &wave, const Stamp &before, const Stamp &now, Check check) const {
  using Rule = Likelihood::Rule;
  const WaveInfo &first = waves[before.wave], &second = waves[now.wave];
  if (check == Check::GlobalSameValue)
    return Likelihood::of(check);
  if (check == Check::NarrowScope)
    return Likelihood::of(Rule::Cache, first.site.device == second.site.device && now.isAtomic && before.isAtomic
                                           ? Severity::Medium
                                           : Severity::High);
  bool isOrdered = wave.checks->order.all.epochOf(Knowledge::idOf(before.wave, Stream(before.stream))) >= before.epoch;
  if (first.group != second.group)
    return isOrdered ? Likelihood::of(Rule::Cache, Severity::Medium) : Likelihood::of(Rule::NoOrder, Severity::High);
  const WaveChecks &earlier = *wave.workgroup->waves[first.site.wave]->checks;
  auto found = std::find_if(std::begin(earlier.order.recent), std::end(earlier.order.recent), [&](const Recent &each) {
    return each.epoch == before.epoch && each.stream == before.stream;
  });
  bool isKnown = found != std::end(earlier.order.recent);
  if (before.wave == now.wave && isKnown) {
    Likelihood likelihood = Likelihood::after(vectorLatency, between(found->when, earlier.clock.now), 0);
    likelihood.rule = Rule::ScalarCache;
    likelihood.severity = std::max(likelihood.severity, Severity::Medium);
    return likelihood;
  }
  if (isOrdered || before.wave == now.wave)
    return Likelihood::of(Rule::Cache, Severity::Medium);
  if (!isKnown)
    return Likelihood::of(Rule::NoBarrier, Severity::Medium);
  return Likelihood::withoutBarrier(apartSinceBarrier(earlier.clock, found->when, wave.checks->clock));
}

/// The narrowest scope that holds both waves.
Scope OrderCheck::scopeOfBoth(uint32_t first, uint32_t second) const {
  if (waves[first].group == waves[second].group)
    return Scope::Workgroup;
  return waves[first].site.device == waves[second].site.device ? Scope::Agent : Scope::System;
}

void OrderCheck::reportRace(const Wave &wave, const Stamp &before, const Stamp &now, uint64_t address) {
  const WaveState &state = wave.checks->order;
  Scope needed = scopeOfBoth(before.wave, now.wave);
  bool sameDevice = needed != Scope::System;
  bool areAtomic = before.isAtomic && now.isAtomic;
  bool isDoubtful = (!before.writes && now.isAtomic) || (!now.writes && before.isAtomic);
  const Stamp &reader = before.writes ? now : before;
  isDoubtful &= !areAtomic && reader.stream != uint8_t(Stream::ScalarRead) && !waves[reader.wave].ended;
  Doubt *earlier = isDoubtful ? earlierDoubt(reader, address) : nullptr;
  if (earlier && earlier->isReported)
    return;
  bool comesAgain = earlier && checks.has(Check::NarrowScope) && earlier->reader().epoch != reader.epoch;
  std::optional<bool> isSame = before.writes && now.writes ? storedTheSame(before, now, address) : false;
  Check kind = areAtomic || comesAgain  ? Check::NarrowScope
               : isSame.value_or(false) ? Check::GlobalSameValue
                                        : Check::GlobalRace;
  bool mayComeAgain = isDoubtful && checks.has(Check::NarrowScope);
  if (!checks.has(kind) && !mayComeAgain)
    return;
  Site first = siteOf(before), second = siteOf(now);
  auto make = [&] {
    const Allocation *allocation = system.home.owner(address);
    std::string place = allocation ? describePlace(*allocation, address) : fmt::format("0x{:x}", address);
    Finding finding;
    auto verb = [](const Stamp &stamp) { return stamp.writes ? stamp.isAtomic ? "atomic" : "write" : "read"; };
    finding.title = areAtomic    ? "two atomic accesses whose scopes do not hold both waves"
                    : comesAgain ? "a load that comes again has no scope that holds the wave which stores"
                                 : "two accesses to the same memory that nothing orders";
    finding.lines = {findings.line(verb(before), first, place), findings.line(verb(now), second, "")};
    finding.needs = areAtomic    ? fmt::format("{} on both: the waves are of two {}", bitsOf(needed),
                                               sameDevice ? "workgroups" : "devices")
                    : comesAgain ? fmt::format("{} on the load if it waits for the store; else {}", bitsOf(needed),
                                               whatIsMissing(state, before, now))
                                 : whatIsMissing(state, before, now);
    if (kind == Check::GlobalSameValue)
      finding.lines.push_back("  note   both store the same value: every order has the same result");
    if (!isSame)
      finding.lines.push_back(
          "  note   too many stores have come since the first to know what it stored; it may be the "
          "same");
    return finding;
  };
  if (isDoubtful && !comesAgain) {
    if (!earlier)
      doubts[reader.wave][address / 8].push_back(
          {address, before, now, make(), likelihoodOf(wave, before, now, Check::GlobalRace)});
    return;
  }
  findings.report(kind, first, second, likelihoodOf(wave, before, now, kind), make);
  if (earlier)
    earlier->isReported = true;
}

/// Whether two stores brought the same to the bytes of a cell that both wrote. Empty when that is not known any more.
std::optional<bool> OrderCheck::storedTheSame(const Stamp &before, const Stamp &now, uint64_t address) const {
  for (unsigned byte = 0; byte < 4; ++byte) {
    if (!(before.bytes & now.bytes & 1u << byte))
      continue;
    uint64_t at = (address & ~uint64_t(3)) + byte;
    std::optional<uint8_t> first = stored.byteAt({before.wave, before.stream, before.epoch}, before.lane, at),
                           second = stored.byteAt({now.wave, now.stream, now.epoch}, now.lane, at);
    if (!first || !second) // of a read-modify-write nothing is kept
      return before.isAtomic || now.isAtomic ? std::optional(false) : std::nullopt;
    if (*first != *second)
      return false;
  }
  return true;
}

/// Of the same load at the same place, of which no compare-and-swap has come since.
OrderCheck::Doubt *OrderCheck::earlierDoubt(const Stamp &reader, uint64_t address) {
  auto ofWave = doubts.find(reader.wave);
  if (ofWave == doubts.end())
    return nullptr;
  auto place = ofWave->second.find(address / 8);
  if (place == ofWave->second.end())
    return nullptr;
  auto found = std::find_if(place->second.begin(), place->second.end(), [&](const Doubt &doubt) {
    return doubt.address == address && doubt.reader().instruction == reader.instruction;
  });
  return found == place->second.end() ? nullptr : &*found;
}

void OrderCheck::settleDoubts(uint32_t wave, uint64_t address) {
  if (auto ofWave = doubts.find(wave); ofWave != doubts.end())
    ofWave->second.erase(address / 8);
}

/// No manual says that the end of a wave or of a kernel writes the scalar cache back.
void OrderCheck::reportKeptStores(Wave &wave) {
  for (const ScalarStore &store : wave.checks->order.scalarStores) {
    Site site = Site::of(wave, *store.instruction);
    findings.report(Check::GlobalRace, site, {}, [&] {
      const Allocation *allocation = system.home.owner(store.address);
      Finding finding;
      finding.title = "a scalar store stays in the scalar cache when its wave ends";
      finding.lines = {
          findings.line("write", site,
                        allocation ? describePlace(*allocation, store.address) : fmt::format("0x{:x}", store.address))};
      finding.needs = "s_dcache_wb after the store, before s_endpgm";
      return finding;
    });
  }
  wave.checks->order.scalarStores.clear();
}

void OrderCheck::waveEnds(Wave &wave) {
  waves[wave.number].ended = true;
  if (checks.has(Check::GlobalRace))
    reportKeptStores(wave);
  passOn(wave);
  auto ofWave = doubts.find(wave.number);
  if (ofWave == doubts.end())
    return;
  for (const auto &[place, atPlace] : ofWave->second)
    for (const Doubt &doubt : atPlace)
      if (!doubt.isReported && checks.has(Check::GlobalRace))
        findings.report(Check::GlobalRace, siteOf(doubt.before), siteOf(doubt.now), doubt.likelihood,
                        [&] { return doubt.finding; });
  doubts.erase(ofWave);
}

/// In words, what would have ordered the second after the first.
std::string OrderCheck::whatIsMissing(const WaveState &state, const Stamp &before, const Stamp &now) const {
  const WaveInfo &first = waves[before.wave], &second = waves[now.wave];
  uint32_t id = Knowledge::idOf(before.wave, Stream(before.stream));
  if (now.stream == uint8_t(Stream::ScalarRead) && before.writes && first.launch == second.launch)
    return "a vector load: the scalar cache is not told of stores of the same launch";
  bool sameGroup = first.group == second.group, sameDevice = first.site.device == second.site.device;
  const char *bits = bitsOf(sameDevice ? Scope::Agent : Scope::System);
  if (state.all.epochOf(id) < before.epoch)
    return sameGroup ? "s_barrier between the two, or a flag that is released after the first and acquired before "
                       "the second"
                     : "a flag that is released after the first and acquired before the second";
  uint32_t seen = std::max(sameDevice ? state.seenAgent.epochOf(id) : 0, state.seenSystem.epochOf(id));
  if (seen >= before.epoch)
    return fmt::format("buffer_inv {} between the load that saw the flag and the second access", bits);
  if (before.stream == uint8_t(Stream::Everywhere) || before.stream == uint8_t(Stream::ScalarRead))
    return "s_waitcnt that proves the first access complete, before the flag is stored";
  if (std::max(backToSystem.epochOf(id), sameDevice ? backToAgent.epochOf(id) : 0) >= before.epoch)
    return fmt::format("s_waitcnt vmcnt(0) between buffer_wbl2 {} and the store of the flag, or the flag's own scope "
                       "is too narrow ({} is needed)",
                       bits, bits);
  return fmt::format("buffer_wbl2 {} and s_waitcnt vmcnt(0) after the first access, before the flag is stored", bits);
}

} // namespace heddle::simulator
