// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Declares the options, reads them into a request, and writes them again as the command that replays it.
#include "tools/KernelOptions.h"
#include "support/File.h"
#include "support/ShellWord.h"
#include "tools/Output.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace heddle {

const char *const kernelOptionsHelp = R"(
  OBJECT               a linked code object (.hsaco) for gfx942 or gfx950, of version 4 to 6; a package (.hpkg), or
                         a kernel's text with `--target gfx942` or `--target gfx950`, `--warps N` (4)
                         and `--warp-pipeline`, as for heddle compile
  --kernel NAME        which kernel, when there are several
  --grid X[,Y[,Z]]     workgroups
  --block X[,Y[,Z]]    work-items of a workgroup, at most 1024; a package or text says it itself
  --arg NAME=VALUE     one for each argument, by its name or its position from 0; VALUE is a number or a buffer:
                         @file.npy, f32[64,128] (zeros), rand:bf16[64,128]:SEED, ptrs:A,B (addresses of buffers);
                         zeros:f32[64] are zeros that count as written for the check `uninitialised`
                         null is a null pointer, addr:NAME@DEVICE+OFFSET the address of a buffer (@next: of the next
                         device), bf16:1.5 a number with its type. Several arguments of one name are given by position,
                         or share a number. An argument named `pad` or `padding` is 0 unless given
                         A structure by value is @file (raw bytes or .npy), struct:layout.json or {...}: its fields are
                         --arg NAME.FIELD=VALUE
  --kernarg VALUE      the whole argument segment, @file or a structure, instead of arguments
  --buffer NAME=VALUE  a buffer that is no argument
  --lds BYTES          dynamic LDS beside what the kernel and its arguments ask for
  --devices N          the kernel runs on N devices at once. Each has buffers of its own: rand has the seed SEED + device,
                         ptrs:A the addresses of A on all devices. NAME@DEVICE=VALUE is for one device; the numbers
                         `rank` and `devices` are its index and their count
                         Prefixes of a buffer: host: (one host buffer for all devices), fine: (kept coherent), uncached:,
                         slack:N: (N readable bytes after it; a read of them is a note, not a finding)
  --no-preload         the firmware preloads no arguments: the kernel loads them itself
  --resident N         workgroups resident at once; default the number of compute units of the chip
  --limit N            stop a run after N instructions of waves; default of `simulate` and of the first run of `check` and
                         `mutate` 4294967296
)";

void KernelOptions::add(CLI::App &verb) {
  verb.add_option("object", input);
  verb.add_option("--kernel", run.kernel);
  verb.add_option("--grid", grid);
  verb.add_option("--block", block);
  verb.add_option("--arg", arguments)->allow_extra_args(false);
  verb.add_option("--kernarg", run.kernarg);
  verb.add_option("--buffer", buffers)->allow_extra_args(false);
  auto onInteger = [&](const char *name, auto store) {
    verb.add_option_function<std::string>(name, [name, store](const std::string &text) { store(name, text); });
  };
  auto noteCompileOption = [this](const std::string &name, const std::string &text) {
    if (compileOption.empty())
      compileOption = name + " " + text;
  };
  verb.add_option_function<std::string>("--target", [this, noteCompileOption](const std::string &text) {
    compile.target = text;
    noteCompileOption("--target", text);
  });
  onInteger("--warps", [this, noteCompileOption](const char *name, const std::string &text) {
    compile.warps = int(parseIntegerOption(name, text, 1, 16));
    compile.warpsChosen = true;
    noteCompileOption(name, text);
  });
  verb.add_option_function<std::string>("--warp-pipeline", [this, noteCompileOption](const std::string &text) {
    compile.warpPipelines = parseWarpPipelines("--warp-pipeline", text);
    noteCompileOption("--warp-pipeline", text);
  });
  onInteger("--lds", [this](const char *name, const std::string &text) {
    run.dynamicLdsBytes = parseIntegerOption(name, text, 0);
  });
  onInteger("--devices", [this](const char *name, const std::string &text) {
    run.devices = unsigned(parseIntegerOption(name, text, 1, 64));
  });
  onInteger("--resident", [this](const char *name, const std::string &text) {
    run.resident = uint32_t(parseIntegerOption(name, text, 1));
  });
  onInteger("--limit", [this](const char *name, const std::string &text) {
    run.instructionLimit = parseUnsignedOption(name, text, 1);
  });
  verb.add_flag_callback("--no-preload", [this] { run.preloads = false; });
}

