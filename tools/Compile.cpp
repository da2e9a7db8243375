// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `heddle compile`
#include "api/Heddle.h"
#include "api/Module.h"
#include "support/File.h"
#include "tools/KernelLibrary.h"
#include "tools/Output.h"
#include "tools/Verbs.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

namespace heddle {
namespace {

constexpr const char *help = R"(heddle compile KERNEL.ttir|kernel:NAME [options]: a kernel's Triton IR text to a package

  heddle compile matmul.ttir -o matmul.hpkg
  heddle compile matmul.ttir --cpu x86-64-v4 --time
  heddle compile matmul.ttir --to llvm-ir            prints what that phase left
  heddle compile matmul.ttir --dump-phases phases    writes phases/01-parse.mlir, ...

  heddle compile kernel:fp8_rowwise_2d --shape M=16640,K=5120 --target sm_90 -o folder

  KERNEL.ttir          the text that Triton prints as kernel.asm['ttir'], or kernel.asm['ttgir'] for AMD's chips
                       (docs/ttgir.md); - reads standard input
  kernel:NAME          of the library: the packages of its launches and plan.json into the folder -o; takes --target,
                       --to, and as heddle run --arg, --shape, --elements, --permute, --strides and --tuned
  -o, --output FILE    the package; - is standard output; default KERNEL.hpkg in this folder
  --target NAME        host (the default; TTGIR: the chip that it names); sm_90: PTX for NVIDIA H100 and H200; gfx942,
                       gfx950: AMD MI300X, MI350X
  --cpu NAME           host: processor to generate code for: native (the default), x86-64-v3, znver4, ...
  --warps N            GPUs: warps of a block, a power of two up to 32 (AMD: 16); default 4; TTGIR: its own
  --stages N           GPUs: stages of loops over matmuls: what they multiply is loaded N - 1 iterations ahead; 1: no
                       prefetch; default 3, AMD 2 where 3 would take LDS from a second block; a loop's tt.num_stages goes before
                       it; --remarks tells what was done
  --exact-math         GPUs: f32 exp, exp2, erf, tanh, sqrt and rsqrt as on the host, not approximated; on sm_90 division
                       also, which on AMD is always exact
  --fp-fusion          x * y + z of the program may become one instruction that rounds once, as with Triton's
                       enable_fp_fusion; without it the product and the sum are each rounded
  --no-warp-groups     sm_90: no warp-group MMA (wgmma); matmuls by single warps only (mma.sync)
  --warp-pipeline auto|off|always
                       auto (the default) lets two groups of warps execute the stages of a warp pipeline one stage
                       apart, written ones and, on AMD, those that it finds and estimates to be faster
                       (docs/warp-pipeline.md), and gives attention on sm_90 producer warps; always: stages also
                       where no estimate says that they are faster, but no producer warps; off: neither
  -O LEVEL             0 to 3; default 2; 3 is LLVM's whole pipeline
  --check              host: ask the device before each memory access; AMD: assert that a ring of shared memory has
                       the tile whose number is used, where nothing proves it
  --kernel NAME        the kernel, when the text has several
  --to PHASE           stop after a phase and print what it left; asm is the machine code
  --from PHASE         resume after this phase: the text is what --dump-phases wrote for it. --help-phases marks the
                       phases of the tile and simt level for which this works
  --dump-phases DIR    write what each phase left
  --verify-each        verify what each phase leaves, not only what the last one of each level does
  --llvm-passes TEXT   replace the optimiser's passes, in the notation of LLVM's opt
  --help-phases        list the phases of the target; with --json also the passes of each
  --remarks            what the compiler decided and why, to standard error: how loads in loops are prefetched, which
                       loops get the stages of a warp pipeline, on sm_90 how many blocks are to fit; the package keeps
                       it for `heddle inspect`
  --time               each phase's milliseconds, to standard error
  --repeat N           compile N times in this process; the times are medians, without the first
  --json               a description of the result, to standard output
)";

struct CompileRequest {
  std::string input, output;
  CompileOptions options;
  bool time = false, remarks = false, json = false, listPhases = false, namesProcessor = false, namesTarget = false;
  int repeat = 1;
  LibraryRequest library; ///< of kernels of the library
  std::vector<std::string> shapes, arguments;
  std::string libraryOption; ///< the first option given that only they have
  std::string fileOption;    ///< the first one that only files have
};

int listPhases(const std::string &target, bool asJson) {
  if (asJson) {
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const PhaseDescription &phase : describePhases(target))
      json.push_back({{"phase", phase.name},
                      {"leaves", phase.level},
                      {"resumes", phase.resumes},
                      {"does", phase.sentence},
                      {"passes", phase.passes}});
    printJson(json);
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {{"PHASE", "LEAVES", "--from", "WHAT IT DOES"}};
  for (const PhaseDescription &phase : describePhases(target))
    rows.push_back({phase.name, phase.level, phase.resumes ? "yes" : "no", phase.sentence});
  printData(formatTable(rows));
  return 0;
}

std::string defaultOutput(const std::string &input) {
  return input == "-" ? "kernel.hpkg" : std::filesystem::path(input).stem().string() + ".hpkg";
}

void sayTimes(const std::vector<PhaseTime> &times) {
  double total = 0;
  for (const PhaseTime &time : times) {
    say(fmt::format("{:<22} {:8.2f} ms", time.phase, time.milliseconds));
    total += time.milliseconds;
  }
  say(fmt::format("{:<22} {:8.2f} ms", "total", total));
}

/// The last result, with the median time of each phase over all but the first run: that one warms the process up.
CompileResult compileRepeatedly(const std::string &text, const CompileRequest &request) {
  std::vector<std::vector<double>> times;
  CompileResult result;
  for (int run = 0; run < request.repeat; ++run) {
    result = compile(text, sourceName(request.input), request.options);
    times.resize(result.times.size());
    for (size_t i = 0; i < times.size() && (run > 0 || request.repeat == 1); ++i)
      times[i].push_back(result.times[i].milliseconds);
  }
  for (size_t i = 0; i < times.size(); ++i) {
    std::sort(times[i].begin(), times[i].end());
    result.times[i].milliseconds = times[i][times[i].size() / 2];
  }
  return result;
}

nlohmann::ordered_json describeResult(const CompileResult &result, const std::string &output) {
  nlohmann::ordered_json json;
  json["package"] = nlohmann::ordered_json::parse(result.package.describe());
  json["file"] = output;
  json["binaryBytes"] = result.package.binary.size();
  for (const PhaseTime &time : result.times)
    json["milliseconds"][time.phase] = time.milliseconds;
  json["warnings"] = result.warnings;
  json["remarks"] = result.remarks;
  return json;
}

int compileFromLibrary(CompileRequest &request) {
  if (!request.fileOption.empty())
    throw inputError(
        fmt::format("`{}` is for files, and `{}` is a kernel of the library", request.fileOption, request.input),
        {"`heddle compile kernel:NAME` alone prints what a kernel takes"});
  if (request.output == "-")
    throw inputError("`-o -`: a kernel of the library is a folder of packages", {"give a folder, or `--to PHASE`"});
  if (request.shapes.size() > 1)
    throw inputError(
        fmt::format("`--shape {}` and `--shape {}`: a compilation has one", request.shapes[0], request.shapes[1]));
  request.library.kernel = request.input;
  request.library.shape = request.shapes.empty() ? "" : request.shapes[0];
  request.library.options = request.options;
  for (const std::string &text : request.arguments)
    request.library.arguments.push_back(parseNamedValue(text, "--arg"));
  return compileLibraryVerb(request.library, request.options.target, request.output, request.json);
}

int compileVerb(CompileRequest request) {
  if (request.listPhases)
    return listPhases(request.options.target, request.json);
  if (request.input.empty())
    throw inputError("no kernel: `heddle compile` wants a file", {"`heddle compile --help` shows the options"});
  if (isLibraryKernel(request.input))
    return compileFromLibrary(request);
  refuseLibraryOption(request.libraryOption, request.input, "compile");
  if (isModuleFile(request.input))
    throw inputError(
        sourceName(request.input) + " is an HLO module, `heddle compile` makes packages of kernels",
        {"`heddle run` runs a module, `heddle inspect` shows its launches, and with `--kernel` its kernels"});
  if (request.namesProcessor && request.options.target != "host")
    throw inputError(fmt::format("`--cpu {}` is for the target host, and this one is {}", request.options.processor,
                                 request.options.target),
                     {"leave `--cpu` out, or give `--target host`"});
  if (request.json && (request.output == "-" || !request.options.stopAfter.empty()))
    throw inputError("`--json` and " + std::string(request.output == "-" ? "`-o -`" : "`--to`") +
                     " both want standard output");
  bool stops = !request.options.stopAfter.empty(); // what it prints has no file by default
  std::string output = request.output.empty() ? stops ? "-" : defaultOutput(request.input) : request.output;
  std::string text = readKernelText(request.input);
  if (!request.namesTarget)
    request.options.target = targetOfText(text, request.options.target);
  if (output != "-")
    checkWritable(output);
  CompileResult result = compileRepeatedly(text, request);
  for (const std::string &warning : result.warnings)
    printWarning(warning);
  if (request.remarks)
    for (const std::string &remark : result.remarks)
      printRemark(remark);
  if (request.time)
    sayTimes(result.times);
  if (output == "-")
    printData(stops ? result.text : result.package.serialize());
  else if (stops)
    writeFileAtomically(output, result.text);
  else
    result.package.save(output);
  if (output == "-" || stops)
    return 0;
  if (request.json)
    printJson(describeResult(result, output));
  else
    say(fmt::format("{}: kernel `{}` for {}, {} bytes of code", output, result.package.kernel, result.package.processor,
                    result.package.binary.size()));
  return 0;
}

} // namespace

