// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a host kernel and the host driver agree on. The compiler emits code against these layouts and the runtime fills
// them; neither includes the other. Change anything here together with `hostAbiVersion`.
#pragma once
#include <cstddef>
#include <cstdint>

namespace heddle {

inline constexpr uint32_t hostAbiVersion = 1;

struct HostProgram;

/// What all program instances of one launch share. The four functions after `abort` do not return to the kernel: they
/// leave it for the driver (by longjmp; kernel frames own nothing). `site` indexes `Package::sites`.
struct HostLaunch {
  int32_t grid[3];       ///< program instances along x, y, z
  uint32_t abiVersion;   ///< hostAbiVersion of the driver
  const uint32_t *abort; ///< nonzero asks every instance to leave; kernels poll it in `scf.while` loops
  void (*stopped)(const HostProgram *program, int32_t site);
  /// `tt.assert` failed for the element with this row-major index (0 for a scalar).
  void (*assertFailed)(const HostProgram *program, int32_t site, int64_t element);
  /// `tt.print`: operand `operand` of the site, its elements row-major in storage form (i1 as bytes of 0 and 1,
  /// pointers as 8 bytes). Called with operand -1 and data null for a print without operands. Returns.
  void (*print)(const HostProgram *program, int32_t site, int32_t operand, const void *data);
  /// Only in packages compiled with bounds checks: asked before each access of one active element. Returns when
  /// [address, address + sizeBytes) lies inside one live allocation of the device, otherwise leaves the kernel.
  void (*checkAccess)(const HostProgram *program, int32_t site, uint64_t address, int32_t sizeBytes, int64_t element);
  void *owner; ///< the driver's own
};

/// One program instance. The driver may use bytes after it for its own state.
struct HostProgram {
  const HostLaunch *launch;
  void *scratch; ///< Package::scratchBytes bytes, aligned to 64, private to the instance, contents undefined
  int32_t id[3]; ///< program id along x, y, z
};

/// The entry symbol of a host package. `arguments` has one 8-byte slot per kernel argument, little endian: the address
/// of a buffer, or the bits of a scalar, zero-extended.
using HostEntry = void (*)(const HostProgram *program, const uint64_t *arguments);

static_assert(offsetof(HostLaunch, abort) == 16 && offsetof(HostLaunch, stopped) == 24 &&
              offsetof(HostLaunch, assertFailed) == 32 && offsetof(HostLaunch, print) == 40 &&
              offsetof(HostLaunch, checkAccess) == 48);
static_assert(offsetof(HostProgram, scratch) == 8 && offsetof(HostProgram, id) == 16);

} // namespace heddle
