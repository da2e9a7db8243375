// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compares output by output, within what two correct executors may differ.
#include "tests/fuzz/Compare.h"
#include "support/Error.h"
#include "tests/reference/SoftFloat.h"
#include <cmath>
#include <cstring>
#include <map>
#include <regex>

using namespace heddle::fuzz;
using namespace heddle::reference;

static const std::map<std::string, FloatFormat> floatFormats = {{"f64", formatF64},
                                                                {"f32", formatF32},
                                                                {"f16", formatF16},
                                                                {"bf16", formatBF16},
                                                                {"f8E4M3FN", formatE4M3FN},
                                                                {"f8E5M2", formatE5M2},
                                                                {"f8E4M3FNUZ", formatE4M3FNUZ},
                                                                {"f8E5M2FNUZ", formatE5M2FNUZ}};

static bool floatsAgree(const OutputRule &rule, const FloatFormat &format, uint64_t a, uint64_t b) {
  double x = decode(format, a), y = decode(format, b);
  if (std::isnan(x) || std::isnan(y))
    return std::isnan(x) && std::isnan(y);
  if (rule.tolerance == 0)
    return a == b || (rule.looseZero && x == 0 && y == 0);
  return x == y || std::fabs(x - y) <= rule.tolerance;
}

static uint64_t elementAt(const Argument &argument, size_t index, size_t sizeBytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, argument.bytes.data() + index * sizeBytes, sizeBytes);
  return bits;
}

static std::string show(const OutputRule &rule, uint64_t bits) {
  char hex[32];
  std::snprintf(hex, sizeof hex, "0x%llx", static_cast<unsigned long long>(bits));
  auto format = floatFormats.find(rule.elementType);
  if (format == floatFormats.end())
    return hex;
  char number[64];
  std::snprintf(number, sizeof number, "%.17g (%s)", decode(format->second, bits), hex);
  return number;
}

std::optional<Difference> heddle::fuzz::compareOutputs(const FuzzProgram &program,
                                                       const std::vector<Argument> &expected,
                                                       const std::vector<Argument> &actual) {
  for (const OutputRule &rule : program.outputs) {
    auto format = floatFormats.find(rule.elementType);
    size_t size =
        format != floatFormats.end() ? format->second.width() / 8 : std::stoul(rule.elementType.substr(1)) / 8;
    const Argument &left = expected[rule.argument], &right = actual[rule.argument];
    for (size_t i = 0; i * size < left.bytes.size(); ++i) {
      uint64_t a = elementAt(left, i, size), b = elementAt(right, i, size);
      if (format == floatFormats.end() ? a == b : floatsAgree(rule, format->second, a, b))
        continue;
      char tolerance[48];
      std::snprintf(tolerance, sizeof tolerance, "%g", rule.tolerance);
      return Difference{"argument " + std::to_string(rule.argument) + " (" + rule.elementType + "), element " +
                            std::to_string(i) + ": expected " + show(rule, a) + ", got " + show(rule, b) +
                            ", tolerance " + tolerance,
                        ""};
    }
  }
  return std::nullopt;
}

// Lines, columns and addresses change while a program shrinks.
static std::string withoutPlaces(const std::string &text) {
  static const std::regex number("0x[0-9a-f]+|[0-9]+");
  return std::regex_replace(text, number, "");
}

std::optional<Difference> heddle::fuzz::checkProgram(const FuzzProgram &program, Executor &executor) {
  std::vector<Argument> expected = program.arguments, again = program.arguments, actual = program.arguments;
  try {
    makeReferenceExecutor()->run(program.text, program.grid, expected);
    reference::evaluateText(program.text, program.grid, again, {.contrary = true, .undefinedBits = 0xa5a5a5a5a5a5a5a5});
  } catch (const Error &error) {
    throw internalError("the program of seed " + std::to_string(program.seed) +
                        " is not valid: " + std::string(error.what()));
  }
  if (auto difference = compareOutputs(program, expected, again))
    throw internalError("the program of seed " + std::to_string(program.seed) +
                        " depends on what the language leaves open: " + difference->message);
  try {
    executor.run(program.text, program.grid, actual);
  } catch (const Error &error) {
    return Difference{executor.name() + " failed: " + error.what(), withoutPlaces(error.what())};
  }
  return compareOutputs(program, expected, actual);
}
