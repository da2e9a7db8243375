// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C interface: what the command's verbs report, as JSON.
#include "api/Heddle.h"
#include "library/Compiler.h"
#include "library/Handles.h"
#include "library/Options.h"
#include "tools/Output.h"
#include "tools/Program.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

using namespace heddle;

namespace {

const std::vector<std::string> verbs = {"check",   "simulate", "mutate", "inspect", "run",
                                        "compile", "package",  "bench",  "tune",    "doctor"};

/// The command's words for a verb. Throws Error{Input} for words that only the command can obey.
std::vector<std::string> commandOf(const std::string &verb, std::vector<std::string> words) {
  if (std::find(verbs.begin(), verbs.end(), verb) == verbs.end())
    throw inputError(fmt::format("unknown verb `{}`", verb), {fmt::format("the verbs are {}", fmt::join(verbs, ", "))});
  for (const std::string &word : words)
    if (word == "-" || word == "--step" || word == "--help" || word == "-h" || word == "--trace")
      throw inputError(fmt::format("`{}` is for the command only: a library has no standard streams", word));
  std::erase(words, "--json");
  words.insert(words.begin(), {"heddle", verb});
  words.push_back("--json");
  return words;
}

CapturedOutput::Progress progressOf(heddle_progress_function function, void *user) {
  if (!function)
    return {};
  return [=](size_t done, size_t all) { return function(done, all, user) != 0; };
}

} // namespace

heddle_status heddle_report(const char *verb, const char *const *words, size_t count, heddle_progress_function progress,
                            void *user, int32_t *exit_code, heddle_text *json) {
  return guarded([&] {
    requirePointer(verb, "verb", "a verb of the command");
    requirePointer(exit_code, "exit_code", "a place for the number");
    requirePointer(json, "json", "a place for the handle");
    useAllDevices();
    std::vector<std::string> command = commandOf(verb, readStrings(words, count, "words"));
    CapturedOutput output(progressOf(progress, user));
    int code = 0;
    try {
      code = runCommandLine(command);
    } catch (const Error &error) {
      if (output.data.empty())
        throw;
      code = int(error.kind); // the JSON has it
    }
    if (!nlohmann::json::accept(output.data))
      throw inputError(fmt::format("`{}` with these words gives text, and a library has no standard streams", verb),
                       {"leave out `-h`, `--help` and what else is for reading"});
    *exit_code = code;
    give(json, TextObject{std::move(output.data)});
  });
}
