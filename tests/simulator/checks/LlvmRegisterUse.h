// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What LLVM's tables say of an instruction's registers.
#pragma once
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>

namespace heddle::simulator {

/// 32-bit registers by name: `v5`, `s5`, `vcc_lo`, `exec_hi`, `m0`, `scc`. MODE, FLAT_SCR and what else is no register
/// of a wave is left out.
struct NamedRegisters {
  std::set<std::string> read, written;
};

class LlvmRegisterUse {
public:
  explicit LlvmRegisterUse(const std::string &chip);
  ~LlvmRegisterUse();
  /// False for bytes that are no instruction.
  bool find(std::span<const uint8_t> bytes, NamedRegisters &registers);

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace heddle::simulator
