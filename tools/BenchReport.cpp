// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The columns are those of nccl-tests.
#include "tools/BenchReport.h"
#include "api/Heddle.h"
#include "tools/BenchPlot.h"
#include "tools/Output.h"
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace heddle {

std::string formatTiming(const BenchmarkRequest &run, const char *calls, const char *ratio) {
  std::string text =
      run.graphReplays ? fmt::format("# both in graphs of {} {}, {} replays; time: mean and p50 of the slowest rank's",
                                     run.iterations, calls, run.graphReplays)
                       : fmt::format("# both by the host's clock; time: {} back to back; p50: one by one", calls);
  return text + fmt::format("; ratio: {}\n", ratio);
}

std::string formatMicroseconds(double time) {
  int digits = time >= 10000 ? 0 : time >= 100 ? 1 : 2;
  return fmt::format("{:7.{}f}", time, digits);
}

double ratioOf(const BenchmarkTimes &times, const BenchmarkTimes &beside) {
  return beside.p50 / times.p50;
}

namespace {

struct Column {
  const char *name, *unit;
  int width;
};

/// The header's two lines for these columns.
std::string formatColumns(const std::vector<Column> &columns) {
  std::string text;
  for (const char *Column::*word : {&Column::name, &Column::unit}) {
    std::string line = "#";
    for (const Column &column : columns)
      line += fmt::format("{}{:>{}}", &column == &columns.front() ? " " : "  ", column.*word, column.width);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

/// Their form; empty for a plan without packets.
std::string packetsText(const Plan &plan) {
  return plan.hasPackets() ? packetFormName(plan.packets) : "";
}

} // namespace

BenchReport::BenchReport(const BenchVerbRequest &request, const Machine &machine, const std::vector<int64_t> &sizes)
    : request(request), machine(machine) {
  json["heddle"] = version();
  json["collective"] = request.collective;
  json["devices"] = machine.devices;
  json["processes"] = request.run.processes ? machine.devices.size() : 1;
  json["registered"] = request.run.registered;
  json["description"] = machine.description;
  if (machine.hosts) {
    json["hosts"] = machine.hosts->hosts;
    json["layout"] = machine.hosts->layout;
    json["transport"] = machine.hosts->transport;
    json["model"] = machine.hosts->model;
  }
  if (hasPeer())
    json["peer"] = machine.peer;
  json["iterations"] = request.run.iterations;
  json["warmup"] = request.run.warmup;
  json["graphReplays"] = request.run.graphReplays;
  json["checks"] = request.run.checks;
  json["rows"] = nlohmann::ordered_json::array();
  if (request.csv)
    printData(fmt::format("size,count,type,redop,root,algo,blocks,out_us,out_algbw,out_busbw,out_wrong,out_p50_us,"
                          "out_min_us,out_max_us,in_us,in_algbw,in_busbw,in_wrong,in_p50_us,in_min_us,in_max_us{},"
                          "packets,warps,tile\n",
                          hasPeer() ? ",out_nccl_us,out_nccl_wrong,out_nccl_p50_us,out_nccl_min_us,out_nccl_max_us,"
                                      "out_ratio,in_nccl_us,in_nccl_wrong,in_nccl_p50_us,in_nccl_min_us,"
                                      "in_nccl_max_us,in_ratio"
                                    : ""));
  else if (!request.json)
    printHeader(machine, sizes);
}

void BenchReport::printHeader(const Machine &machine, const std::vector<int64_t> &sizes) const {
  std::string steps =
      request.factor > 1 ? fmt::format("{} (factor)", request.factor) : fmt::format("{} (bytes)", request.step);
  std::string text =
      fmt::format("# heddle {} (LLVM {}): {}\n"
                  "# {} ranks{} on {}: {}\n"
                  "# minBytes {} maxBytes {} step: {} warmup iters: {} iters: {} validation: {}\n",
                  version(), llvmVersion(), request.collective, machine.devices.size(),
                  !request.run.processes   ? ""
                  : request.run.registered ? ", each a process, operands in windows,"
                                           : ", each a process,",
                  request.run.driver, machine.description, sizes.front(), request.last ? request.last : request.first,
                  steps, request.run.warmup, request.run.iterations, request.run.checks);
  if (machine.hosts)
    text += fmt::format("# {}, joined by {}; model {}\n", machine.hosts->layout, machine.hosts->transport,
                        machine.hosts->model);
  if (hasPeer()) {
    text +=
        fmt::format("# {}: the same process and buffers, which are not registered; NCCL_NVLS_ENABLE=0\n", machine.peer);
    text += formatTiming(request.run, "calls", "p50 of NCCL / p50 of ours");
  }
  std::vector<Column> columns = {
      {"size", "(B)", 10}, {"count", "(elements)", 12}, {"type", "", 8}, {"redop", "", 6}, {"root", "", 6}};
  for (int side = 0; side < 2; ++side) { // out of place, in place
    columns.insert(columns.end(),
                   {{"time", "(us)", 7}, {"algbw", "(GB/s)", 6}, {"busbw", "(GB/s)", 6}, {"#wrong", "", 5}});
    if (hasPeer())
      columns.insert(columns.end(), {{"p50", "(us)", 7}, {"nccl p50", "(us)", 8}, {"ratio", "", 5}});
  }
  columns.push_back({"algo", "", 4});
  int peerWidth = hasPeer() ? 26 : 0;
  text += fmt::format("#\n#{:>69}{:>{}}\n", "out-of-place", "in-place", 34 + peerWidth);
  printData(text + formatColumns(columns));
}

std::string BenchReport::formatTimes(const BenchmarkTimes &times, const PeerTimes &peer) const {
  std::string text = fmt::format("  {}  {:6.2f}  {:6.2f}  {:>5}", formatMicroseconds(times.average),
                                 times.algorithmBandwidth, times.busBandwidth, wrongText(times));
  if (peer)
    text += fmt::format("  {}  {:>8}  {:5.2f}", formatMicroseconds(times.p50), formatMicroseconds(peer->p50),
                        ratioOf(times, *peer));
  else if (hasPeer())
    text += fmt::format("  {}  {:>8}  {:>5}", formatMicroseconds(times.p50), "-", "-");
  return text;
}

std::string BenchReport::formatCsv(const BenchmarkTimes &times) const {
  return fmt::format("{:.3f},{:.4f},{:.4f},{},{:.3f},{:.3f},{:.3f}", times.average, times.algorithmBandwidth,
                     times.busBandwidth, wrongText(times), times.p50, times.minimum, times.maximum);
}

std::string BenchReport::formatPeerCsv(const BenchmarkTimes &times, const PeerTimes &peer) const {
  if (!hasPeer())
    return "";
  if (!peer)
    return ",,,,,,";
  return fmt::format(",{:.3f},{},{:.3f},{:.3f},{:.3f},{:.4f}", peer->average, wrongText(*peer), peer->p50,
                     peer->minimum, peer->maximum, ratioOf(times, *peer));
}

nlohmann::ordered_json BenchReport::timesAsJson(const BenchmarkTimes &times) const {
  return {{"us", times.average},
          {"algbw", times.algorithmBandwidth},
          {"busbw", times.busBandwidth},
          {"wrong", request.run.checks ? nlohmann::ordered_json(times.wrong) : nlohmann::ordered_json()},
          {"p50", times.p50},
          {"min", times.minimum},
          {"max", times.maximum}};
}

void BenchReport::add(const BenchmarkRow &row) {
  const Collective &c = row.plan.collective;
  for (const BenchmarkTimes *times : {&row.outOfPlace, &row.inPlace}) {
    wrong += times->wrong;
    busSum += times->busBandwidth;
    if (times->wrong)
      firstWrong.push_back(fmt::format("{} bytes, {}: {}", sizeColumn(c),
                                       times == &row.inPlace ? "in place" : "out of place", times->firstWrong));
  }
  for (auto [times, peer] : {std::pair(&row.outOfPlace, &row.ncclOutOfPlace), {&row.inPlace, &row.ncclInPlace}})
    if (*peer) {
      peerWrong += (*peer)->wrong;
      logRatioSum += std::log(ratioOf(*times, **peer));
      ++ratios;
    }
  ++rows;
  if (!request.plot.empty())
    drawn.push_back(row);
  if (request.json)
    json["rows"].push_back(rowAsJson(row));
  else if (request.csv)
    printData(fmt::format(
        "{},{},{},{},{},{},{},{},{}{}{},{},{},{}\n", sizeColumn(c), countColumn(c), elementTypeName(c.type),
        reductionText(), root(), row.algorithm(), row.plan.blocks, formatCsv(row.outOfPlace), formatCsv(row.inPlace),
        formatPeerCsv(row.outOfPlace, row.ncclOutOfPlace), formatPeerCsv(row.inPlace, row.ncclInPlace),
        packetsText(row.plan), row.plan.warps, row.plan.tileElements));
  else
    printData(fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}{}{}  {}\n", sizeColumn(c), countColumn(c),
                          elementTypeName(c.type), reductionText(), root(),
                          formatTimes(row.outOfPlace, row.ncclOutOfPlace), formatTimes(row.inPlace, row.ncclInPlace),
                          row.algorithm()) +
              formatLinks(row));
}

nlohmann::ordered_json BenchReport::rowAsJson(const BenchmarkRow &row) const {
  const Collective &c = row.plan.collective;
  nlohmann::ordered_json all = {{"size", sizeColumn(c)},
                                {"count", countColumn(c)},
                                {"type", elementTypeName(c.type)},
                                {"redop", reductionText()},
                                {"root", root()},
                                {"algorithm", row.algorithm()},
                                {"packets", packetsText(row.plan)},
                                {"blocks", row.plan.blocks},
                                {"warps", row.plan.warps},
                                {"tileElements", row.plan.tileElements},
                                {"outOfPlace", timesAsJson(row.outOfPlace)},
                                {"inPlace", timesAsJson(row.inPlace)}};
  if (row.hosts) {
    all["chunks"] = row.hosts->chunks.size();
    all["modelUs"] = row.hosts->microseconds;
  }
  auto addPeer = [&](nlohmann::ordered_json &into, const BenchmarkTimes &times, const PeerTimes &peer) {
    if (!peer)
      return;
    into["nccl"] = timesAsJson(*peer);
    into["ratio"] = ratioOf(times, *peer);
  };
  addPeer(all["outOfPlace"], row.outOfPlace, row.ncclOutOfPlace);
  addPeer(all["inPlace"], row.inPlace, row.ncclInPlace);
  for (const PeerTraffic &each : row.links)
    all["links"].push_back({{"from", each.from},
                            {"to", each.to},
                            {"bytes", each.bytes},
                            {"requests", each.requests},
                            {"windows", each.windows}});
  return all;
}

/// What went from each device (rows) to each other, and how far links were from each other on the way.
std::string BenchReport::formatLinks(const BenchmarkRow &row) const {
  if (!request.run.links)
    return "";
  int ranks = row.plan.collective.ranks;
  std::vector<uint64_t> bytes(size_t(ranks) * size_t(ranks));
  size_t halfway = row.links.empty() ? 0 : row.links.front().windows.size() / 2;
  double least = 1, most = 0; // shares that a link had carried when half of all was
  for (const PeerTraffic &link : row.links) {
    bytes[size_t(link.from * ranks + link.to)] = link.bytes;
    uint64_t before = std::accumulate(link.windows.begin(), link.windows.begin() + int64_t(halfway), uint64_t(0));
    double share = double(before) / double(std::max<uint64_t>(1, link.bytes));
    least = std::min(least, share), most = std::max(most, share);
  }
  std::string text = "#   bytes to";
  for (int to = 0; to < ranks; ++to)
    text += fmt::format("  {:>12}", to);
  for (int from = 0; from < ranks; ++from) {
    text += fmt::format("\n# from {:>5}", from);
    for (int to = 0; to < ranks; ++to)
      text += fmt::format("  {:>12}", from == to ? "-" : std::to_string(bytes[size_t(from * ranks + to)]));
  }
  if (row.links.empty() || halfway == 0)
    return text + "\n";
  return text + fmt::format("\n# halfway   each of {} had carried {:.0f} to {:.0f} % of its bytes\n", row.links.size(),
                            100 * least, 100 * most);
}

void BenchReport::writePicture() const {
  PlotTitle title{fmt::format("{} of {}{}", request.collective, request.datatype,
                              reduces(request.run.kind) ? ", " + reductionText() : ""),
                  fmt::format("{} ranks{} on {}: {}", machine.devices.size(),
                              request.run.processes ? ", each a process," : "", request.run.driver,
                              machine.description)};
  if (wrong) // who looks at the picture alone must see it
    title.where += fmt::format("; {} elements are wrong", wrong);
  std::vector<std::vector<std::string>> table = {
      {"size (B)", "algorithm", "p50 (us)", "busbw (GB/s)", "p50 in place (us)", "busbw in place (GB/s)"}};
  if (hasPeer())
    table.front().insert(table.front().end(), {"NCCL p50 (us)", "NCCL / ours"});
  for (const BenchmarkRow &row : drawn) {
    auto number = [](double value) { return fmt::format("{:.2f}", value); };
    table.push_back({std::to_string(sizeColumn(row.plan.collective)), row.algorithm(), number(row.outOfPlace.p50),
                     number(row.outOfPlace.busBandwidth), number(row.inPlace.p50), number(row.inPlace.busBandwidth)});
    if (const PeerTimes &peer = row.ncclOutOfPlace)
      table.back().insert(table.back().end(), {number(peer->p50), number(ratioOf(row.outOfPlace, *peer))});
  }
  writePlot(request.plot, title, plotCollective(title, drawn, machine.peer), table);
}

int BenchReport::finish() {
  double average = rows ? busSum / (2 * rows) : 0;
  if (request.json) {
    json["outOfBounds"] = wrong;
    json["averageBusBandwidth"] = average;
    if (hasPeer())
      json["ncclWrong"] = peerWrong;
    if (ratios)
      json["meanRatio"] = std::exp(logRatioSum / ratios);
    printJson(json);
  } else if (!request.csv) {
    std::string text = fmt::format("# Out of bounds values : {} {}\n# Avg bus bandwidth    : {:g}\n", wrong,
                                   wrong ? "FAILED" : "OK", average);
    if (ratios)
      text += fmt::format("# NCCL / ours, mean    : {:.3f} (geometric)\n", std::exp(logRatioSum / ratios));
    if (hasPeer() && request.run.checks)
      text += fmt::format("# NCCL wrong values    : {} beyond the tolerance of another order of summing\n", peerWrong);
    printData(text + "#\n");
  }
  if (!request.plot.empty())
    writePicture();
  for (const std::string &text : firstWrong)
    say("first wrong of " + text);
  return wrong ? int(ErrorClass::WrongResult) : 0;
}

} // namespace heddle