/// What is compiled already would run as it is, whatever the option says.
static void refuseCompileOption(const std::string &input, const std::string &option) {
  KernelFile file = readAnyKernelFile(input);
  if (file.isPackage || file.isElf)
    throw inputError(fmt::format("{} is compiled already: `{}` cannot change it", sourceName(input), option),
                     {fmt::format("leave `{}` out, or give the kernel's text", option)});
}

/// A package and a text say their block themselves; the same one may be repeated.
void KernelOptions::takeBlock(const CodeObjectFile &file) {
  if (!file.threads)
    return;
  if (block.empty())
    block = std::to_string(file.threads);
  else if (parseExtents("--block", block) != std::array<int64_t, 3>{file.threads, 1, 1})
    throw inputError(
        fmt::format("`--block {}`: kernel `{}` is compiled for {} work-items", block, file.kernel, file.threads),
        {"leave `--block` out"});
}

std::string KernelOptions::parse(const std::string &verb) {
  if (input.empty())
    throw inputError(fmt::format("no code object: `heddle {}` wants a file", verb),
                     {fmt::format("`heddle {} --help` shows the options", verb)});
  compile.kernel = run.kernel;
  if (!compileOption.empty())
    refuseCompileOption(input, compileOption);
  CodeObjectFile file = readCodeObject(input, compile);
  takeBlock(file);
  if (!file.kernel.empty() && !run.kernel.empty() && run.kernel != file.kernel)
    throw inputError(fmt::format("`--kernel {}`: {} has kernel `{}`", run.kernel, sourceName(input), file.kernel),
                     {"leave `--kernel` out"});
  if (!file.kernel.empty())
    run.kernel = file.kernel;
  if (!run.dynamicLdsBytes)
    run.dynamicLdsBytes = int64_t(file.sharedBytes);
  if (grid.empty() || block.empty())
    throw inputError(
        fmt::format("no {}: `heddle {}` wants `--grid X[,Y[,Z]]`, the workgroups, and `--block X[,Y[,Z]]`, "
                    "the work-items of each",
                    grid.empty() ? "grid" : "block", verb));
  run.grid = parseExtents("--grid", grid);
  run.block = parseExtents("--block", block);
  for (const std::string &text : arguments)
    run.arguments.push_back(parseNamedValue(text, "--arg"));
  for (const std::string &text : buffers)
    run.buffers.push_back(parseNamedValue(text, "--buffer"));
  run.package = file.package;
  return file.bytes;
}

std::string KernelOptions::commandLine() const {
  std::string line = "heddle simulate " + quoteForShell(input);
  auto add = [&line](const std::string &option, const std::string &value) {
    line += " " + option + " " + quoteForShell(value);
  };
  if (compile.target != CompileOptions().target)
    add("--target", compile.target);
  if (compile.warps != CompileOptions().warps)
    add("--warps", std::to_string(compile.warps));
  if (compile.warpPipelines != CompileOptions().warpPipelines)
    add("--warp-pipeline", nameOf(compile.warpPipelines));
  if (!run.kernel.empty())
    add("--kernel", run.kernel);
  add("--grid", grid);
  add("--block", block);
  for (const std::string &text : arguments)
    add("--arg", text);
  if (!run.kernarg.empty())
    add("--kernarg", run.kernarg);
  for (const std::string &text : buffers)
    add("--buffer", text);
  if (run.dynamicLdsBytes)
    add("--lds", std::to_string(run.dynamicLdsBytes));
  if (run.devices > 1)
    add("--devices", std::to_string(run.devices));
  if (!run.preloads)
    line += " --no-preload";
  if (run.resident)
    add("--resident", std::to_string(run.resident));
  if (run.instructionLimit)
    add("--limit", std::to_string(run.instructionLimit));
  return line;
}

} // namespace heddle
