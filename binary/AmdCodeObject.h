// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// AMD code objects (the ELF files that LLVM's AMDGPU back end links): their kernels, what those ask for, and the bytes
// to load. Source: LLVM's AMDGPU user guide, "Code Object", "Kernel Descriptor", "Code Object Metadata".
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

struct AmdArgument {
  std::string name;      ///< empty when the compiler kept none
  std::string typeName;  ///< of the source language, as in `float*`; may be empty
  std::string valueKind; ///< `by_value`, `global_buffer`, `dynamic_shared_pointer`, `hidden_block_count_x`, ...
  uint64_t offset = 0;   ///< in the kernarg segment
  uint64_t sizeBytes = 0;
  uint64_t pointeeAlignment = 1; ///< of a `dynamic_shared_pointer`
  bool isHidden() const { return valueKind.starts_with("hidden_"); }
  bool isBuffer() const { return valueKind == "global_buffer"; }
  bool isLdsSize() const { return valueKind == "dynamic_shared_pointer"; }
};

/// What the compiler says that it used. The descriptor has only what is allocated.
struct AmdRegisterCounts {
  uint32_t vector = 0;       ///< of both kinds; with accumulation registers those in front are a multiple of 4
  uint32_t accumulation = 0; ///< of these
  uint32_t scalar = 0;       ///< with VCC and what else the wave has beside s0, s1, ...
  uint32_t vectorSpills = 0, scalarSpills = 0; ///< registers kept elsewhere: in scratch, or in lanes of vector ones
  uint32_t architected() const { return vector - accumulation; }
};

/// The 64 bytes of a kernel descriptor, and where the metadata says more. Addresses are those of the file.
struct AmdKernel {
  std::string name;
  uint64_t descriptor = 0, entry = 0;
  uint32_t groupBytes = 0;   ///< LDS that the kernel declares; a launch may add dynamic LDS
  uint32_t privateBytes = 0; ///< scratch of each work-item
  uint32_t kernargBytes = 0; ///< holds all arguments, also those that end beyond the declared block
  uint32_t declaredKernargBytes = 0;
  uint32_t resource1 = 0, resource2 = 0, resource3 = 0; ///< COMPUTE_PGM_RSRC1, 2, 3
  uint16_t properties = 0;                              ///< KERNEL_CODE_PROPERTIES
  uint16_t preload = 0;                                 ///< KERNARG_PRELOAD
  bool dynamicStack = false;
  uint32_t mostWorkItems = 0;                  ///< of a workgroup; 0 when not said
  std::array<uint32_t, 3> requiredWorkgroup{}; ///< work-items along x, y, z; zeros when any are right
  AmdRegisterCounts registers;
  std::vector<AmdArgument> arguments;

  unsigned userRegisters() const { return resource2 >> 1 & 31; }
  unsigned preloadedWords() const { return preload & 127; }
  unsigned preloadOffsetWords() const { return preload >> 7; }
  unsigned firstAccumulator() const { return ((resource3 & 63) + 1) * 4; } ///< accumulation registers begin here
  unsigned scalarRegisters() const { return ((resource1 >> 6 & 15) / 2 + 1) * 16; }
  unsigned vectorRegisters() const { return ((resource1 & 63) + 1) * 8; } ///< both kinds together
};

struct AmdSegment {
  uint64_t address = 0, sizeBytes = 0; ///< in memory; what the file does not fill is zero
  bool executable = false, writable = false;
  std::string bytes;
};

/// A word to write when the object is loaded: the address of `target` (a file address) into `address`.
struct AmdRelocation {
  uint64_t address = 0, target = 0;
};

struct AmdCodeObject {
  std::string chip; ///< `gfx942`; a chip that Heddle does not know by its name in LLVM, or `e_flags 0x..`
  int version = 0;  ///< of the code object: 4, 5 or 6
  std::vector<AmdSegment> segments;
  std::vector<AmdRelocation> relocations;
  std::vector<AmdKernel> kernels; ///< by name

  /// Throws Error{Input} `there is no kernel `x`` with the kernels there are. An empty name is the only kernel.
  const AmdKernel &kernel(const std::string &name) const;
};

/// Reads the file `name`. Throws Error{Input} when it is no AMD code object of version 4, 5 or 6, or damaged: every
/// size and offset in it is checked.
AmdCodeObject parseAmdCodeObject(std::string_view file, const std::string &name);

/// Whether the bytes begin as those of any ELF file do.
bool isElf(std::string_view file);

} // namespace heddle
