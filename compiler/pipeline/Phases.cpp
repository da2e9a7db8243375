// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The three tables of phases, host, NVIDIA and AMD, and the functions that their rows call.
#include "compiler/pipeline/Phases.h"
#include "binary/AmdAbi.h"
#include "binary/AmdCodeObject.h"
#include "binary/CudaAbi.h"
#include "binary/HostAbi.h"
#include "chips/AmdBuffer.h"
#include "chips/Chip.h"
#include "compiler/accesses/BufferAccesses.h"
#include "compiler/accesses/LoadGroups.h"
#include "compiler/accesses/LoadsBeforeBarriers.h"
#include "compiler/accesses/PredicateAccesses.h"
#include "compiler/dialects/triton/Triton.h"
#include "compiler/emit/AccumulatorVectors.h"
#include "compiler/emit/MatmulOrder.h"
#include "compiler/emit/PackedWords.h"
#include "compiler/emit/ResidentBlocks.h"
#include "compiler/emit/SaturatingConversions.h"
#include "compiler/emit/SharedObject.h"
#include "compiler/lowering/amdgpu/AmdTarget.h"
#include "compiler/lowering/nvptx/NvptxTarget.h"
#include "compiler/lowering/simt/CheckRings.h"
#include "compiler/lowering/simt/CountWaits.h"
#include "compiler/lowering/simt/Exchanges.h"
#include "compiler/lowering/simt/InsertBarriers.h"
#include "compiler/lowering/simt/PlaceShared.h"
#include "compiler/lowering/simt/SplitBarriers.h"
#include "compiler/lowering/simt/WarpPipelines.h"
#include "compiler/lowering/tile_to_simt/AssignLayouts.h"
#include "compiler/lowering/tile_to_simt/DeferChains.h"
#include "compiler/lowering/tile_to_simt/FindStages.h"
#include "compiler/lowering/tile_to_simt/PipelineLoops.h"
#include "compiler/lowering/tile_to_simt/ShareOperands.h"
#include "compiler/pipeline/Compilation.h"
#include "compiler/pipeline/KernelArguments.h"
#include "compiler/pipeline/LineTables.h"
#include "compiler/pipeline/PhasePasses.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "support/Hash.h"

using namespace mlir;

