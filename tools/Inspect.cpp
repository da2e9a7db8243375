// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `heddle inspect`
#include "api/Heddle.h"
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
    R"(heddle inspect KERNEL [options]: what is in a package, or what becomes of a kernel's text

  heddle inspect matmul.hpkg
  heddle inspect matmul.hpkg --asm | less
  heddle inspect matmul.hpkg --dump-binary matmul.so
  heddle inspect matmul.ttir                     the phases: what each took and left
  heddle inspect matmul.ttir --phase expand-math

  KERNEL               the package, or a kernel's text, which is compiled; - reads standard input
  --phase NAME         what a phase leaves of the text
  --cpu NAME           processor to compile the text for; default native
  --asm                the instructions
  --json               description and counts as JSON; of a text the phases
  --dump-binary FILE   write the binary alone
)";

struct InspectRequest {
  std::string input, binaryFile, phase, processor;
  bool assembly = false, json = false;
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
      {"instructions", formatCounts(counts)},
      {"scratch", fmt::format("{} bytes for each program instance", package.scratchBytes)},
      {"checked", package.checked ? "yes: every memory access asks the device" : "no"},
      {"needs", fmt::format("{}", fmt::join(package.features, " "))},
  };
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

/// The package to look into; none when everything has been shown.
std::optional<Package> findPackage(const InspectRequest &request) {
  auto [bytes, isPackage] = readKernelFile(request.input);
  if (!isPackage)
    return inspectText(request, bytes, request.assembly || !request.binaryFile.empty());
  for (const auto &[option, value] : {std::pair("--phase", request.phase), std::pair("--cpu", request.processor)})
    if (!value.empty())
      throw inputError(
          fmt::format("{} is a package, which `{} {}` cannot look behind", sourceName(request.input), option, value),
          {"give the kernel's text"});
  return Package::parse(bytes, sourceName(request.input));
}

int inspectVerb(const InspectRequest &request) {
  if (request.input.empty())
    throw inputError("no kernel: `heddle inspect` wants a file", {"`heddle inspect --help` shows the options"});
  std::vector<std::string> views;
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
  verb->callback([request, &action] { action = [request] { return inspectVerb(*request); }; });
}

} // namespace heddle
