// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `heddle run`
#include "api/Heddle.h"
#include "support/File.h"
#include "support/Npy.h"
#include "tools/ArgumentOptions.h"
#include "tools/Arrays.h"
#include "tools/KernelLibrary.h"
#include "tools/Output.h"
#include "tools/Ranks.h"
#include "tools/RunModule.h"
#include "tools/Verbs.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

namespace heddle {
namespace {

constexpr const char *help =
    R"(heddle run KERNEL|MODULE|kernel:NAME [options]: runs a kernel, or an HLO module on every rank

  heddle run add.ttir --grid 4 --arg x=@x.npy --arg y=rand:f32[4096]:7 --arg out=f32[4096] --arg n=4096 --out out=-
  heddle run add.hpkg --grid 4 ... --out out=out.npy --compare out=@expected.npy:1e-5,1e-6
  heddle run add.hpkg --grid 4 ... --warmup 10 --repeat 100
  heddle run layer.hlo --devices 4 --arg p0=rand:1 --arg weight@2=@w.npy --out 0=out.npy
  heddle run kernel:fp8_rowwise_2d --shape M=64,K=512 --arg pow2=true --verify --out scales=-

  KERNEL               Triton IR text or a package; - reads standard input, which may also be a module
  --grid X[,Y[,Z]]     program instances
  --arg NAME=VALUE     one for each argument; VALUE is a number or a buffer:
                         @file.npy, f32[64,128] (zeros), rand:bf16[64,128]:SEED, ptrs:A,B (addresses of buffers)
  --buffer NAME=VALUE  a buffer that is no argument
  --out NAME=FILE      write a buffer after the run as .npy; - prints it
  --compare NAME=@FILE[:RELATIVE,ABSOLUTE]   exit 1 when a buffer differs from a file by more than this
  --device NAME        host, host:1, ..., cuda:0, hip:0, ..., sim:gfx942, sim:gfx950: text is compiled for it. Default for
                       a package, a code object and a text that names its target: sim:CHIP for AMD's chips (the simulator, even
                       where there is a GPU), cuda:0 for NVIDIA's; for all else host
  --block N            work-items of a workgroup, when KERNEL is an AMD code object; --kernel NAME is one of several
  --cooperative        all program instances are resident at once
  --timeout SECONDS    stop a kernel of the host or of a simulated device after this time; a GPU's cannot be stopped;
                       default HEDDLE_LAUNCH_TIMEOUT, on a simulated device only of waiting. Of a module it also limits
                       each loop with all its trips (no limit by default) and the waits of each collective (30 by default)
  --repeat N, --warmup N   launch again N times after warming up, and print p50, min and max milliseconds
  --json               results as JSON; what is not finite as a string
  --check, --cpu NAME, --warps N, --stages N, --no-warp-groups, --warp-pipeline auto|off|always,
  --exact-math, --fp-fusion, --kernel NAME, -O LEVEL
                       as for heddle compile; only when KERNEL is text

  kernel:NAME          of the library (docs/kernels.md); `kernel:` lists all, `kernel:NAME` alone prints what one takes:
  --arg NAME=VALUE     an array, as above, an option, or a tile parameter; --out NAME=FILE a result
  --shape M=64,K=512   makes the arrays that are not given, of --elements TYPE (default bf16)
  --tuned              use the tile parameters that heddle tune found, where there are any
  --permute x=0,2,1    dimension i of x is this dimension of the array that was given; --strides x=512,1 in elements
  --verify             compare with the plain reference, bit by bit; exit 1 where they differ