namespace heddle {
namespace {

LogicalResult tileToHost(Compilation &compilation) {
  compilation.arguments = describeArguments(*compilation.module);
  host::LoweringOptions options;
  options.vectorBits = compilation.processor.vectorBits;
  options.checkAccesses = compilation.options.checkAccesses;
  return host::lowerTileToHost(*compilation.module, options, compilation.kernel);
}

LogicalResult hostToLlvm(Compilation &compilation) {
  return host::convertHostToLlvm(*compilation.module);
}

std::unique_ptr<CodeGenerator> makeGenerator(const Compilation &compilation) {
  int level = compilation.options.optimizationLevel;
  switch (compilation.chip->vendor) {
  case Vendor::Host:
    return CodeGenerator::forHost(compilation.processor, level);
  case Vendor::Amd:
    return CodeGenerator::forAmd(*compilation.chip, level);
  case Vendor::Nvidia:
    break;
  }
  return CodeGenerator::forNvidia(*compilation.chip, level);
}

/// Pointers from which the text promises accesses within 2 GiB (`tt.pointer_range` of 32 bits).
void markSmallArguments(llvm::Module &module, const Compilation &compilation) {
  llvm::Function *kernel = module.getFunction(compilation.threadKernel.entry);
  for (unsigned number : compilation.smallArguments)
    if (kernel && number < kernel->arg_size())
      kernel->addParamAttr(number, llvm::Attribute::get(module.getContext(), buffer::within));
}

/// What the code object's description calls the arguments; the last is the launch's record.
void nameForDescription(llvm::Module &module, const Compilation &compilation) {
  llvm::Function *kernel = module.getFunction(compilation.threadKernel.entry);
  for (auto [number, argument] : llvm::enumerate(kernel->args()))
    argument.setName(number < compilation.arguments.size() ? compilation.arguments[number].name : amdRecordName);
}

LogicalResult translate(Compilation &compilation) {
  compilation.llvmContext = std::make_unique<llvm::LLVMContext>();
  if (compilation.chip->vendor == Vendor::Amd)
    addLineTable(*compilation.module, compilation.threadKernel.entry, compilation.name, "heddle " HEDDLE_VERSION);
  compilation.llvmModule = translateModuleToLLVMIR(*compilation.module, *compilation.llvmContext, compilation.name,
                                                   /*disableVerification=*/true);
  if (!compilation.llvmModule)
    return failure();
  if (compilation.chip->vendor == Vendor::Amd) {
    nameForDescription(*compilation.llvmModule, compilation);
    markSmallArguments(*compilation.llvmModule, compilation);
  }
  compilation.generator = makeGenerator(compilation);
  compilation.generator->prepare(*compilation.llvmModule);
  return success();
}

LogicalResult optimize(Compilation &compilation) {
  compilation.generator->optimize(*compilation.llvmModule, compilation.options.llvmPasses);
  return success();
}

LogicalResult emitObject(Compilation &compilation) {
  if (compilation.wantsText("object"))
    compilation.assembly = compilation.generator->assembly(*compilation.llvmModule);
  compilation.limits = compilation.generator->limitsOf(*compilation.llvmModule);
  compilation.object = compilation.generator->object(*compilation.llvmModule);
  return success();
}

Package startPackage(const Compilation &compilation) {
  Package package;
  package.producer = "heddle " HEDDLE_VERSION;
  package.sourceHash = compilation.text.empty() ? "" : hashHex(compilation.text);
  package.target = compilation.chip->name;
  package.peers = compilation.usesPeers;
  package.limits = compilation.limits;
  return package;
}

LogicalResult makeHostPackage(Compilation &compilation) {
  Package package = startPackage(compilation);
  package.kernel = compilation.kernel.kernel;
  package.entry = compilation.kernel.entry;
  package.processor = compilation.processor.name;
  package.features = compilation.processor.features;
  package.binaryKind = "elf-shared-object";
  package.abiVersion = hostAbiVersion;
  package.arguments = compilation.arguments;
  package.scratchBytes = compilation.kernel.scratchBytes;
  package.checked = compilation.options.checkAccesses;
  package.sites = compilation.kernel.sites;
  package.binary = linkSharedObject(compilation.object);
  compilation.package = std::move(package);
  return success();
}

//===-- GPUs -----------------------------------------------------------------------------------------------------===//

/// What the layouts of a module are for, so that its text says all that the phases after this one need.
void describeLayouts(Compilation &compilation) {
  ModuleOp module = *compilation.module;
  Builder b(module.getContext());
  module->setAttr(simt::targetAttribute, b.getStringAttr(compilation.chip->name));
  module->setAttr(simt::warpsAttribute, b.getI64IntegerAttr(compilation.options.warps));
}

LogicalResult tileToSimt(Compilation &compilation) {
  describeLayouts(compilation);
  return simt::assignLayouts(*compilation.module, *compilation.gpuTarget, compilation.options.warps,
                             compilation.options.warpGroups);
}

LogicalResult resolveLayouts(Compilation &compilation) {
  ModuleOp module = *compilation.module;
  if (failed(simt::refuseUnsupported(module)) || failed(simt::borderStages(module)))
    return failure();
  simt::dropCaptures(module);
  return simt::resolveLayouts(module, *compilation.ttg);
}

LogicalResult ttgToSimt(Compilation &compilation) {
  describeLayouts(compilation);
  return simt::convertTtgToSimt(*compilation.module, *compilation.gpuTarget, *compilation.ttg);
}

simt::BlockShape blockOf(const Compilation &compilation) {
  return {compilation.gpuTarget->lanesPerWarp(), compilation.options.warps};
}

LogicalResult lowerConversions(Compilation &compilation) {
  simt::lowerConversions(*compilation.module, *compilation.gpuTarget);
  return success();
}

LogicalResult checkRings(Compilation &compilation) {
  if (!compilation.options.checkAccesses)
    return success();
  emitWarning(UnknownLoc::get(compilation.context))
      << "on " << compilation.chip->name
      << " `--check` asserts numbers of rings only; `heddle check` finds accesses outside of buffers";
  simt::checkRings(*compilation.module);
  return success();
}

LogicalResult lowerReductions(Compilation &compilation) {
  simt::lowerReductions(*compilation.module, blockOf(compilation));
  return success();
}

LogicalResult lowerExchanges(Compilation &compilation) {
  return simt::lowerExchanges(*compilation.module, *compilation.gpuTarget, compilation.options.warps);
}

LogicalResult placeSharedMemory(Compilation &compilation) {
  return simt::placeSharedMemory(*compilation.module, *compilation.gpuTarget, compilation.options.warps);
}

LogicalResult pipelineWarps(Compilation &compilation) {
  if (compilation.options.warpPipelines != WarpPipelines::Off)
    return simt::pipelineWarps(*compilation.module, blockOf(compilation), *compilation.gpuTarget);
  simt::inlineStages(*compilation.module);
  return success();
}

LogicalResult inlineStages(Compilation &compilation) {
  simt::inlineStages(*compilation.module);
  return success();
}

LogicalResult splitBarriers(Compilation &compilation) {
  simt::splitBarriers(*compilation.module, *compilation.gpuTarget, compilation.options.warps);
  return success();
}

LogicalResult insertBarriers(Compilation &compilation) {
  return simt::insertBarriers(*compilation.module, blockOf(compilation));
}

LogicalResult verifyHazards(Compilation &compilation) {
  return simt::verifyHazards(*compilation.module, blockOf(compilation));
}

LogicalResult countWaits(Compilation &compilation) {
  if (!compilation.gpuTarget->hasAsyncCopies())
    simt::countWaits(*compilation.module, blockOf(compilation));
  return success();
}

LogicalResult pipelineLoops(Compilation &compilation) {
  const CompileOptions &options = compilation.options;
  bool hasProducers = options.warpPipelines != WarpPipelines::Off && !options.checkAccesses;
  return simt::pipelineLoops(*compilation.module,
                             {*compilation.gpuTarget, options.warps, options.stages, hasProducers});
}

/// On `module` in the place of the compilation's, the phases after `first` up to `last`.
LogicalResult tryPhases(Compilation &compilation, OwningOpRef<ModuleOp> &module, StringRef first, StringRef last) {
  std::swap(compilation.module, module);
  LogicalResult status = success();
  bool isWithin = false;
  for (const Phase &phase : phasesOf(*compilation.chip)) {
    if (isWithin && succeeded(status) && isForText(phase, compilation.ttg.has_value()))
      status = runBody(phase, compilation);
    isWithin = (isWithin || phase.name == first) && phase.name != last;
  }
  std::swap(compilation.module, module);
  return status;
}

LogicalResult deferChains(Compilation &compilation) {
  const CompileOptions &options = compilation.options;
  auto runPhasesAfter = [&](OwningOpRef<ModuleOp> &module) {
    return tryPhases(compilation, module, "defer-matmuls", "find-stages");
  };
  if (compilation.gpuTarget->timing() && options.warps == 2 * simt::warpsOfGroup &&
      options.warpPipelines != WarpPipelines::Off && !options.checkAccesses)
    simt::deferChains(*compilation.module, runPhasesAfter);
  return success();
}

LogicalResult findStages(Compilation &compilation) {
  auto runPhasesAfter = [&](OwningOpRef<ModuleOp> &module) {
    return tryPhases(compilation, module, "find-stages", "verify-hazards");
  };
  WarpPipelines wanted = compilation.options.warpPipelines;
  if (wanted != WarpPipelines::Off && !compilation.options.checkAccesses)
    compilation.foundStages = simt::findStages(*compilation.module, {*compilation.gpuTarget, compilation.options.warps,
                                                                     wanted == WarpPipelines::Always, runPhasesAfter});
  return success();
}

LogicalResult shareOperands(Compilation &compilation) {
  return simt::shareOperands(*compilation.module);
}

LogicalResult simtToThreads(Compilation &compilation) {
  compilation.arguments = describeArguments(*compilation.module);
  compilation.smallArguments = smallArguments(*compilation.module);
  simt::ThreadOptions options;
  options.warps = compilation.options.warps;
  options.approximates = !compilation.options.exactMath;
  return simt::lowerSimtToThreads(*compilation.module, *compilation.gpuTarget, options, compilation.threadKernel);
}

LogicalResult predicate(Compilation &compilation) {
  predicateAccesses(*compilation.llvmModule);
  usePackedWords(*compilation.llvmModule);
  return success();
}

LogicalResult chooseResidentBlocks(Compilation &compilation) {
  auto tell = [&](const ResidentBlocks &chosen) {
    emitRemark(UnknownLoc::get(compilation.context))
        << "a thread needs about " << chosen.registers << " registers: " << chosen.blocks
        << (chosen.blocks == 1 ? " block is" : " blocks are") << " to fit on a multiprocessor at once";
  };
  compilation.generator->run(*compilation.llvmModule, "the choice of resident blocks",
                             [&](llvm::PassBuilder &, llvm::ModulePassManager &manager) {
                               addResidentBlocks(manager, *compilation.chip, compilation.threadKernel.sharedBytes,
                                                 tell);
                             });
  return success();
}

LogicalResult scheduleMatmuls(Compilation &compilation) {
  if (compilation.options.optimizationLevel == 0)
    return success();
  llvm::Module &module = *compilation.llvmModule;
  int threads = int(compilation.threadKernel.threads);
  keepRegistersWhole(module);
  keepAccumulatorsWhole(module);
  accumulateInAgprs(module, threads);
  if (const TimingModel *model = compilation.gpuTarget->timing())
    orderMatmuls(module, *model, threads / int(compilation.gpuTarget->lanesPerWarp()));
  return success();
}

LogicalResult useBuffers(Compilation &compilation) {
  compilation.generator->run(*compilation.llvmModule, "the choice of memory accesses", addBufferAccesses);
  groupLoads(*compilation.llvmModule);
  keepLoadsBeforeBarriers(*compilation.llvmModule);
  usePlainConversions(*compilation.llvmModule); // no pass of the optimiser follows
  return success();
}

LogicalResult emitPtx(Compilation &compilation) {
  compilation.limits = compilation.generator->limitsOf(*compilation.llvmModule);
  compilation.assembly = compilation.generator->assembly(*compilation.llvmModule);
  return success();
}

Package startGpuPackage(const Compilation &compilation) {
  Package package = startPackage(compilation);
  const simt::ThreadKernel &kernel = compilation.threadKernel;
  package.kernel = kernel.kernel;
  package.entry = kernel.entry;
  package.arguments = compilation.arguments;
  package.checked = compilation.options.checkAccesses;
  package.threads = kernel.threads;
  package.sites = kernel.sites;
  package.tensorMaps = kernel.tensorMaps;
  return package;
}

LogicalResult makeCudaPackage(Compilation &compilation) {
  Package package = startGpuPackage(compilation);
  package.processor = compilation.chip->processor;
  package.binaryKind = "ptx";
  package.abiVersion = cudaAbiVersionOf(!package.tensorMaps.empty());
  package.sharedBytes = compilation.threadKernel.sharedBytes;
  package.dependentLaunch = compilation.threadKernel.dependentLaunch;
  package.binary = compilation.assembly;
  compilation.package = std::move(package);
  return success();
}

/// Registers that the chip's compiler had to keep in memory: it says nothing itself.
void warnOfSpills(Compilation &compilation, const Package &package) {
  AmdCodeObject object = parseAmdCodeObject(package.binary, "the code of kernel `" + package.kernel + "`");
  const AmdKernel &kernel = object.kernel(package.entry);
  compilation.vectorSpills = kernel.registers.vectorSpills;
  if (!compilation.vectorSpills)
    return;
  int64_t simds = compilation.chip->unit.simds;
  int64_t warps = package.threads / compilation.chip->threadsPerWarp, perSimd = (warps + simds - 1) / simds;
  emitWarning(UnknownLoc::get(compilation.context))
      << "kernel `" << package.kernel << "` needs about " << kernel.registers.vector + kernel.registers.vectorSpills
      << " vector registers for each thread, and a block of " << warps << (warps == 1 ? " warp on " : " warps on ")
      << compilation.chip->name << " allows " << compilation.chip->registersPerThread / perSimd << ": "
      << kernel.registers.vectorSpills << " are kept in memory, " << kernel.privateBytes
      << " bytes for each thread; smaller tiles or another number of warps may avoid that";
}

LogicalResult makeAmdPackage(Compilation &compilation) {
  Package package = startGpuPackage(compilation);
  package.processor = compilation.chip->processor;
  package.binaryKind = amdBinaryKind;
  package.abiVersion = amdAbiVersion;
  package.binary = linkCodeObject(compilation.object);
  warnOfSpills(compilation, package);
  compilation.package = std::move(package);
  return success();
}

LogicalResult makeThreadCodePackage(Compilation &compilation) {
  Package package = startGpuPackage(compilation);
  bool isNvidia = compilation.chip->vendor == Vendor::Nvidia;
  package.processor = compilation.chip->processor;
  package.binaryKind = "llvm-ir";
  package.abiVersion = isNvidia ? cudaAbiVersionOf(!package.tensorMaps.empty()) : amdAbiVersion;
  package.sharedBytes = isNvidia ? compilation.threadKernel.sharedBytes : 0; // AMD's code declares its own
  package.binary = printModule(*compilation.llvmModule);
  compilation.package = std::move(package);
  return success();
}

constexpr bool input = true, ours = false;

} // namespace

/// What becomes of matmuls that are no single matrix instruction without scales.
struct TileDots {
  const char *passes;
  bool leavesScaled = false; ///< for the chip's instructions with scales
  bool readsPtx = true;      ///< into operations; else PTX of the program is the chip's own
};
constexpr TileDots hostDots{"heddle-expand-dot-scaled"};
constexpr TileDots nvidiaDots{"heddle-expand-dot-scaled{as-bf16=true},heddle-split-dots{as-tf32=true bf16-parts=3}",
                              false, false};
// Instructions of f32 are as fast as six of bf16, and exact.
constexpr TileDots amdDots{"heddle-expand-dot-scaled{as-bf16=true},heddle-split-dots{bf16-parts=2}"};
constexpr TileDots amdScaledDots{
    "heddle-expand-dot-scaled{keep-blocks=true as-bf16=true},heddle-split-dots{bf16-parts=2}", true};

/// The phases that leave the tile level as every target takes it.
static std::vector<Phase> tilePhases(const TileDots &dots) {
  // clang-format off
  return {
    {"parse", Level::Tile, "reads the kernel's text", nullptr, parse, input, {}},
    {"verify", Level::Tile, "checks every operation's rules and that there is one kernel", nullptr, verifyInput, input, {}},
    {"inline-calls", Level::Tile, "replaces calls by the bodies of the functions they name",
     "heddle-inline-calls,symbol-dce", nullptr, input, {"tt.call"}},
    {"expand-block-pointers", Level::Tile, "turns block pointers into tiles of pointers with masks",
     "heddle-expand-block-pointers", nullptr, input, {"tt.make_tensor_ptr", "tt.advance"}, Entrance::Tile},
    {"expand-descriptors", Level::Tile, "turns tensor descriptors into tiles of pointers with masks",
     "heddle-expand-descriptors", nullptr, input, {"tt.make_tensor_descriptor", "tt.descriptor_load", "tt.descriptor_store"}, Entrance::Tile},
    {"expand-dot-scaled", Level::Tile, "turns scaled dots for which the chip has no instruction into conversions, multiplications and a plain dot, and dots in several parts into those",
     dots.passes, nullptr, input, dots.leavesScaled ? std::vector<const char *>() : std::vector<const char *>{"tt.dot_scaled"},
     Entrance::Tile},
    {"device-library", Level::Tile, "turns functions of the vendors' device libraries, and PTX where it is not the chip's, into math operations",
     dots.readsPtx ? "heddle-device-library,heddle-ptx-instructions" : "heddle-device-library", nullptr, input, {}},
    {"widen-scans", Level::Tile, "forms prefix sums and products of f16 and bf16 in f32", "heddle-widen-scans", nullptr, input, {},
     Entrance::Tile},
    {"expand-peer", Level::Tile, "turns barriers and packets between devices into tile operations and bounded atomics",
     "heddle-expand-peer", nullptr, input, {"peer.block_barrier", "peer.packet_send", "peer.packet_receive", "peer.report"}, Entrance::Tile},
    {"simplify-tiles", Level::Tile, "folds, shares and hoists what the tile operations allow",
     "heddle-keep-pipeline-loops,heddle-order-control-flow,canonicalize,cse,loop-invariant-code-motion,"
     "heddle-keep-pipeline-loops{restore=true}",
     nullptr, input, {}},
    {"loop-carried-offsets", Level::Tile, "carries scalar offsets through loops instead of tiles of addresses",
     "heddle-loop-carried-offsets,canonicalize,cse", nullptr, input, {}, Entrance::Tile},
    {"peer-to-calls", Level::Tile, "turns atomics between devices into calls that every later phase leaves alone",
     "heddle-peer-to-calls", nullptr, input, {"peer."}, Entrance::Tile},
  };
  // clang-format on
}

static std::vector<Phase> behindTiles(std::vector<Phase> rest, const TileDots &dots = hostDots) {
  std::vector<Phase> table = tilePhases(dots);
  table.insert(table.end(), rest.begin(), rest.end());
  return table;
}

static const std::vector<Phase> &hostPhases() {
  // clang-format off
  static const std::vector<Phase> table = behindTiles({
    {"tile-to-host", Level::Vector, "turns each tile operation into loops over vectors on real memory", nullptr,
     tileToHost, input, {"tt."}},
    {"expand-math", Level::Vector, "replaces math functions by polynomials, so that no library is called",
     "heddle-expand-math", nullptr, ours, {}},
    {"simplify-vectors", Level::Vector, "folds and shares once more", "canonicalize,cse", nullptr, ours, {}},
    // Within host-to-llvm's one conversion, LLVM 22's pattern for `scf.for` touches the branch that it made after that has
    // been converted.
    {"loops-to-branches", Level::Vector, "turns structured loops and conditionals into branches between blocks",
     "heddle-loops-to-branches", nullptr, ours, {"scf."}},
    {"host-to-llvm", Level::LlvmIr, "converts everything to the LLVM dialect", nullptr, hostToLlvm, ours,
     {"arith.", "cf.", "math.", "memref.", "scf.", "ub.", "vector."}},
    {"implement-calls", Level::LlvmIr, "replaces the calls of peer-to-calls by machine atomics and bounded loops",
     "heddle-implement-peer-calls{target=host}", nullptr, input, {}},
    {"llvm-ir", Level::LlvmIr, "translates to LLVM IR for the chosen processor", nullptr, translate, ours, {}},
    {"optimise", Level::LlvmIr, "runs LLVM's optimiser", nullptr, optimize, ours, {}},
    {"object", Level::Binary, "generates machine code (`--to asm` prints it)", nullptr, emitObject, ours, {}},
    {"package", Level::Binary, "links a shared object and describes it", nullptr, makeHostPackage, ours, {}},
  });
  // clang-format on
  return table;
}

/// What of the tile level is an operation of `simt` when tiles have layouts, and `more`.
static std::vector<const char *> absentFromSimt(std::vector<const char *> more) {
  for (const char *name : {"tt.dot", "tt.dot_scaled", "tt.load", "tt.store", "tt.atomic_rmw", "tt.atomic_cas",
                           "tt.atomic_load", "tt.atomic_store", "tt.atomic_poll", "tt.reduce", "tt.scan",
                           "tt.histogram", "tt.gather", "tt.reduce.return", "tt.scan.return", "gpu.barrier"})
    more.push_back(name);
  return more;
}

/// From tiles to the LLVM IR of one thread; `implement`: the passes that make the vendor's atomics between devices.
static std::vector<Phase> gpuPhases(const char *implement, std::vector<Phase> rest, const TileDots &dots) {
  // clang-format off
  std::vector<Phase> table = behindTiles({
    {"resolve-layouts", Level::Tile, "(TTGIR) chooses the layouts that Gluon leaves to the compiler", nullptr,
     resolveLayouts, input, {"gluon."}, Entrance::Ttgir},
    {"simplify-ttgir", Level::Tile, "(TTGIR) shares what the text has twice", "cse,loop-invariant-code-motion", nullptr,
     input, {}, Entrance::Ttgir},
    {"ttg-to-simt", Level::Simt, "(TTGIR) converts layouts, memory objects, buffer accesses and pipeline stages", nullptr, ttgToSimt,
     input, absentFromSimt({"ttg.", "amdg.", "ttng."}), Entrance::Ttgir},
    {"assign-layouts", Level::Simt, "assigns each tile a layout: its elements in registers, lanes and warps", nullptr, tileToSimt, input, absentFromSimt({}), Entrance::Tile},
    {"simplify-layouts", Level::Simt, "merges equal operations and hoists loop invariants",
     "cse,loop-invariant-code-motion", nullptr, ours, {}},
    {"defer-matmuls", Level::Simt,
     "(AMD) has the second of two dependent matmuls of a loop run in the next iteration, for a warp pipeline", nullptr,
     deferChains, ours, {}, Entrance::Tile},
    {"pipeline-loops", Level::Simt,
     "prefetches the operands of matmuls in loops: to shared memory, or (AMD) to registers", nullptr, pipelineLoops,
     ours, {}, Entrance::Tile},
    {"share-operands", Level::Simt, "(sm_90) puts the operands of warp-group MMAs into shared memory", nullptr,
     shareOperands, ours, {}, Entrance::Tile},
    {"simplify-pipelines", Level::Simt, "removes what prefetching has made unused, and hoists loop invariants", "cse,loop-invariant-code-motion",
     nullptr, ours, {}},
    {"find-stages", Level::Simt, "finds the stages of warp pipelines in loops over matmuls whose operands are prefetched",
     nullptr, findStages, ours, {}, Entrance::Tile},
    {"check-rings", Level::Simt, "(AMD, --check) asserts that slot numbers of rings are in range, where nothing proves it",
     nullptr, checkRings, ours, {}},
    {"lower-conversions", Level::Simt, "exchanges tiles through shared memory where a conversion crosses warps", nullptr,
     lowerConversions, input, {}},
    {"lower-reductions", Level::Simt, "splits reductions and scans across warps into parts within a warp and within a thread",
     nullptr, lowerReductions, input, {}},
    {"lower-exchanges", Level::Simt,
     "lowers histograms, gathers, matmuls without an instruction and results of one thread to exchanges through shared memory", nullptr,
     lowerExchanges, input, {"simt.gather", "simt.histogram", "tt.print"}},
    {"place-shared-memory", Level::Simt, "allocates shared memory: an offset for each memory object", nullptr, placeSharedMemory,
     input, {}},
    {"pipeline-warps", Level::Simt, "schedules two groups of warps one stage of the pipeline apart", nullptr,
     pipelineWarps, input, {}},
    {"insert-barriers", Level::Simt, "inserts barriers between accesses to the same bytes of shared or global memory", nullptr, insertBarriers, input, {}},
    {"verify-hazards", Level::Simt, "proves that accesses to the same bytes of memory are ordered", nullptr,
     verifyHazards, ours, {}},
    {"inline-stages", Level::Simt, "inlines the stages of warp pipelines", nullptr, inlineStages, ours,
     {"simt.stage"}},
    {"split-barriers", Level::Simt, "(sm_90) replaces barriers in loops over rings by barrier objects (mbarrier), which do not keep warp groups in step", nullptr, splitBarriers,
     ours, {}},
    {"count-waits", Level::Simt, "(AMD) counts the instructions of copies that may be in flight after each wait", nullptr, countWaits,
     ours, {}},
    {"count-slots", Level::Simt, "computes slots of rings by increments instead of remainders", "heddle-carry-remainders", nullptr,
     ours, {}},
    {"simt-to-threads", Level::Thread, "lowers tiles to the registers of one thread", nullptr, simtToThreads, input,
     {"tt.", "simt."}},
    {"expand-math", Level::Thread, "replaces math functions by polynomials, so that no library is called",
     "heddle-expand-math", nullptr, ours, {}},
    {"simplify-threads", Level::Thread, "merges equal operations of a thread's registers", "cse", nullptr, ours, {}},
    {"loops-to-branches", Level::Thread, "turns structured loops and conditionals into branches between blocks",
     "heddle-loops-to-branches", nullptr, ours, {"scf."}},
    {"threads-to-llvm", Level::LlvmIr, "converts everything to the LLVM dialect", nullptr, hostToLlvm, ours,
     {"arith.", "cf.", "math.", "memref.", "scf.", "ub.", "vector."}},
    {"implement-calls", Level::LlvmIr, "replaces the calls of peer-to-calls by machine atomics and bounded loops",
     implement, nullptr, input, {}},
    {"llvm-ir", Level::LlvmIr, "translates to LLVM IR for the chip", nullptr, translate, ours, {}},
    {"optimise", Level::LlvmIr, "runs LLVM's optimiser", nullptr, optimize, ours, {}},
  }, dots);
  // clang-format on
  table.insert(table.end(), rest.begin(), rest.end());
  return table;
}

static const std::vector<Phase> &nvidiaPhases() {
  // clang-format off
  static const std::vector<Phase> table = gpuPhases("heddle-implement-peer-calls{target=nvptx}", {
    {"resident-blocks", Level::LlvmIr, "says how many blocks are to fit on a multiprocessor: as many as registers and shared memory allow",
     nullptr, chooseResidentBlocks, ours, {}},
    {"predicate-accesses", Level::LlvmIr, "writes loads and stores under masks as instructions under a predicate, and keeps elements of 8 and 16 bits in words", nullptr,
     predicate, ours, {}},
    {"ptx", Level::Binary, "generates PTX (`--to asm` prints it), which the driver assembles", nullptr, emitPtx, ours, {}},
    {"package", Level::Binary, "describes the kernel", nullptr, makeCudaPackage, ours, {}},
  }, nvidiaDots);
  // clang-format on
  return table;
}

static std::vector<Phase> amdPhases(bool scaled) {
  // clang-format off
  return gpuPhases("heddle-implement-peer-calls{target=amdgpu}", {
    {"schedule-matmuls", Level::LlvmIr, "keeps accumulators in contiguous registers, and orders what loops issue between matrix instructions",
     nullptr, scheduleMatmuls, ours, {}},
    {"use-buffers", Level::LlvmIr, "makes buffer instructions of accesses whose lanes are near each other", nullptr,
     useBuffers, ours, {}},
    {"object", Level::Binary, "generates machine code (`--to asm` prints it)", nullptr, emitObject, ours, {}},
    {"package", Level::Binary, "links a code object and describes it", nullptr, makeAmdPackage, ours, {}},
  }, scaled ? amdScaledDots : amdDots);
  // clang-format on
}

static const std::vector<Phase> &amdPhases(const Chip &chip) {
  static const std::vector<Phase> plain = amdPhases(false), scaled = amdPhases(true);
  return chip.scaledMatmuls ? scaled : plain;
}

/// Of a chip that takes the code of one thread: the phases that leave such code, and a package.
static std::vector<Phase> threadCodePhases(const std::vector<Phase> &machineCode) {
  std::vector<Phase> table;
  for (const Phase &phase : machineCode)
    if (phase.level != Level::Binary)
      table.push_back(phase);
  table.push_back({"package",
                   Level::Binary,
                   "describes the kernel, whose binary is the LLVM IR of one thread",
                   nullptr,
                   makeThreadCodePackage,
                   ours,
                   {}});
  return table;
}

LogicalResult runBody(const Phase &phase, Compilation &compilation) {
  if (!phase.passes)
    return phase.run(compilation);
  PassManager manager(compilation.context, ModuleOp::getOperationName());
  manager.enableVerifier(false); // the driver does it once for the phase
  if (failed(parsePassPipeline(phase.passes, manager)))
    return failure();
  return manager.run(*compilation.module);
}

std::unique_ptr<simt::GpuTarget> makeGpuTarget(const Chip &chip) {
  return chip.vendor == Vendor::Amd      ? amdgpu::makeTarget(chip)
         : chip.vendor == Vendor::Nvidia ? nvptx::makeTarget(chip)
                                         : nullptr;
}

const std::vector<Phase> &phasesOf(const Chip &chip) {
  static const std::vector<Phase> nvidiaThreads = threadCodePhases(nvidiaPhases()),
                                  amdThreads = threadCodePhases(amdPhases(false)),
                                  scaledThreads = threadCodePhases(amdPhases(true));
  bool isNvidia = chip.vendor == Vendor::Nvidia;
  if (chip.takesThreadCode && chip.vendor != Vendor::Host)
    return isNvidia ? nvidiaThreads : chip.scaledMatmuls ? scaledThreads : amdThreads;
  return isNvidia ? nvidiaPhases() : chip.vendor == Vendor::Amd ? amdPhases(chip) : hostPhases();
}

const Phase *findPhase(const Chip &chip, const std::string &name) {
  std::string wanted = name != "asm" ? name : chip.vendor == Vendor::Nvidia ? "ptx" : "object";
  for (const Phase &phase : phasesOf(chip))
    if (wanted == phase.name)
      return &phase;
  return nullptr;
}

bool isForText(const Phase &phase, bool isTtgir) {
  return phase.entrance == Entrance::Any || (phase.entrance == Entrance::Ttgir) == isTtgir;
}

bool endsLevel(const Chip &chip, const Phase &phase, bool isTtgir) {
  const std::vector<Phase> &phases = phasesOf(chip);
  const Phase *next = &phase + 1, *end = phases.data() + phases.size();
  while (next != end && !isForText(*next, isTtgir))
    ++next;
  return next == end || next->level != phase.level || next->run == translate;
}

bool canResumeAfter(const Phase &phase) {
  return phase.level == Level::Tile || phase.level == Level::Simt;
}

const char *levelName(Level level) {
  switch (level) {
  case Level::Tile:
    return "tile";
  case Level::Vector:
    return "vector";
  case Level::Simt:
    return "simt";
  case Level::Thread:
    return "thread";
  case Level::LlvmIr:
    return "llvm";
  case Level::Binary:
    return "binary";
  }
  return "";
}

std::vector<PhaseDescription> describePhases(const std::string &target) {
  std::vector<PhaseDescription> result;
  for (const Phase &phase : phasesOf(lookupChip(target)))
    result.push_back({phase.name, levelName(phase.level), phase.sentence, passesOf(phase), canResumeAfter(phase)});
  return result;
}

bool Compilation::wantsText(const std::string &phase) const {
  const Phase *stop = options.stopAfter.empty() ? nullptr : findPhase(*chip, options.stopAfter);
  return !options.dumpFolder.empty() || (stop && phase == stop->name);
}

} // namespace heddle
