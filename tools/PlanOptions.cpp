// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Declares the options and reads them into PlanOptions.
#include "tools/PlanOptions.h"
#include "tools/Output.h"

namespace heddle {

void addPlanOptions(CLI::App &verb, PlanOptions &options) {
  auto addInteger = [&](const std::string &name, auto &value, int least, int most) {
    verb.add_option_function<std::string>(name, [name, &value, least, most](const std::string &text) {
      value = parseIntegerOption(name, text, least, most);
    });
  };
  verb.add_option("--algorithm", options.algorithm);
  verb.add_option_function<std::string>(
      "--packets", [&options](const std::string &text) { options.packets = parsePacketForm(text); });
  addInteger("--blocks", options.blocks, 1, maxCollectiveBlocks);
  addInteger("--warps", options.warps, 1, 32);
  addInteger("--tile", options.tileElements, 4, 1 << 16);
  addInteger("--round", options.tilesPerRound, 1, 1 << 16);
}

} // namespace heddle
