// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Propagates the bit forward from the instructions that may set it.
#include "simulator/analysis/VectorSkip.h"
#include "simulator/instructions/HardwareRegisters.h"

namespace heddle::simulator {

std::vector<bool> findVectorSkips(const MachineCode &code) {
  std::vector<bool> skips(code.instructions.size()), atBlock(code.blocks.size());
  std::vector<uint32_t> open;
  for (uint32_t block = 0; block < code.blocks.size(); ++block) // each once: one may set it
    open.push_back(block);
  while (!open.empty()) {
    uint32_t block = open.back();
    open.pop_back();
    bool maySkip = atBlock[block];
    for (uint32_t i = code.blocks[block].first; i < code.blocks[block].end; ++i) {
      skips[i] = maySkip;
      if (SkipEffect effect = skipEffectOf(code.instructions[i]); effect != SkipEffect::None)
        maySkip = effect == SkipEffect::MaySet;
    }
    for (uint32_t next : code.blocks[block].next)
      if (maySkip && !atBlock[next]) {
        atBlock[next] = true;
        open.push_back(next);
      }
  }
  return skips;
}

} // namespace heddle::simulator
