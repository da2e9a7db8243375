// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// heddle-fuzz-modules: random HLO modules on host devices and on the plain evaluator, until they differ.
#include "support/Error.h"
#include "tests/program/RandomModule.h"
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>

using namespace heddle;
using namespace heddle::program::testing;

static const char *usage = R"(heddle-fuzz-modules --count 1000                    check seeds 0 to 999
heddle-fuzz-modules --time 3600 --dump failures     for an hour, failing modules as files
heddle-fuzz-modules --seed 17 --print               the module of one seed

  --seed N           first seed (0)
  --count M          how many seeds (100; unlimited with --time)
  --time SECONDS     stop after this long
  --stop-on-first    stop at the first difference
  --dump DIR         write failing modules there, whole and shrunk; current.hlo is the one being run
  --print            print modules instead of running them
)";

namespace {
struct Arguments {
  uint64_t seed = 0, count = 0;
  double seconds = 0;
  bool stopOnFirst = false, print = false;
  std::string dump;
};
} // namespace

static Arguments parse(int argc, char **argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    std::string option = argv[i];
    auto value = [&]() -> std::string {
      if (i + 1 >= argc)
        throw inputError("'" + option + "' needs a value");
      return argv[++i];
    };
    try {
      if (option == "--seed")
        arguments.seed = std::stoull(value());
      else if (option == "--count")
        arguments.count = std::stoull(value());
      else if (option == "--time")
        arguments.seconds = std::stod(value());
      else if (option == "--stop-on-first")
        arguments.stopOnFirst = true;
      else if (option == "--dump")
        arguments.dump = value();
      else if (option == "--print")
        arguments.print = true;
      else
        throw inputError("unknown option '" + option + "'", {"`heddle-fuzz-modules --help` lists them"});
    } catch (const std::logic_error &) {
      throw inputError("'" + option + "' needs a number");
    }
  }
  if (arguments.count == 0)
    arguments.count = arguments.seconds > 0 ? UINT64_MAX : arguments.print ? 1 : 100;
  return arguments;
}

static void writeFile(const Arguments &arguments, const std::string &name, const std::string &text) {
  if (arguments.dump.empty())
    return;
  std::filesystem::create_directories(arguments.dump);
  std::filesystem::path path = std::filesystem::path(arguments.dump) / name;
  std::ofstream file(path);
  if (!(file << text << "\n"))
    throw environmentError("cannot write '" + path.string() + "'");
}

static int runSeeds(const Arguments &arguments) {
  auto start = std::chrono::steady_clock::now();
  auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  uint64_t checked = 0, different = 0;
  for (; checked < arguments.count && (arguments.seconds == 0 || elapsed() < arguments.seconds); ++checked) {
    RandomModule module = randomModule(arguments.seed + checked);
    if (arguments.print) {
      std::printf("%s\n", textOf(module).c_str());
      continue;
    }
    writeFile(arguments, "current.hlo", textOf(module));
    std::string difference = differenceOf(module);
    if (difference.empty())
      continue;
    ++different;
    RandomModule small = shrink(module);
    std::string name = "seed" + std::to_string(module.seed), text = "// " + differenceOf(small) + "\n" + textOf(small);
    std::printf("seed %llu: %s\n%s\n", static_cast<unsigned long long>(module.seed), difference.c_str(), text.c_str());
    std::fflush(stdout);
    writeFile(arguments, name + ".hlo", "// " + difference + "\n" + textOf(module));
    writeFile(arguments, name + ".small.hlo", text);
    if (arguments.stopOnFirst)
      break;
  }
  if (!arguments.print)
    std::fprintf(stderr, "heddle-fuzz-modules: %llu modules from seed %llu in %.1f s: %llu different\n",
                 static_cast<unsigned long long>(checked), static_cast<unsigned long long>(arguments.seed), elapsed(),
                 static_cast<unsigned long long>(different));
  return different ? int(ErrorClass::WrongResult) : 0;
}

int main(int argc, char **argv) {
  try {
    if (argc > 1 && std::string(argv[1]) == "--help") {
      std::fputs(usage, stdout);
      return 0;
    }
    return runSeeds(parse(argc, argv));
  } catch (const Error &error) {
    std::fprintf(stderr, "heddle-fuzz-modules: error: %s\n", error.what());
    for (const std::string &note : error.notes)
      std::fprintf(stderr, "note: %s\n", note.c_str());
    return int(error.kind);
  }
}
