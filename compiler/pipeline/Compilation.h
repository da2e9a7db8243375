// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What travels through the phases, and the shape of the table's rows.
#pragma once
#include "binary/Package.h"
#include "compiler/emit/CodeGenerator.h"
#include "compiler/lowering/host/TileToHost.h"
#include "compiler/lowering/simt/GpuTarget.h"
#include "compiler/lowering/simt/SimtToThreads.h"
#include "compiler/lowering/ttg_to_simt/TtgToSimt.h"
#include "compiler/pipeline/Compile.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace heddle {

struct Chip;

/// Which IR a phase leaves, and so which member of Compilation holds it.
enum class Level {
  Tile,   ///< module: tt and friends
  Vector, ///< module: loops over vectors, LLVM memory operations
  Simt,   ///< module: tiles with layouts
  Thread, ///< module: what one thread does, LLVM memory operations
  LlvmIr, ///< module until it is translated, then llvmModule
  Binary, ///< object, then package
};
const char *levelName(Level level);

/// One compilation. Declaration order is destruction order reversed: IR dies before its context.
struct Compilation {
  std::string text; ///< the input
  std::string name; ///< of the input, for messages
  CompileOptions options;
  HostProcessor processor;
  std::unique_ptr<mlir::MLIRContext> ownContext; ///< null for a module that was made in memory
  mlir::MLIRContext *context = nullptr;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  const Chip *chip = nullptr;
  std::optional<simt::TtgModule> ttg;         ///< what a module of TTGIR says of itself; nothing for plain Triton IR
  std::unique_ptr<simt::GpuTarget> gpuTarget; ///< of the chip; null for the host
  bool usesPeers = false;                     ///< the kernel has operations of the peer dialect
  std::vector<PackageArgument> arguments;     ///< of the kernel
  std::vector<unsigned> smallArguments;       ///< numbers of pointers from which all accesses lie within 2 GiB
  host::LoweredKernel kernel;                 ///< of the host
  simt::ThreadKernel threadKernel;            ///< of a GPU
  std::unique_ptr<llvm::LLVMContext> llvmContext;
  std::unique_ptr<llvm::Module> llvmModule;
  std::unique_ptr<CodeGenerator> generator;
  std::vector<PackageLimit> limits; ///< that the code is beyond
  bool foundStages = false;         ///< of warp pipelines, which the text does not have
  int64_t vectorSpills = 0;         ///< registers of a thread that are kept in memory; of AMD's code
  std::string assembly;             ///< of the object; made only when it will be read
  std::string object;
  Package package;

  /// Whether what `phase` leaves is dumped or printed.
  bool wantsText(const std::string &phase) const;
};

/// Which inputs a phase is for.
enum class Entrance {
  Any,
  Tile,  ///< Triton IR, whose tiles have no layouts
  Ttgir, ///< Gluon's or Triton's, whose layouts are kept
};

/// A row of the table. A phase is either a list of passes or a function.
struct Phase {
  const char *name;
  Level level;
  const char *sentence;
  const char *passes;
  mlir::LogicalResult (*run)(Compilation &compilation);
  /// Whose fault an error diagnostic is: the input's, or ours.
  bool blamesInput;
  /// What can no longer occur when the phase has run: operation names, or dialects with a dot at the end.
  std::vector<const char *> absent;
  Entrance entrance = Entrance::Any;
};

/// What the phase does, without the checks of the driver.
mlir::LogicalResult runBody(const Phase &phase, Compilation &compilation);

/// The first two phases. parse() names arguments without a name as the text does; verifyInput() fills in what the
/// module says of its target, and leaves one public function.
mlir::LogicalResult parse(Compilation &compilation);
mlir::LogicalResult verifyInput(Compilation &compilation);
/// Every tile with a layout is distributed over the lanes of the chip's warps and the warps of the block.
mlir::LogicalResult checkThreads(Compilation &compilation);

/// What the code of threads needs of the chip; null for the host.
std::unique_ptr<simt::GpuTarget> makeGpuTarget(const Chip &chip);

/// Whether the text that a phase has left says all that the later ones need.
bool canResumeAfter(const Phase &phase);

/// The table of a target.
const std::vector<Phase> &phasesOf(const Chip &chip);

/// Whether a compilation of TTGIR, or of another text, has this phase.
bool isForText(const Phase &phase, bool isTtgir);
/// Whether the next phase that such a compilation has expects another level, or there is none: after `package`, and
/// before `llvm-ir`, which leaves MLIR.
bool endsLevel(const Chip &chip, const Phase &phase, bool isTtgir);

/// The row with this name or short name (`asm` is `object`, or `ptx`); null when there is none.
const Phase *findPhase(const Chip &chip, const std::string &name);

} // namespace heddle
