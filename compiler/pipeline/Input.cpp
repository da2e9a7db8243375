// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The first two phases: reads a kernel's text, and checks it and what it says of its target.
#include "chips/Chip.h"
#include "compiler/dialects/peer/Peer.h"
#include "compiler/dialects/simt/Simt.h"
#include "compiler/dialects/triton/Triton.h"
#include "compiler/dialects/ttg/ForeignWords.h"
#include "compiler/dialects/ttg/TritonGpu.h"
#include "compiler/lowering/peer/ExternCalls.h"
#include "compiler/pipeline/Compilation.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using llvm::isAlnum;
using llvm::isDigit;

namespace heddle {
namespace {

/// What stands in the text from a position to the end of the line.
StringRef lineAt(StringRef text, unsigned line, unsigned column) {
  for (unsigned i = 1; i < line; ++i)
    text = text.split('\n').second;
  text = text.split('\n').first;
  return text.drop_front(std::min<size_t>(std::max(column, 1u) - 1, text.size()));
}

/// The word at a position of the text.
StringRef wordAt(StringRef text, unsigned line, unsigned column) {
  return lineAt(text, line, column).take_while([](char c) { return isAlnum(c) || StringRef("_$.-").contains(c); });
}

/// The identifier after the `%` at a position of the text; empty for numbers and when there is none.
StringRef identifierAt(StringRef text, unsigned line, unsigned column) {
  if (!lineAt(text, line, column).starts_with("%"))
    return "";
  text = wordAt(text, line, column + 1);
  return !text.empty() && isDigit(text[0]) ? "" : text;
}

/// An argument without a name of its own is called as in the text.
void nameArguments(ModuleOp module, StringRef text) {
  for (auto function : module.getOps<triton::FuncOp>())
    for (BlockArgument argument : function.getArguments())
      if (auto place = dyn_cast<FileLineColLoc>(argument.getLoc())) {
        StringRef name = identifierAt(text, place.getLine(), place.getColumn());
        if (!name.empty())
          argument.setLoc(NameLoc::get(StringAttr::get(module.getContext(), name), place));
      }
}

/// MLIR's parser descends into brackets by recursion, and would run out of stack.
constexpr int deepestNesting = 1000;

/// Where the text first nests deeper than that; null when it does not. Brackets in strings and comments count too.
const char *findTooDeep(StringRef text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (StringRef("([{<").contains(c) && ++depth > deepestNesting)
      return text.data() + i;
    bool isArrow = c == '>' && i > 0 && text[i - 1] == '-';
    if (StringRef(")]}>").contains(c) && !isArrow)
      depth = std::max(0, depth - 1);
  }
  return nullptr;
}

LogicalResult checkNesting(Compilation &compilation) {
  StringRef text = compilation.text;
  const char *at = findTooDeep(text);
  if (!at)
    return success();
  StringRef before = text.take_front(at - text.data());
  auto line = unsigned(before.count('\n') + 1), column = unsigned(before.size() - before.rfind('\n'));
  if (line == 1)
    column = unsigned(before.size() + 1);
  return emitError(FileLineColLoc::get(compilation.context, compilation.name, line, column))
         << "brackets nest deeper than " << deepestNesting;
}

std::string listKernels(ArrayRef<triton::FuncOp> kernels) {
  std::string names;
  for (triton::FuncOp kernel : kernels)
    names += (names.empty() ? "`" : ", `") + kernel.getSymName().str() + "`";
  return names;
}

/// Leaves one public function: the kernel.
LogicalResult selectKernel(ModuleOp module, const std::string &wanted) {
  SmallVector<triton::FuncOp> kernels;
  for (auto function : module.getOps<triton::FuncOp>())
    if (SymbolTable::getSymbolVisibility(function) == SymbolTable::Visibility::Public)
      kernels.push_back(function);
  auto unknown = UnknownLoc::get(module.getContext());
  if (kernels.empty())
    return emitError(unknown) << "no kernel: the module has no public `tt.func`";
  if (wanted.empty() && kernels.size() > 1)
    return emitError(unknown) << "several kernels: " << listKernels(kernels) << "; choose one with `--kernel NAME`";
  bool found = wanted.empty();
  for (triton::FuncOp kernel : kernels) {
    if (wanted.empty() || kernel.getSymName() == wanted)
      found = true;
    else
      SymbolTable::setSymbolVisibility(kernel, SymbolTable::Visibility::Private);
  }
  if (!found)
    return emitError(unknown) << "no kernel `" << wanted << "`; there is " << listKernels(kernels);
  // The passes that drop functions that nothing calls may come before `--from`.
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  manager.addPass(createSymbolDCEPass());
  return manager.run(module);
}

/// MLIR keeps attributes that it does not know. Those of a dialect (`tt.num_stages`) are notes for other tools; others
/// are misspelt. Functions carry what their language likes (`noinline`).
LogicalResult checkAttributes(Operation *op) {
  if (isa<FunctionOpInterface, ModuleOp>(op))
    return success();
  for (NamedAttribute attribute : op->getDiscardableAttrs())
    if (!attribute.getName().getValue().contains('.'))
      return op->emitOpError() << "has no attribute `" << attribute.getName().getValue() << "`";
  return success();
}

/// Operations of the dialect, or the calls that peer-to-calls has made of them.
bool usesPeers(ModuleOp module) {
  return module
      .walk([](Operation *op) {
        auto call = dyn_cast<triton::ExternElementwiseOp>(op);
        bool isPeer =
            isa_and_nonnull<peer::PeerDialect>(op->getDialect()) || (call && peer::isExternCallName(call.getSymbol()));
        return isPeer ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

bool readsTtgir(const Chip &chip) {
  return chip.vendor != Vendor::Host;
}

bool hasSimtLevel(const Chip &chip) {
  return chip.vendor != Vendor::Host;
}

/// What to do with a text for `chip`, which may be none of those that read such text (`reads`).
std::string chipAdvice(llvm::StringRef chip, llvm::function_ref<bool(const Chip &)> reads) {
  std::string known;
  for (const Chip *each : allChips()) {
    if (!reads(*each))
      continue;
    if (chip == each->name)
      return ("use `--target " + chip + "`").str();
    known += (known.empty() ? "" : ", ") + each->name;
  }
  return "the targets that read such text are " + known;
}

/// The chip and the warps of a module of TTGIR are those that it says.
LogicalResult readTtgModule(Compilation &compilation) {
  ModuleOp module = *compilation.module;
  FailureOr<std::optional<simt::TtgModule>> about = simt::describeTtgModule(module);
  if (failed(about))
    return failure();
  compilation.ttg = *about;
  if (!compilation.ttg)
    return success();
  CompileOptions &options = compilation.options;
  llvm::StringRef target = compilation.ttg->target;
  if (llvm::none_of(allChips(), [&](const Chip *chip) { return readsTtgir(*chip) && target == chip->name; }))
    return module.emitError() << "TTGIR for `" << target
                              << "`, whose layouts are of that chip: " << chipAdvice(target, readsTtgir)
                              << "; for other chips give the text of `kernel.asm['ttir']`";
  if (target != options.target)
    return module.emitError() << "TTGIR for `" << target << "` compiled for `" << options.target
                              << "`: its layouts are of that chip; " << chipAdvice(target, readsTtgir)
                              << "; `heddle run` takes the chip from `--device`";
  if (options.warpsChosen && options.warps != compilation.ttg->warps)
    return module.emitError() << "TTGIR of " << compilation.ttg->warps << " warps compiled for " << options.warps
                              << ": leave `--warps` out";
  options.warps = compilation.ttg->warps;
  return success();
}

/// A slot of a ring that is a constant is one that the ring has.
LogicalResult checkSlot(Operation *op) {
  int64_t slots = 0;
  Value number;
  llvm::TypeSwitch<Operation *>(op)
      .Case<simt::IndexOp, simt::LoadSharedOp, simt::StoreSharedOp, simt::AsyncCopyOp, simt::AsyncBufferCopyOp>(
          [&](auto of) { std::tie(slots, number) = std::pair(of.getRing().getType().getStages(), of.getStage()); })
      .Case([&](triton::gpu::MemDescIndexOp index) {
        std::tie(slots, number) = std::pair(index.getSrc().getType().getShape().front(), index.getIndex());
      });
  APInt constant;
  if (!number || !matchPattern(number, m_ConstantInt(&constant)) || constant.ult(uint64_t(slots)))
    return success();
  // Rule K1: a constant number is one of the ring's tiles.
  return op->emitOpError() << "takes slot " << constant.getSExtValue() << " of a ring of " << slots
                           << ": they are numbered from 0 to " << slots - 1;
}

LogicalResult checkStep(Operation *op) {
  auto loop = dyn_cast<scf::ForOp>(op);
  APInt step;
  if (!loop || !matchPattern(loop.getStep(), m_ConstantInt(&step)) || step.isStrictlyPositive() ||
      (loop.getUnsignedCmp() && !step.isZero()))
    return success();
  // Rule F6: steps of loops that are constants are positive.
  return op->emitOpError() << "has a step of " << llvm::toString(step, 10, /*Signed=*/true)
                           << ": steps are positive; a loop that counts down "
                           << "subtracts its counter from where it begins";
}

/// Text that a phase of the simt level has left says which chip and how many warps its layouts are for.
LogicalResult readSimtModule(Compilation &compilation) {
  ModuleOp module = *compilation.module;
  auto target = module->getAttrOfType<StringAttr>(simt::targetAttribute);
  auto warps = module->getAttrOfType<IntegerAttr>(simt::warpsAttribute);
  const Phase *resume = findPhase(*compilation.chip, compilation.options.resumeAfter);
  bool isExpected = resume && resume->level == Level::Simt;
  if (!target || !warps) {
    if (isExpected)
      return module.emitError() << "text that phase `" << resume->name << "` has left has `" << simt::targetAttribute
                                << "` and `" << simt::warpsAttribute << "` on its module; "
                                << (target ? "the second" : "the first") << " is missing";
    return success();
  }
  CompileOptions &options = compilation.options;
  if (!isExpected)
    return module.emitError() << "the tiles of this text have layouts: `heddle compile --from PHASE` goes on after a "
                                 "phase of the simt level, such as simplify-layouts, and makes a package";
  if (target.getValue() != compilation.chip->name)
    return module.emitError() << "tiles with layouts for `" << target.getValue() << "` compiled for `"
                              << compilation.chip->name << "`: " << chipAdvice(target.getValue(), hasSimtLevel);
  if (options.warpsChosen && options.warps != warps.getInt())
    return module.emitError() << "tiles with layouts for " << warps.getInt() << " warps compiled for " << options.warps
                              << ": leave `--warps` out";
  int64_t most = compilation.chip->threadsPerBlock / compilation.gpuTarget->lanesPerWarp();
  if (warps.getInt() < 1 || warps.getInt() > most)
    return module.emitError() << "tiles with layouts for " << warps.getInt() << " warps: a block on `"
                              << compilation.chip->name << "` has 1 to " << most;
  options.warps = int(warps.getInt());
  if (failed(checkThreads(compilation)))
    return failure();
  for (auto function : module.getOps<triton::FuncOp>()) // layouts that are written by hand need not follow
    simt::fitLayouts(function, *compilation.gpuTarget, simt::warpsOf(function, options.warps));
  return success();
}

} // namespace

LogicalResult checkThreads(Compilation &compilation) {
  int64_t lanes = compilation.gpuTarget->lanesPerWarp();
  auto check = [&](Operation *op, Type type) -> LogicalResult {
    if (!simt::hasLayout(type))
      return success();
    auto function = isa<triton::FuncOp>(op) ? cast<triton::FuncOp>(op) : op->getParentOfType<triton::FuncOp>();
    int64_t warps = function ? simt::warpsOf(function, compilation.options.warps) : compilation.options.warps;
    using layout::Dim;
    const layout::LinearLayout &layout = simt::layoutOf(type);
    if (layout.inputSize(Dim::Lane) != lanes || layout.inputSize(Dim::Warp) != warps)
      return op->emitOpError() << "has a tile over " << layout.inputSize(Dim::Lane) << " lanes and "
                               << layout.inputSize(Dim::Warp) << " warps; a warp has " << lanes << " lanes, the block "
                               << warps << " warps";
    return success();
  };
  auto walked = compilation.module->walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (failed(check(op, type)))
        return WalkResult::interrupt();
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Type type : block.getArgumentTypes())
          if (failed(check(op, type)))
            return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

LogicalResult parse(Compilation &compilation) {
  if (failed(checkNesting(compilation)))
    return failure();
  bool isAmd = compilation.chip->vendor != Vendor::Nvidia;
  bool isAdvised = false; // what this handler reports itself goes on to the next one
  ScopedDiagnosticHandler advise(compilation.context, [&](Diagnostic &found) {
    if (isAdvised || found.getSeverity() != DiagnosticSeverity::Error)
      return failure();
    std::string message = found.str();
    auto place = dyn_cast<FileLineColLoc>(found.getLocation());
    StringRef word = place ? wordAt(compilation.text, place.getLine(), place.getColumn()) : "";
    StringRef advice = triton::gpu::adviceOnForeignWord(isAmd, message, word);
    if (advice.empty())
      return failure();
    isAdvised = true;
    auto error = emitError(found.getLocation()) << message;
    if (readsTtgir(*compilation.chip))
      error.attachNote() << advice;
    else
      error.attachNote() << chipAdvice(compilation.chip->name, readsTtgir)
                         << "; for other chips give the text of `kernel.asm['ttir']`";
    return success();
  });
  ParserConfig config(compilation.context, /*verifyAfterParse=*/false);
  std::string text = triton::amdg::renameScheduleBarriers(compilation.text);
  compilation.module = parseSourceString<ModuleOp>(text, config, compilation.name);
  if (!compilation.module)
    return failure();
  nameArguments(*compilation.module, compilation.text);
  return success();
}

/// Marks the program's own sums and products: those by which functions are computed stay as they are.
static void allowFusion(ModuleOp module) {
  module.walk([](Operation *op) {
    if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(op)) {
      auto fast = cast<arith::ArithFastMathInterface>(op);
      arith::FastMathFlags flags = fast.getFastMathFlagsAttr().getValue() | arith::FastMathFlags::contract;
      op->setAttr(fast.getFastMathAttrName(), arith::FastMathFlagsAttr::get(op->getContext(), flags));
    }
  });
}

LogicalResult verifyInput(Compilation &compilation) {
  if (failed(readTtgModule(compilation)) || failed(mlir::verify(*compilation.module)) ||
      failed(readSimtModule(compilation)))
    return failure();
  bool known = true;
  compilation.module->walk([&](Operation *op) {
    known &= succeeded(checkAttributes(op)) && succeeded(checkSlot(op)) && succeeded(checkStep(op));
  });
  if (!known)
    return failure();
  if (usesPeers(*compilation.module))
    requirePeerAtomics(*compilation.chip);
  if (failed(selectKernel(*compilation.module, compilation.options.kernel)))
    return failure();
  for (auto function : compilation.module->getOps<triton::FuncOp>())
    if (!function.isPrivate() && function.getName().starts_with("heddle_"))
      return function.emitError() << "kernel `" << function.getName()
                                  << "` has a name that begins with `heddle_`, as the compiler's own memory does: "
                                     "rename it";
  compilation.usesPeers = usesPeers(*compilation.module);
  if (compilation.options.fpFusion)
    allowFusion(*compilation.module);
  return success();
}

} // namespace heddle
