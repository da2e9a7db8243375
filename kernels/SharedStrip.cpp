// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which calls share strips among blocks.
#include "kernels/SharedStrip.h"
#include "support/Error.h"
#include <fmt/format.h>

namespace heddle::kernels {

Option methodOption(const std::string &usual, const std::string &sentence) {
  std::vector<std::string> values = {"auto", "reduction", "cooperative"};
  if (usual != "reduction")
    values.insert(values.begin() + 1, usual);
  return {
      "method", values, "auto",
      fmt::format("{}{}reduction: one launch, a block has all that shares a scale, and reads it twice; cooperative: "
                  "one launch, blocks keep what they read in registers and wait for each other's amax; auto: "
                  "cooperative on NVIDIA's GPUs, else {}",
                  usual == "reduction" ? "" : usual + ": " + sentence, usual == "reduction" ? "" : "; ", usual)};
}

// Blocks start in the order of their numbers, and each compute unit has one at least.
bool isCooperative(const Call &call, int64_t parts) {
  int64_t most = call.chip->computeUnits;
  if (call.is("method", "auto"))
    return call.chip->vendor == Vendor::Nvidia && parts > 0 && parts <= most;
  if (!call.is("method", "cooperative") || parts == 0)
    return false;
  if (most > 0 && parts > most)
    throw inputError(fmt::format("kernel `{}`: {} blocks would wait for each other, and {} has {} compute units",
                                 call.kernel, parts, call.chip->name, most),
                     {"larger tiles make fewer blocks; other methods have no such limit"});
  return true;
}

} // namespace heddle::kernels
