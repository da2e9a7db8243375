// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes executors by name, writes kernels of a few operations, and compares their results.
#include "tests/numerics/Support.h"
#include "compiler/pipeline/Compile.h"
#include <cctype>
#include <cstdlib>
#include <fmt/ranges.h>
#include <regex>

namespace heddle::numerics {

// More threads than a small machine has cores: instances really interleave. Set before the first device opens.
static const int threadsAreMany = ::setenv("HEDDLE_HOST_THREADS", "8", /*replace=*/0);

std::unique_ptr<Executor> makeExecutor(const std::string &name) {
  (void)threadsAreMany;
  return executors::makeExecutor(name);
}

std::vector<std::string> executorsUnderTest(std::vector<std::string> more) {
  std::string device = testDevice();
  if (device != "host")
    return {device};
  more.insert(more.end(), {device, "host_checked"});
  return more;
}

std::string testNameOf(std::string executor) {
  for (char &c : executor)
    c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return executor;
}

std::string kernelText(const std::string &parameters, const std::string &body) {
  return "tt.func public @k(" + parameters + ") {\n" + body + "\n  tt.return\n}\n";
}

std::vector<Argument> runOnDevice(const std::string &parameters, const std::string &body,
                                  std::vector<Argument> arguments, Grid grid) {
  makeExecutor(testDevice())->run(kernelText(parameters, body), grid, arguments);
  return arguments;
}

void expectAsReference(const std::string &parameters, const std::string &body, std::vector<Argument> arguments,
                       Grid grid) {
  std::vector<Argument> expected = arguments;
  makeExecutor("reference")->run(kernelText(parameters, body), grid, expected);
  std::vector<Argument> actual = runOnDevice(parameters, body, std::move(arguments), grid);
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(actual[i].bytes, expected[i].bytes) << "argument " << i;
}

void expectStages(const std::string &text, const std::string &device, const std::string &warpPipelines) {
  CompileOptions options;
  options.target = device.substr(device.find(':') + 1);
  options.warps = 8;
  options.warpPipelines = parseWarpPipelines("--warp-pipeline", warpPipelines);
  options.stopAfter = "find-stages";
  CompileResult result = compile(text, "kernel", options);
  EXPECT_NE(result.text.find("simt.stage "), std::string::npos) << fmt::format("{}", fmt::join(result.remarks, "\n"));
}

void runOnGpu(const std::string &text, Grid grid, std::vector<Argument> &arguments, int warps, bool warpGroups,
              const std::string &warpPipelines) {
  if (std::string device = testDevice(); device.starts_with("cuda")) {
    executors::DeviceOptions options;
    options.warps = warps;
    options.warpGroups = warpGroups;
    options.warpPipelines = warpPipelines;
    return executors::makeDeviceExecutor(device, options)->run(text, grid, arguments);
  }
  executors::ThreadsOptions options;
  options.warps = warps;
  options.warpGroups = warpGroups;
  options.warpPipelines = warpPipelines;
  executors::makeThreadsExecutor(options)->run(text, grid, arguments);
}

std::string mapText(const std::vector<std::string> &inputTypes, const std::string &resultType, const std::string &body,
                    int elements) {
  std::string size = std::to_string(elements);
  std::string parameters, text = "\n  %one_tile = arith.constant " + size + R"( : i32
  %pid = tt.get_program_id x : i32
  %base = arith.muli %pid, %one_tile : i32
  %bases = tt.splat %base : i32 -> @i32
  %range = tt.make_range {end = )" +
                                 size + R"( : i32, start = 0 : i32} : @i32
  %i = arith.addi %bases, %range : @i32
  %ns = tt.splat %n : i32 -> @i32
  %inside = arith.cmpi slt, %i, %ns : @i32
)";
  auto pointers = [&](const std::string &name, const std::string &type) {
    std::string tile = "tensor<" + size + "x!tt.ptr<" + type + ">>";
    parameters += "%p" + name + ": !tt.ptr<" + type + ">, ";
    text += "  %s" + name + " = tt.splat %p" + name + " : !tt.ptr<" + type + "> -> " + tile + "\n";
    text += "  %q" + name + " = tt.addptr %s" + name + ", %i : " + tile + ", @i32\n";
    return tile;
  };
  for (size_t i = 0; i < inputTypes.size(); ++i) {
    std::string name(1, char('a' + i)), tile = pointers(name, inputTypes[i]);
    text += "  %" + name + " = tt.load %q" + name + ", %inside : " + tile + "\n";
  }
  std::string tile = pointers("r", resultType);
  text += body + "\n  tt.store %qr, %r, %inside : " + tile;
  return kernelText(parameters + "%n: i32", std::regex_replace(text, std::regex("@(\\w+)"), "tensor<" + size + "x$1>"));
}

std::string show(double value) {
  char text[80];
  std::snprintf(text, sizeof text, "%.17g (%a)", value, value);
  return text;
}

} // namespace heddle::numerics
