// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `heddle simulate`
#include "api/Simulate.h"
#include "support/File.h"
#include "support/Npy.h"
#include "tools/Arrays.h"
#include "tools/Output.h"
#include "tools/Verbs.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <nlohmann/json.hpp>

namespace heddle {
namespace {

constexpr const char *help = R"(heddle simulate OBJECT [options]: runs a kernel of an AMD code object on this processor

  heddle simulate add.hsaco --grid 4 --block 256 --arg x=@x.npy --arg y=rand:f32[1024]:7 --arg out=f32[1024] --out out=-
  heddle simulate lib.hsaco --kernel scan --grid 1 --block 64 --arg 0=@x.npy --arg 1=f32[64] --arg 2=64 --out 1=out.npy

  OBJECT               a linked code object (.hsaco) for gfx942 or gfx950, of version 5 or 6
  --kernel NAME        which kernel, when there are several
  --grid X[,Y[,Z]]     workgroups
  --block X[,Y[,Z]]    work-items of a workgroup, at most 1024
  --arg NAME=VALUE     one for each argument, by its name or its position from 0; VALUE is a number or a buffer:
                         @file.npy, f32[64,128] (zeros), rand:bf16[64,128]:SEED, ptrs:A,B (addresses of buffers)
  --buffer NAME=VALUE  a buffer that is no argument
  --out NAME=FILE      write a buffer after the run as .npy; - prints it
  --lds BYTES          dynamic LDS beside what the kernel declares
  --policy NAME        when registers get what memory operations bring: earliest (at once, the default), or latest (when a
                       wait demands it, so that a missing wait shows)
  --no-preload         the firmware preloads no arguments: the kernel loads them itself
  --seed N             of the patterns in registers, LDS and scratch that nothing has written
  --resident N         workgroups alive at once; default the chip's compute units
  --limit N            stop after N instructions of waves; default 4294967296
  --trace              each instruction to standard error
  --json               counts and results as JSON
  --list-instructions CHIP   the instructions that the simulator has, and nothing else
)";

struct SimulateVerbRequest {
  std::string input, grid, block, listedChip;
  std::vector<std::string> arguments, buffers, outputs;
  SimulateRequest run;
  bool trace = false, json = false;
};

uint64_t parseUnsignedOption(const std::string &option, const std::string &text) {
  uint64_t value = 0;
  auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || stop != text.data() + text.size())
    throw inputError(fmt::format("`{} {}` is not an integer from 0 to 2^64-1", option, text));
  return value;
}

std::string describeRun(const SimulateResult &result) {
  return fmt::format(
      "{} on {}: {} workgroups, {} waves, {} instructions in {:.3f} s of processor time ({:.1f} million a second)\n",
      result.kernel, result.chip, result.groups, result.waves, result.instructions, result.seconds,
      double(result.instructions) / std::max(result.seconds, 1e-9) * 1e-6);
}

void printResult(const SimulateResult &result, const std::vector<NamedValue> &files, bool asJson) {
  nlohmann::ordered_json json = {{"kernel", result.kernel},
                                 {"chip", result.chip},
                                 {"workgroups", result.groups},
                                 {"waves", result.waves},
                                 {"instructions", result.instructions},
                                 {"seconds", result.seconds}};
  std::string text;
  for (size_t i = 0; i < files.size(); ++i) {
    const Array &array = result.outputs[i];
    if (files[i].value != "-")
      writeNpy(files[i].value, {array.dtype, array.shape, array.bytes});
    else
      text += formatArray(array);
    json["outputs"].push_back(arrayAsJson(array, files[i].value));
  }
  if (asJson)
    printJson(json);
  else
    printData(text + describeRun(result));
}

int listInstructions(const std::string &chip, bool asJson) {
  std::vector<std::string> names = simulatedInstructions(chip);
  if (asJson)
    printJson(names);
  else
    printData(fmt::format("{}\n", fmt::join(names, "\n")));
  return 0;
}

int simulateVerb(SimulateVerbRequest &request) {
  if (!request.listedChip.empty())
    return listInstructions(request.listedChip, request.json);
  SimulateRequest &run = request.run;
  if (request.input.empty())
    throw inputError("no code object: `heddle simulate` wants a file", {"`heddle simulate --help` shows the options"});
  if (request.grid.empty() || request.block.empty())
    throw inputError(fmt::format("no {}: `heddle simulate` wants `--grid X[,Y[,Z]]`, the workgroups, and `--block "
                                 "X[,Y[,Z]]`, the work-items of each",
                                 request.grid.empty() ? "grid" : "block"));
  run.grid = parseExtents("--grid", request.grid);
  run.block = parseExtents("--block", request.block);
  for (const std::string &text : request.arguments)
    run.arguments.push_back(parseNamedValue(text, "--arg"));
  for (const std::string &text : request.buffers)
    run.buffers.push_back(parseNamedValue(text, "--buffer"));
  std::vector<NamedValue> files;
  for (const std::string &text : request.outputs) {
    files.push_back(parseNamedValue(text, "--out"));
    run.outputs.push_back(files.back().name);
    if (files.back().value != "-")
      checkWritable(files.back().value);
  }
  if (request.trace)
    run.trace = [](const std::string &line) { say(line); };
  printResult(simulateKernel(readFile(request.input), request.input, run), files, request.json);
  return 0;
}

} // namespace

void addSimulate(CLI::App &program, VerbAction &action) {
  auto request = std::make_shared<SimulateVerbRequest>();
  CLI::App *verb = program.add_subcommand("simulate");
  verb->footer(help);
  verb->set_help_flag("-h,--help");
  verb->add_option("object", request->input);
  verb->add_option("--kernel", request->run.kernel);
  verb->add_option("--grid", request->grid);
  verb->add_option("--block", request->block);
  verb->add_option("--arg", request->arguments)->allow_extra_args(false);
  verb->add_option("--buffer", request->buffers)->allow_extra_args(false);
  verb->add_option("--out", request->outputs)->allow_extra_args(false);
  verb->add_option_function<std::string>("--lds", [request](const std::string &text) {
    request->run.dynamicLdsBytes = parseIntegerOption("--lds", text, 0);
  });
  verb->add_option("--policy", request->run.policy);
  verb->add_flag_callback("--no-preload", [request] { request->run.preloads = false; });
  verb->add_option_function<std::string>(
      "--seed", [request](const std::string &text) { request->run.seed = parseUnsignedOption("--seed", text); });
  verb->add_option_function<std::string>("--resident", [request](const std::string &text) {
    request->run.resident = uint32_t(parseIntegerOption("--resident", text, 1));
  });
  verb->add_option_function<std::string>("--limit", [request](const std::string &text) {
    request->run.instructionLimit = parseUnsignedOption("--limit", text);
  });
  verb->add_flag("--trace", request->trace);
  verb->add_option("--list-instructions", request->listedChip);
  verb->add_flag("--json", request->json);
  verb->callback([request, &action] { action = [request] { return simulateVerb(*request); }; });
}

} // namespace heddle
