// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which kinds of binaries can be disassembled here: host code; PTX is text already.
#include "compiler/pipeline/Inspect.h"
#include "support/Error.h"

namespace heddle {

Disassembly disassemblePackage(const Package &package) {
  if (package.binaryKind == "ptx") // the driver of the device makes the machine code
    return {package.binary, {}};
  if (package.binaryKind != "elf-shared-object")
    throw inputError("cannot disassemble a `" + package.binaryKind + "`; this version knows host code and PTX");
  return disassemble(package.binary, package.kernel);
}

} // namespace heddle
