// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The text of a random module, its run on both sides, and the comparison.
#include "tests/program/RandomModule.h"
#include "collectives/Algorithm.h"
#include "frontend/hlo/Parser.h"
#include "support/Error.h"
#include "tests/fuzz/Random.h"
#include "tests/multi_device/TestDevices.h"
#include "tests/program/RunModule.h"
#include <cmath>
#include <fmt/format.h>

namespace heddle::program::testing {

namespace reference = hlo::reference;
using hlo::DType;

//===-- Text -----------------------------------------------------------------------------------------------------===//

static std::string textOf(const RandomComputation &computation, bool isEntry) {
  std::string text = fmt::format("{}{} {{\n", isEntry ? "ENTRY " : "", computation.name);
  int parameters = 0;
  for (size_t id = 0; id < computation.lines.size(); ++id) {
    const Line &line = computation.lines[id];
    std::string code = line.code;
    for (size_t i = line.operands.size(); i-- > 0;) {
      std::string placeholder = fmt::format("${}", i);
      for (size_t at; (at = code.find(placeholder)) != std::string::npos;)
        code.replace(at, placeholder.size(), "%" + computation.lines[size_t(line.operands[i])].name);
    }
    if (code == "parameter")
      code = fmt::format("parameter({})", parameters++);
    bool isRoot = !computation.isTuple && computation.results[0] == int(id);
    text += fmt::format("  {}%{} = {} {}\n", isRoot ? "ROOT " : "", line.name, hlo::formatShape(line.shape), code);
  }
  if (computation.isTuple) {
    text += "  ROOT %results = tuple(";
    for (size_t i = 0; i < computation.results.size(); ++i)
      text += (i ? ", %" : "%") + computation.lines[size_t(computation.results[i])].name;
    text += ")\n";
  }
  return text + "}\n\n";
}

std::string textOf(const RandomModule &module) {
  std::string text = fmt::format("HloModule seed{}, replica_count={}, num_partitions={}\n\n", module.seed,
                                 module.replicas, module.partitions) +
                     module.regions;
  for (const RandomComputation &computation : module.computations)
    text += textOf(computation, &computation == &module.computations.back());
  return text;
}

//===-- Run ------------------------------------------------------------------------------------------------------===//

static reference::Value randomValue(const hlo::Shape &shape, fuzz::Random &random) {
  if (shape.isTuple()) {
    std::vector<reference::Value> elements;
    for (const hlo::Shape &element : shape.elements)
      elements.push_back(randomValue(element, random));
    return reference::tupleOf(elements);
  }
  reference::Value value = reference::zeros(shape);
  bool wild = random.chance(20), round = random.chance(50); // sums of round numbers are exact in any order
  for (int64_t i = 0; i < shape.elementCount(); ++i)
    if (hlo::isFloating(shape.type))
      reference::storeNumber(shape.type,
                             round ? double(random.between(-256, 256)) / 64
                                   : double(random.between(-(int64_t(1) << 52), int64_t(1) << 52)) * 0x1p-50,
                             value.at(i));
    else if (shape.type == DType::Pred)
      reference::storeInteger(shape.type, random.below(2), value.at(i));
    else
      reference::storeInteger(shape.type, wild ? int64_t(random.bits()) : random.between(-9, 9), value.at(i));
  return value;
}

static Inputs inputsOf(const hlo::Module &module, fuzz::Random &random) {
  Inputs inputs(size_t(module.deviceCount()));
  const hlo::Computation &entry = module.entryComputation();
  for (auto &device : inputs)
    for (size_t i = 0; i < entry.parameters.size(); ++i)
      device.push_back(randomValue(entry.parameter(i).shape, random));
  return inputs;
}

/// `error` as in Facts.
static std::string compareArrays(const ArrayBytes &seen, const ArrayBytes &expected, double error) {
  if (!seen.shape.sameAs(expected.shape) || seen.bytes.size() != expected.bytes.size())
    return fmt::format("is {}, expected {}", hlo::formatShape(seen.shape), hlo::formatShape(expected.shape));
  DType type = seen.shape.type;
  auto size = size_t(hlo::elementSizeBytes(type));
  for (size_t i = 0; i < seen.bytes.size(); i += size) {
    if (seen.bytes.compare(i, size, expected.bytes, i, size) == 0)
      continue;
    double x = reference::loadNumber(type, reinterpret_cast<const uint8_t *>(seen.bytes.data() + i));
    double y = reference::loadNumber(type, reinterpret_cast<const uint8_t *>(expected.bytes.data() + i));
    if ((std::isnan(x) && std::isnan(y)) || (error > 0 && std::abs(x - y) <= error))
      continue;
    return fmt::format("{} element {}: {}, expected {}, difference {}, allowed {}", hlo::formatShapePlain(seen.shape),
                       i / size, x, y, std::abs(x - y), error);
  }
  return "";
}

static std::string compareResults(const Results &seen, const Results &expected, const std::vector<Facts> &facts) {
  for (size_t device = 0; device < expected.size(); ++device)
    for (size_t i = 0; i < expected[device].size(); ++i) {
      double error = facts.empty() ? 0 : facts[i].error;
      if (std::string difference = compareArrays(seen[device][i], expected[device][i], error); !difference.empty())
        return fmt::format("device {}, result {} {}", device, i, difference);
    }
  return "";
}

static bool hasCollective(const hlo::Module &module) {
  for (const hlo::Computation &computation : module.computations)
    for (const hlo::Instruction &instruction : computation.instructions)
      if (hlo::isCollective(instruction.opcode))
        return true;
  return false;
}

std::string differenceOf(const RandomModule &random, const std::string &referenceText) {
  try {
    hlo::Module module = hlo::parseModule(textOf(random), fmt::format("seed{}.hlo", random.seed));
    fuzz::Random choices(random.seed + 77);
    if (!heddle::testing::hasDevices(module.deviceCount()))
      return "";
    Inputs inputs = inputsOf(module, choices);
    Results expected =
        runReference(referenceText.empty() ? module : hlo::parseModule(referenceText, "reference.hlo"), inputs);
    ProgramOptions options;
    if (choices.chance(40))
      options.algorithm = choices.pick(allAlgorithms())->name;
    if (choices.chance(70)) // the rows of random modules are short
      options.partition.leastColumns = 2;
    Results fused = runOnDevices(module, inputs, options), plain = fused;
    options.partition.fuseCollectives = false;
    if (hasCollective(module))
      plain = runOnDevices(module, inputs, options);
    std::vector<Facts> facts;
    for (int result : random.entry().results)
      facts.insert(facts.end(), random.entry().lines[size_t(result)].facts.begin(),
                   random.entry().lines[size_t(result)].facts.end());
    if (std::string difference = compareResults(fused, expected, facts); !difference.empty())
      return "fused: " + difference;
    if (std::string difference = compareResults(plain, expected, facts); !difference.empty())
      return "not fused: " + difference;
    if (std::string difference = compareResults(fused, plain, {}); !difference.empty())
      return "fused and not fused: " + difference;
    return "";
  } catch (const Error &error) {
    return std::string("error: ") + error.what();
  } catch (const std::exception &error) {
    return std::string("exception: ") + error.what();
  }
}

//===-- Shrinking ------------------------------------------------------------------------------------------------===//

/// Without the lines that nothing leads to; parameters too, so inputs may change.
static RandomComputation withoutDead(const RandomComputation &whole) {
  std::vector<bool> live(whole.lines.size());
  for (int result : whole.results)
    live[size_t(result)] = true;
  for (size_t id = whole.lines.size(); id-- > 0;)
    if (live[id])
      for (int operand : whole.lines[id].operands)
        live[size_t(operand)] = true;
  RandomComputation kept = whole;
  kept.lines.clear();
  std::vector<int> places(whole.lines.size(), -1);
  for (size_t id = 0; id < whole.lines.size(); ++id) {
    if (!live[id])
      continue;
    places[id] = int(kept.lines.size());
    kept.lines.push_back(whole.lines[id]);
    for (int &operand : kept.lines.back().operands)
      operand = places[size_t(operand)];
  }
  for (int &result : kept.results)
    result = places[size_t(result)];
  return kept;
}

RandomModule shrink(RandomModule module) {
  std::string kind = differenceOf(module).substr(0, 5);
  auto keeps = [&](RandomModule candidate) {
    candidate.entry() = withoutDead(candidate.entry());
    if (differenceOf(candidate).substr(0, 5) != kind)
      return false;
    module = std::move(candidate);
    return true;
  };
  auto same = [](const RandomModule &candidate) { return candidate; };
  keeps(same(module));
  for (size_t i = module.entry().results.size(); i-- > 0 && module.entry().results.size() > 1;) {
    RandomModule candidate = module;
    candidate.entry().results.erase(candidate.entry().results.begin() + std::ptrdiff_t(i));
    keeps(candidate);
  }
  for (bool again = true; again;) {
    again = false;
    for (size_t id = module.entry().lines.size(); id-- > 0;) {
      if (id >= module.entry().lines.size() || module.entry().lines[id].code == "parameter" ||
          module.entry().lines[id].shape.isTuple() || module.entry().lines[id].operands.empty())
        continue;
      RandomModule candidate = module;
      candidate.entry().lines[id].code = "parameter";
      candidate.entry().lines[id].operands.clear();
      again |= keeps(candidate);
    }
  }
  return module;
}

} // namespace heddle::program::testing
