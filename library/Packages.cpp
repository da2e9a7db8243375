// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C interface: versions, compilation and packages.
#include "api/Heddle.h"
#include "library/Handles.h"
#include "library/Options.h"
#include "library/Structures.h"
#include "tools/InspectCodeObject.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace heddle;

namespace {

/// `text` says which target it is for where no option does.
CompileOptions readCompileOptions(const char *const *options, size_t count, const std::string &text) {
  CompileOptions read;
  bool namesTarget = false, namesProcessor = false;
  readOptions(
      options, count,
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
       {"warp-pipeline", [&](const std::string &value) { read.warpPipelines = truthOption("warp-pipeline", value); }}});
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

uint32_t heddle_interface_version(void) {
  return HEDDLE_INTERFACE_VERSION;
}

const char *heddle_version(void) {
  static const std::string text = version();
  return text.c_str();
}

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

heddle_status heddle_package_load(const char *path, heddle_package *package) {
  return guarded([&] {
    requirePointer(path, "path", "a file's name");
    requirePointer(package, "package", "a place for the handle");
    give(package, PackageObject{Package::load(path), {}});
  });
}

heddle_status heddle_package_parse(const void *bytes, size_t size, heddle_package *package) {
  return guarded([&] {
    requirePointer(bytes, "bytes", "a package's bytes");
    requirePointer(package, "package", "a place for the handle");
    give(package, PackageObject{Package::parse(std::string(static_cast<const char *>(bytes), size), "<bytes>"), {}});
  });
}

heddle_status heddle_package_save(heddle_package package, const char *path) {
  return guarded([&] {
    auto object = find<PackageObject>(package, "package");
    requirePointer(path, "path", "a file's name");
    object->package.save(path);
  });
}

heddle_status heddle_package_bytes(heddle_package package, heddle_text *bytes) {
  return guarded([&] {
    auto object = find<PackageObject>(package, "package");
    requirePointer(bytes, "bytes", "a place for the handle");
    give(bytes, TextObject{object->package.serialize()});
  });
}

heddle_status heddle_package_describe(heddle_package package, heddle_text *json) {
  return guarded([&] {
    auto object = find<PackageObject>(package, "package");
    requirePointer(json, "json", "a place for the handle");
    give(json, TextObject{object->package.describe()});
  });
}

heddle_status heddle_package_assembly(heddle_package package, heddle_text *assembly) {
  return guarded([&] {
    auto object = find<PackageObject>(package, "package");
    requirePointer(assembly, "assembly", "a place for the handle");
    give(assembly, TextObject{assemblyOf(object->package)});
  });
}

heddle_status heddle_package_warnings(heddle_package package, heddle_text *json) {
  return guarded([&] {
    auto object = find<PackageObject>(package, "package");
    requirePointer(json, "json", "a place for the handle");
    give(json,
         TextObject{nlohmann::json(object->warnings).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)});
  });
}

heddle_status heddle_package_argument_count(heddle_package package, size_t *count) {
  return guarded([&] {
    auto object = find<PackageObject>(package, "package");
    requirePointer(count, "count", "a place for the number");
    *count = object->package.arguments.size();
  });
}

heddle_status heddle_package_argument(heddle_package package, size_t index, heddle_argument *argument) {
  return guarded([&] {
    auto object = find<PackageObject>(package, "package");
    requirePointer(argument, "argument", "a structure to fill");
    constexpr size_t firstArgumentSize = 40; // of interface version 1
    requireStructureSize(argument->struct_size, firstArgumentSize, "argument");
    const auto &all = object->package.arguments;
    if (index >= all.size())
      throw inputError(fmt::format("`index` is {}, and kernel `{}` has {} arguments, counted from 0", index,
                                   object->package.kernel, all.size()));
    heddle_argument filled = {.struct_size = 0,
                              .name = all[index].name.c_str(),
                              .type = all[index].type.c_str(),
                              .divisibility = all[index].divisibility,
                              .pointer = all[index].pointer};
    writeStructure(argument, filled, firstArgumentSize, "argument");
  });
}
