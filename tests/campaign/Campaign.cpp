// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Options of all campaigns, the loop over seeds, and the files in which a failing case is kept.
#include "tests/campaign/Campaign.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Heap.h"
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>

namespace heddle::testing {

static std::string helpOf(const Campaign::Words &words) {
  return fmt::format(R"({0} --count 1000                    check seeds 0 to 999
{0} --time 3600 --dump failures     for an hour, failing {1} as files
{0} --seed 17 --print               the case of one seed

  --seed N           first seed (0)
  --count M          how many seeds ({2}; unlimited with --time)
  --time SECONDS     stop after this long
  --stop-on-first    stop at the first difference
  --dump DIR         write failing {1} there; current{3} is the one being run
  --print            print {1} instead of running them
{4})",
                     words.program, words.cases, words.defaultCount, words.extension, words.options);
}

Campaign::Campaign(Words given) : words(std::move(given)) {
  app.set_help_flag("-h,--help");
  app.formatter_fn([this](const CLI::App *, std::string, CLI::AppFormatMode) { return helpOf(words); });
  app.add_option("--seed", seed);
  app.add_option("--count", count);
  app.add_option("--time", seconds);
  app.add_flag("--stop-on-first", stopOnFirst);
  app.add_option("--dump", folder);
  app.add_flag("--print", print);
}

void Campaign::dump(const std::string &name, const std::string &text) const {
  if (folder.empty())
    return;
  std::filesystem::create_directories(folder);
  writeFileAtomically((std::filesystem::path(folder) / name).string(), text + "\n");
}

int Campaign::runSeeds(const Actions &actions) {
  if (count == 0)
    count = seconds > 0 ? UINT64_MAX : print ? 1 : words.defaultCount;
  auto start = std::chrono::steady_clock::now();
  auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  uint64_t checked = 0, different = 0;
  for (; checked < count && (seconds == 0 || elapsed() < seconds); ++checked) {
    uint64_t now = seed + checked;
    if (print) {
      fmt::print("{}\n", actions.describe(now));
      continue;
    }
    if (!folder.empty())
      dump("current" + words.extension, actions.describe(now));
    std::optional<Failure> failure = actions.run(now);
    if (!failure)
      continue;
    ++different;
    fmt::print("{}\n", failure->shown);
    std::fflush(stdout);
    for (const auto &[ending, text] : failure->files)
      dump(fmt::format("seed{}{}", now, ending), text);
    if (stopOnFirst) {
      ++checked;
      break;
    }
  }
  if (!print)
    fmt::print(stderr, "{}: {} {} from seed {}{} in {:.1f} s: {} different\n", words.program, checked, words.cases,
               seed, actions.against, elapsed(), different);
  return different ? int(ErrorClass::WrongResult) : 0;
}

int Campaign::conduct(int argc, char **argv, Actions &actions) {
  reserveHeap();
  try {
    app.parse(argc, argv);
    if (actions.prepare)
      actions.prepare();
    return runSeeds(actions);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0)
      return app.exit(error);
    fmt::print(stderr, "{0}: error: {1}\nnote: `{0} --help` lists the options\n", words.program, error.what());
    return int(ErrorClass::Input);
  } catch (const Error &error) {
    fmt::print(stderr, "{}: error: {}\n", words.program, error.what());
    for (const std::string &note : error.notes)
      fmt::print(stderr, "note: {}\n", note);
    return int(error.kind);
  }
}

} // namespace heddle::testing
