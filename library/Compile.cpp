// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C interface: compilation, and the instructions of packages.
#include "api/Heddle.h"
#include "library/Handles.h"
#include "library/Options.h"
#include "tools/InspectCodeObject.h"
#include <fmt/format.h>

using namespace heddle;

namespace {

WarpPipelines pipelinesOption(const std::string &value) {
  if (value == nameOf(WarpPipelines::Always))
    return WarpPipelines::Always;
  return truthOption("warp-pipeline", value, " nor `always`") ? WarpPipelines::Auto : WarpPipelines::Off;
}

/// `text` says which target it is for where no option does.
CompileOptions readCompileOptions(const char *const *options, size_t count, const std::string &text) {
  CompileOptions read;
  bool namesTarget = false, namesProcessor = false;
  readOptions(options, count,
              {{"target", [&](const std::string &value) { read.target = value, namesTarget = true; }},
               {"cpu", [&](const std::string &value) { read.processor = value, namesProcessor = true; }},
               {"kernel", [&](const std::string &value) { read.kernel = value; }},
               {"warps",
                [&](const std::string &value) {
                  read.warps = integerOption("warps", value, 1, 32);
                  read.warpsChosen = true;
                }},
               {"stages", [&](const std::string &value) { read.stages = integerOption("stages", value, 1, 16); }},
               {"optimization",
                [&](const std::string &value) { read.optimizationLevel = integerOption("optimization", value, 0, 3); }},
               {"check", [&](const std::string &value) { read.checkAccesses = truthOption("check", value); }},
               {"exact-math", [&](const std::string &value) { read.exactMath = truthOption("exact-math", value); }},
               {"fp-fusion", [&](const std::string &value) { read.fpFusion = truthOption("fp-fusion", value); }},
               {"warp-groups", [&](const std::string &value) { read.warpGroups = truthOption("warp-groups", value); }},
               {"warp-pipeline", [&](const std::string &value) { read.warpPipelines = pipelinesOption(value); }}});
  if (!namesTarget)
    read.target = targetOfText(text, read.target);
  if (namesProcessor && read.target != "host")
    throw inputError(
        fmt::format("the option `cpu={}` is for the target host, and this one is {}", read.processor, read.target));
  return read;
}

std::string readText(const char *text, size_t size) {
  requirePointer(text, "text", "a kernel's text");
  return std::string(text, size);
}

std::string nameOrDefault(const char *name) {
  return name ? name : "<text>";
}

void compileInto(const std::string &text, const std::string &name, const char *const *options, size_t count,
                 heddle_package *package) {
  requirePointer(package, "package", "a place for the handle");
  CompileResult result = compile(text, name, readCompileOptions(options, count, text));
  give(package, PackageObject{std::move(result.package), std::move(result.warnings)});
}

std::string assemblyOf(const Package &package) {
  if (!hasCodeObject(package))
    return disassemblePackage(package).text;
  return listInstructions(inspectCodeObject(package.binary, package.kernel,
                                            {package.entry, package.threads, int64_t(package.sharedBytes)}));
}

} // namespace

heddle_status heddle_compile(const char *text, size_t size, const char *name, const char *const *options, size_t count,
                             heddle_package *package) {
  return guarded([&] { compileInto(readText(text, size), nameOrDefault(name), options, count, package); });
}

heddle_status heddle_compile_file(const char *path, const char *const *options, size_t count, heddle_package *package) {
  return guarded([&] {
    requirePointer(path, "path", "a file's name");
    if (std::string(path) == "-")
      throw inputError("`path`: `-` is standard input for the command only");
    compileInto(readKernelText(path), path, options, count, package);
  });
}

heddle_status heddle_compile_phase(const char *text, size_t size, const char *name, const char *phase,
                                   const char *const *options, size_t count, heddle_text *left) {
  return guarded([&] {
    requirePointer(phase, "phase", "a phase's name");
    requirePointer(left, "left", "a place for the handle");
    std::string whole = readText(text, size);
    CompileOptions read = readCompileOptions(options, count, whole);
    read.stopAfter = phase;
    give(left, TextObject{compile(whole, nameOrDefault(name), read).text});
  });
}

heddle_status heddle_package_assembly(heddle_package package, heddle_text *assembly) {
  return guarded([&] {
    auto object = find<PackageObject>(package, "package");
    requirePointer(assembly, "assembly", "a place for the handle");
    give(assembly, TextObject{assemblyOf(object->package)});
  });
}
