// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For tests: instructions from assembly text, decoded as those of a code object are, and executed on a wave.
#pragma once
#include "simulator/state/Wave.h"
#include <memory>
#include <string>
#include <vector>

namespace heddle::simulator {

/// The code of the lines of `text`. A line that LLVM refuses is a std::runtime_error with LLVM's message.
std::vector<uint8_t> assemble(const std::string &chip, const std::string &text);

/// The decoded lines.
std::vector<Instruction> decodeText(const std::string &chip, const std::string &text);

/// A wave whose registers are all zero and whose lanes are all active, in the mode of HSA kernels.
std::unique_ptr<Wave> makeTestWave();

/// Decodes the lines and executes them one after the other; throws what execution throws.
void executeText(Wave &wave, const std::string &text, const std::string &chip = "gfx942");

} // namespace heddle::simulator
