// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the bytes of a kernel in its code object, and where in them it starts.
#include "api/KernelCode.h"
#include "support/Error.h"
#include <fmt/format.h>

namespace heddle {

const Chip &inspectedChip(const AmdCodeObject &object, const std::string &name) {
  if (const Chip *chip = findSimulated(object.chip))
    return *chip;
  throw inputError(fmt::format("`{}` is for {}, whose instructions are not known", name, object.chip),
                   {fmt::format("those of {} are", listSimulated("", " and "))});
}

simulator::MachineCode readKernelCode(const AmdCodeObject &object, const AmdKernel &kernel) {
  constexpr uint64_t preloadingPart = 256; // bytes at the entry, for firmware that preloads nothing
  uint64_t entry = kernel.entry + (kernel.preloadedWords() ? preloadingPart : 0);
  for (const AmdSegment &segment : object.segments)
    if (segment.executable && entry >= segment.address && entry < segment.address + segment.bytes.size())
      return simulator::readMachineCode(
          object.chip, std::span(reinterpret_cast<const uint8_t *>(segment.bytes.data()), segment.bytes.size()),
          segment.address, entry);
  throw inputError(fmt::format("kernel `{}` begins at 0x{:x}, where the file has no code", kernel.name, entry));
}

} // namespace heddle
