// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What checks report. One finding stands for all that the same two instructions do wrong in the same way.
#pragma once
#include "simulator/checks/Likelihood.h"
#include "simulator/state/CheckSet.h"
#include "simulator/state/ReportLine.h"
#include "simulator/state/Wave.h"
#include <array>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace heddle::simulator {

/// Who did something, kept beyond the life of the wave.
struct Site {
  const Instruction *instruction = nullptr;
  uint32_t device = 0;
  std::array<uint32_t, 3> group = {0, 0, 0};
  uint32_t wave = 0; ///< in its workgroup
  int lane = -1;

  static Site of(const Wave &wave, const Instruction &instruction, int lane = -1);
};

struct Finding {
  Check check = Check::RegisterWait;
  std::string title;                  ///< `missing wait: the register is read before the load into it is over`
  std::vector<ReportLine> lines;      ///< a line for each instruction, and what else helps
  std::optional<ReportLine> needs;    ///< what is missing, in words: `s_waitcnt vmcnt(0) before the read`
  uint64_t firstPc = 0, secondPc = 0; ///< of the instructions, in the file; secondPc 0 when there is one
  uint64_t count = 1;
  Likelihood likelihood; ///< of the time that hardware shows most

  /// The whole report, of several lines, as fact sheets of other tools show it:
  ///   error: missing wait ... (register-wait)
  ///     load   pc 0x1a40  global_load_dword v3, v[0:1], off   workgroup 0,0,0 wave 2 lane 17
  ///     read   pc 0x1b0c  v_add_u32_e32 v4, v3, v2            workgroup 0,0,0 wave 2
  ///     needs  s_waitcnt vmcnt(0) before the read
  ///     severity high: about 8 cycles and 1 instruction after an access to memory, which takes at least 120 cycles
  std::string text(const SourceOf &source = {}) const;
  /// All lines that may name an instruction.
  std::vector<ReportLine> allLines() const;
  /// The same two instructions once more.
  void repeat(const Likelihood &again) {
    ++count;
    if (again.isAbove(likelihood))
      likelihood = again;
  }
};

class Findings {
public:
  /// Code from `base` on belongs to a file whose address 0 is there.
  void addCode(uint64_t base, uint64_t sizeBytes) { code[base] = sizeBytes; }
  bool severalDevices = false; ///< whether lines name the device
  /// Called for each new finding; `second` may have no instruction.
  std::function<void(const Finding &finding, const Site &first, const Site &second)> onNew;

  /// `make()` gives a Finding without pcs and count; it is called only for the first of its kind at these two
  /// instructions. `second` may have no instruction.
  template <typename Make>
  void report(Check check, const Site &first, const Site &second, const Likelihood &likelihood, Make make) {
    auto [place, isNew] = known.try_emplace({check, first.instruction, second.instruction}, found.size());
    if (isNew)
      add(check, first, second, likelihood, make());
    else
      found[place->second].repeat(likelihood);
    if (onReport)
      onReport({check, first.instruction, second.instruction, likelihood, place->second});
  }
  template <typename Make>
  void report(Check check, const Site &first, const Site &second, Make make) {
    report(check, first, second, Likelihood::of(check), make);
  }
  /// `  read   pc 0x1b0c  ds_read_b32 v1, v2   workgroup 0,0,0 wave 5 lane 3   LDS 0x2410..0x2413`; `place` may be
  /// empty.
  ReportLine line(const std::string &verb, const Site &site, const std::string &place) const;
  uint64_t pcInFile(uint64_t pc) const;

  const std::vector<Finding> &list() const { return found; }

  // For workgroups that run apart:

  struct Report {
    Check check;
    const Instruction *first, *second;
    Likelihood likelihood;
    size_t index; ///< in list()
  };
  std::function<void(const Report &)> onReport;
  /// Lines are to name places as the other's.
  void nameAs(const Findings &other) { code = other.code, severalDevices = other.severalDevices; }
  void clear() { found.clear(), known.clear(); }

private:
  void add(Check check, const Site &first, const Site &second, const Likelihood &likelihood, Finding finding);

  std::map<uint64_t, uint64_t> code;
  std::vector<Finding> found;
  std::map<std::tuple<Check, const Instruction *, const Instruction *>, size_t> known;
};

} // namespace heddle::simulator