  MODULE               HLO text; takes --arg, --out, --device, --timeout, --repeat, --warmup, --json, and
  --devices N          ranks; replicas times partitions, where the module's header leaves one open
  --processes N        the same, each rank a process of its own, which this one starts; --bootstrap ADDRESS, --rank R: this
                       process is one of the ranks (as for heddle bench); rank 0 prints and writes all
  --arg P[@RANK]=VALUE a parameter by name or as p0, p1, ..., on every rank or one; also rand:SEED, NUMBER (in every
                       element); what is not given is random
  --out R[@RANK]=FILE  result R; without @RANK every rank writes a file of its own, out.0.npy, out.1.npy, ...
  --algorithm NAME     of the collectives; --no-fuse: no code is fused into their kernels
  --matmuls HOW        beside collectives: auto, fused into their kernels, or apart
  --quantise fp8       sums of all-reduces travel as FP8, with an error
)";

struct ComparisonRequest {
  std::string name, path;
  std::optional<Tolerance> tolerance;
};

struct RunVerbRequest {
  std::string input, grid;
  std::string compileOption; ///< the first option given that only kernel text can obey, with its value
  CompileOptions options;
  std::vector<std::string> arguments, buffers, outputs, comparisons;
  RunRequest run;
  ModuleRequest module;
  LibraryRequest library;
  std::vector<std::string> shapes;
  RankOptions ranks;
  std::string libraryOption;              ///< the first option given that only a kernel of the library has
  std::string moduleOption, kernelOption; ///< the first option given that only a module, or only a kernel has
  int block = 0;                          ///< work-items of a workgroup of a code object's kernel
  bool namesDevice = false;
  bool json = false;
};

double parseTolerance(const std::string &text, const std::string &whole) {
  std::optional<double> value = parseNumber(text);
  if (!value || !(*value >= 0))
    throw inputError(fmt::format("`{}` in `--compare {}` is no tolerance", text, whole), {"a tolerance is 0 or above"});
  return *value;
}

/// `out=@file.npy:1e-3,1e-5`; a colon that neither follows `.npy` nor precedes a comma belongs to the path.
ComparisonRequest parseComparison(const std::string &text) {
  NamedValue value = parseNamedValue(text, "--compare");
  if (!value.value.starts_with("@"))
    throw inputError(fmt::format("`--compare {}` is not NAME=@file.npy", text));
  ComparisonRequest request{value.name, value.value.substr(1), std::nullopt};
  size_t colon = request.path.rfind(':'), comma = request.path.rfind(',');
  bool isPair = colon != std::string::npos && comma != std::string::npos && comma > colon;
  if (colon != std::string::npos && !isPair && request.path.substr(0, colon).ends_with(".npy"))
    throw inputError(fmt::format("`--compare {}`: `{}` is not `:RELATIVE,ABSOLUTE`", text, request.path.substr(colon)),
                     {"two tolerances follow the file, as in `:1e-5,1e-6`"});
  if (isPair) {
    request.tolerance = Tolerance{parseTolerance(request.path.substr(colon + 1, comma - colon - 1), text),
                                  parseTolerance(request.path.substr(comma + 1), text)};
    request.path.erase(colon);
  }
  return request;
}

struct Times {
  double p50, minimum, maximum;
};

Times summarize(std::vector<double> milliseconds) {
  std::sort(milliseconds.begin(), milliseconds.end());
  return {milliseconds[milliseconds.size() / 2], milliseconds.front(), milliseconds.back()};
}

/// Gathers what a run has to show: text for people, or JSON.
class Report {
public:
  explicit Report(bool asJson) : asJson(asJson) {}

  void addArray(const Array &array, const std::string &file) {
    if (file != "-")
      writeNpy(file, {array.dtype, array.shape, array.bytes});
    else
      text += formatArray(array);
    json["outputs"].push_back(arrayAsJson(array, file));
  }

