// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Wraps a phase as an MLIR pass and registers it, so that heddle-opt runs phases alone.
#include "compiler/pipeline/PhasePasses.h"
#include "chips/Chip.h"
#include "compiler/dialects/simt/Simt.h"
#include "compiler/dialects/ttg/TritonGpu.h"
#include "compiler/pipeline/Compilation.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Pass/Pass.h"
#include "support/Error.h"
#include <set>

using namespace mlir;

namespace heddle {
namespace {

class PhasePass : public PassWrapper<PhasePass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PhasePass)
  PhasePass(const Phase &phase) : phase(phase), argument("heddle-" + std::string(phase.name)) {}
  PhasePass(const PhasePass &other) : PassWrapper(other), phase(other.phase), argument(other.argument) {}

  StringRef getArgument() const override { return argument; }
  StringRef getDescription() const override { return phase.sentence; }
  StringRef getName() const override { return argument; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<simt::SimtDialect, triton::amdg::AmdGpuDialect, NVVM::NVVMDialect, ROCDL::ROCDLDialect>();
  }
  void runOnOperation() override;

private:
  const Phase &phase;
  std::string argument;
  Option<std::string> target{*this, "target", llvm::cl::desc("chip; by default the one that the module names")};
  Option<int> warps{*this, "warps", llvm::cl::desc("of a block; by default what the module says, or 4")};
  Option<int> stages{*this, "stages", llvm::cl::desc("of loops over matmuls; 0: the chip's default"),
                     llvm::cl::init(0)};
  Option<bool> check{*this, "check", llvm::cl::desc("as `heddle compile --check`")};
  Option<bool> warpGroups{*this, "warp-groups", llvm::cl::desc("matmuls by warp groups"), llvm::cl::init(true)};
  Option<std::string> warpPipelines{*this, "warp-pipelines", llvm::cl::desc("as `heddle compile --warp-pipeline`"),
                                    llvm::cl::init("auto")};
};

} // namespace

void PhasePass::runOnOperation() {
  ModuleOp module = getOperation();
  FailureOr<std::optional<simt::TtgModule>> ttg = simt::describeTtgModule(module);
  if (failed(ttg))
    return signalPassFailure();
  Compilation compilation;
  compilation.context = &getContext();
  compilation.ttg = *ttg;
  auto says = [&](StringRef name) { return module->getAttr(name); };
  std::string chip = target;
  if (auto named = dyn_cast_or_null<StringAttr>(says(simt::targetAttribute)); chip.empty())
    chip = named ? named.str() : *ttg ? (*ttg)->target : "";
  if (chip.empty()) {
    module.emitError() << "pass `" << argument << "` needs a chip: `" << argument << "{target=gfx942}`, or `"
                       << simt::targetAttribute << "` on the module";
    return signalPassFailure();
  }
  CompileOptions &options = compilation.options;
  auto said = dyn_cast_or_null<IntegerAttr>(says(simt::warpsAttribute));
  options.warps = warps ? int(warps) : said ? int(said.getInt()) : *ttg ? (*ttg)->warps : 4;
  options.stages = stages;
  options.warpGroups = warpGroups;
  options.checkAccesses = check;
  try {
    options.warpPipelines = parseWarpPipelines("warp-pipelines", warpPipelines);
    compilation.chip = &lookupChip(chip);
  } catch (const Error &error) {
    module.emitError() << error.what();
    return signalPassFailure();
  }
  options.target = chip;
  compilation.gpuTarget = makeGpuTarget(*compilation.chip);
  if (!compilation.gpuTarget) {
    module.emitError() << "pass `" << argument << "` is for GPUs, not for `" << chip << "`";
    return signalPassFailure();
  }
  if (phase.entrance == Entrance::Ttgir && !*ttg) {
    module.emitError() << "pass `" << argument << "` is for TTGIR: the module has no `ttg.target`";
    return signalPassFailure();
  }
  compilation.module = module;
  LogicalResult status = phase.level == Level::Simt ? checkThreads(compilation) : success();
  if (succeeded(status))
    status = phase.run(compilation);
  (void)compilation.module.release(); // the pass manager's
  if (failed(status))
    signalPassFailure();
}

/// Whether the phase is a function from modules to modules, for GPUs.
static bool isPassOfItsOwn(const Phase &phase) {
  bool toLlvm = phase.level == Level::LlvmIr && !phase.absent.empty();
  return phase.run &&
         (phase.level == Level::Simt || phase.level == Level::Thread || toLlvm || phase.entrance == Entrance::Ttgir);
}

std::string passesOf(const Phase &phase) {
  return phase.passes ? phase.passes : isPassOfItsOwn(phase) ? "heddle-" + std::string(phase.name) : "";
}

void registerPhasePasses() {
  std::set<std::string> known;
  for (const Chip *chip : allChips())
    for (const Phase &phase : phasesOf(*chip))
      if (chip->vendor != Vendor::Host && isPassOfItsOwn(phase) && known.insert(phase.name).second)
        registerPass([&phase]() -> std::unique_ptr<Pass> { return std::make_unique<PhasePass>(phase); });
}

} // namespace heddle
