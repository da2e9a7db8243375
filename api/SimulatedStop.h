// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a wave's instructions and registers look like to people.
#pragma once
#include "api/Simulate.h"
#include "simulator/state/Wave.h"

namespace heddle {

/// `0,0,0 wave 0  0x1638  s_endpgm`, with the device when there are several.
std::string describeStep(const simulator::Wave &wave, const simulator::Instruction &instruction, uint64_t pc,
                         bool severalDevices);

class WaveStop : public SimulatedStop {
public:
  /// `last` is the instruction that the wave executed before, or null.
  WaveStop(const simulator::Wave &wave, const simulator::Instruction &instruction, const simulator::Instruction *last,
           std::string text)
      : wave(wave), instruction(instruction), last(last), text(std::move(text)) {}

  std::string line() const override { return text; }
  std::vector<std::string> written() const override;
  std::vector<std::string> operands() const override;
  std::string vectorRegister(unsigned number) const override;
  std::string scalarRegister(unsigned number) const override;

private:
  const simulator::Wave &wave;
  const simulator::Instruction &instruction, *last;
  std::string text;
};

} // namespace heddle
