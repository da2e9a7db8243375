// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Element-wise operations where formulas break down: NaN, infinities, signed zeros, denormals, huge and tiny numbers,
// ties, the edges of the integer types and the overflow thresholds of the 8-bit floats.
#include "frontend/hlo/Parser.h"
#include "tests/program/RunModule.h"
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <limits>

using namespace heddle;
using namespace heddle::program;
using namespace heddle::program::testing;
namespace reference = heddle::hlo::reference;
using hlo::DType;

namespace {

/// Both signs of everything here are tried; a type that lacks a number rounds it.
std::vector<double> specialNumbers(DType type) {
  std::vector<double> positive = {0,     0.25, 0.5,   0.75, 1,     1.5,   1.75,  2,    2.5,  3,       4,    5,    7,
                                  8,     10,   20,    88,   89,    104,   127,   128,  150,  240,     255,  256,  448,
                                  1000,  2048, 32767, 4e4,  65504, 65535, 1e5,   1e-3, 1e-4, 6e-5,    1e-7, 1e-8, 6e-8,
                                  1e-10, M_PI, M_E,   0.7,  0.99,  1.01,  1e-20, 1e10, 1e20, INFINITY};
  if (type != DType::F16)
    positive.insert(positive.end(), {1e-30, 1e-38, 1e-40, 1e-44, 1e30, 3e38, 8388608.5, 16777216.0});
  if (type == DType::F64)
    positive.insert(positive.end(),
                    {1e-300, 1e-308, 1e-310, 5e-324, 1e300, 1.7e308, 709.5, 710, 745, 4503599627370497.5, 1 - 1e-16});
  if (type == DType::F32)
    positive.insert(positive.end(), {1 - 6e-8, 1 + 1.2e-7});
  std::vector<double> numbers = {NAN};
  for (double number : positive) {
    numbers.push_back(number);
    numbers.push_back(-number);
  }
  return numbers;
}

/// What a correct kernel may differ by, relative to the result; 0 where HLO defines the bits.
double toleranceOf(const std::string &opcode, DType type) {
  static const std::vector<std::string> exact = {
      "abs",      "negate", "sign",      "floor",   "ceil",     "round-nearest-afz", "round-nearest-even", "add",
      "subtract", "divide", "remainder", "maximum", "multiply", "minimum",           "is-finite"};
  if (std::find(exact.begin(), exact.end(), opcode) != exact.end() || opcode == "convert")
    return 0;
  switch (type) {
  case DType::F64:
    return opcode == "power" ? 3e-13 : 4e-15; // exp(y log x): the relative error of log x, times up to 710
  case DType::F32:
    return 1e-6;
  case DType::F16:
    return 0x1p-10; // one step
  default:
    return 0x1p-7;
  }
}

/// Results below this have lost digits.
double smallestOf(DType type) {
  return type == DType::F64 ? 5e-324 : type == DType::F16 ? 0x1p-24 : type == DType::BF16 ? 0x1p-133 : 0x1p-149;
}

bool agree(double seen, double expected, double tolerance, DType type) {
  if (std::isnan(seen) || std::isnan(expected))
    return std::isnan(seen) && std::isnan(expected);
  if (seen == expected)
    return std::signbit(seen) == std::signbit(expected);
  double difference = std::abs(seen - expected);
  return tolerance > 0 && (difference <= tolerance * std::abs(expected) || difference <= smallestOf(type));
}

/// A module of one computation whose results are `names` of the body's instructions.
Results compareResults(const std::string &header, const std::string &body, const std::vector<std::string> &names,
                       const Inputs &inputs, Results &expected) {
  std::string text = "HloModule m\n\nENTRY e {\n" + header + body + "ROOT t = tuple(";
  for (size_t i = 0; i < names.size(); ++i)
    text += (i ? ", " : "") + names[i];
  hlo::Module module = hlo::parseModule(text + ")\n}\n", "special.hlo");
  expected = runReference(module, inputs);
  return runOnDevices(module, inputs);
}

/// Every opcode on these operands; the first few differences are reported.
void checkOperations(const std::vector<std::string> &opcodes, DType type, const std::vector<std::vector<double>> &in) {
  hlo::Shape shape = hlo::Shape::array(type, {int64_t(in[0].size())});
  std::string header, operands, body;
  Inputs inputs(1);
  for (size_t i = 0; i < in.size(); ++i) {
    header += fmt::format("p{} = {} parameter({})\n", i, hlo::formatShape(shape), i);
    operands += fmt::format("{}p{}", i ? ", " : "", i);
    inputs[0].push_back(reference::fromNumbers(shape, in[i]));
  }
  std::vector<std::string> names;
  for (const std::string &opcode : opcodes) {
    names.push_back("r" + std::to_string(names.size()));
    body += fmt::format("{} = {}({})\n", names.back(), opcode, operands);
  }
  Results expected, seen = compareResults(header, body, names, inputs, expected);
  for (size_t result = 0; result < opcodes.size(); ++result) {
    DType resultType = seen[0][result].shape.type;
    int shown = 0, size = int(hlo::elementSizeBytes(resultType));
    double tolerance = toleranceOf(opcodes[result], resultType);
    for (size_t i = 0; i < in[0].size() && shown < 12; ++i) {
      auto at = [&](const Results &results) {
        return reference::loadNumber(resultType, reinterpret_cast<const uint8_t *>(results[0][result].bytes.data()) +
                                                     i * size_t(size));
      };
      if (agree(at(seen), at(expected), tolerance, resultType))
        continue;
      ++shown;
      std::string arguments;
      for (const reference::Value &input : inputs[0])
        arguments += fmt::format(" {}", reference::loadNumber(type, input.at(int64_t(i))));
      ADD_FAILURE() << fmt::format("{} {}{}: {}, expected {}", hlo::dtypeName(type), opcodes[result], arguments,
                                   at(seen), at(expected));
    }
  }
}

const DType floatingTypes[] = {DType::F32, DType::F64, DType::BF16, DType::F16};

TEST(SpecialValues, UnaryOperations) {
  for (DType type : floatingTypes)
    checkOperations({"abs",
                     "negate",
                     "sign",
                     "floor",
                     "ceil",
                     "round-nearest-afz",
                     "round-nearest-even",
                     "exponential",
                     "log",
                     "tanh",
                     "logistic",
                     "sine",
                     "cosine",
                     "exponential-minus-one",
                     "tan",
                     "sqrt",
                     "rsqrt",
                     "cbrt",
                     "erf",
                     "log-plus-one",
                     "is-finite"},
                    type, {specialNumbers(type)});
}

TEST(SpecialValues, BinaryOperations) {
  for (DType type : floatingTypes) {
    std::vector<double> left, right;
    for (double a : specialNumbers(type))
      for (double b : specialNumbers(type)) {
        left.push_back(a);
        right.push_back(b);
      }
    checkOperations({"add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "power", "atan2"},
                    type, {left, right});
  }
}

TEST(SpecialValues, NearOne) {
  for (DType type : floatingTypes) {
    std::vector<double> numbers;
    for (double distance : {1e-1, 1e-2, 1e-3, 1e-5, 6e-8, 1e-12, 2e-16})
      for (double sign : {-1.0, 1.0})
        for (double center : {-1.0, 0.0, 1.0})
          numbers.push_back(center + sign * distance);
    checkOperations({"log", "log-plus-one", "exponential-minus-one", "tanh", "erf", "cbrt", "rsqrt"}, type, {numbers});
  }
}

TEST(SpecialValues, FloatsToEveryType) {
  std::vector<std::string> names, results;
  std::string body;
  for (DType to : hlo::allDTypes())
    if (!hlo::isComplex(to)) {
      names.push_back(std::string("r_") + hlo::dtypeName(to));
      body += fmt::format("{} = {}[{{}}] convert(p0)\n", names.back(), hlo::dtypeName(to));
    }
  for (DType from : floatingTypes) {
    std::vector<double> numbers = specialNumbers(from);
    // The largest of each 8-bit format, the tie above it, and the numbers next to both; steps and ties of their
    // denormals.
    for (double edge : {448.0,   464.0, 15.5,   15.75,   30.0,    31.0,    6.0,     0x1p-3,  0x3p-4,  57344.0, 61440.0,
                        240.0,   248.0, 0x1p-9, 0x1p-10, 0x3p-10, 0x1p-16, 0x1p-17, 0x3p-17, 0x1p-11, 0x1p-18, 0x3p-18,
                        0x3p-11, 128.0, 256.0,  32768.0, 65536.0, 0x1p31,  0x1p32,  0x1p63,  0x1p64})
      for (double factor :
           {1.0, 1 + 0x1p-7, 1 - 0x1p-8, 1 + 0x1p-10, 1 - 0x1p-11, 1 + 0x1p-23, 1 - 0x1p-24, 1 + 0x1p-52, 1 - 0x1p-53})
        for (double sign : {-1.0, 1.0}) {
          numbers.push_back(sign * edge * factor);
          numbers.push_back(sign * (edge - 0.5) * factor);
        }
    hlo::Shape shape = hlo::Shape::array(from, {int64_t(numbers.size())});
    std::string count = std::to_string(numbers.size()), sized = body;
    for (size_t at; (at = sized.find("{}")) != std::string::npos;)
      sized.replace(at, 2, count);
    Inputs inputs = {{reference::fromNumbers(shape, numbers)}};
    Results expected,
        seen = compareResults("p0 = " + hlo::formatShape(shape) + " parameter(0)\n", sized, names, inputs, expected);
    for (size_t result = 0; result < names.size(); ++result) {
      DType to = seen[0][result].shape.type;
      auto size = size_t(hlo::elementSizeBytes(to));
      int shown = 0;
      for (size_t i = 0; i < numbers.size() && shown < 12; ++i) {
        auto at = [&](const Results &all) {
          return reinterpret_cast<const uint8_t *>(all[0][result].bytes.data()) + i * size;
        };
        double x = reference::loadNumber(to, at(seen)), y = reference::loadNumber(to, at(expected));
        if (reference::loadBits(to, at(seen)) == reference::loadBits(to, at(expected)) ||
            (std::isnan(x) && std::isnan(y)))
          continue;
        ++shown;
        ADD_FAILURE() << fmt::format("{} {} to {}: {}, expected {}", hlo::dtypeName(from),
                                     reference::loadNumber(from, inputs[0][0].at(int64_t(i))), hlo::dtypeName(to), x,
                                     y);
      }
    }
  }
}

TEST(SpecialValues, EightBitFloatsToEveryFloat) {
  for (DType from : hlo::allDTypes()) {
    if (!hlo::isFloating(from) || hlo::bitWidth(from) > 8)
      continue;
    reference::Value all = reference::zeros(hlo::Shape::array(from, {256}));
    for (int code = 0; code < 256; ++code)
      all.bytes[size_t(code)] = uint8_t(code & ((1 << hlo::bitWidth(from)) - 1));
    std::string header = fmt::format("p0 = {}[256] parameter(0)\n", hlo::dtypeName(from)), body;
    std::vector<std::string> names;
    for (DType to : {DType::F64, DType::F32, DType::F16, DType::BF16, DType::F8E4M3FN, DType::F8E5M2, DType::F8E4M3FNUZ,
                     DType::F8E5M2FNUZ, DType::F8E3M4, DType::F4E2M1FN, DType::S8, DType::U4, DType::Pred}) {
      names.push_back(std::string("r_") + hlo::dtypeName(to));
      body += fmt::format("{} = {}[256] convert(p0)\n", names.back(), hlo::dtypeName(to));
    }
    for (const char *opcode : {"negate", "abs", "sign", "copy"}) {
      names.push_back(std::string("u_") + opcode);
      body += fmt::format("{} = {}[256] {}(p0)\n", names.back(), hlo::dtypeName(from), opcode);
    }
    Results expected, seen = compareResults(header, body, names, {{all}}, expected);
    for (size_t result = 0; result < names.size(); ++result) {
      DType to = seen[0][result].shape.type;
      auto size = size_t(hlo::elementSizeBytes(to));
      for (size_t i = 0; i < 256; ++i) {
        auto at = [&](const Results &results) {
          return reference::loadNumber(to,
                                       reinterpret_cast<const uint8_t *>(results[0][result].bytes.data()) + i * size);
        };
        EXPECT_TRUE(agree(at(seen), at(expected), 0, to))
            << hlo::dtypeName(from) << " code " << i << " " << names[result] << ": " << at(seen) << ", expected "
            << at(expected);
      }
    }
  }
}

TEST(SpecialValues, Integers) {
  for (DType type : {DType::S1, DType::S2, DType::S4, DType::U1, DType::U2, DType::U4, DType::S8, DType::S16,
                     DType::S32, DType::S64, DType::U8, DType::U16, DType::U32, DType::U64}) {
    int bits = hlo::bitWidth(type);
    std::vector<uint64_t> edges = {0,
                                   1,
                                   2,
                                   3,
                                   7,
                                   uint64_t(bits) - 1,
                                   uint64_t(bits),
                                   uint64_t(bits) + 1,
                                   ~uint64_t(0),
                                   ~uint64_t(0) - 1,
                                   uint64_t(1) << (bits - 1),
                                   (uint64_t(1) << (bits - 1)) - 1,
                                   uint64_t(0) - uint64_t(bits),
                                   0x5555555555555555};
    int64_t count = int64_t(edges.size() * edges.size());
    hlo::Shape shape = hlo::Shape::array(type, {count});
    reference::Value left = reference::zeros(shape), right = left;
    for (size_t i = 0; i < size_t(count); ++i) {
      reference::storeInteger(type, int64_t(edges[i / edges.size()]), left.at(int64_t(i)));
      reference::storeInteger(type, int64_t(edges[i % edges.size()]), right.at(int64_t(i)));
    }
    std::string header = fmt::format("p0 = {0} parameter(0)\np1 = {0} parameter(1)\n", hlo::formatShape(shape)), body;
    std::vector<std::string> names, opcodes;
    auto add = [&](const std::string &result, const std::string &opcode, const std::string &operands) {
      names.push_back("r" + std::to_string(names.size()));
      opcodes.push_back(opcode + " " + result);
      body += fmt::format("{} = {}[{}] {}({})\n", names.back(), result, count, opcode, operands);
    };
    for (const char *opcode : {"add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "and", "or",
                               "xor", "shift-left", "shift-right-arithmetic", "shift-right-logical", "power"})
      add(hlo::dtypeName(type), opcode, "p0, p1");
    for (const char *opcode : {"not", "negate", "sign", "abs", "popcnt", "count-leading-zeros"})
      add(hlo::dtypeName(type), opcode, "p0");
    for (const char *to :
         {"pred", "s8",  "s16", "s32", "s64",  "u8",       "u16",    "u32",        "u64",        "s4",
          "u2",   "f64", "f32", "f16", "bf16", "f8e4m3fn", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz", "f8e3m4"})
      add(to, "convert", "p0");
    Results expected, seen = compareResults(header, body, names, {{left, right}}, expected);
    for (size_t result = 0; result < names.size(); ++result) {
      DType to = seen[0][result].shape.type;
      auto size = size_t(hlo::elementSizeBytes(to));
      int shown = 0;
      for (size_t i = 0; i < size_t(count) && shown < 8; ++i) {
        auto at = [&](const Results &all) {
          return reinterpret_cast<const uint8_t *>(all[0][result].bytes.data()) + i * size;
        };
        double x = reference::loadNumber(to, at(seen)), y = reference::loadNumber(to, at(expected));
        if (reference::loadBits(to, at(seen)) == reference::loadBits(to, at(expected)) ||
            (std::isnan(x) && std::isnan(y)))
          continue;
        ++shown;
        ADD_FAILURE() << fmt::format("{} {} of {} {}: {}, expected {}", hlo::dtypeName(type), opcodes[result],
                                     reference::loadInteger(type, left.at(int64_t(i))),
                                     reference::loadInteger(type, right.at(int64_t(i))), x, y);
      }
    }
  }
}

} // namespace
