// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Drives the table of phases: time, verification, dumps, errors and reproducers are the same for each.
#include "compiler/pipeline/Compile.h"
#include "chips/Chip.h"
#include "compiler/emit/Guard.h"
#include "compiler/pipeline/Compilation.h"
#include "compiler/pipeline/CompileModule.h"
#include "compiler/pipeline/Diagnostics.h"
#include "compiler/pipeline/Registry.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/ROCDL/ROCDLToLLVMIRTranslation.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Hash.h"
#include "support/Knobs.h"
#include "support/ShellWord.h"
#include "llvm/Support/FormatVariadic.h"
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>

using namespace mlir;

namespace heddle {
namespace {

const DialectRegistry &dialects() {
  static const DialectRegistry registry = [] {
    DialectRegistry result;
    registerInputDialects(result);
    registerBuiltinDialectTranslation(result);
    registerLLVMDialectTranslation(result);
    registerNVVMDialectTranslation(result);
    registerROCDLDialectTranslation(result);
    registerPasses();
    return result;
  }();
  return registry;
}

void checkPhaseName(const Chip &chip, const std::string &name) {
  if (name.empty() || findPhase(chip, name))
    return;
  std::string names;
  for (const Phase &phase : phasesOf(chip))
    names += (names.empty() ? "" : ", ") + std::string(phase.name);
  std::vector<std::string> notes = {"the phases are " + names};
  for (const Chip *other : allChips())
    if (notes.size() == 1 && findPhase(*other, name))
      notes.push_back(
          llvm::formatv("target {0} has it: `heddle compile KERNEL.ttir --target {0} --to {1}`", other->name, name));
  throw inputError("there is no phase `" + name + "` for target " + std::string(chip.name), notes);
}

const Chip &chipOf(const CompileOptions &options) {
  return options.chip ? *options.chip : lookupChip(options.target);
}

void checkOptions(const CompileOptions &options) {
  const Chip &chip = chipOf(options);
  checkPhaseName(chip, options.stopAfter);
  checkPhaseName(chip, options.keepTextOf);
  checkPhaseName(chip, options.resumeAfter);
  if (!options.resumeAfter.empty() && !canResumeAfter(*findPhase(chip, options.resumeAfter)))
    throw inputError("cannot resume after phase `" + options.resumeAfter +
                         "`: what it knows of the kernel is not in its text",
                     {"phases of the tile and simt levels can be resumed"});
  if (options.optimizationLevel < 0 || options.optimizationLevel > 3)
    throw inputError("optimisation level " + std::to_string(options.optimizationLevel) + " is not 0, 1, 2 or 3");
  int mostWarps = chip.threadsPerBlock / std::max(chip.threadsPerWarp, 32);
  if (options.warps < 1 || options.warps > mostWarps || !llvm::isPowerOf2_32(uint32_t(options.warps)))
    throw inputError("a block of " + chip.name + " cannot have " + std::to_string(options.warps) + " warps",
                     {"the number is a power of two from 1 to " + std::to_string(mostWarps)});
  if (options.checkAccesses && chip.vendor == Vendor::Nvidia)
    throw inputError("memory accesses are checked on the host only, not on `" + chip.name + "`",
                     {"use `--target host`"});
}

/// One compilation through the table.
class Driver {
public:
  explicit Driver(Compilation &compilation)
      : compilation(compilation), diagnostics(compilation.context, compilation.text, compilation.name) {}

  CompileResult run();

private:
  void runPhase(const Phase &phase);
  void abandonLlvm();
  void reportFailure(const Phase &phase);
  void checkResult(const Phase &phase);
  bool isVerified(const Phase &phase);
  std::optional<std::string> findPresent(const Phase &phase);
  std::string textOf(const Phase &phase, bool withLocations);
  void dump(const Phase &phase, int number);
  [[noreturn]] void failInternally(const Phase &phase, const std::string &message, std::vector<std::string> notes = {});

