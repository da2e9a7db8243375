// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LLVM's disassembler for one AMD chip. Its printed text is documented and stable; the numbering of its operands is
// not.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace heddle::simulator {

class Disassembler {
public:
  /// `chip`: `gfx942`. Throws Error{Internal} for a chip that this LLVM does not know.
  explicit Disassembler(const std::string &chip);
  ~Disassembler();

  struct Printed {
    uint32_t sizeBytes = 0; ///< 0: these bytes are no instruction
    std::string text;       ///< `v_add_f32_e32 v0, v1, v2`
  };
  Printed print(std::span<const uint8_t> bytes);

  /// What LLVM's scheduling model of the chip says of an instruction, in passes of four cycles.
  struct Scheduling {
    unsigned busyPasses = 1;     ///< for which it keeps its unit from others
    unsigned latencyPasses = 1;  ///< until an instruction that depends on it may issue
    bool isOnMatrixUnit = false; ///< its unit is the one of matrix instructions, else the vector unit or another
  };
  /// None for bytes that are no instruction, or one of which the model says nothing.
  std::optional<Scheduling> schedulingOf(std::span<const uint8_t> bytes);

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace heddle::simulator