  void addComparison(const Array &array, const ComparisonRequest &request) {
    Tolerance tolerance = request.tolerance.value_or(defaultTolerance(array.type));
    Comparison result = compareWithFile(array, request.path, tolerance);
    agrees &= result.mismatches == 0;
    std::string bounds = fmt::format("relative {:g}, absolute {:g}", tolerance.relative, tolerance.absolute);
    if (result.mismatches == 0)
      text +=
          fmt::format("{} agrees with {}: {} elements within {}\n", array.name, request.path, result.elements, bounds);
    else
      text += fmt::format("{} differs from {} in {} of {} elements beyond {}\n  first {}\n  worst {}\n", array.name,
                          request.path, result.mismatches, result.elements, bounds, result.first, result.worst);
    json["comparisons"].push_back({{"name", array.name},
                                   {"file", request.path},
                                   {"elements", result.elements},
                                   {"mismatches", result.mismatches},
                                   {"first", result.first},
                                   {"worst", result.worst},
                                   {"relative", tolerance.relative},
                                   {"absolute", tolerance.absolute}});
  }

  void addTimes(const std::vector<double> &milliseconds) {
    if (milliseconds.empty())
      return;
    Times times = summarize(milliseconds);
    text += fmt::format("{} launches: p50 {:.4f} ms, min {:.4f} ms, max {:.4f} ms\n", milliseconds.size(), times.p50,
                        times.minimum, times.maximum);
    json["milliseconds"] = {
        {"launches", milliseconds.size()}, {"p50", times.p50}, {"min", times.minimum}, {"max", times.maximum}};
  }

  void print() const {
    if (asJson)
      printJson(json);
    else if (!text.empty())
      printData(text);
  }

  nlohmann::ordered_json json;
  bool agrees = true;

private:
  bool asJson;
  std::string text;
};

/// The buffer of that name among the results.
const Array &resultNamed(const RunResult &result, const std::string &name) {
  return *std::find_if(result.outputs.begin(), result.outputs.end(), [&](const Array &a) { return a.name == name; });
}

void addOutput(RunRequest &run, const std::string &name) {
  if (std::find(run.outputs.begin(), run.outputs.end(), name) == run.outputs.end())
    run.outputs.push_back(name);
}

int runModuleFile(RunVerbRequest &request) {
  if (!request.kernelOption.empty())
    throw inputError(
        fmt::format("`{}` is for kernels, and {} is a module", request.kernelOption, sourceName(request.input)));
  ModuleRequest &module = request.module;
  if ((request.ranks.starts() || !request.ranks.bootstrap.empty()) && module.devices)
    throw inputError(fmt::format("`--devices {}` and `--{}`: each process has one device", module.devices,
                                 request.ranks.starts() ? "processes" : "bootstrap"),
                     {"leave `--devices` out"});
  if (request.ranks.starts() && request.input == "-")
    throw inputError("`-` and `--processes`: standard input has one reader", {"give the module as a file"});
  if (request.ranks.starts())
    return runRanks(request.ranks.processes);
  module.processes = request.ranks.bootstrapOptions();
  module.path = request.input;
  module.device = request.run.device;
  module.repeat = request.run.repeat;
  module.warmup = request.run.warmup;
  module.timeoutSeconds = request.run.timeoutSeconds;
  for (const std::string &text : request.arguments)
    module.arguments.push_back(parseNamedValue(text, "--arg"));
  return runModuleVerb(module, request.outputs, request.json);
}

int runFromLibrary(RunVerbRequest &request) {
  LibraryRequest &library = request.library;
  for (const std::string &option : {request.kernelOption, request.moduleOption})
    if (!option.empty() && option != "--check" && option != "-O" && option != "--exact-math" && option != "--fp-fusion")
      throw inputError(fmt::format("`{}` is for files, and `{}` is a kernel of the library", option, request.input),
                       {"`heddle run kernel:NAME` alone prints what a kernel takes"});
  if (request.shapes.size() > 1)
    throw inputError(fmt::format("`--shape {}` and `--shape {}`: a run has one", request.shapes[0], request.shapes[1]),
                     {"`heddle bench` takes several"});
  library.kernel = request.input;
  library.device = request.run.device;
  library.shape = request.shapes.empty() ? "" : request.shapes[0];
  library.options = request.options;
  library.warmup = request.run.warmup;
  library.repeat = request.run.repeat;
  for (const std::string &text : request.arguments)
    library.arguments.push_back(parseNamedValue(text, "--arg"));
  return namingOptions("`--arg NAME=VALUE` gives an array, an option or a tile parameter",
                       [&] { return runLibraryVerb(library, request.outputs, request.json); });
}

