// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Mutants of the samples: whatever the text, a module or an error comes back, and a module survives printing.
#include "frontend/hlo/TestModule.h"
#include "support/File.h"
#include "support/TestPaths.h"
#include <filesystem>
#include <random>

using namespace heddle;
using namespace heddle::hlo;

namespace {

std::vector<std::string> tokens(const std::string &text) {
  auto isWord = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-'; };
  std::vector<std::string> pieces;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    while (isWord(text[i]) && end < text.size() && isWord(text[end]))
      ++end;
    pieces.push_back(text.substr(i, end - i));
    i = end;
  }
  return pieces;
}

std::string joined(const std::vector<std::string> &pieces) {
  std::string text;
  for (const std::string &piece : pieces)
    text += piece;
  return text;
}

std::string mutant(std::vector<std::string> pieces, std::mt19937 &random) {
  static const std::vector<std::string> strange = {
      "-1",   "9223372036854775807", "{",          "}", "(", ")", "\"", "/*", "[", "]", "0", "65536", "f32[]",
      "ROOT", "all-reduce-done",     "4294967296", "<="};
  for (unsigned count = 1 + random() % 3; count > 0; --count) {
    size_t at = random() % pieces.size(), other = random() % pieces.size();
    switch (random() % 5) {
    case 0:
      pieces.erase(pieces.begin() + long(at));
      break;
    case 1:
      pieces.insert(pieces.begin() + long(at), std::string(pieces[at]));
      break;
    case 2:
      std::swap(pieces[at], pieces[other]);
      break;
    case 3:
      pieces[at] = pieces[other];
      break;
    default:
      pieces[at] = strange[random() % strange.size()];
    }
  }
  return joined(pieces);
}

/// Parses the text; what parses must print to a fixed point.
bool survives(const std::string &text) {
  std::optional<Module> module;
  try {
    module = parseModule(text, "mutant.hlo");
  } catch (const Error &error) {
    EXPECT_EQ(error.kind, ErrorClass::Input) << error.what() << "\n" << text;
    EXPECT_TRUE(std::string(error.what()).starts_with("mutant.hlo:")) << error.what() << "\n" << text;
    return false;
  }
  std::string printed = printModule(*module);
  EXPECT_EQ(printModule(parseModule(printed, "printed.hlo")), printed) << text;
  return true;
}

} // namespace

TEST(HloFuzz, mutants_of_the_samples) {
  std::mt19937 random(20240501);
  std::vector<std::vector<std::string>> texts;
  std::vector<std::filesystem::path> paths;
  for (const auto &entry : std::filesystem::directory_iterator(sourcePath("tests/hlo")))
    if (entry.path().extension() == ".hlo")
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  for (const auto &path : paths)
    texts.push_back(tokens(readFile(path)));
  int accepted = 0, mutants = 3000;
  for (int i = 0; i < mutants; ++i)
    accepted += survives(mutant(texts[size_t(i) % texts.size()], random));
  EXPECT_GT(accepted, mutants / 20); // else only the first error of each text was looked at
  EXPECT_LT(accepted, mutants);
}

TEST(HloFuzz, prefixes_of_the_samples) {
  for (const char *name : {"variadic", "async_wrapped", "mesh_groups"}) {
    std::string text = readFile(sourcePath("tests/hlo/" + std::string(name) + ".hlo"));
    for (size_t size = 0; size < text.size(); size += 3)
      survives(text.substr(0, size));
  }
}
