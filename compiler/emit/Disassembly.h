// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The instructions of a host package, as text and as counts.
#pragma once
#include <cstdint>
#include <map>
#include <string>

namespace heddle {

struct CodeCounts {
  int64_t instructions = 0;
  int64_t vector = 0;   ///< packed arithmetic, moves and masks on xmm, ymm, zmm or k registers
  int64_t floating = 0; ///< scalar floating-point
  int64_t scalar = 0;   ///< everything else that is no call
  int64_t calls = 0;
  int64_t codeBytes = 0;
  std::map<std::string, int64_t> byRegister; ///< vector instructions by their widest register: xmm, ymm, zmm
};

struct Disassembly {
  std::string text; ///< `address: instruction` lines under `symbol:` headings
  CodeCounts counts;
};

/// Of the executable section of an x86-64 ELF file. Throws Error{Input} naming `name` when it is none.
Disassembly disassemble(const std::string &binary, const std::string &name);

} // namespace heddle
