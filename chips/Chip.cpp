// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of chips and the search by name.
#include "chips/Chip.h"
#include "support/Error.h"
#include "support/Suggest.h"
#include <algorithm>
#include <fmt/format.h>

namespace heddle {

const std::vector<const Chip *> &allChips() {
  static const std::vector<const Chip *> chips = {&gfx942Chip, &gfx950Chip, &hostChip, &sm90Chip};
  return chips;
}

const Chip &lookupChip(const std::string &name) {
  std::vector<std::string> known, notes;
  for (const Chip *chip : allChips()) {
    if (chip->name == name)
      return *chip;
    known.push_back(chip->name);
  }
  if (std::string closest = closestName(name, known); !closest.empty())
    notes.push_back(fmt::format("did you mean '{}'", closest));
  notes.push_back(fmt::format("the known targets are {}", fmt::join(known, ", ")));
  throw inputError(fmt::format("unknown target '{}'", name), notes);
}

bool Chip::hasSum(AtomicSum sum) const {
  return std::find(globalSums.begin(), globalSums.end(), sum) != globalSums.end();
}

bool Chip::hasMatmul(MatrixOperand operand) const {
  return std::any_of(matmuls.begin(), matmuls.end(), [&](const WarpMatmul &each) { return each.operand == operand; });
}

void requirePeerAtomics(const Chip &chip) {
  if (chip.peerAtomics)
    return;
  std::vector<std::string> able;
  for (const Chip *known : allChips())
    if (known->peerAtomics)
      able.push_back(known->name);
  throw inputError(fmt::format("target '{}' has no atomics that other devices see", chip.name),
                   {fmt::format("targets that have them are {}", fmt::join(able, ", "))});
}

std::vector<const Chip *> simulatedChips() {
  std::vector<const Chip *> simulated;
  for (const Chip *chip : allChips())
    if (chip->simulated != InstructionSet::None)
      simulated.push_back(chip);
  return simulated;
}

const Chip *findSimulated(const std::string &processor) {
  for (const Chip *chip : simulatedChips())
    if (chip->processor == processor)
      return chip;
  return nullptr;
}

std::string listSimulated(const std::string &before, const std::string &separator) {
  std::vector<std::string> names;
  for (const Chip *chip : simulatedChips())
    names.push_back(before + chip->name);
  return fmt::format("`{}`", fmt::join(names, "`" + separator + "`"));
}

const char *vendorName(Vendor vendor) {
  return vendor == Vendor::Amd ? "amd" : vendor == Vendor::Nvidia ? "nvidia" : "host";
}

} // namespace heddle
