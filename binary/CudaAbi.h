// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a PTX kernel and the CUDA driver agree on. The compiler emits code against it and the runtime launches it;
// neither includes the other. Change anything here together with `cudaAbiVersion`.
//
// The entry is a PTX `.entry` of the name `Package::entry`. Its grid x, y, z is the program's id; a block has
// `Package::threads` threads along x. Its parameters are the package's arguments in order, then one of 8 bytes: the
// address of the launch's record in device memory (binary/LaunchRecord.h), or 0 where the package has no sites: kernels
// that neither print nor assert do not look at it.
//
// A kernel with `Package::tensorMaps` has, after those, a parameter of 128 bytes, aligned to 64, for each map in the
// order of the list: the driver's tensor map by value (`.param .align 64 .b8 NAME[128]`). The version of such packages
// is another one, so that a runtime which knows no tensor maps refuses them.
#pragma once
#include <cstdint>

namespace heddle {

inline constexpr uint32_t cudaAbiVersion = 2, cudaTensorMapAbiVersion = 3;
constexpr uint32_t cudaAbiVersionOf(bool hasTensorMaps) {
  return hasTensorMaps ? cudaTensorMapAbiVersion : cudaAbiVersion;
}

/// Size and alignment of the PTX parameter of an argument: 8 (`.u64`) for a pointer and for a scalar of 8 bytes, else 4
/// (`.u32`). Narrow scalars are zero-extended: i1, i8, i16 and the bits of f16, bf16 and the 8-bit formats.
constexpr int64_t cudaParameterBytes(bool pointer, int64_t typeBytes) {
  return pointer || typeBytes > 4 ? 8 : 4;
}

inline constexpr int64_t cudaTensorMapBytes = 128;

/// Most threads of a block, and the largest grid along y and z.
inline constexpr int64_t cudaMaxThreads = 1024, cudaMaxGridYZ = 65535;

} // namespace heddle
