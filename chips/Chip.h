// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a compiler or runtime must know of a chip, as values: one file per chip, one table by name.
#pragma once
#include "support/ElementType.h"
#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

enum class Vendor { Host, Amd, Nvidia };

/// Which 8-bit floating formats the chip's instructions read.
enum class Fp8Formats {
  None, ///< converted in software
  Ocp,  ///< f8E4M3FN and f8E5M2
  Fnuz, ///< f8E4M3FNUZ and f8E5M2FNUZ
};

/// The devices of one machine, when any two of them have links of their own, so that a device reaches all others at
/// once.
struct PeerLinks {
  int perPair = 0;                  ///< 0: a switch joins all of them, or they share memory
  int64_t bytesPerSecond = 0;       ///< of a link, each direction, as its maker has it
  int64_t usableBytesPerSecond = 0; ///< what copies get of that
};

struct Chip {
  std::string name;        ///< what `--target` says: `sm_90`, `gfx950`, `host`
  std::string description; ///< the products that carry it
  Vendor vendor = Vendor::Host;
  int threadsPerWarp = 1;         ///< a warp, or wavefront
  int64_t sharedMemoryBytes = 0;  ///< most that one block may have
  int64_t registersPerThread = 0; ///< 32-bit registers one thread can address
  int computeUnits = 0;           ///< multiprocessors or compute units of the product; 0 when it varies
  int64_t memoryBytes = 0;        ///< device memory of the product; 0 when it varies
  Fp8Formats fp8 = Fp8Formats::None;
  std::vector<ElementType> matrixTypes = {}; ///< operand types of its matrix instructions
  bool peerAtomics =
      false; ///< devices of one machine see each other's atomics; kernels that wait for them hang without
  PeerLinks links = {};
};

/// Every chip, by name.
const std::vector<const Chip *> &allChips();

/// Throws Error{Input} `unknown target 'gfx90b'` with notes: the closest spelling, and the known names.
const Chip &lookupChip(const std::string &name);

/// Throws Error{Input} for a chip without atomics that its peers see.
void requirePeerAtomics(const Chip &chip);

const char *vendorName(Vendor vendor); ///< `host`, `amd`, `nvidia`

extern const Chip hostChip, sm90Chip, gfx942Chip, gfx950Chip;

} // namespace heddle
