// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels of other compilers as packages: the description is taken from the code object's metadata.
#pragma once
#include "binary/AmdCodeObject.h"
#include "binary/Package.h"
#include "support/ElementType.h"
#include <optional>

namespace heddle {

/// The bytes `file` of a code object, called `name` in messages, as a package of its kernel `kernel`: `threads`
/// work-items and `sharedBytes` of dynamic LDS for a workgroup. An argument without a name is called by its number; one
/// whose type the metadata does not say is an integer, or a pointer to bytes. Throws Error{Input} for a file that is no
/// code object, a kernel that it lacks, and arguments that a package cannot describe.
Package packageOfCodeObject(const std::string &file, const std::string &name, const std::string &kernel,
                            int64_t threads, uint64_t sharedBytes = 0);

/// The type that the metadata names, in the words of OpenCL C, HIP or MLIR: of the number, or of what a buffer holds.
/// Nothing for other types, and for one whose size is not the number's.
std::optional<ElementType> namedType(const AmdArgument &argument);

/// The kernel's arguments that a launch gives. Throws Error{Input} for one that is no pointer and no number.
std::vector<AmdArgument> explicitArguments(const AmdKernel &kernel);

/// For those who load packages: throws Error{Input} for one of another chip than that of `device`, of another kind of
/// binary, or of another version of binary/AmdAbi.h.
void requireAmdPackage(const Package &package, const std::string &device, const std::string &chip);
/// Throws Error{Input} where what a launch gives is not what the kernel reads: `arguments` are its explicit ones.
void requireAmdArguments(const Package &package, const std::vector<AmdArgument> &arguments);
/// Work-items of a workgroup along x, y and z. Throws Error{Input} for a kernel that was compiled for another number.
std::array<uint32_t, 3> workgroupShape(const Package &package, const AmdKernel &kernel);

} // namespace heddle
