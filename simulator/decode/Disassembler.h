// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LLVM's disassembler for one AMD chip. Its printed text is documented and stable; the numbering of its operands is
// not.
#pragma once
#include <cstdint>
#include <memory>
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

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace heddle::simulator
