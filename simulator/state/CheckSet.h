// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checks that a run may make, each with its name and the reason why what it reports is wrong.
#pragma once
#include <cstdint>
#include <span>
#include <string>

namespace heddle::simulator {

enum class Check : uint8_t {
  RegisterWait,    ///< a register is read or written while a load into it is in flight
  LdsRace,         ///< LDS accesses of two waves, or of a load to LDS and anything, that nothing orders
  GlobalRace,      ///< accesses of two waves to global memory that nothing orders at the scope of both
  NarrowScope,     ///< atomic accesses of two waves, of a scope that does not hold both
  Uninitialised,   ///< something that nothing has written decides a branch, an address or what is stored
  BarrierExit,     ///< a barrier opens only because waves have ended
  Bounds,          ///< an access through a descriptor that its range holds in part, or that leaves the buffer
  Misaligned,      ///< an address whose low bits an instruction drops
  LostUpdate,      ///< an atomic operation for all devices that memory which is not ordinary may drop
  LdsSameValue,    ///< two waves write the same value to the same bytes of LDS, and nothing orders them
  GlobalSameValue, ///< the same in global memory
  MisalignedSlow,  ///< an address that is no multiple of what the instruction moves, and is right all the same
};
inline constexpr unsigned checkCount = 12;

struct CheckInfo {
  Check check;
  const char *name;          ///< `register-wait`
  const char *justification; ///< why a kernel that does this is wrong, with the source
};
/// In the order of the enumeration.
std::span<const CheckInfo, checkCount> allChecks();
inline const CheckInfo &infoOf(Check check) {
  return allChecks()[unsigned(check)];
}

/// A set of checks.
class CheckSet {
public:
  constexpr CheckSet() = default;
  static constexpr CheckSet all() { return CheckSet((1u << checkCount) - 1); }
  /// All that report what is wrong by itself, also in the tiles that compilers give to several waves.
  static constexpr CheckSet usual() {
    CheckSet set = all();
    set.remove(Check::LdsSameValue);
    set.remove(Check::GlobalSameValue);
    set.remove(Check::MisalignedSlow);
    return set;
  }
  constexpr bool has(Check check) const { return bits >> unsigned(check) & 1; }
  constexpr bool any() const { return bits; }
  constexpr void add(Check check) { bits |= 1u << unsigned(check); }
  constexpr void remove(Check check) { bits &= ~(1u << unsigned(check)); }

private:
  constexpr explicit CheckSet(uint32_t bits) : bits(bits) {}
  uint32_t bits = 0;
};

/// `all`, `default` (all but lds-same-value, global-same-value and misaligned-slow), `none`, or names with `+` or `-`
/// before them: `all,-uninitialised`; a list that begins with `+` or `-` starts from `default`. Throws Error{Input}
/// that lists the names.
CheckSet parseChecks(const std::string &text);

} // namespace heddle::simulator