int runVerb(RunVerbRequest &request) {
  RunRequest &run = request.run;
  if (isLibraryKernel(request.input))
    return runFromLibrary(request);
  refuseLibraryOption(request.libraryOption, request.input, "run");
  if (isModuleFile(request.input))
    return runModuleFile(request);
  if (!request.moduleOption.empty())
    throw inputError(
        fmt::format("`{}` is for HLO modules, and {} is a kernel", request.moduleOption, sourceName(request.input)));
  if (request.input.empty())
    throw inputError("no kernel: `heddle run` wants a file", {"`heddle run --help` shows the options"});
  if (request.grid.empty()) {
    readKernelFile(request.input); // what is no kernel needs no grid
    throw inputError("no grid: `heddle run` wants `--grid X[,Y[,Z]]`, the number of program instances");
  }
  run.grid = parseExtents("--grid", request.grid);
  for (const std::string &text : request.arguments)
    run.arguments.push_back(parseNamedValue(text, "--arg"));
  for (const std::string &text : request.buffers)
    run.buffers.push_back(parseNamedValue(text, "--buffer"));
  std::vector<NamedValue> files;
  std::vector<ComparisonRequest> comparisons;
  for (const std::string &text : request.outputs) {
    files.push_back(parseNamedValue(text, "--out"));
    addOutput(run, files.back().name);
  }
  for (const std::string &text : request.comparisons) {
    comparisons.push_back(parseComparison(text));
    addOutput(run, comparisons.back().name);
  }
  for (const NamedValue &file : files)
    if (file.value != "-")
      checkWritable(file.value);

  if (!request.namesDevice)
    run.device = defaultDevice(request.input);
  request.options.target = deviceTarget(run.device);
  bool isCodeObject = request.block > 0;
  if (isCodeObject && !request.compileOption.empty() && !request.compileOption.starts_with("--kernel"))
    throw inputError(fmt::format("`--block` is for code objects, which are compiled already: `{}` cannot change them",
                                 request.compileOption));
  Package package = isCodeObject ? loadCodeObject(request.input, request.options.kernel, request.block)
                                 : loadOrCompile(request.input, request.options, request.compileOption);
  RunResult result = namingOptions(kernelArgumentOptions, [&] { return runKernel(package, run); });

  Report report(request.json);
  report.json["kernel"] = package.kernel;
  report.json["device"] = run.device;
  report.json["grid"] = run.grid;
  for (const NamedValue &file : files)
    report.addArray(resultNamed(result, file.name), file.value);
  for (const ComparisonRequest &comparison : comparisons)
    report.addComparison(resultNamed(result, comparison.name), comparison);
  report.addTimes(result.milliseconds);
  report.print();
  return report.agrees ? 0 : int(ErrorClass::WrongResult);
}

} // namespace

