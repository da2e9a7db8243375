// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `heddle doctor`
#include "api/Heddle.h"
#include "api/Sharing.h"
#include "tools/Output.h"
#include "tools/Ranks.h"
#include "tools/Verbs.h"
#include <CLI/CLI.hpp>
#include <cstdlib>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

namespace heddle {
namespace {

constexpr const char *help =
    R"(heddle doctor [--processes N] [--json]: what this machine has, and every setting with its origin

  --processes N       starts N processes, 1 to 8, which try each way of sharing memory between processes
  --bootstrap ADDRESS, --rank R   this process is one of them; as of heddle bench
  --json              the same as JSON
)";

const char *originName(Knob::Origin origin) {
  return origin == Knob::Origin::Environment ? "environment" : "default";
}

std::string libraryState(const MachineReport::Library &library) {
  if (!library.description.empty())
    return library.description + (library.problem.empty() ? "" : ", " + library.problem);
  return library.problem.empty() ? "found" : "none (" + library.problem + ")";
}

std::string deviceState(const MachineReport::Device &device) {
  if (!device.problem.empty())
    return "unusable: " + device.problem;
  return device.peers.empty() ? device.description
                              : fmt::format("{}, {} MiB free", device.description, device.freeBytes >> 20);
}

/// Which device reaches the memory of which; empty unless a driver has several.
std::string peerMatrix(const MachineReport &report) {
  std::vector<std::vector<std::string>> rows = {{"MEMORY OF"}};
  for (const auto &device : report.devices)
    if (device.peers.size() > 1) {
      rows.front().push_back(device.name);
      rows.push_back({device.name});
      for (size_t peer = 0; peer < device.peers.size(); ++peer)
        rows.back().push_back(!device.peers[peer]          ? "no"
                              : device.links[peer].empty() ? "yes"
                                                           : "yes (" + device.links[peer] + ")");
    }
  return rows.size() > 1 ? "\nWhich device's kernels (rows) reach whose memory:\n" + formatTable(rows) : "";
}

std::string describeForPeople(const MachineReport &report) {
  std::vector<std::vector<std::string>> rows = {
      {"heddle", report.version},
      {"LLVM", report.llvmVersion},
      {"processor", fmt::format("{}, {} hardware threads", report.processor, report.cores)},
      {"memory", fmt::format("{:.1f} GiB", double(report.memoryBytes) / double(1 << 30))},
  };
  if (report.targetProblem.empty()) {
    rows.push_back(
        {"host code", fmt::format("for {}, vectors of {} bits", report.target.name, report.target.vectorBits)});
    rows.push_back({"features", fmt::format("{}", fmt::join(report.target.features, " "))});
  } else {
    rows.push_back({"host code", "none: " + report.targetProblem});
  }
  for (const auto &library : report.libraries)
    rows.push_back({library.name, fmt::format("{}: {}", library.purpose, libraryState(library))});
  for (const auto &links : report.links)
    rows.push_back({"links", fmt::format("{}: {} of {:.1f} GB/s each way between any two devices", links.chip,
                                         links.perPair, double(links.bytesPerSecond) * 1e-9)});
  for (const auto &device : report.devices)
    rows.push_back({"device", fmt::format("{}: {}", device.name, deviceState(device))});
  std::vector<std::vector<std::string>> knobs = {{"SETTING", "VALUE", "ORIGIN", "WHAT IT DOES"}};
  for (const Knob &knob : report.knobs)
    knobs.push_back({knob.name, knob.value, originName(knob.origin),
                     knob.sentence + (knob.problem.empty() ? "" : "; ill-formed: " + knob.problem)});
  for (const std::string &name : report.unknownVariables)
    knobs.push_back({name, std::getenv(name.c_str()), "unknown", "nothing: heddle has no such setting"});
  return formatTable(rows) + peerMatrix(report) + "\n" + formatTable(knobs);
}

nlohmann::ordered_json describeAsJson(const MachineReport &report) {
  nlohmann::ordered_json json;
  json["heddle"] = report.version;
  json["llvm"] = report.llvmVersion;
  json["processor"] = report.processor;
  json["hardwareThreads"] = report.cores;
  json["memoryBytes"] = report.memoryBytes;
  json["hostCode"] = {{"processor", report.target.name},
                      {"vectorBits", report.target.vectorBits},
                      {"features", report.target.features},
                      {"problem", report.targetProblem}};
  json["devices"] = nlohmann::ordered_json::array();
  for (const auto &device : report.devices)
    json["devices"].push_back({{"name", device.name},
                               {"description", device.description},
                               {"target", device.target},
                               {"memoryBytes", device.memoryBytes},
                               {"freeBytes", device.freeBytes},
                               {"peers", device.peers},
                               {"links", device.links},
                               {"problem", device.problem}});
  for (const auto &links : report.links)
    json["links"].push_back(
        {{"target", links.chip}, {"perPair", links.perPair}, {"bytesPerSecond", links.bytesPerSecond}});
  for (const auto &library : report.libraries)
    json["libraries"].push_back({{"name", library.name},
                                 {"purpose", library.purpose},
                                 {"description", library.description},
                                 {"problem", library.problem}});
  for (const Knob &knob : report.knobs)
    json["settings"].push_back({{"name", knob.name},
                                {"value", knob.value},
                                {"origin", originName(knob.origin)},
                                {"default", knob.defaultValue},
                                {"form", knob.type},
                                {"sentence", knob.sentence},
                                {"problem", knob.problem}});
  json["unknownSettings"] = report.unknownVariables;
  return json;
}

std::string describeSharing(const SharingReport &report) {
  std::vector<std::vector<std::string>> rows = {{"MEMORY OF", "SHARED BY", "RESULT"}};
  for (const SharingReport::Way &way : report.ways)
    rows.push_back(
        {way.driver, way.name,
         way.problem.empty() ? fmt::format("works ({:.1f} ms)", way.milliseconds) : "fails: " + way.problem});
  return fmt::format("\nMemory between processes, tried by {}; each may open {} files:\n",
                     fmt::join(report.processes, ", "), report.openFiles) +
         formatTable(rows);
}

nlohmann::ordered_json sharingAsJson(const SharingReport &report) {
  nlohmann::ordered_json json = {{"processes", report.processes}, {"openFiles", report.openFiles}};
  json["ways"] = nlohmann::ordered_json::array();
  for (const SharingReport::Way &way : report.ways)
    json["ways"].push_back({{"driver", way.driver},
                            {"name", way.name},
                            {"works", way.problem.empty()},
                            {"problem", way.problem},
                            {"milliseconds", way.milliseconds}});
  return json;
}

struct DoctorRequest {
  bool json = false;
  RankOptions ranks;
};

int doctorVerb(const DoctorRequest &request) {
  auto options = request.ranks.bootstrapOptions();
  if (request.ranks.starts())
    return runRanks(request.ranks.processes);
  std::optional<SharingReport> sharing;
  if (options)
    sharing = examineSharing(*options);
  if (sharing && sharing->rank != 0) // rank 0 prints
    return 0;
  MachineReport report = examineMachine();
  if (request.json) {
    auto json = describeAsJson(report);
    if (sharing)
      json["sharing"] = sharingAsJson(*sharing);
    printJson(json);
  } else {
    printData(describeForPeople(report) + (sharing ? describeSharing(*sharing) : ""));
  }
  return 0;
}

} // namespace

void addDoctor(CLI::App &program, VerbAction &action) {
  auto request = std::make_shared<DoctorRequest>();
  CLI::App *verb = program.add_subcommand("doctor");
  verb->footer(help);
  verb->set_help_flag("-h,--help");
  verb->add_flag("--json", request->json);
  addRankOptions(*verb, request->ranks);
  verb->callback([request, &action] { action = [request] { return doctorVerb(*request); }; });
}

} // namespace heddle
