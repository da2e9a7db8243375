// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `heddle inspect`
#include "api/Collectives.h"
#include "api/Heddle.h"
#include "api/InspectCodeObject.h"
#include "api/Module.h"
#include "support/File.h"
#include "support/Suggest.h"
#include "tools/InspectCodeObject.h"
#include "tools/InspectPage.h"
#include "tools/Output.h"
#include "tools/PlanOptions.h"
#include "tools/Survey.h"
#include "tools/Verbs.h"
#include <CLI/CLI.hpp>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

namespace heddle {
namespace {

constexpr const char *help =
    R"(heddle inspect KERNEL|OBJECT|MODULE|COLLECTIVE [options]: what is in a package or a code object, how a text is
compiled, what a module or a collective does

  heddle inspect matmul.hpkg
  heddle inspect matmul.hpkg --asm | less
  heddle inspect matmul.hpkg --dump-binary matmul.so
  heddle inspect matmul.hsaco --waits            what each wait of AMD code waits for
  heddle inspect kernels/ more.hsaco --waits     a summary of all code objects in folders
  heddle inspect matmul.ttir                     the phases: what each took and left
  heddle inspect matmul.ttir --phase expand-math
  heddle inspect matmul.ttir --target gfx942 --html matmul.html
  heddle inspect layer.hlo                       the launches of a module: what is fused, each collective's plan
  heddle inspect all-reduce --devices 4 --bytes 1K --datatype bf16
  heddle inspect all-reduce --devices 2 --model > m.pml

  KERNEL               the package, or a kernel's text, which is compiled for --target, TTGIR for its chip; - reads standard
                       input
  --target NAME        chip to compile the text for: host (the default), sm_90, gfx942 or gfx950
  --phase NAME         what a phase leaves of the text
  --cpu NAME           processor to compile the text for; default native
  --asm                the instructions
  --json               description and counts as JSON; of a text the phases
  --html FILE          a page for a browser: what each phase leaves of the text, side by side; of AMD code the live vector
                       registers and the class of each instruction over the program; the instructions
  --dump-binary FILE   write the binary alone
  --waits              AMD code: for each s_waitcnt the instructions that it waits for, the first instruction that needs
                       their results, the count that is enough for that one, and the exact count, which is enough for
                       all that follow; also with --json

  OBJECT               a linked AMD code object (.hsaco) for gfx942 or gfx950: --asm, --json, --waits as above
  --kernel NAME        which kernel, when there are several
  --block N            work-items of a workgroup; default as many as the kernel was compiled for
  --lds BYTES          dynamic LDS beside what the kernel declares; default 0
  FOLDER|FILE...       several code objects, and all ELF files in folders: how many objects, kernels and instructions were
                       read, which instructions the simulator does not know, why objects are refused; with --waits how
                       many waits are too long, and for how many of these there is an exact count; --json adds each
                       object. Exit code 1 when something is refused or unknown
  --coverage           the same for one file

