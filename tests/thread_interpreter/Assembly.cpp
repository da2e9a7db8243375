// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The inline assembly that the lowering writes: loads and stores with order and scope, whose texts are made here from
// the same parts. Anything else is given by the test.
#include "tests/thread_interpreter/Program.h"
#include <cstring>
#include <fmt/format.h>

using namespace heddle::threads;

static void readElements(LaneCall &call, unsigned elements, unsigned size) {
  const uint8_t *bytes = call.device(call.operands[0], elements * size);
  for (unsigned i = 0; i < elements; ++i) {
    call.results[i] = 0;
    std::memcpy(&call.results[i], bytes + i * size, size);
  }
}
// `first` is the operand with the first element; the address is the other end of the list.
static void writeElements(LaneCall &call, unsigned address, unsigned first, unsigned elements, unsigned size) {
  uint8_t *bytes = call.device(call.operands[address], elements * size);
  for (unsigned i = 0; i < elements; ++i)
    std::memcpy(bytes + i * size, &call.operands[first + i], size);
}

static std::string list(unsigned first, unsigned count) {
  std::string text;
  for (unsigned i = 0; i < count; ++i)
    text += fmt::format("{}${}", i ? ", " : "", first + i);
  return count == 1 ? text : "{" + text + "}";
}

std::map<std::string, LaneFunction> heddle::threads::standardAssembly() {
  std::map<std::string, LaneFunction> texts;
  auto both = [&](const std::string &text, const LaneFunction &function) {
    texts[text] = texts[text + ";"] = function;
  };
  for (const char *order : {"relaxed.cta", "relaxed.gpu", "relaxed.sys", "acquire.gpu", "acquire.sys", "release.gpu",
                            "release.sys", "volatile"})
    for (const char *space : {".global", ""})
      for (unsigned elements : {1u, 2u, 4u})
        for (unsigned bits : {8u, 16u, 32u, 64u})
          for (char type : {'b', 'u', 's', 'f'}) {
            if (elements * bits > 128)
              continue;
            std::string suffix = fmt::format(".{}{}{}.{}{}", order, space,
                                             elements > 1 ? fmt::format(".v{}", elements) : "", type, bits);
            both(fmt::format("ld{} {}, [${}]", suffix, list(0, elements), elements),
                 [=](LaneCall &call) { readElements(call, elements, bits / 8); });
            both(fmt::format("st{} [$0], {}", suffix, list(1, elements)),
                 [=](LaneCall &call) { writeElements(call, 0, 1, elements, bits / 8); });
            both(fmt::format("st{} [${}], {}", suffix, elements, list(0, elements)),
                 [=](LaneCall &call) { writeElements(call, elements, 0, elements, bits / 8); });
          }
  for (const char *fence : {"fence.acq_rel.cta", "fence.acq_rel.gpu", "fence.acq_rel.sys", "fence.sc.gpu",
                            "fence.sc.sys", "membar.gl", "membar.sys", ""})
    both(fence, [](LaneCall &) {});
  return texts;
}