  Compilation &compilation;
  DiagnosticCollection diagnostics;
  std::vector<PhaseTime> times;
};

CompileResult Driver::run() {
  const CompileOptions &options = compilation.options;
  const Phase *stop = options.stopAfter.empty() ? nullptr : findPhase(*compilation.chip, options.stopAfter);
  const Phase *kept = options.keepTextOf.empty() ? nullptr : findPhase(*compilation.chip, options.keepTextOf);
  const Phase *resume = options.resumeAfter.empty() ? nullptr : findPhase(*compilation.chip, options.resumeAfter);
  CompileResult result;
  int number = 0;
  for (const Phase &phase : phasesOf(*compilation.chip)) {
    ++number;
    bool isInput = phase.run && (number == 1 || std::string(phase.name) == "verify");
    bool skipped = (resume && &phase <= resume && !isInput) || (number == 1 && compilation.module) ||
                   !isForText(phase, compilation.ttg.has_value());
    if (!skipped) {
      auto start = std::chrono::steady_clock::now();
      runPhase(phase);
      std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
      times.push_back({phase.name, taken.count()});
      if (options.countLines)
        times.back().lines = llvm::count(textOf(phase, /*withLocations=*/false), '\n');
      dump(phase, number);
    }
    if (&phase == kept)
      result.text = textOf(phase, /*withLocations=*/false);
    if (&phase == stop) {
      result.text = textOf(phase, /*withLocations=*/false);
      break;
    }
  }
  auto withNotes = [](const Message &message) {
    std::string text = message.text;
    for (const std::string &note : message.notes)
      text += "\n  note: " + note;
    return text;
  };
  llvm::append_range(result.warnings, llvm::map_range(diagnostics.warnings, withNotes));
  llvm::append_range(result.remarks, llvm::map_range(diagnostics.remarks, withNotes));
  if (!stop) {
    result.package = std::move(compilation.package);
    result.package.remarks = result.remarks;
  }
  result.times = std::move(times);
  return result;
}

void Driver::runPhase(const Phase &phase) {
  LogicalResult status = failure();
  std::string crash;
  try {
    crash = runGuarded([&] { status = runBody(phase, compilation); });
  } catch (const Error &error) {
    if (error.kind != ErrorClass::Internal)
      throw;
    abandonLlvm();
    failInternally(phase, error.what(), error.notes);
  }
  if (!crash.empty()) {
    // Whatever the phase held is in an unknown state: better lost than destroyed.
    (void)compilation.module.release();
    (void)compilation.ownContext.release();
    abandonLlvm();
    failInternally(phase, crash);
  }
  if (failed(status) || !diagnostics.errors.empty())
    reportFailure(phase);
  checkResult(phase);
}

void Driver::abandonLlvm() {
  (void)compilation.llvmModule.release();
  (void)compilation.llvmContext.release();
}

void Driver::reportFailure(const Phase &phase) {
  if (diagnostics.errors.empty())
    failInternally(phase, "the phase failed without saying why");
  Message first = diagnostics.errors.front();
  for (size_t i = 1; i < diagnostics.errors.size(); ++i)
    first.notes.push_back(diagnostics.errors[i].text);
  const std::string &resumed = compilation.options.resumeAfter;
  if (!phase.blamesInput && resumed.empty())
    failInternally(phase, first.text, first.notes);
  if (!phase.blamesInput)
    first.notes.push_back("phase `" + std::string(phase.name) + "` takes what `" + resumed +
                          "` leaves; if the text is just that, unchanged, please report it as a fault of heddle");
  throw inputError(first.text, first.notes);
}

/// Verifying is a tenth of the time of a small kernel: by default it is done where the next phase expects another
/// level.
bool Driver::isVerified(const Phase &phase) {
  const CompileOptions &options = compilation.options;
  return options.verifyEach || !options.dumpFolder.empty() || phase.name == options.stopAfter ||
         phase.name == options.keepTextOf || endsLevel(*compilation.chip, phase, compilation.ttg.has_value());
}

/// What a phase leaves must verify, and must be free of what the phase is there to remove.
void Driver::checkResult(const Phase &phase) {
  const CompileOptions &options = compilation.options;
  if (compilation.llvmModule || !compilation.module || std::string(phase.name) == "parse")
    return;
  std::optional<std::string> present;
  bool valid = false;
  std::string crash = runGuarded([&] {
    valid = !isVerified(phase) || succeeded(mlir::verify(*compilation.module));
    present = findPresent(phase);
  });
  if (!crash.empty())
    failInternally(phase, crash);
  if (!valid)
    failInternally(
        phase, diagnostics.errors.empty() ? "the result does not verify" : diagnostics.errors.front().text,
        std::vector<std::string>(options.verifyEach ? 0 : 1, "`--verify-each` names the phase that made it"));
  if (present)
    failInternally(phase, *present);
}

std::optional<std::string> Driver::findPresent(const Phase &phase) {
  std::optional<std::string> found;
  if (phase.absent.empty())
    return found;
  compilation.module->walk([&](Operation *op) {
    StringRef name = op->getName().getStringRef();
    for (StringRef absent : phase.absent)
      if (name == absent || (absent.ends_with(".") && name.starts_with(absent))) {
        std::string place = formatLocation(op->getLoc());
        found = (place.empty() ? "" : place + ": ") + "'" + name.str() + "' must not remain after this phase";
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return found;
}

std::string Driver::textOf(const Phase &phase, bool withLocations) {
  if (phase.level == Level::Binary)
    return compilation.package.binary.empty() ? compilation.assembly : compilation.package.describe();
  if (compilation.llvmModule)
    return printModule(*compilation.llvmModule);
  std::string text;
  llvm::raw_string_ostream stream(text);
  OpPrintingFlags flags;
  if (withLocations)
    flags.enableDebugInfo(true);
  compilation.module->print(stream, flags);
  text += "\n";
  return text;
}

void Driver::dump(const Phase &phase, int number) {
  if (compilation.options.dumpFolder.empty())
    return;
  const char *suffix = phase.level == Level::Binary ? (compilation.package.binary.empty() ? "s" : "json")
                       : compilation.llvmModule     ? "ll"
                                                    : "mlir";
  std::error_code error;
  std::filesystem::create_directories(compilation.options.dumpFolder, error);
  if (error)
    throw environmentError("cannot make folder `" + compilation.options.dumpFolder + "`: " + error.message());
  char file[64];
  std::snprintf(file, sizeof file, "/%02d-%s.%s", number, phase.name, suffix);
  writeFileAtomically(compilation.options.dumpFolder + file, textOf(phase, /*withLocations=*/true));
}

/// All options that change what is compiled, as `heddle compile` takes them.
std::string optionsText(const Compilation &compilation) {
  const CompileOptions &options = compilation.options;
  const CompileOptions usual;
  std::string text = "--target " + std::string(compilation.chip->name);
  if (compilation.chip->vendor == Vendor::Host) {
    text += " --cpu " + compilation.processor.name;
  } else {
    text += compilation.ttg ? "" : " --warps " + std::to_string(options.warps);
    text += options.stages != usual.stages ? " --stages " + std::to_string(options.stages) : "";
    text += options.warpGroups ? "" : " --no-warp-groups";
    text += options.warpPipelines != usual.warpPipelines
                ? " --warp-pipeline " + std::string(nameOf(options.warpPipelines))
                : "";
    text += options.exactMath ? " --exact-math" : "";
  }
  text += options.fpFusion ? " --fp-fusion" : "";
  text += options.checkAccesses ? " --check" : "";
  text += " -O " + std::to_string(options.optimizationLevel);
  for (auto [name, value] : {std::pair("--kernel", &options.kernel), std::pair("--from", &options.resumeAfter),
                             std::pair("--to", &options.stopAfter), std::pair("--llvm-passes", &options.llvmPasses)})
    if (!value->empty())
      text += " " + std::string(name) + " " + quoteForShell(*value);
  return text;
}

/// The input with everything that is needed to see the fault again. Returns where it was written, or why it was not.
std::string writeReproducer(const Compilation &compilation, const Phase &phase, const std::string &message) {
  const CompileOptions &options = compilation.options;
  std::string text = "// phase: " + std::string(phase.name) + "\n// message: ";
  for (char c : message)
    text += c == '\n' ? std::string("\n//   ") : std::string(1, c);
  text += "\n// options: " + optionsText(compilation) + "\n";
  if (!options.commandLine.empty())
    text += "// command: " + options.commandLine + "\n";
  text += "// producer: heddle " HEDDLE_VERSION ", LLVM " + llvmVersion() + "\n" + compilation.text;
  try {
    std::string path = reproducerDirectory() + "/heddle-reproducer-" + hashHex(text) + ".mlir";
    writeFileAtomically(path, text);
    return "the kernel and the options are in `" + path + "`; please report it with that file";
  } catch (const Error &error) {
    return std::string("no reproducer file: ") + error.what();
  }
}

void Driver::failInternally(const Phase &phase, const std::string &message, std::vector<std::string> notes) {
  notes.push_back("this is a fault of heddle, in phase `" + std::string(phase.name) + "`");
  notes.push_back(writeReproducer(compilation, phase, message));
  throw internalError(message, notes);
}

/// What `compileWith` makes with a new compilation. Where stages that the compiler has found leave a
/// thread too few registers, the code without them is taken if that keeps fewer in memory: an estimate from tiles knows
/// no spills.
CompileResult withoutSpillsOfStages(const CompileOptions &options,
                                    llvm::function_ref<CompileResult(Compilation &)> compileWith) {
  Compilation first;
  first.options = options;
  CompileResult result = compileWith(first);
  if (!first.foundStages || !first.vectorSpills || options.warpPipelines != WarpPipelines::Auto)
    return result;
  Compilation second;
  second.options = options;
  second.options.warpPipelines = WarpPipelines::Off;
  CompileResult plain = compileWith(second);
  if (second.vectorSpills >= first.vectorSpills)
    return result;
  plain.remarks.push_back(second.name + ": no warp pipeline: with stages " + std::to_string(first.vectorSpills) +
                          " registers of a thread are kept in memory, " + std::to_string(second.vectorSpills) +
                          " without");
  plain.package.remarks = plain.remarks;
  llvm::append_range(result.times, plain.times);
  plain.times = std::move(result.times);
  return plain;
}

/// Of the chip and the processor that the options name.
void chooseTarget(Compilation &compilation) {
  compilation.chip = &chipOf(compilation.options);
  compilation.gpuTarget = makeGpuTarget(*compilation.chip);
  if (compilation.chip->vendor == Vendor::Host)
    compilation.processor = resolveHostProcessor(compilation.options.processor);
}

} // namespace

bool verifiesEachByDefault() {
#ifdef NDEBUG
  return false;
#else
  return true;
#endif
}

const char *nameOf(WarpPipelines pipelines) {
  switch (pipelines) {
  case WarpPipelines::Off:
    return "off";
  case WarpPipelines::Auto:
    return "auto";
  case WarpPipelines::Always:
    break;
  }
  return "always";
}

WarpPipelines parseWarpPipelines(const std::string &option, const std::string &text) {
  for (WarpPipelines each : {WarpPipelines::Off, WarpPipelines::Auto, WarpPipelines::Always})
    if (text == nameOf(each))
      return each;
  throw inputError("`" + option + " " + text + "` is neither `auto` nor `off` nor `always`");
}

CompileResult compile(const std::string &text, const std::string &name, const CompileOptions &options) {
  checkOptions(options);
  return withoutSpillsOfStages(options, [&](Compilation &compilation) {
    compilation.text = text;
    compilation.name = name;
    chooseTarget(compilation);
    compilation.ownContext = std::make_unique<MLIRContext>(dialects(), MLIRContext::Threading::DISABLED);
    compilation.context = compilation.ownContext.get();
    compilation.context->printOpOnDiagnostic(false);
    return Driver(compilation).run();
  });
}

CompileResult compileModule(ModuleOp module, const std::string &name, const CompileOptions &options) {
  checkOptions(options);
  return withoutSpillsOfStages(options, [&](Compilation &compilation) {
    llvm::raw_string_ostream stream(compilation.text);
    module->print(stream, OpPrintingFlags().enableDebugInfo(true));
    compilation.name = name;
    chooseTarget(compilation);
    compilation.context = module.getContext();
    compilation.context->appendDialectRegistry(dialects());
    compilation.module = module.clone();
    return Driver(compilation).run();
  });
}

} // namespace heddle
