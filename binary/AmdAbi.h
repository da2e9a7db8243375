// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a package with an AMD code object and the drivers that launch it agree on. Change anything here together with
// `amdAbiVersion`.
//
// `Package::binary` is a linked code object, of binaryKind amdBinaryKind; the kernel is the one of the name
// `Package::entry`. Its grid x, y, z is the program's id; a workgroup has `Package::threads` work-items, along x unless
// the kernel was compiled for a workgroup of one shape, and `Package::sharedBytes` of dynamic LDS. Its explicit
// arguments are the package's in order, at the offsets that the object's metadata say: pointers of 8 bytes, scalars of
// 1 to 8 bytes, the low ones of the value. A kernel may have one more argument of 8 bytes: the address of the launch's
// record (binary/LaunchRecord.h), 0 when the package has no sites. Kernels of this compiler have it, those of others
// need not; a package with sites needs it.
#pragma once
#include <cstdint>

namespace heddle {

inline constexpr uint32_t amdAbiVersion = 2;
inline constexpr const char *amdBinaryKind = "amd-code-object";
inline constexpr const char *amdRecordName = "heddle.record";

} // namespace heddle
