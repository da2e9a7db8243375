// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the parser accepts can be evaluated: mutants of the samples in which one number was replaced by another.
#include "support/File.h"
#include "support/TestPaths.h"
#include "tests/reference/hlo/TestSupport.h"
#include <filesystem>
#include <random>

using namespace heddle;
using namespace heddle::hlo;
using namespace heddle::hlo::reference;

namespace {

/// The places of the text's single digits.
std::vector<size_t> digits(const std::string &text) {
  std::vector<size_t> places;
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    auto isWord = [&](size_t at) { return std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '.'; };
    if (text[i] >= '0' && text[i] <= '9' && !isWord(i - 1) && !isWord(i + 1))
      places.push_back(i);
  }
  return places;
}

/// Whether the text was accepted; then it also ran on inputs of zeros.
bool runs(const std::string &text) {
  try {
    Module module = parseModule(text, "mutant.hlo");
    std::vector<Value> inputs;
    for (size_t i = 0; i < module.entryComputation().parameters.size(); ++i)
      inputs.push_back(zeros(module.entryComputation().parameter(i).shape));
    std::vector<Value> results = evaluate(module, std::vector(size_t(module.deviceCount()), inputs));
    for (const Value &result : results)
      EXPECT_TRUE(result.shape.sameAs(module.entryComputation().rootInstruction().shape)) << text;
    return true;
  } catch (const Error &error) {
    EXPECT_EQ(error.kind, ErrorClass::Input) << error.what() << "\n" << text;
    return false;
  }
}

} // namespace

TEST(HloEvaluatorFuzz, mutants_of_the_samples) {
  std::mt19937 random(7);
  int accepted = 0;
  std::vector<std::filesystem::path> paths;
  for (const auto &entry : std::filesystem::directory_iterator(sourcePath("tests/hlo")))
    if (entry.path().extension() == ".hlo")
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  for (const auto &path : paths) {
    std::string text = readFile(path);
    std::vector<size_t> places = digits(text);
    for (int i = 0; i < 60; ++i) {
      std::string mutant = text;
      mutant[places[random() % places.size()]] = char('0' + random() % 7);
      accepted += runs(mutant);
    }
  }
  EXPECT_GT(accepted, 100);
}
