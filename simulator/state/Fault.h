// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What an instruction throws when the kernel is at fault or asks for what the simulator does not have. The machine adds
// where it happened.
#pragma once
#include <stdexcept>
#include <string>
#include <vector>

namespace heddle::simulator {

struct Wave;
struct Instruction;

struct Fault : std::runtime_error {
  explicit Fault(const std::string &message, std::vector<std::string> notes = {})
      : std::runtime_error(message), notes(std::move(notes)) {}
  std::vector<std::string> notes;
  int lane = -1; ///< whose access it was, when it was one lane's
  /// Whose instruction it was when it acts later than it was issued; else those that the machine executes.
  const Wave *wave = nullptr;
  const Instruction *instruction = nullptr;
};

} // namespace heddle::simulator
