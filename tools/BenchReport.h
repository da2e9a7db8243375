// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What `heddle bench` was asked, what it prints, and whether the results were right.
#pragma once
#include "api/Collectives.h"
#include "api/KernelLibrary.h"
#include "tools/Ranks.h"
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace heddle {

/// The command line.
struct BenchVerbRequest {
  std::vector<std::string> inputs; ///< a collective's name or modules' files
  std::string collectiveOption;    ///< the first option given that only a collective has
  std::string hostsOption;         ///< the first that only ranks on several hosts have
  bool devicesGiven = false, checksGiven = false;
  LibraryRequest library; ///< of kernels of the library
  std::vector<std::string> shapes, libraryArguments;
  std::string collective, datatype = "f32", reduction; ///< empty: not given
  BenchmarkRequest run;
  int64_t first = int64_t(32) << 20, last = 0, step = int64_t(1) << 20;
  int factor = 0;
  bool json = false, csv = false;
  std::string plot;                       ///< file of the picture; empty: none
  std::string matmuls = "auto", quantise; ///< of modules, as ModuleRequest has them
  RankOptions ranks;
};

/// How the times were taken, as a line of the header: of `calls`, named in the plural, by two sides.
std::string formatTiming(const BenchmarkRequest &run, const char *calls, const char *ratio);
/// Seven columns at least, with as many digits as mean something.
std::string formatMicroseconds(double time);
/// How much faster `times` are than those beside them, by the medians.
double ratioOf(const BenchmarkTimes &times, const BenchmarkTimes &beside);

/// The rows of one run on standard output, as a table, CSV or JSON, and the verdict on all of them.
class BenchReport {
public:
  struct Machine {
    std::vector<std::string> devices;
    std::string description; ///< of the devices
    std::string peer;        ///< of the library that is measured beside ours; empty for none
    std::optional<HostsDescription> hosts = {};
  };
  /// Prints what comes before the rows. `sizes` are all that will be measured.
  BenchReport(const BenchVerbRequest &request, const Machine &machine, const std::vector<int64_t> &sizes);
  void add(const BenchmarkRow &row);
  /// Prints what comes after the rows, and where an element was wrong first. The exit code: ErrorClass::WrongResult
  /// when any was.
  int finish();

private:
  void printHeader(const Machine &machine, const std::vector<int64_t> &sizes) const;
  std::string reductionText() const {
    return reduces(request.run.kind) ? shortReductionName(request.run.reduction) : "none";
  }
  int root() const { return request.run.kind == CollectiveKind::Broadcast ? 0 : -1; }
  std::string wrongText(const BenchmarkTimes &times) const {
    return request.run.checks ? std::to_string(times.wrong) : "N/A";
  }
  bool hasPeer() const { return !request.run.peer.empty(); }
  using PeerTimes = std::optional<BenchmarkTimes>;
  std::string formatTimes(const BenchmarkTimes &times, const PeerTimes &peer) const;
  std::string formatLinks(const BenchmarkRow &row) const;
  std::string formatCsv(const BenchmarkTimes &times) const;
  std::string formatPeerCsv(const BenchmarkTimes &times, const PeerTimes &peer) const;
  nlohmann::ordered_json timesAsJson(const BenchmarkTimes &times) const;
  nlohmann::ordered_json rowAsJson(const BenchmarkRow &row) const;

  void writePicture() const;

  const BenchVerbRequest &request;
  Machine machine;
  std::vector<BenchmarkRow> drawn; ///< for `--plot`
  nlohmann::ordered_json json;
  int64_t wrong = 0, peerWrong = 0;
  std::vector<std::string> firstWrong;
  double busSum = 0, logRatioSum = 0;
  int ratios = 0;
  int rows = 0;
};

} // namespace heddle