void addRun(CLI::App &program, VerbAction &action, const std::string &commandLine) {
  auto request = std::make_shared<RunVerbRequest>();
  request->options.commandLine = commandLine;
  CLI::App *verb = program.add_subcommand("run");
  verb->footer(help);
  verb->set_help_flag("-h,--help");
  CompileOptions &options = request->options;
  verb->add_option("kernel", request->input);
  verb->add_option("--grid", request->grid);
  verb->add_option("--arg", request->arguments)->allow_extra_args(false);
  verb->add_option("--buffer", request->buffers)->allow_extra_args(false);
  verb->add_option("--out", request->outputs)->allow_extra_args(false);
  verb->add_option("--compare", request->comparisons)->allow_extra_args(false);
  verb->add_option_function<std::string>("--device", [request](const std::string &name) {
    request->run.device = name;
    request->namesDevice = true;
  });
  verb->add_flag("--cooperative", request->run.cooperative);
  verb->add_option_function<std::string>("--timeout", [request](const std::string &text) {
    request->run.timeoutSeconds = parseTimeoutOption("--timeout", text);
  });
  verb->add_option_function<std::string>("--repeat", [request](const std::string &text) {
    request->run.repeat = parseIntegerOption("--repeat", text, 0);
  });
  verb->add_option_function<std::string>("--warmup", [request](const std::string &text) {
    request->run.warmup = parseIntegerOption("--warmup", text, 0);
  });
  verb->add_option_function<std::string>(
      "--block", [request](const std::string &text) { request->block = parseIntegerOption("--block", text, 1, 1024); });
  verb->add_flag("--json", request->json);
  verb->add_flag("--verify", request->library.verify);
  addLibraryOptions(*verb, request->library, request->shapes);
  verb->add_option("--algorithm", request->module.algorithm);
  verb->add_flag_callback("--no-fuse", [request] { request->module.fuse = false; });
  verb->add_option("--matmuls", request->module.matmuls);
  verb->add_option("--quantise", request->module.quantise);
  verb->add_option_function<std::string>("--devices", [request](const std::string &text) {
    request->module.devices = parseIntegerOption("--devices", text, 1, 64);
  });
  addRankOptions(*verb, request->ranks);
  verb->add_flag("--check", options.checkAccesses);
  verb->add_option("--cpu", options.processor);
  verb->add_option("--kernel", options.kernel);
  verb->add_option_function<std::string>("--warps", [request](const std::string &text) {
    request->options.warps = parseIntegerOption("--warps", text, 1, 32);
    request->options.warpsChosen = true;
  });
  verb->add_option_function<std::string>("--stages", [request](const std::string &text) {
    request->options.stages = parseIntegerOption("--stages", text, 1, 16);
  });
  verb->add_flag_callback("--no-warp-groups", [request] { request->options.warpGroups = false; });
  verb->add_option_function<std::string>("--warp-pipeline", [request](const std::string &text) {
    request->options.warpPipelines = parseWarpPipelines("--warp-pipeline", text);
  });
  verb->add_flag("--exact-math", options.exactMath);
  verb->add_flag("--fp-fusion", options.fpFusion);
  verb->add_option_function<std::string>("-O", [request](const std::string &text) {
    request->options.optimizationLevel = parseIntegerOption("-O", text, 0, 3);
  });
  verb->callback([request, verb, &action] {
    for (const char *name : {"--cpu", "--warps", "--stages", "--no-warp-groups", "--warp-pipeline", "--exact-math",
                             "--fp-fusion", "-O", "--kernel"})
      if (CLI::Option *option = verb->get_option(name); option->count() && request->compileOption.empty())
        request->compileOption = fmt::format("{} {}", name, option->results().back());
    request->libraryOption = request->library.verify ? "--verify" : givenLibraryOption(*verb);
    for (const char *name :
         {"--devices", "--processes", "--bootstrap", "--rank", "--algorithm", "--no-fuse", "--matmuls", "--quantise"})
      if (verb->get_option(name)->count() && request->moduleOption.empty())
        request->moduleOption = name;
    for (const char *name :
         {"--grid", "--block", "--buffer", "--compare", "--cooperative", "--check", "--cpu", "--warps", "--stages",
          "--no-warp-groups", "--warp-pipeline", "--exact-math", "--fp-fusion", "--kernel", "-O"})
      if (verb->get_option(name)->count() && request->kernelOption.empty())
        request->kernelOption = name;
    action = [request] { return runVerb(*request); };
  });
}

} // namespace heddle
