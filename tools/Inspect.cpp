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

namespace heddle {
namespace {

constexpr const char *help = R"(heddle inspect KERNEL.hpkg [options]: what is in a package

  heddle inspect matmul.hpkg
  heddle inspect matmul.hpkg --asm | less
  heddle inspect matmul.hpkg --dump-binary matmul.so

  KERNEL.hpkg          the package; - reads standard input
  --asm                the instructions
  --json               description and counts as JSON
  --dump-binary FILE   write the binary alone
)";

struct InspectRequest {
  std::string input, binaryFile;
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

int inspectVerb(const InspectRequest &request) {
  if (request.input.empty())
    throw inputError("no package: `heddle inspect` wants a file", {"`heddle inspect --help` shows the options"});
  std::vector<std::string> views;
  if (request.assembly)
    views.push_back("`--asm`");
  if (request.json)
    views.push_back("`--json`");
  if (!request.binaryFile.empty())
    views.push_back("`--dump-binary`");
  if (views.size() > 1)
    throw inputError(fmt::format("{} exclude each other", fmt::join(views, " and ")),
                     {"run `heddle inspect` for each"});
  Package package = loadPackage(request.input);
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
  verb->add_option("package", request->input);
  verb->add_flag("--asm", request->assembly);
  verb->add_flag("--json", request->json);
  verb->add_option("--dump-binary", request->binaryFile);
  verb->callback([request, &action] { action = [request] { return inspectVerb(*request); }; });
}

} // namespace heddle
