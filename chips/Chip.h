// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a compiler or runtime must know of a chip, as values: one file per chip, one table by name.
#pragma once
#include "chips/CollectiveTable.h"
#include "support/ElementType.h"
#include <algorithm>
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

/// The devices of one machine: what joins them.
struct PeerLinks {
  int perPair = 0;                  ///< links of each pair of devices; 0: a switch joins all, or they share memory
  int64_t bytesPerSecond = 0;       ///< of a link, each direction, as its maker has it; with a switch: of a device
  int64_t usableBytesPerSecond = 0; ///< what copies get of that
};

/// What matrix instructions multiply. Fp8 stands for both formats of Chip::fp8 and for pairs of the two.
enum class MatrixOperand { F16, BF16, F32, TF32, F64, I8, Fp8 };

/// A matrix instruction of one warp: C[m, n] += A[m, k] * B[k, n].
struct WarpMatmul {
  MatrixOperand operand;
  int m, n, k;
  const char *name; ///< LLVM's intrinsic, after `llvm.amdgcn.mfma.` or `llvm.nvvm.mma.`; of Fp8 without the formats
};

/// Sums of floats in global memory that are one instruction, each of one number or of two that are adjacent.
enum class AtomicSum { F32, F64, F16x2, BF16x2 };

/// A compute unit, or multiprocessor: what its blocks share.
struct ComputeUnit {
  int simds = 1;                        ///< parts among which the warps of a block are distributed
  int threads = 0;                      ///< most that it holds at once
  int64_t registers = 0;                ///< 32-bit registers of all its threads
  int registerGranule = 1;              ///< registers of a thread are allocated in multiples of this
  int scalarRegistersPerSimd = 0;       ///< AMD: of all waves of a SIMD; 0: there are none
  int scalarRegisterGranule = 1;        ///< AMD: of a wave
  int blocksWithBarrier = 0;            ///< most blocks of more than one warp
  int64_t sharedMemoryGranuleBytes = 1; ///< shared memory of a block is allocated in multiples of this

  /// Most blocks of `blockThreads` threads at once, whatever registers and shared memory they take; at least 1.
  int64_t mostBlocks(int64_t blockThreads) const {
    return std::max<int64_t>(1, std::min<int64_t>(threads / blockThreads, blocksWithBarrier));
  }
};

/// Barriers of a block.
struct BlockBarriers {
  int perBlock = 0;          ///< barriers that a block can use independently of each other
  bool ordersMemory = false; ///< what threads did before it is seen after it; otherwise they must wait themselves
};

/// Copies from global memory straight into shared memory, which take no registers.
struct SharedCopies {
  std::vector<int> laneBits = {}; ///< widths that a lane can copy; empty: there are no such copies
  /// Each lane names its own address in shared memory; otherwise the warp names one, and the lanes follow each other.
  bool addressPerLane = false;
};

/// AMD: the manual whose instructions the simulator has for a chip.
enum class InstructionSet { None, Cdna3, Cdna4 };

struct Chip {
  std::string name;        ///< what `--target` says: `sm_90`, `gfx950`, `host`
  std::string description; ///< the products that carry it
  Vendor vendor = Vendor::Host;
  std::string processor = {}; ///< LLVM's name of it, for which code is generated; the host's is found at run time
  /// GPUs: its devices run the LLVM IR of one thread, which its packages hold in place of machine code.
  bool takesThreadCode = false;
  InstructionSet simulated = InstructionSet::None; ///< None: the simulator does not know the chip
  int threadsPerWarp = 1;                          ///< a warp, or wavefront
  int threadsPerBlock = 1024;                      ///< most that one block may have
  int64_t sharedMemoryBytes = 0;                   ///< most that one block may have
  int sharedMemoryBanks = 32;                      ///< of 4 bytes each
  int64_t registersPerThread = 0;                  ///< 32-bit registers one thread can address
  int computeUnits = 0;    ///< multiprocessors or compute units of the product; 0 when it varies
  ComputeUnit unit = {};   ///< GPUs
  int dies = 1;            ///< parts of a device with a level-2 cache each (AMD: XCDs), compute units in equal parts
  int64_t memoryBytes = 0; ///< device memory of the product; 0 when it varies
  bool cachesHostMemory = false; ///< the level-2 cache holds lines of the host's normal memory

  Fp8Formats fp8 = Fp8Formats::None;
  std::vector<ElementType> matrixTypes = {}; ///< operand types of its matrix instructions
  std::vector<WarpMatmul> matmuls = {};      ///< those that are used, the best first
  bool warpGroupMatmuls = false;             ///< four warps multiply what lies in shared memory (wgmma)
  bool scaledMatmuls = false;                ///< operands of 4, 6 and 8 bits with a scale for each 32 (mfma_scale)

  BlockBarriers barriers = {};
  SharedCopies sharedCopies = {};
  std::vector<int> transposedReadBits = {}; ///< elements that a read of shared memory transposes within a warp
  bool matrixLoads = false;                 ///< a warp reads four matrices of 8 rows of 16 bytes at once (ldmatrix)
  std::vector<AtomicSum> globalSums = {};   ///< by a pointer
  std::vector<AtomicSum> bufferSums = {};   ///< by a buffer descriptor and an offset
  bool dependentLaunches = false; ///< a launch may begin before the one before it in its stream has ended, and waits

  bool laneSwaps = false;         ///< two registers exchange rows of 16 or halves of 32 lanes (v_permlane16_swap)
  bool narrowingPairs = false;    ///< two f32 become two f16 or two bf16, to nearest, in one instruction
  bool nanKeepingExtrema = false; ///< an extremum of f32 is NaN if an operand is, in one instruction
  bool scaledConversions = false; ///< floats of 8 bits become f16 or bf16 in one instruction, with a scale

  bool peerAtomics =
      false; ///< devices of one machine see each other's atomics; kernels that wait for them hang without
  PeerLinks links = {};
  std::vector<CollectiveTable> collectives = {}; ///< by ranks; empty: nothing was measured, and plans follow the links

  bool hasSum(AtomicSum sum) const; ///< of globalSums
  bool hasMatmul(MatrixOperand operand) const;
};

/// Every chip, by name.
const std::vector<const Chip *> &allChips();

/// Throws Error{Input} `unknown target 'gfx90b'` with notes: the closest spelling, and the known names.
const Chip &lookupChip(const std::string &name);

/// Throws Error{Input} for a chip without atomics that its peers see.
void requirePeerAtomics(const Chip &chip);

/// Those that are simulated.
std::vector<const Chip *> simulatedChips();
/// The simulated chip for whose processor (Chip::processor) AMD code was generated; null when there is none.
const Chip *findSimulated(const std::string &processor);
/// "`gfx942` or `gfx950`", with `before` before each name.
std::string listSimulated(const std::string &before, const std::string &separator);

const char *vendorName(Vendor vendor); ///< `host`, `amd`, `nvidia`

extern const Chip hostChip, sm90Chip, gfx942Chip, gfx950Chip;

} // namespace heddle
