// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// compile(): a kernel's text to a package, through the table of phases (Phases.h). Knows no MLIR in its interface.
#pragma once
#include "binary/Package.h"
#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

struct Chip;

/// True where this library was built with assertions.
bool verifiesEachByDefault();

/// Groups of warps a stage apart.
enum class WarpPipelines : uint8_t {
  Off,    ///< one stage after the other
  Auto,   ///< stages that the text has, and those that are estimated to take less time
  Always, ///< stages wherever they are proven to be apart
};
const char *nameOf(WarpPipelines pipelines); ///< `off`, `auto`, `always`
/// From its name; Error{Input} for another word, which names `option`.
WarpPipelines parseWarpPipelines(const std::string &option, const std::string &text);

struct CompileOptions {
  std::string target = "host";      ///< a chip's name
  const Chip *chip = nullptr;       ///< the chip in place of `target`, for one that is not in the table (chips/Chip.h)
  std::string processor = "native"; ///< host: LLVM's name of an x86-64 processor, or `native`
  int optimizationLevel = 2;        ///< 0 to 3
  bool warpsChosen = false;         ///< by the caller: TTGIR of another number is then an error
  int warps = 4;                    ///< GPUs: warps of a block, a power of two from 1 to 32
  bool exactMath = false;           ///< GPUs: f32 division, exp and sqrt as on the host, not by approximations
  bool fpFusion = false;            ///< x * y + z of the program may be rounded once, as Triton's enable_fp_fusion
  int stages = 0;                   ///< GPUs, of loops over matmuls: 0: the chip's default; 1: no prefetch
  bool warpGroups = true;           ///< GPUs: warp-group MMA where the chip can (wgmma)
  WarpPipelines warpPipelines = WarpPipelines::Auto; ///< GPUs
  bool checkAccesses = false; ///< host: ask the driver before each memory access; AMD: assert numbers of rings
  std::string kernel;         ///< which public function; needed only when there are several
  std::string dumpFolder;     ///< write NN-PHASE.mlir, .ll, .s after each phase; created when missing
  std::string stopAfter;      ///< phase after which to stop; CompileResult::text then holds what it left
  std::string keepTextOf;     ///< phase whose text CompileResult::text holds while the compilation goes on
  std::string resumeAfter;    ///< the text is what this phase dumped; phases of the tile and simt levels only
  std::string llvmPasses;     ///< replaces the optimiser pipeline, in LLVM's textual notation
  bool countLines = false;    ///< fill PhaseTime::lines
  std::string commandLine;    ///< for the reproducer file
  bool verifyEach = verifiesEachByDefault(); ///< what each phase leaves, not only what the last one of each level does
};

struct PhaseTime {
  std::string phase;
  double milliseconds = 0;
  int64_t lines = 0; ///< of the text that it left; 0 when they were not counted, or it left none
};

struct CompileResult {
  Package package;  ///< empty when stopAfter was given
  std::string text; ///< see stopAfter and keepTextOf
  std::vector<PhaseTime> times;
  std::vector<std::string> warnings, remarks; ///< `file:line:column: message`; their notes are lines below them
};

/// `name` is the file's name for messages. Throws Error{Input} for a fault of the text or the options, at
/// `file:line:column: ` (the innermost source position that the text carries, else the position in the text);
/// Error{Environment} for files; Error{Internal} for a fault of ours, after writing `heddle-reproducer-HASH.mlir`
/// into the folder that HEDDLE_REPRODUCER_DIR names. Uses nothing global but LLD: threads may compile side by side.
CompileResult compile(const std::string &text, const std::string &name, const CompileOptions &options);

} // namespace heddle
