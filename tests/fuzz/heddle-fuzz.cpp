// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// heddle-fuzz: random tile programs on the reference evaluator and on another executor, until they differ.
#include "mlir/IR/MLIRContext.h"
#include "runtime/Print.h"
#include "support/Error.h"
#include "tests/fuzz/Generator.h"
#include "tests/fuzz/Reduce.h"
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>

using namespace heddle;
using namespace heddle::fuzz;

static const char *usage = R"(heddle-fuzz --count 1000                     check seeds 0 to 999
heddle-fuzz --time 3600 --dump failures      for an hour, failing programs as files
heddle-fuzz --seed 17 --print                the program of one seed

  --seed N           first seed (0)
  --count M          how many seeds (100; unlimited with --time)
  --time SECONDS     stop after this long
  --stop-on-first    stop at the first difference
  --dump DIR         write failing programs there; current.ttir is the one being run
  --executor NAME    host, or simplified (the reference with other choices
                     after canonicalize,cse); host where it is linked in
  --without A,B      leave out families of operations (--families lists them)
  --contraction      tolerate fused multiply-add
  --no-reduce        do not shrink failing programs
  --print            print programs instead of running them
)";

namespace {
struct Arguments {
  uint64_t seed = 0, count = 0;
  double seconds = 0;
  bool stopOnFirst = false, reduce = true, print = false;
  std::string dump, executor;
  GeneratorOptions generator;
};
} // namespace

static std::set<std::string> splitList(const std::string &list) {
  std::set<std::string> items;
  std::stringstream stream(list);
  for (std::string item; std::getline(stream, item, ',');)
    items.insert(item);
  return items;
}

static void checkFamilies(const std::set<std::string> &names) {
  std::vector<std::string> known = Generator::familyNames();
  for (const std::string &name : names)
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw inputError("no family of operations is called '" + name + "'", {"`heddle-fuzz --families` lists them"});
}

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
      else if (option == "--executor")
        arguments.executor = value();
      else if (option == "--without")
        arguments.generator.without = splitList(value());
      else if (option == "--contraction")
        arguments.generator.contraction = true;
      else if (option == "--no-reduce")
        arguments.reduce = false;
      else if (option == "--print")
        arguments.print = true;
      else
        throw inputError("unknown option '" + option + "'", {"`heddle-fuzz --help` lists them"});
    } catch (const std::logic_error &) {
      throw inputError("'" + option + "' needs a number");
    }
  }
  checkFamilies(arguments.generator.without);
  if (arguments.count == 0)
    arguments.count = arguments.seconds > 0 ? UINT64_MAX : arguments.print ? 1 : 100;
  return arguments;
}

static std::unique_ptr<Executor> chooseExecutor(const std::string &name) {
  if (name == "simplified")
    return makeSimplifiedExecutor();
  if (!name.empty() && name != "host")
    throw inputError("no executor is called '" + name + "'", {"there are host and simplified"});
  std::unique_ptr<Executor> host = makeHostExecutor();
  if (!host && name == "host")
    throw environmentError("the host executor is not linked in");
  return host ? std::move(host) : makeSimplifiedExecutor();
}

static std::string describe(const FuzzProgram &program, const std::string &difference) {
  std::string text = "// seed " + std::to_string(program.seed) + ", grid " + std::to_string(program.grid.x) + "," +
                     std::to_string(program.grid.y) + "," + std::to_string(program.grid.z) + "\n// " + difference +
                     "\n";
  for (size_t i = 0; i < program.argumentNotes.size(); ++i)
    text += "// argument " + std::to_string(i) + ": " + program.argumentNotes[i] + "\n";
  return text + program.text;
}

static void writeFile(const std::filesystem::path &path, const std::string &text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path);
  if (!(file << text))
    throw environmentError("cannot write '" + path.string() + "'");
}

static void report(const Arguments &arguments, Executor &executor, const FuzzProgram &program,
                   const Difference &difference) {
  std::string whole = describe(program, difference.message);
  std::string shown = whole;
  if (arguments.reduce) {
    FuzzProgram smaller = reduceProgram(program, executor, difference);
    auto remaining = checkProgram(smaller, executor);
    shown = describe(smaller, remaining ? remaining->message : difference.message);
  }
  std::printf("%s\n", shown.c_str());
  if (arguments.dump.empty())
    return;
  std::filesystem::path stem = std::filesystem::path(arguments.dump) / ("seed" + std::to_string(program.seed));
  writeFile(stem.string() + ".ttir", whole);
  if (arguments.reduce)
    writeFile(stem.string() + ".reduced.ttir", shown);
}

static int runSeeds(const Arguments &arguments) {
  std::unique_ptr<Executor> executor = chooseExecutor(arguments.executor);
  mlir::DialectRegistry registry;
  reference::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  setPrintSink([](const std::string &) {}); // what programs print is no result
  auto start = std::chrono::steady_clock::now();
  auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  uint64_t checked = 0, different = 0;
  for (; checked < arguments.count && (arguments.seconds == 0 || elapsed() < arguments.seconds); ++checked) {
    FuzzProgram program = Generator(context, arguments.seed + checked, arguments.generator).generate();
    if (arguments.print) {
      std::printf("%s\n", describe(program, "generated").c_str());
      continue;
    }
    if (!arguments.dump.empty())
      writeFile(std::filesystem::path(arguments.dump) / "current.ttir", describe(program, "running"));
    if (auto difference = checkProgram(program, *executor)) {
      ++different;
      report(arguments, *executor, program, *difference);
      if (arguments.stopOnFirst)
        break;
    }
  }
  if (!arguments.print)
    std::fprintf(stderr, "heddle-fuzz: %llu programs from seed %llu against '%s' in %.1f s: %llu different\n",
                 static_cast<unsigned long long>(checked), static_cast<unsigned long long>(arguments.seed),
                 executor->name().c_str(), elapsed(), static_cast<unsigned long long>(different));
  return different ? int(ErrorClass::WrongResult) : 0;
}

int main(int argc, char **argv) {
  try {
    std::string first = argc > 1 ? argv[1] : "";
    if (first == "--help") {
      std::fputs(usage, stdout);
      return 0;
    }
    if (first == "--families") {
      for (const std::string &name : Generator::familyNames())
        std::puts(name.c_str());
      return 0;
    }
    return runSeeds(parse(argc, argv));
  } catch (const Error &error) {
    std::fprintf(stderr, "heddle-fuzz: error: %s\n", error.what());
    for (const std::string &note : error.notes)
      std::fprintf(stderr, "note: %s\n", note.c_str());
    return int(error.kind);
  }
}
