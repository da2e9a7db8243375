// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of checks, with names and justifications, and the sets that `--checks` names.
#include "simulator/state/CheckSet.h"
#include "support/Error.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sstream>

namespace heddle::simulator {

static constexpr CheckInfo checks[checkCount] = {
    {Check::RegisterWait, "register-wait",
     "A result may land at any time up to the s_waitcnt that demands it, so that until then its register holds neither "
     "the old value nor the new one for certain, and what is written there may be overwritten."},
    {Check::LdsRace, "lds-race",
     "Waves of a workgroup run at their own pace: only a barrier, with the operation known to be over by s_waitcnt "
     "before it, or an atomic operation that finds what another wave's left, orders LDS accesses of two waves, and "
     "only "
     "s_waitcnt vmcnt orders a load to LDS with anything. A flag of atomic loads and stores without a "
     "read-modify-write is reported, with a note: the instructions are those of plain accesses."},
    {Check::GlobalRace, "global-race",
     "Caches keep old data, and stores that are in flight, until something writes back or invalidates: two accesses of "
     "which one writes are ordered only by a release, a flag and an acquire whose scopes hold both waves."},
    {Check::NarrowScope, "narrow-scope",
     "An atomic access is coherent only for the waves inside its scope: workgroup (sc0), device (sc1) or all (sc0 "
     "sc1)."},
    {Check::Uninitialised, "uninitialised",
     "Registers, LDS and new buffers hold what an earlier program left there: a result that depends on it differs from "
     "run to "
     "run."},
    {Check::BarrierExit, "barrier-exit",
     "The barrier counts waves and knows no site: when waves have ended, those that still wait go on without them, "
     "which hides a barrier that was missed. Waves that end before their first barrier are reported only when the "
     "others wait at different places."},
    {Check::Bounds, "bounds",
     "An access wholly beyond the range of its buffer descriptor reads 0 or is dropped: that is how masks are made, "
     "and "
     "no finding. One that the range cuts in two reads 0 for the rest or stores only its front, and one within the "
     "range that leaves the buffer in which the descriptor begins finds another buffer or none: no kernel means that."},
    {Check::Misaligned, "misaligned",
     "Scalar loads and buffer instructions of more than 2 bytes drop the low bits of an address: the data are those of "
     "another place. Atomic operations that are not aligned are faults."},
    {Check::LostUpdate, "lost-update",
     "Only an integer addition, an exchange and a compare-and-swap reach memory outside the device, and what is kept "
     "coherent with others, when they are for all devices (sc1): other atomic operations, such as sums of floats, may "
     "be dropped there without a trace. Scalar atomic operations, which have no scope, count as being for all "
     "devices."},
    {Check::LdsSameValue, "lds-same-value",
     "Two waves write the same bytes of LDS, by stores or by loads to LDS, and nothing orders them, as in lds-race; "
     "both bring the same values, so that it is a race by the rules but every order has the same result. Compilers do "
     "it where a tile is replicated over waves, and then it is meant."},
    {Check::GlobalSameValue, "global-same-value",
     "Two waves store to the same bytes of global memory and nothing orders them, as in global-race; both store the "
     "same values, so that every order has the same result."},
    {Check::MisalignedSlow, "misaligned-slow",
     "LDS, global, flat and scratch accesses are right at any address in the mode into which ROCm puts the chips "
     "(SH_MEM_CONFIG.alignment_mode is unaligned), and compilers rely on it for packed structures; but one that is "
     "no multiple of what it moves takes more cycles, and without that mode it drops the low bits."},
};

std::span<const CheckInfo, checkCount> allChecks() {
  return checks;
}

CheckSet parseChecks(const std::string &text) {
  if (text.empty())
    throw inputError(
        "no check is named",
        {"`none` is none of them, and `default` all but lds-same-value, global-same-value and misaligned-slow"});
  CheckSet set = text.starts_with('-') || text.starts_with('+') ? CheckSet::usual() : CheckSet();
  std::stringstream stream(text);
  std::string item;
  while (std::getline(stream, item, ',')) {
    if (item == "all") {
      set = CheckSet::all();
      continue;
    }
    if (item == "default") {
      set = CheckSet::usual();
      continue;
    }
    if (item == "none") {
      set = {};
      continue;
    }
    bool removes = item.starts_with('-');
    std::string name = removes || item.starts_with('+') ? item.substr(1) : item;
    auto found =
        std::find_if(std::begin(checks), std::end(checks), [&](const CheckInfo &info) { return name == info.name; });
    if (found == std::end(checks)) {
      std::vector<std::string> names;
      for (const CheckInfo &info : checks)
        names.push_back(info.name);
      throw inputError(fmt::format("there is no check `{}`", name),
                       {fmt::format("the checks are `all`, `default`, `none`, `{}`", fmt::join(names, "`, `")),
                        "`-uninitialised` are those of `default` but one, `+lds-same-value` those and one more"});
    }
    removes ? set.remove(found->check) : set.add(found->check);
  }
  return set;
}

} // namespace heddle::simulator
