// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `heddle run` of an HLO module: every rank, results printed or written.
#include "tools/RunModule.h"
#include "support/Npy.h"
#include "tools/ArgumentOptions.h"
#include "tools/Arrays.h"
#include "tools/Output.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace heddle {
namespace {

/// `0=file.npy` or `0@2=file.npy`.
struct OutputTarget {
  size_t result = 0;
  int rank = -1; ///< -1: every rank
  std::string file;
};

bool parseWhole(const std::string &text, int &value) {
  auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  return status == std::errc() && stop == text.data() + text.size() && value >= 0;
}

OutputTarget parseOutput(const std::string &text) {
  NamedValue value = parseNamedValue(text, "--out");
  size_t at = value.name.find('@');
  int result = 0, rank = -1;
  if (!parseWhole(value.name.substr(0, at), result) ||
      (at != std::string::npos && !parseWhole(value.name.substr(at + 1), rank)))
    throw inputError(fmt::format("`--out {}` is not RESULT=FILE or RESULT@RANK=FILE", text),
                     {"results of a module are numbered from 0, a tuple's arrays one after the other"});
  return {size_t(result), rank, value.value};
}

void checkOutputs(const std::vector<OutputTarget> &outputs, const ModuleResult &result) {
  for (const OutputTarget &output : outputs) {
    if (output.result >= result.results.front().size())
      throw inputError(fmt::format("`--out {}=...`: module `{}` has results 0 to {}", output.result, result.module,
                                   int64_t(result.results.front().size()) - 1));
    if (output.rank >= int(result.results.size()))
      throw inputError(fmt::format("`--out {}@{}=...`: there are ranks 0 to {}", output.result, output.rank,
                                   result.results.size() - 1));
  }
}

/// The results as text; ranks with the same bytes share a heading.
std::string formatResults(const ModuleResult &result) {
  std::string text;
  size_t ranks = result.results.size();
  for (size_t i = 0; i < result.results.front().size(); ++i) {
    std::vector<bool> done(ranks);
    for (size_t rank = 0; rank < ranks; ++rank) {
      if (done[rank])
        continue;
      std::vector<size_t> same;
      for (size_t other = rank; other < ranks; ++other)
        if (result.results[other][i].bytes == result.results[rank][i].bytes) {
          same.push_back(other);
          done[other] = true;
        }
      Array array = result.results[rank][i];
      array.name = same.size() == ranks
                       ? fmt::format("result {} on every rank", i)
                       : fmt::format("result {} on rank{} {}", i, same.size() == 1 ? "" : "s", fmt::join(same, ", "));
      text += formatArray(array);
    }
  }
  return text;
}

} // namespace

int runModuleVerb(ModuleRequest request, const std::vector<std::string> &outputTexts, bool asJson) {
  std::vector<OutputTarget> outputs;
  for (const std::string &text : outputTexts)
    outputs.push_back(parseOutput(text));
  bool terminal = isatty(STDERR_FILENO);
  if (terminal && !request.processes)
    request.progress = [](size_t done, size_t all) {
      fmt::print(stderr, "\rcompiling kernel {} of {}{}", done, all, done == all ? "\n" : "");
    };
  ModuleResult result = namingOptions(moduleArgumentOptions, [&] { return runModule(request); });
  if (result.rank != 0) // rank 0 says and writes all
    return 0;
  for (const std::string &warning : result.warnings)
    printWarning(warning);
  for (const std::string &note : result.notes)
    say(note);
  checkOutputs(outputs, result);
  nlohmann::ordered_json json = {{"module", result.module}, {"ranks", result.results.size()}};
  std::string text;
  for (const OutputTarget &output : outputs)
    for (size_t rank = 0; rank < result.results.size(); ++rank) {
      if (output.rank >= 0 && size_t(output.rank) != rank)
        continue;
      const Array &array = result.results[rank][output.result];
      std::string file = output.file == "-" || output.rank >= 0 ? output.file : fileOfRank(output.file, rank);
      Array named = array;
      named.name = fmt::format("{}@{}", output.result, rank);
      if (file == "-")
        text += formatArray(named);
      else
        writeNpy(file, {array.dtype, array.shape, array.bytes});
      json["outputs"].push_back(arrayAsJson(named, file));
    }
  if (outputs.empty()) {
    text = formatResults(result);
    for (size_t rank = 0; rank < result.results.size(); ++rank)
      for (Array &array : result.results[rank]) {
        array.name = fmt::format("{}@{}", array.name, rank);
        json["outputs"].push_back(arrayAsJson(array, "-"));
      }
  }
  if (!result.milliseconds.empty()) {
    std::vector<double> times = result.milliseconds;
    std::sort(times.begin(), times.end());
    text += fmt::format("{} runs: p50 {:.4f} ms, min {:.4f} ms, max {:.4f} ms\n", times.size(), times[times.size() / 2],
                        times.front(), times.back());
    json["milliseconds"] = {
        {"runs", times.size()}, {"p50", times[times.size() / 2]}, {"min", times.front()}, {"max", times.back()}};
  }
  if (asJson)
    printJson(json);
  else
    printData(text);
  return 0;
}

} // namespace heddle
