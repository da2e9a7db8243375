// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How long the corpus kernels take from text to host package, in a process that has compiled before.
#include "bench/HostKernel.h"
#include "bench/Rows.h"
#include "compiler/pipeline/Compile.h"
#include <algorithm>
#include <filesystem>

namespace heddle::bench {
namespace {

Outcome measureCompile(const std::string &path, const Budget &budget) {
  std::string text = readSource(path);
  std::vector<double> totals;
  std::vector<std::pair<std::string, std::vector<double>>> phases;
  double used = 0;
  for (int i = -1; i < budget.leastSamples || used < budget.seconds * 1000; ++i) {
    CompileResult result;
    double total = millisecondsOf([&] { result = compile(text, path, {}); });
    if (i < 0)
      continue;
    totals.push_back(total);
    used += total;
    phases.resize(result.times.size());
    for (size_t p = 0; p < phases.size(); ++p) {
      phases[p].first = result.times[p].phase;
      phases[p].second.push_back(result.times[p].milliseconds);
    }
  }
  Outcome outcome;
  outcome.milliseconds = spreadOf(totals);
  for (auto &[phase, samples] : phases)
    outcome.phases.emplace_back(phase, spreadOf(samples).p50);
  return outcome;
}

} // namespace

void addCompileRows(std::vector<Row> &rows) {
  std::vector<std::string> names;
  const std::string ending = ".sm_90.ttir"; // the texts for other chips differ in little
  for (const auto &entry : std::filesystem::directory_iterator(HEDDLE_SOURCE_DIR "/tests/corpus"))
    if (std::string name = entry.path().filename(); name.ends_with(ending))
      names.push_back(name.substr(0, name.size() - ending.size()));
  std::sort(names.begin(), names.end());
  for (const std::string &name : names)
    rows.push_back(
        {"compile/" + name, "from text to host package, in a warm process", 1, 150, false,
         [path = "tests/corpus/" + name + ending](const Budget &budget) { return measureCompile(path, budget); }});
}

} // namespace heddle::bench
