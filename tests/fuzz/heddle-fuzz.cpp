// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// heddle-fuzz: random tile programs on the reference evaluator and on another executor, until they differ.
#include "mlir/IR/MLIRContext.h"
#include "runtime/Print.h"
#include "support/Error.h"
#include "support/TestDevice.h"
#include "tests/campaign/Campaign.h"
#include "tests/fuzz/Generator.h"
#include "tests/fuzz/Reduce.h"
#include <iostream>

using namespace heddle;
using namespace heddle::fuzz;
using heddle::testing::Campaign;

static const char *ownOptions = R"(  --executor NAME    host, threads, cuda:0, or simplified (the reference with other
                     choices after canonicalize,cse); HEDDLE_TEST_DEVICE, or host
  --without A,B      leave out families of operations (--families lists them)
  --contraction      tolerate fused multiply-add
  --no-reduce        do not shrink failing programs
)";

static void checkFamilies(const std::set<std::string> &names) {
  std::vector<std::string> known = Generator::familyNames();
  for (const std::string &name : names)
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw inputError("no family of operations is called '" + name + "'", {"`heddle-fuzz --families` lists them"});
}

static std::string describe(const FuzzProgram &program, const std::string &difference) {
  std::string text = "// seed " + std::to_string(program.seed) + ", grid " + std::to_string(program.grid.x) + "," +
                     std::to_string(program.grid.y) + "," + std::to_string(program.grid.z) + "\n// " + difference +
                     "\n";
  for (size_t i = 0; i < program.argumentNotes.size(); ++i)
    text += "// argument " + std::to_string(i) + ": " + program.argumentNotes[i] + "\n";
  return text + program.text;
}

static Campaign::Failure failureOf(Executor &executor, const FuzzProgram &program, const Difference &difference,
                                   bool reduces) {
  std::string whole = describe(program, difference.message);
  if (!reduces)
    return {whole, {{".ttir", whole}}};
  FuzzProgram smaller = reduceProgram(program, executor, difference);
  auto remaining = checkProgram(smaller, executor);
  std::string shown = describe(smaller, remaining ? remaining->message : difference.message);
  return {shown, {{".ttir", whole}, {".reduced.ttir", shown}}};
}

int main(int argc, char **argv) {
  Campaign campaign({"heddle-fuzz", "programs", ".ttir", 100, ownOptions});
  std::string executorName;
  std::vector<std::string> without;
  GeneratorOptions options;
  bool keepsWhole = false;
  campaign.app.add_option("--executor", executorName);
  campaign.app.add_option("--without", without)->delimiter(',');
  campaign.app.add_flag("--contraction", options.contraction);
  campaign.app.add_flag("--no-reduce", keepsWhole);
  campaign.app.add_flag_callback("--families", [] {
    for (const std::string &name : Generator::familyNames())
      std::cout << name << "\n";
    throw CLI::Success();
  });

  mlir::DialectRegistry registry;
  reference::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  setPrintSink([](const std::string &) {}); // what programs print is no result
  std::unique_ptr<Executor> executor;
  auto generate = [&](uint64_t seed) { return Generator(context, seed, options).generate(); };
  Campaign::Actions actions;
  actions.prepare = [&] {
    options.without = {without.begin(), without.end()};
    checkFamilies(options.without);
    if (executorName.empty())
      executorName = testDevice() + (testDevice().find(':') == std::string::npos ? "" : "_exact");
    if (executorName.starts_with("threads") || executorName.starts_with("cuda"))
      options.approximateDivision = true;
    executor = makeExecutor(executorName);
    actions.against = " against '" + executor->name() + "'";
  };
  actions.describe = [&](uint64_t seed) { return describe(generate(seed), "generated"); };
  actions.run = [&](uint64_t seed) -> std::optional<Campaign::Failure> {
    FuzzProgram program = generate(seed);
    auto difference = checkProgram(program, *executor);
    return difference ? std::optional(failureOf(*executor, program, *difference, !keepsWhole)) : std::nullopt;
  };
  return campaign.conduct(argc, argv, actions);
}