  MODULE               HLO text: its launches, on as many devices as it says or --devices N; --kernel, --asm, --json,
                       --algorithm NAME; --device cuda needs no GPU
  --no-fuse            fuses no code into the kernels of its collectives
  --matmuls HOW        beside its collectives: auto, fused into their kernels, or apart
  --quantise fp8       sums of its all-reduces travel as FP8
  COLLECTIVE           its plan; all-reduce, all-gather, reduce-scatter, all-to-all, permute, broadcast
  --kernel             its kernel as tile IR
  --model              its protocol in Promela, for the model checker SPIN; for at most 3 devices
  --json               the plan as JSON
  --devices N, --device NAME, --bytes SIZE, --datatype NAME, --op NAME, --algorithm NAME, --packets FORM,
  --blocks N, --warps N, --tile N, --round N
                       as for heddle bench; default 4 devices of host, 32M, f32, sum
)";

struct InspectRequest {
  std::vector<std::string> inputs;
  std::string input, binaryFile, phase, processor; ///< `input` is the first
  std::string target, page;                        ///< of a text, and the file of `--html`; empty: not given
  std::string kernelName;                          ///< value of `--kernel`
  CodeObjectRequest object;
  std::string objectOption; ///< the first option given that only a code object has
  std::string matmuls = "auto", quantise;
  bool assembly = false, json = false, kernel = false, model = false, noFuse = false, waits = false, coverage = false;
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

std::string describeTensorMap(const Package &package, const PackageTensorMap &map) {
  auto argument = size_t(map.argument);
  return fmt::format("of {}: {}, a box of {}{}",
                     argument < package.arguments.size() ? package.arguments[argument].name : "no argument", map.type,
                     fmt::join(map.box, " x "), map.swizzle ? fmt::format(", a swizzle of {} bytes", map.swizzle) : "");
}

/// Two columns. `code` is that of an AMD package; else null.
std::vector<std::vector<std::string>> rowsForPeople(const Package &package, const CodeCounts &counts,
                                                    const InspectedKernel *code) {
  std::vector<std::vector<std::string>> rows = {
      {"kernel", package.kernel},
      {"target", fmt::format("{}, processor {}", package.target, package.processor)},
      {"made by", package.producer},
      {"entry", package.entry},
      {"binary", fmt::format("{}, {} bytes", package.binaryKind, package.binary.size())},
  };
  if (code) {
    for (auto &row : describeCode(*code))
      rows.push_back(std::move(row));
  } else if (package.threads > 0) {
    rows.push_back(
        {"block", fmt::format("{} threads, {} bytes of dynamic shared memory", package.threads, package.sharedBytes)});
    if (package.dependentLaunch)
      rows.push_back({"dependent launch", "yes: programmatic; the kernel itself waits for the preceding launch"});
  } else {
    rows.push_back({"instructions", formatCounts(counts)});
    rows.push_back({"scratch", fmt::format("{} bytes for each program instance", package.scratchBytes)});
  }
  rows.push_back({"checked", !package.checked  ? "no"
                             : package.threads ? "yes: numbers of rings of shared memory"
                                               : "yes: every memory access asks the device"});
  if (!package.features.empty())
    rows.push_back({"needs", fmt::format("{}", fmt::join(package.features, " "))});
  if (package.peers)
    rows.push_back({"peers", "yes: works with other devices"});
  for (const PackageArgument &argument : package.arguments)
    rows.push_back(
        {"argument",
         fmt::format("{}: {}{}{}", argument.name, argument.pointer ? "pointer to " : "", argument.type,
                     argument.divisibility > 1 ? fmt::format(", a multiple of {}", argument.divisibility) : "")});
  for (const PackageTensorMap &map : package.tensorMaps)
    rows.push_back({"tensor map", describeTensorMap(package, map)});
  for (const PackageLimit &limit : package.limits)
    rows.push_back(
        {"limit", fmt::format("{} {}, more than {}: {}", limit.found, limit.what, limit.most, limit.consequence)});
  for (const std::string &remark : package.remarks)
    rows.push_back({"remark", remark});
  for (const PackageSite &site : package.sites)
    rows.push_back({"site", describeSite(site)});
  return rows;
}

std::string describeForPeople(const Package &package, const CodeCounts &counts, const InspectedKernel *code) {
  return formatTable(rowsForPeople(package, counts, code));
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
int inspectPhases(const CompileResult &result, const std::string &target, bool asJson) {
  if (asJson) {
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const PhaseTime &time : result.times)
      json.push_back({{"phase", time.phase}, {"milliseconds", time.milliseconds}, {"lines", time.lines}});
    printJson(json);
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {{"PHASE", "LEAVES", "LINES", "MS", "WHAT IT DOES"}};
  for (const PhaseTime &time : result.times)
    for (const PhaseDescription &phase : describePhases(target))
      if (phase.name == time.phase)
        rows.push_back({phase.name, phase.level, time.lines ? std::to_string(time.lines) : "-",
                        fmt::format("{:.2f}", time.milliseconds), phase.sentence});
  printData(formatTable(rows));
  return 0;
}

CompileOptions optionsForText(const InspectRequest &request, const std::string &text) {
  CompileOptions options;
  options.target = request.target.empty() ? targetOfText(text, options.target) : request.target;
  if (!request.processor.empty())
    options.processor = request.processor;
  return options;
}

void writePage(const InspectRequest &request, const InspectPageContent &content) {
  writeFileAtomically(request.page, inspectPage(content));
  say(fmt::format("{}: {}", request.page,
                  content.phases.empty() ? "the instructions" : "the phases and the instructions"));
}

/// Of a package, and of the text that gave it.
int writePageOfPackage(const InspectRequest &request, const Package &package, std::vector<PhaseText> phases) {
  InspectPageContent content{
      fmt::format("heddle inspect: {} for {}", package.kernel, package.target), {}, std::move(phases), {}, {}};
  if (hasCodeObject(package)) {
    CodeObjectRequest wanted{package.entry, package.threads, int64_t(package.sharedBytes), true};
    content.code = inspectCodeObject(package.binary, sourceName(request.input), wanted);
    content.rows = rowsForPeople(package, {}, &*content.code);
  } else {
    Disassembly code = disassemblePackage(package);
    content.rows = rowsForPeople(package, code.counts, nullptr);
    content.assembly = code.text;
  }
  writePage(request, content);
  return 0;
}

CompileResult compileText(const InspectRequest &request, const std::string &text, const CompileOptions &options) {
  try {
    return compile(text, sourceName(request.input), options);
  } catch (Error &error) {
    if (text.find("func") == std::string::npos) // perhaps no MLIR at all
      error.notes.push_back(fmt::format("{} is neither an ELF object nor a package, so that it was read as MLIR text",
                                        sourceName(request.input)));
    throw;
  }
}

int writePageOfText(const InspectRequest &request, const std::string &text) {
  CompileOptions options = optionsForText(request, text);
  CompileResult result = compileText(request, text, options);
  std::vector<PhaseText> phases = textOfPhases(text, sourceName(request.input), options);
  for (const std::string &warning : result.warnings)
    printWarning(warning);
  return writePageOfPackage(request, result.package, std::move(phases));
}

/// Compiles the text and shows its phases, or one phase's result; else the package that it gives.
std::optional<Package> inspectText(const InspectRequest &request, const std::string &text, bool wantsPackage) {
  CompileOptions options = optionsForText(request, text);
  options.stopAfter = request.phase;
  options.countLines = request.phase.empty() && !wantsPackage;
  CompileResult result = compileText(request, text, options);
  for (const std::string &warning : result.warnings)
    printWarning(warning);
  if (!request.phase.empty())
    printData(result.text);
  else if (wantsPackage)
    return std::move(result.package);
  else
    inspectPhases(result, options.target, request.json);
  return std::nullopt;
}

std::string collectiveList() {
  return fmt::format("the collectives are {}", fmt::join(collectiveNames(), ", "));
}

/// A word without a dot or slash that is no file was perhaps meant as a collective.
KernelFile readNamedFile(const std::string &name) {
  try {
    return readAnyKernelFile(name);
  } catch (Error &error) {
    if (name != "-" && name.find_first_of("./") == std::string::npos) {
      if (std::string close = closestName(name, collectiveNames()); !close.empty())
        error.notes.push_back(fmt::format("the closest collective is `{}`", close));
      error.notes.push_back(collectiveList());
    }
    throw;
  }
}

void refuseOptionsOfText(const InspectRequest &request, const std::string &what) {
  for (const auto &[option, value] : {std::pair("--phase", request.phase), std::pair("--cpu", request.processor),
                                      std::pair("--target", request.target)})
    if (!value.empty())
      throw inputError(
          fmt::format("`{} {}` needs a kernel's text, and {} is {}", option, value, sourceName(request.input), what),
          {"give the kernel's text"});
}

int inspectObject(const InspectRequest &request, const std::string &file) {
  refuseOptionsOfText(request, "a code object");
  if (!request.binaryFile.empty())
    throw inputError(fmt::format("`--dump-binary` is for packages, and {} is the binary", sourceName(request.input)));
  CodeObjectRequest wanted = request.object;
  wanted.kernel = request.kernelName;
  wanted.liveRegisters = !request.page.empty();
  InspectedKernel code = inspectCodeObject(file, sourceName(request.input), wanted);
  std::string target = fmt::format("{}, code object version {}", code.chip, code.codeObjectVersion);
  std::vector<std::vector<std::string>> rows = {{"kernel", code.kernel.name}, {"target", target}};
  nlohmann::ordered_json json = {{"kernel", code.kernel.name}, {"target", code.chip}, {"binaryBytes", file.size()}};
  if (!request.page.empty()) {
    for (auto &row : describeCode(code))
      rows.push_back(std::move(row));
    writePage(request, {fmt::format("heddle inspect: {} for {}", code.kernel.name, code.chip), rows, {}, code, {}});
  } else if (request.json) {
    json["arguments"] = argumentsAsJson(code.kernel); // a package lists its own
    addCode(json, code, request.waits);
    printJson(json);
  } else if (request.assembly || request.waits)
    printData(request.waits ? describeWaits(code) : listInstructions(code));
  else {
    for (auto &row : describeCode(code))
      rows.push_back(std::move(row));
    printData(formatTable(rows));
  }
  return 0;
}

int inspectAmdPackage(const InspectRequest &request, const Package &package) {
  CodeObjectRequest wanted{package.entry, package.threads, int64_t(package.sharedBytes)};
  InspectedKernel code = inspectCodeObject(package.binary, sourceName(request.input), wanted);
  if (request.json) {
    auto json = nlohmann::ordered_json::parse(package.describe());
    json["binaryBytes"] = package.binary.size();
    addCode(json, code, request.waits);
    printJson(json);
  } else if (request.waits)
    printData(describeWaits(code));
  else
    printData(request.assembly ? listInstructions(code) : describeForPeople(package, {}, &code));
  return 0;
}

int inspectPackage(const InspectRequest &request, const Package &package) {
  if (!request.binaryFile.empty()) {
    if (request.binaryFile == "-") {
      printData(package.binary);
      return 0;
    }
    writeFileAtomically(request.binaryFile, package.binary);
    say(fmt::format("{}: {} bytes", request.binaryFile, package.binary.size()));
    return 0;
  }
  if (hasCodeObject(package))
    return inspectAmdPackage(request, package);
  if (request.waits)
    throw inputError(
        fmt::format("`--waits` is for AMD code, and {} is for `{}`", sourceName(request.input), package.target),
        {"`heddle compile K.ttir --target gfx942 -o K.hpkg` makes such code"});
  Disassembly code = disassemblePackage(package);
  if (request.assembly)
    printData(code.text);
  else if (request.json)
    printJson(describeAsJson(package, code.counts));
  else
    printData(describeForPeople(package, code.counts, nullptr));
  return 0;
}

int inspectFile(const InspectRequest &request) {
  KernelFile file = readNamedFile(request.input);
  if (file.isElf)
    return inspectObject(request, file.bytes);
  if (request.kernel)
    throw inputError(fmt::format("`--kernel` is for collectives, modules and code objects, and `{}` is none",
                                 sourceName(request.input)),
                     {collectiveList()});
  if (!request.objectOption.empty())
    throw inputError(
        fmt::format("`{}` is for code objects, and {} is none", request.objectOption, sourceName(request.input)));
  if (file.isPackage) {
    refuseOptionsOfText(request, "a package");
    Package package = Package::parse(file.bytes, sourceName(request.input));
    return request.page.empty() ? inspectPackage(request, package) : writePageOfPackage(request, package, {});
  }
  if (!request.page.empty())
    return writePageOfText(request, file.bytes);
  bool wantsPackage = request.assembly || request.waits || !request.binaryFile.empty();
  if (std::optional<Package> package = inspectText(request, file.bytes, wantsPackage))
    return inspectPackage(request, *package);
  return 0;
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
          {"packets", plan.hasPackets() ? packetFormName(plan.packets) : ""},
          {"chip", plan.target},
          {"blocks", plan.blocks},
          {"warps", plan.warps},
          {"rounds", plan.rounds},
          {"tilesPerRound", tilesOfRound(plan)},
          {"tileElements", plan.tileElements},
          {"barriersPerRound", plan.algorithm->barriers},
          {"symmetricBytes", plan.arena.sizeBytes + plan.arena.stagingBytes},
          {"stagingBytes", plan.arena.stagingBytes},
          {"inboxBytes", plan.inboxBytes()},
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
    printData(!plan.isGpu() ? planKernelText(plan)
                            : fmt::format("// heddle compile - --target {} --warps {}\n{}", plan.target, plan.warps,
                                          planKernelText(plan)));
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
  const std::string &option = request.collectiveOption;
  if (!option.empty() && option != "--devices" && option != "--device" && option != "--algorithm")
    throw inputError(fmt::format("`{}` is for collectives, and `{}` is a module", option, sourceName(request.input)),
                     {fmt::format("`heddle inspect {}` says which collectives it has", request.input)});
  ModuleRequest wanted;
  wanted.path = request.input;
  wanted.devices = request.devicesGiven ? request.collective.devices : 0;
  wanted.device = request.collective.driver;
  wanted.algorithm = request.collective.plan.algorithm;
  wanted.fuse = !request.noFuse;
  wanted.matmuls = request.matmuls;
  wanted.quantise = request.quantise;
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

bool isForMany(const InspectRequest &request) {
  std::error_code failure;
  return request.coverage || request.inputs.size() > 1 ||
         (request.inputs.size() == 1 && std::filesystem::is_directory(request.input, failure));
}

int inspectMany(const InspectRequest &request) {
  const std::pair<const char *, bool> others[] = {{"--asm", request.assembly},
                                                  {"--kernel", request.kernel},
                                                  {"--model", request.model},
                                                  {"--dump-binary", !request.binaryFile.empty()},
                                                  {"--phase", !request.phase.empty()},
                                                  {"--no-fuse", request.noFuse},
                                                  {"--cpu", !request.processor.empty()},
                                                  {"--target", !request.target.empty()},
                                                  {"--html", !request.page.empty()}};
  std::string other = !request.collectiveOption.empty() ? request.collectiveOption : request.objectOption;
  for (auto [name, isGiven] : others)
    other = isGiven ? name : other;
  if (!other.empty())
    throw inputError(
        fmt::format("`{}` is for one input, and a folder, several files or `--coverage` were given", other),
        {"of many objects there are `--waits` and `--json`"});
  return inspectMany(SurveyOptions{request.inputs, request.waits, request.json});
}

int inspectVerb(const InspectRequest &request) {
  if (request.input.empty())
    throw inputError("no input: `heddle inspect` wants a file or a collective",
                     {"`heddle inspect --help` shows the options"});
  if (isForMany(request))
    return inspectMany(request);
  std::vector<std::string> views;
  if (request.kernel && request.kernelName.empty())
    views.push_back("`--kernel`");
  if (request.model)
    views.push_back("`--model`");
  if (request.assembly)
    views.push_back("`--asm`");
  if (request.waits)
    views.push_back("`--waits`");
  else if (request.json) // the waits may be JSON too
    views.push_back("`--json`");
  if (!request.binaryFile.empty())
    views.push_back("`--dump-binary`");
  if (!request.phase.empty())
    views.push_back("`--phase`");
  if (!request.page.empty())
    views.push_back("`--html`");
  if (views.size() > 1)
    throw inputError(fmt::format("{} exclude each other", fmt::join(views, " and ")),
                     {"run `heddle inspect` for each"});
  if (!request.page.empty()) {
    if (findCollective(request.input) || isModuleFile(request.input))
      throw inputError(fmt::format("`--html` is for kernels and code objects, and `{}` is {}",
                                   sourceName(request.input),
                                   findCollective(request.input) ? "a collective" : "a module"),
                       {"`--kernel` shows the kernel's text, of which there can be a page"});
    checkWritable(request.page);
  }
  if (!request.target.empty() && (findCollective(request.input) || isModuleFile(request.input)))
    throw inputError(fmt::format("`--target {}` is for a kernel's text", request.target),
                     {"`--device` says for which devices a collective or a module is compiled"});
  if (!request.quantise.empty() && !isModuleFile(request.input))
    throw inputError(fmt::format("`--quantise` is for HLO modules, and `{}` is none", sourceName(request.input)));
  if (request.matmuls != "auto" && !isModuleFile(request.input))
    throw inputError(fmt::format("`--matmuls` is for HLO modules, and `{}` is none", sourceName(request.input)));
  if (request.noFuse && !isModuleFile(request.input))
    throw inputError(fmt::format("`--no-fuse` is for HLO modules, and `{}` is none", sourceName(request.input)));
  if (!request.kernelName.empty() && (findCollective(request.input) || isModuleFile(request.input)))
    throw inputError(
        fmt::format("`{}` has a kernel without a name: unexpected `{}`", sourceName(request.input), request.kernelName),
        {"`--kernel` alone shows it"});
  if (const CollectiveKind *kind = findCollective(request.input))
    return inspectCollective(request, *kind);
  if (isModuleFile(request.input))
    return inspectModule(request);
  if (!request.collectiveOption.empty())
    throw inputError(
        fmt::format("`{}` is for collectives, and `{}` is a file", request.collectiveOption, sourceName(request.input)),
        {collectiveList()});
  return inspectFile(request);
}

void addCollectiveOptions(CLI::App &verb, const std::shared_ptr<InspectRequest> &request) {
  verb.add_option("-d,--datatype", request->datatype);
  verb.add_option("-o,--op", request->reduction);
  verb.add_option("--device", request->collective.driver);
  addPlanOptions(verb, request->collective.plan);
  verb.add_option_function<std::string>(
      "--bytes", [request](const std::string &text) { request->bytes = parseByteSize("--bytes", text); });
  verb.add_option_function<std::string>("--devices", [request](const std::string &text) {
    request->collective.devices = parseIntegerOption("--devices", text, 1, 64);
  });
}

} // namespace

void addInspect(CLI::App &program, VerbAction &action) {
  auto request = std::make_shared<InspectRequest>();
  CLI::App *verb = program.add_subcommand("inspect");
  verb->footer(help);
  verb->set_help_flag("-h,--help");
  verb->add_option("kernel", request->inputs);
  verb->add_option("--phase", request->phase);
  verb->add_option("--cpu", request->processor);
  verb->add_option("--target", request->target);
  verb->add_option("--html", request->page);
  verb->add_flag("--asm", request->assembly);
  verb->add_flag("--json", request->json);
  verb->add_flag("--waits", request->waits);
  verb->add_flag("--coverage", request->coverage);
  verb->add_option_function<std::string>("--block", [request](const std::string &text) {
    request->object.workItems = parseIntegerOption("--block", text, 1, 1024);
  });
  verb->add_option_function<std::string>("--lds", [request](const std::string &text) {
    request->object.dynamicLdsBytes = parseIntegerOption("--lds", text, 0);
  });
  verb->add_option("--dump-binary", request->binaryFile);
  verb->add_option("--kernel", request->kernelName)->expected(0, 1); // a collective's has no name
  verb->add_flag("--model", request->model);
  verb->add_flag("--no-fuse", request->noFuse);
  verb->add_option("--matmuls", request->matmuls);
  verb->add_option("--quantise", request->quantise);
  addCollectiveOptions(*verb, request);
  verb->callback([request, verb, &action] {
    request->kernel = verb->get_option("--kernel")->count() > 0;
    if (request->inputs.empty() && !request->kernelName.empty()) // `--kernel all-reduce`
      request->inputs.push_back(std::exchange(request->kernelName, ""));
    request->input = request->inputs.empty() ? "" : request->inputs.front();
    for (const char *name : {"--block", "--lds"})
      if (verb->get_option(name)->count() && request->objectOption.empty())
        request->objectOption = name;
    // Modules have the last three.
    for (const char *name : {"--bytes", "--datatype", "--op", "--packets", "--blocks", "--warps", "--tile", "--round",
                             "--model", "--devices", "--device", "--algorithm"})
      if (verb->get_option(name)->count() && request->collectiveOption.empty())
        request->collectiveOption = name;
    request->devicesGiven = verb->get_option("--devices")->count() > 0;
    action = [request] { return inspectVerb(*request); };
  });
}

} // namespace heddle
