// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `heddle inspect`
#include "api/Collectives.h"
#include "api/Heddle.h"
#include "api/Module.h"
#include "support/File.h"
#include "tools/Output.h"
#include "tools/Verbs.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

namespace heddle {
namespace {

constexpr const char *help =
    R"(heddle inspect KERNEL|MODULE|COLLECTIVE [options]: what is in a package, what becomes of a text, what a collective does

  heddle inspect matmul.hpkg
  heddle inspect matmul.hpkg --asm | less
  heddle inspect matmul.hpkg --dump-binary matmul.so
  heddle inspect matmul.ttir                     the phases: what each took and left
  heddle inspect matmul.ttir --phase expand-math
  heddle inspect layer.hlo                       the launches of a module: what is fused, each collective's plan
  heddle inspect all-reduce --devices 4 --bytes 1K --datatype bf16
  heddle inspect all-reduce --devices 2 --model > m.pml

  KERNEL               the package, or a kernel's text, which is compiled; - reads standard input
  --phase NAME         what a phase leaves of the text
  --cpu NAME           processor to compile the text for; default native
  --asm                the instructions
  --json               description and counts as JSON; of a text the phases
  --dump-binary FILE   write the binary alone

  MODULE               HLO text: its launches, on as many devices as it says or --devices N; --kernel, --asm, --json,
                       --algorithm NAME; --device cuda needs no GPU
  --no-fuse            the kernels of its collectives compute nothing else
  COLLECTIVE           its plan; all-reduce, all-gather, reduce-scatter, all-to-all, permute, broadcast
  --kernel             its kernel as tile IR
  --model              its protocol in Promela, for the model checker SPIN; of at most 3 devices
  --json               the plan as JSON
  --devices N, --device NAME, --bytes SIZE, --datatype NAME, --op NAME, --algorithm NAME, --blocks N
                       as for heddle bench; default 4 devices of host, 32M, f32, sum
)";

struct InspectRequest {
  std::string input, binaryFile, phase, processor;
  bool assembly = false, json = false, kernel = false, model = false, noFuse = false;
  std::string collectiveOption; ///< the first option given that only a collective has
  bool devicesGiven = false;
  BenchmarkRequest collective;
  std::string datatype = "f32", reduction; ///< empty: not given
  int64_t bytes = int64_t(32) << 20;
};

std::string formatCounts(const CodeCounts &counts) {
  std::string widths;
  for (const auto &[name, count] : counts.byRegister)
    widths += fmt::format("{}{} {}", widths.empty() ? "" : ", ", count, name);
  return fmt::format("{} in {} bytes: {} vector{}, {} scalar floating, {} other scalar, {} calls", counts.instructions,
                     counts.codeBytes, counts.vector, widths.empty() ? "" : " (" + widths + ")", counts.floating,
                     counts.scalar, counts.calls);
}

std::string describeSite(const PackageSite &site) {
  std::string place = site.file.empty() ? "" : fmt::format(" at {}:{}:{}", site.file, site.line, site.column);
  return site.operation + place + (site.message.empty() ? "" : " \"" + site.message + "\"");
}

std::string describeForPeople(const Package &package, const CodeCounts &counts) {
  std::vector<std::vector<std::string>> rows = {
      {"kernel", package.kernel},
      {"target", fmt::format("{}, processor {}", package.target, package.processor)},
      {"made by", package.producer},
      {"entry", package.entry},
      {"binary", fmt::format("{}, {} bytes", package.binaryKind, package.binary.size())},
  };
  if (package.threads > 0) {
    rows.push_back(
        {"block",
         fmt::format("{} threads, {} bytes of dynamic shared memory{}", package.threads, package.sharedBytes,
                     package.clusterSize > 1 ? fmt::format(", in clusters of {} blocks", package.clusterSize) : "")});
  } else {
    rows.push_back({"instructions", formatCounts(counts)});
    rows.push_back({"scratch", fmt::format("{} bytes for each program instance", package.scratchBytes)});
  }
  rows.insert(rows.end(), {
                              {"checked", package.checked ? "yes: every memory access asks the device" : "no"},
                              {"needs", fmt::format("{}", fmt::join(package.features, " "))},
                          });
  if (package.peers)
    rows.push_back({"peers", "yes: works with other devices"});
  for (const PackageArgument &argument : package.arguments)
    rows.push_back(
        {"argument",
         fmt::format("{}: {}{}{}", argument.name, argument.pointer ? "pointer to " : "", argument.type,
                     argument.divisibility > 1 ? fmt::format(", a multiple of {}", argument.divisibility) : "")});
  for (const PackageSite &site : package.sites)
    rows.push_back({"site", describeSite(site)});
  return formatTable(rows);
}

nlohmann::ordered_json describeAsJson(const Package &package, const CodeCounts &counts) {
  auto json = nlohmann::ordered_json::parse(package.describe());
  json["binaryBytes"] = package.binary.size();
  json["code"] = {{"bytes", counts.codeBytes},   {"instructions", counts.instructions},
                  {"vector", counts.vector},     {"vectorByRegister", counts.byRegister},
                  {"floating", counts.floating}, {"scalar", counts.scalar},
                  {"calls", counts.calls}};
  return json;
}

/// What each phase took and left.
int inspectPhases(const CompileResult &result, bool asJson) {
  if (asJson) {
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const PhaseTime &time : result.times)
      json.push_back({{"phase", time.phase}, {"milliseconds", time.milliseconds}, {"lines", time.lines}});
    printJson(json);
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {{"PHASE", "LEAVES", "LINES", "MS", "WHAT IT DOES"}};
  for (const PhaseTime &time : result.times)
    for (const PhaseDescription &phase : describePhases())
      if (phase.name == time.phase)
        rows.push_back({phase.name, phase.level, time.lines ? std::to_string(time.lines) : "-",
                        fmt::format("{:.2f}", time.milliseconds), phase.sentence});
  printData(formatTable(rows));
  return 0;
}

/// Compiles the text and shows its phases, or one phase's result; else the package that it gives.
std::optional<Package> inspectText(const InspectRequest &request, const std::string &text, bool wantsPackage) {
  CompileOptions options;
  if (!request.processor.empty())
    options.processor = request.processor;
  options.stopAfter = request.phase;
  options.countLines = request.phase.empty() && !wantsPackage;
  CompileResult result = compile(text, sourceName(request.input), options);
  for (const std::string &warning : result.warnings)
    printWarning(warning);
  if (!request.phase.empty())
    printData(result.text);
  else if (wantsPackage)
    return std::move(result.package);
  else
    inspectPhases(result, request.json);
  return std::nullopt;
}

/// A word without a dot or slash that is no file was perhaps meant as a collective.
auto readNamedFile(const std::string &name) {
  try {
    return readKernelFile(name);
  } catch (Error &error) {
    if (name != "-" && name.find_first_of("./") == std::string::npos)
      error.notes.push_back(
          "the collectives are all-reduce, all-gather, reduce-scatter, all-to-all, permute, broadcast");
    throw;
  }
}

/// The package to look into; none when everything has been shown.
std::optional<Package> findPackage(const InspectRequest &request) {
  auto [bytes, isPackage] = readNamedFile(request.input);
  if (!isPackage)
    return inspectText(request, bytes, request.assembly || !request.binaryFile.empty());
  for (const auto &[option, value] : {std::pair("--phase", request.phase), std::pair("--cpu", request.processor)})
    if (!value.empty())
      throw inputError(
          fmt::format("{} is a package, which `{} {}` cannot look behind", sourceName(request.input), option, value),
          {"give the kernel's text"});
  return Package::parse(bytes, sourceName(request.input));
}

nlohmann::ordered_json describeAsJson(const Plan &plan) {
  const Collective &c = plan.collective;
  return {{"collective", collectiveName(c.kind)},
          {"type", elementTypeName(c.type)},
          {"reduction", c.reduces() ? reductionName(c.reduction) : ""},
          {"ranks", c.ranks},
          {"sizeBytes", sizeColumn(c)},
          {"count", countColumn(c)},
          {"algorithm", plan.algorithm->name},
          {"does", plan.algorithm->sentence},
          {"blocks", plan.blocks},
          {"rounds", plan.rounds},
          {"tilesPerRound", plan.tilesPerRound},
          {"tileElements", plan.tileElements},
          {"barriersPerRound", plan.algorithm->barriers},
          {"symmetricBytes", plan.arena.sizeBytes},
          {"stagingBytes", 2 * plan.arena.stagingParity},
          {"inboxBytes", 2 * plan.arena.inboxParity},
          {"key", planKey(plan)}};
}

int inspectCollective(const InspectRequest &request, CollectiveKind kind) {
  if (request.assembly || !request.binaryFile.empty())
    throw inputError(fmt::format("`{}` is for packages, and `{}` is a collective",
                                 request.assembly ? "--asm" : "--dump-binary", request.input),
                     {fmt::format("`heddle inspect {} --kernel > kernel.ttir` and `heddle compile kernel.ttir` make a "
                                  "package",
                                  request.input)});
  const BenchmarkRequest &wanted = request.collective;
  Collective collective = collectiveOfSize(kind, parseDatatype(request.datatype),
                                           parseReductionOf(kind, request.reduction), wanted.devices, request.bytes);
  Plan plan = planFor(collective, wanted.driver, wanted.plan);
  if (request.kernel)
    printData(planKernelText(plan));
  else if (request.model)
    printData(planModelText(plan));
  else if (request.json)
    printJson(describeAsJson(plan));
  else
    printData(describe(plan));
  return 0;
}

int inspectModule(const InspectRequest &request) {
  if (!request.binaryFile.empty() || !request.phase.empty())
    throw inputError(fmt::format("`{}` is for kernels, and `{}` is a module",
                                 !request.phase.empty() ? "--phase" : "--dump-binary", sourceName(request.input)),
                     {"`--kernel` prints the kernels of a module as tile IR"});
  if (request.model)
    throw inputError(fmt::format("`--model` is for collectives, and `{}` is a module", sourceName(request.input)),
                     {fmt::format("`heddle inspect {}` says which collectives it has", request.input)});
  ModuleRequest wanted;
  wanted.path = request.input;
  wanted.devices = request.devicesGiven ? request.collective.devices : 0;
  wanted.device = request.collective.driver;
  wanted.algorithm = request.collective.plan.algorithm;
  wanted.fuse = !request.noFuse;
  wanted.assembly = request.assembly;
  ModuleDescription module = describeModule(wanted);
  if (request.json) {
    nlohmann::ordered_json json = {{"module", module.module},         {"replicas", module.replicas},
                                   {"partitions", module.partitions}, {"parameters", module.parameters},
                                   {"results", module.results},       {"steps", nlohmann::ordered_json::array()}};
    for (const ModuleStep &step : module.steps)
      json["steps"].push_back({{"kind", step.kind},
                               {"name", step.name},
                               {"shape", step.shape},
                               {"groups", step.groups},
                               {"fused", step.fused},
                               {"depth", step.depth},
                               {"plan", step.plan}});
    printJson(json);
    return 0;
  }
  std::string text;
  bool isCode = request.kernel || request.assembly;
  if (!isCode)
    text = fmt::format("module {}, {} replica{} of {} partition{}\nparameters {}\nresults    {}\n", module.module,
                       module.replicas, module.replicas == 1 ? "" : "s", module.partitions,
                       module.partitions == 1 ? "" : "s", fmt::join(module.parameters, ", "),
                       fmt::join(module.results, ", "));
  for (const ModuleStep &step : module.steps) {
    if (isCode) {
      const std::string &code = request.kernel ? step.text : step.assembly;
      text += code.empty() ? "" : fmt::format("// {} {}\n{}\n", step.kind, step.name, code);
      continue;
    }
    text += fmt::format("\n{}{} {}: {}{}{}\n", std::string(size_t(2 * step.depth), ' '), step.kind, step.name,
                        step.shape, step.groups.empty() ? "" : ", groups " + step.groups,
                        step.fused.empty() ? "" : fmt::format(", with {}", fmt::join(step.fused, ", ")));
    text += step.plan;
  }
  printData(text);
  return 0;
}

int inspectVerb(const InspectRequest &request) {
  if (request.input.empty())
    throw inputError("no input: `heddle inspect` wants a file or a collective",
                     {"`heddle inspect --help` shows the options"});
  std::vector<std::string> views;
  if (request.kernel)
    views.push_back("`--kernel`");
  if (request.model)
    views.push_back("`--model`");
  if (request.assembly)
    views.push_back("`--asm`");
  if (request.json)
    views.push_back("`--json`");
  if (!request.binaryFile.empty())
    views.push_back("`--dump-binary`");
  if (!request.phase.empty())
    views.push_back("`--phase`");
  if (views.size() > 1)
    throw inputError(fmt::format("{} exclude each other", fmt::join(views, " and ")),
                     {"run `heddle inspect` for each"});
  if (request.noFuse && !isModuleFile(request.input))
    throw inputError(fmt::format("`--no-fuse` is for HLO modules, and `{}` is none", sourceName(request.input)));
  if (const CollectiveKind *kind = findCollective(request.input))
    return inspectCollective(request, *kind);
  if (isModuleFile(request.input))
    return inspectModule(request);
  if (!request.collectiveOption.empty())
    throw inputError(
        fmt::format("`{}` is for collectives, and `{}` is a file", request.collectiveOption, sourceName(request.input)),
        {"the collectives are all-reduce, all-gather, reduce-scatter, all-to-all, permute, broadcast"});
  std::optional<Package> found = findPackage(request);
  if (!found)
    return 0;
  const Package &package = *found;
  if (!request.binaryFile.empty()) {
    if (request.binaryFile == "-") {
      printData(package.binary);
      return 0;
    }
    writeFileAtomically(request.binaryFile, package.binary);
    say(fmt::format("{}: {} bytes", request.binaryFile, package.binary.size()));
    return 0;
  }
  Disassembly code = disassemblePackage(package);
  if (request.assembly)
    printData(code.text);
  else if (request.json)
    printJson(describeAsJson(package, code.counts));
  else
    printData(describeForPeople(package, code.counts));
  return 0;
}

void addCollectiveOptions(CLI::App &verb, const std::shared_ptr<InspectRequest> &request) {
  verb.add_option("-d,--datatype", request->datatype);
  verb.add_option("-o,--op", request->reduction);
  verb.add_option("--device", request->collective.driver);
  verb.add_option("--algorithm", request->collective.plan.algorithm);
  verb.add_option_function<std::string>(
      "--bytes", [request](const std::string &text) { request->bytes = parseByteSize("--bytes", text); });
  verb.add_option_function<std::string>("--devices", [request](const std::string &text) {
    request->collective.devices = parseIntegerOption("--devices", text, 1, 64);
  });
  verb.add_option_function<std::string>("--blocks", [request](const std::string &text) {
    request->collective.plan.blocks = parseIntegerOption("--blocks", text, 1, maxCollectiveBlocks);
  });
}

} // namespace

void addInspect(CLI::App &program, VerbAction &action) {
  auto request = std::make_shared<InspectRequest>();
  CLI::App *verb = program.add_subcommand("inspect");
  verb->footer(help);
  verb->set_help_flag("-h,--help");
  verb->add_option("kernel", request->input);
  verb->add_option("--phase", request->phase);
  verb->add_option("--cpu", request->processor);
  verb->add_flag("--asm", request->assembly);
  verb->add_flag("--json", request->json);
  verb->add_option("--dump-binary", request->binaryFile);
  verb->add_flag("--kernel", request->kernel);
  verb->add_flag("--model", request->model);
  verb->add_flag("--no-fuse", request->noFuse);
  addCollectiveOptions(*verb, request);
  verb->callback([request, verb, &action] {
    for (const char *name :
         {"--kernel", "--model", "--devices", "--device", "--bytes", "--datatype", "--op", "--algorithm", "--blocks"})
      if (verb->get_option(name)->count() && request->collectiveOption.empty())
        request->collectiveOption = name;
    request->devicesGiven = verb->get_option("--devices")->count() > 0;
    action = [request] { return inspectVerb(*request); };
  });
}

} // namespace heddle
