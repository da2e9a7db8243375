// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the evaluator's tests share: buffers from and to numbers of any format, and running a kernel's text.
#pragma once
#include "support/Error.h"
#include "support/TestPaths.h"
#include "tests/reference/Evaluator.h"
#include "tests/reference/SoftFloat.h"
#include <cstring>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <sstream>

namespace heddle::reference {

template <typename T>
Argument bufferOf(const std::vector<T> &values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return Argument::buffer(std::move(bytes));
}

template <typename T>
Argument zeros(size_t count) {
  return bufferOf(std::vector<T>(count));
}

template <typename T>
std::vector<T> valuesOf(const Argument &argument) {
  std::vector<T> values(argument.bytes.size() / sizeof(T));
  std::memcpy(values.data(), argument.bytes.data(), argument.bytes.size());
  return values;
}

/// A buffer of `format` holding `values`, each rounded to it.
inline Argument floatsAs(const FloatFormat &format, const std::vector<double> &values) {
  Argument argument = Argument::buffer(std::vector<uint8_t>(values.size() * format.width() / 8));
  for (size_t i = 0; i < values.size(); ++i) {
    uint64_t bits = encode(format, values[i]);
    std::memcpy(argument.bytes.data() + i * format.width() / 8, &bits, format.width() / 8);
  }
  return argument;
}

inline std::vector<double> floatsOf(const FloatFormat &format, const Argument &argument) {
  std::vector<double> values(argument.bytes.size() * 8 / format.width());
  for (size_t i = 0; i < values.size(); ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, argument.bytes.data() + i * format.width() / 8, format.width() / 8);
    values[i] = decode(format, bits);
  }
  return values;
}

inline Argument scalarI32(int32_t value) {
  return Argument::scalar(uint32_t(value));
}
inline Argument scalarF32(float value) {
  return Argument::scalar(std::bit_cast<uint32_t>(value));
}

/// Runs `tt.func @k(arguments) { body; tt.return }`.
inline std::vector<Argument> run(const std::string &parameters, const std::string &body,
                                 std::vector<Argument> arguments, Grid grid = {}, Options options = {}) {
  evaluateText("tt.func public @k(" + parameters + ") {\n" + body + "\n tt.return\n}", grid, arguments, options);
  return arguments;
}

/// Runs an elementwise body on tiles of 8: %x (and %y) are loaded from the inputs, %r of type `result` is stored.
template <typename Result, typename Input>
std::vector<Result> mapTiles(const std::string &inputType, const std::string &resultType, const std::string &body,
                             std::vector<Input> x, std::vector<Input> y = {}) {
  x.resize(8), y.resize(8);
  std::string in = "tensor<8x!tt.ptr<" + inputType + ">>", out = "tensor<8x!tt.ptr<" + resultType + ">>";
  std::string text = R"(
    %i = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
    %pxs = tt.splat %px : !tt.ptr<)" +
                     inputType + "> -> " + in + R"(
    %pys = tt.splat %py : !tt.ptr<)" +
                     inputType + "> -> " + in + R"(
    %prs = tt.splat %pr : !tt.ptr<)" +
                     resultType + "> -> " + out + R"(
    %pxi = tt.addptr %pxs, %i : )" +
                     in + R"(, tensor<8xi32>
    %pyi = tt.addptr %pys, %i : )" +
                     in + R"(, tensor<8xi32>
    %pri = tt.addptr %prs, %i : )" +
                     out + R"(, tensor<8xi32>
    %x = tt.load %pxi : )" +
                     in + R"(
    %y = tt.load %pyi : )" +
                     in + "\n" + body + "\n tt.store %pri, %r : " + out;
  std::string parameters =
      "%px: !tt.ptr<" + inputType + ">, %py: !tt.ptr<" + inputType + ">, %pr: !tt.ptr<" + resultType + ">";
  return valuesOf<Result>(run(parameters, text, {bufferOf(x), bufferOf(y), zeros<Result>(8)})[2]);
}

/// The message of the Error that `action` throws; empty when it throws none.
inline std::string errorOf(const std::function<void()> &action) {
  try {
    action();
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

inline std::string readCorpus(const std::string &name) {
  std::ifstream file(heddle::sourcePath("tests/corpus/" + name));
  EXPECT_TRUE(file) << name;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

} // namespace heddle::reference