void addCompile(CLI::App &program, VerbAction &action, const std::string &commandLine) {
  auto request = std::make_shared<CompileRequest>();
  request->options.commandLine = commandLine;
  CLI::App *verb = program.add_subcommand("compile");
  verb->footer(help);
  verb->set_help_flag("-h,--help");
  CompileOptions &options = request->options;
  verb->add_option("kernel", request->input);
  verb->add_option("-o,--output", request->output);
  verb->add_option_function<std::string>("--target", [request](const std::string &text) {
    request->options.target = text;
    request->namesTarget = true;
  });
  verb->add_option_function<std::string>("--cpu", [request](const std::string &text) {
    request->options.processor = text;
    request->namesProcessor = true;
  });
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
  verb->add_flag("--check", options.checkAccesses);
  verb->add_option("--kernel", options.kernel);
  verb->add_option("--to", options.stopAfter);
  verb->add_option("--from", options.resumeAfter);
  verb->add_option("--dump-phases", options.dumpFolder);
  verb->add_flag("--verify-each", options.verifyEach);
  verb->add_option("--llvm-passes", options.llvmPasses);
  verb->add_flag("--help-phases", request->listPhases);
  verb->add_flag("--remarks", request->remarks);
  verb->add_flag("--time", request->time);
  verb->add_option_function<std::string>(
      "--repeat", [request](const std::string &text) { request->repeat = parseIntegerOption("--repeat", text, 1); });
  verb->add_flag("--json", request->json);
  verb->add_option("--arg", request->arguments)->allow_extra_args(false);
  addLibraryOptions(*verb, request->library, request->shapes);
  verb->callback([request, verb, &action] {
    request->libraryOption = request->arguments.empty() ? givenLibraryOption(*verb) : "--arg";
    for (const char *name : {"--warps", "--kernel", "--from", "--dump-phases", "--remarks", "--time", "--repeat"})
      if (request->fileOption.empty() && verb->get_option(name)->count())
        request->fileOption = name;
    action = [request] { return compileVerb(*request); };
  });
}

} // namespace heddle
