// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the tests of the HLO reader share: modules from a few lines of text.
#pragma once
#include "frontend/hlo/Parser.h"
#include "frontend/hlo/Printer.h"
#include "support/TestError.h"
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string>

namespace heddle::hlo {

/// A module of the given counts: reductions named `add`, `max`, `min`, `mul` on f32, and an entry of these lines.
inline std::string moduleText(const std::string &body, int replicas = 1, int partitions = 1) {
  std::string text = fmt::format("HloModule m, replica_count={}, num_partitions={}\n", replicas, partitions);
  for (auto [name, opcode] : {std::pair("add", "add"), {"max", "maximum"}, {"min", "minimum"}, {"mul", "multiply"}})
    text +=
        fmt::format("{} {{ a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] {}(a, b) }}\n", name, opcode);
  return text + "ENTRY main {\n" + body + "\n}\n";
}

inline Module parseBody(const std::string &body, int replicas = 1, int partitions = 1) {
  return parseModule(moduleText(body, replicas, partitions), "t.hlo");
}

/// The error of a body; the body begins at line 7 of `t.hlo`.
inline std::string refusal(const std::string &body, int replicas = 1, int partitions = 1) {
  return messageOf([&] { parseBody(body, replicas, partitions); });
}

inline const Instruction &rootOf(const Module &module) {
  return module.entryComputation().rootInstruction();
}

} // namespace heddle::hlo
