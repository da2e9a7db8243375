// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The buffers through which code for AMD accesses memory: 2 GiB from a pointer on, with an offset of 32 bits. Source:
// the instruction set manuals of CDNA 3 and CDNA 4, buffer resource descriptor.
#pragma once
#include <cstdint>

namespace heddle::buffer {

inline constexpr int64_t bytes = int64_t(1) << 31;
/// An offset at which nothing is accessed and zeros are read, also with the constant of an instruction added. As a
/// float it is -2, which an instruction holds without a register.
inline constexpr int64_t outside = 0xC0000000;
/// The last word of a descriptor: raw, elements of 32 bits.
inline constexpr int64_t flags = (7 << 12) | (4 << 15);

/// A bundle with an i1 of a call of `llvm.amdgcn.global.load.lds`: lanes where it is not set copy zeros. Code has it
/// until `use-buffers` chooses the instruction.
inline constexpr const char *copyMask = "heddle.mask";

/// An attribute of a pointer that is a kernel's argument: all accesses through it lie within `bytes` from there.
inline constexpr const char *within = "heddle.within-buffer";

} // namespace heddle::buffer
