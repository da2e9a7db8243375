// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The generator's state and its choices; Generate*.cpp has the instructions.
#pragma once
#include "tests/fuzz/Random.h"
#include "tests/program/RandomModule.h"
#include <fmt/format.h>
#include <map>

namespace heddle::program::testing {

using hlo::DType;
using hlo::Shape;
using Dimensions = std::vector<int64_t>;

/// The relative distance of adjacent numbers of a type, halved.
double roundoff(DType type);
double largestOf(DType type);
std::string listOf(const Dimensions &numbers);

class ModuleGenerator {
public:
  explicit ModuleGenerator(uint64_t seed);
  RandomModule run();

private:
  /// A computation being written.
  struct Scope {
    RandomComputation computation;
    std::vector<int> arrays; ///< lines that operands are picked from
    bool isEntry = false, exactOnly = false, collectives = true, nests = true;
  };

  //===-- Lines --------------------------------------------------------------------------------------------------===//
  const Line &line(int id) const { return scope->computation.lines[size_t(id)]; }
  const Shape &shapeOf(int id) const { return line(id).shape; }
  Facts factsOf(int id) const { return line(id).facts[0]; }
  bool isExact(int id) const { return factsOf(id).error == 0; }
  int emit(const Shape &shape, const std::string &code, const std::vector<int> &operands, const Facts &facts);
  /// A tuple and its elements; returns the elements.
  std::vector<int> emitTuple(const std::vector<Shape> &shapes, const std::string &code,
                             const std::vector<int> &operands, const std::vector<Facts> &facts);
  void takeApart(int tuple, const std::vector<Shape> &shapes, const std::vector<Facts> &facts,
                 std::vector<int> &elements);
  /// Whether a value of these facts is fit to be compared and computed with.
  bool isFit(DType type, Facts &facts) const;
  bool tryEmit(const Shape &shape, const std::string &code, const std::vector<int> &operands, Facts facts);

  //===-- Values -------------------------------------------------------------------------------------------------===//
  DType randomType();
  DType randomFloat();
  Dimensions randomDimensions();
  /// A line with an array for which `fits` holds, recent ones rather; -1 when there is none.
  template <typename Fits>
  int pick(Fits fits) {
    std::vector<int> found;
    for (int id : scope->arrays)
      if (fits(id))
        found.push_back(id);
    if (found.empty())
      return -1;
    size_t recent = found.size() > 4 && random.chance(60) ? found.size() - 4 : 0;
    return found[recent + size_t(random.below(int64_t(found.size() - recent)))];
  }
  int pickFloat(bool exact);
  int pickAny(bool exact = false);
  /// An existing value of the type and dimensions, or a new one.
  int valueOf(DType type, const Dimensions &dimensions, bool exact);
  int newValue(DType type, const Dimensions &dimensions);
  int scalar(DType type, double value);
  int randomScalar(DType type);
  int startIndex(int64_t size);
  int clamped(int value, double limit);
  bool exact() const { return scope->exactOnly; }

  //===-- Instructions: each returns whether it wrote one --------------------------------------------------------===//
  bool anything();
  bool unaryExact();
  bool transcendental();
  bool binary();
  bool comparison();
  bool selection();
  bool clampOrConvert();
  bool bitcastConvert();
  bool reshaping();
  bool slicing();
  bool dynamicSlicing();
  bool joining();
  bool layouts();
  bool reduction();
  bool argumentReduction();
  bool dot();
  bool fusionOrCall();
  bool loop();
  void stepState(const std::vector<int> &before, const std::vector<Shape> &shapes, const std::vector<Facts> &facts);
  int decideByValue(int first, const Shape &shape, const Facts &facts);
  bool barrier();
  bool collective();
  bool reducingCollective();
  bool gathering();
  bool exchange();
  bool tupleExchange();
  bool permute();
  bool collectiveBroadcast();
  bool normalization();

  std::string regionOf(const char *operation, DType type);
  const char *reductionFor(DType type);
  Facts reducedFacts(const std::string &operation, DType type, Facts facts, int64_t count, bool roundsOnce) const;
  void writeBody(Scope &inner, int instructions);

  struct Groups {
    std::string attributes;
    int64_t size = 1; ///< devices of a group; the largest one when they differ
  };
  Groups randomGroups(bool hasGlobalIds, bool unequal);
  std::vector<int> emitCollective(const std::string &opcode, const std::vector<Shape> &results,
                                  const std::vector<int> &operands, const std::string &attributes,
                                  const std::vector<Facts> &facts);

  fuzz::Random random;
  RandomModule module;
  Scope *scope = nullptr;
  std::map<std::string, std::string> regions;
  int names = 0, channels = 0;
};

} // namespace heddle::program::testing
