// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The definitions as loops over elements, with the roundings of Collective.h, and inputs that make mistakes show.
#include "collectives/Reference.h"
#include "collectives/Protocol.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace heddle::reference {
namespace {

// NaN wins; -0 is below +0.
template <class T>
T smaller(T x, T y) {
  if (std::isnan(x) || std::isnan(y))
    return std::numeric_limits<T>::quiet_NaN();
  return x == y ? (std::signbit(x) ? x : y) : std::min(x, y);
}
template <class T>
T larger(T x, T y) {
  return -smaller<T>(-x, -y);
}

template <class T>
T combineReal(Reduction reduction, T x, T y) {
  switch (reduction) {
  case Reduction::Sum:
    return x + y;
  case Reduction::Product:
    return x * y;
  case Reduction::Minimum:
    return smaller(x, y);
  default:
    return larger(x, y);
  }
}

uint64_t combineBits(Reduction reduction, ElementType type, uint64_t x, uint64_t y) {
  auto isLess = [&](uint64_t a, uint64_t b) { return isUnsigned(type) ? a < b : int64_t(a) < int64_t(b); };
  switch (reduction) {
  case Reduction::Sum:
    return x + y;
  case Reduction::Product:
    return x * y;
  case Reduction::Minimum:
    return isLess(x, y) ? x : y;
  case Reduction::Maximum:
    return isLess(x, y) ? y : x;
  case Reduction::And:
    return x & y;
  case Reduction::Or:
    return x | y;
  }
  return 0;
}

void fold(const Collective &c, const std::vector<const char *> &elements, char *out) {
  if (!isFloat(c.type)) {
    uint64_t sum = uint64_t(loadInt(c.type, elements[0]));
    for (size_t rank = 1; rank < elements.size(); ++rank)
      sum = combineBits(c.reduction, c.type, sum, uint64_t(loadInt(c.type, elements[rank])));
    return storeInt(c.type, int64_t(sum), out);
  }
  auto real = [&]<class T>(T) {
    T sum = T(loadDouble(c.type, elements[0]));
    if (c.reduction == Reduction::Sum)
      sum += T(0);
    for (size_t rank = 1; rank < elements.size(); ++rank)
      sum = combineReal<T>(c.reduction, sum, T(loadDouble(c.type, elements[rank])));
    return double(sum);
  };
  double result = c.type == ElementType::F64 ? real(double()) : real(float());
  if (elementSizeBytes(c.type) == 1 && std::isfinite(result)) { // large sums of 8-bit formats saturate
    for (double largest : {448.0, 57344.0, 240.0}) {
      bool isIts = (largest == 448 && c.type == ElementType::F8E4M3FN) ||
                   (largest == 240 && c.type == ElementType::F8E4M3FNUZ) ||
                   (largest == 57344 && (c.type == ElementType::F8E5M2 || c.type == ElementType::F8E5M2FNUZ));
      if (isIts)
        result = std::clamp(result, -largest, largest);
    }
  }
  storeDouble(c.type, result, out);
}

} // namespace

std::vector<std::string> runCollective(const Collective &c, const std::vector<std::string> &inputs) {
  size_t size = size_t(elementSizeBytes(c.type));
  auto place = [&](int64_t i, int part, int parts) {
    return size_t((i / c.inner) * parts * c.inner + part * c.inner + i % c.inner) * size;
  };
  std::vector<std::string> outputs(inputs.size());
  for (int me = 0; me < c.ranks; ++me) {
    std::string &out = outputs[size_t(me)];
    out.assign(size_t(c.outputElements()) * size, '\0');
    for (int64_t i = 0; i < c.partElements(); ++i)
      for (int part = 0; part < c.outputParts(); ++part) {
        char *to = out.data() + place(i, part, c.outputParts());
        auto copy = [&](int rank, int inputPart) {
          std::memcpy(to, inputs[size_t(rank)].data() + place(i, inputPart, c.inputParts()), size);
        };
        auto foldOf = [&](int inputPart) {
          std::vector<const char *> elements;
          for (const std::string &input : inputs)
            elements.push_back(input.data() + place(i, inputPart, c.inputParts()));
          fold(c, elements, to);
        };
        switch (c.kind) {
        case CollectiveKind::AllReduce:
          foldOf(0);
          break;
        case CollectiveKind::AllGather:
          copy(part, 0);
          break;
        case CollectiveKind::ReduceScatter:
          foldOf(me);
          break;
        case CollectiveKind::AllToAll:
          copy(part, me);
          break;
        case CollectiveKind::Permute:
          if (c.sources[size_t(me)] >= 0)
            copy(c.sources[size_t(me)], 0);
          break;
        case CollectiveKind::Broadcast:
          copy(c.root, 0);
          break;
        }
      }
  }
  return outputs;
}

/// Makes some of the words of 64 bits those that packets have another use for.
static void addSpecialWords(std::string &input, std::mt19937_64 &random) {
  for (size_t at = 0; at + 8 <= input.size(); at += 8)
    if (uint64_t choice = random() % 16; choice < 2)
      std::memcpy(input.data() + at, choice ? &missingWord : &escapedWord, 8);
}

std::vector<std::string> randomInputs(const Collective &c, uint64_t seed, bool special) {
  std::mt19937_64 random(seed);
  size_t size = size_t(elementSizeBytes(c.type));
  std::vector<std::string> inputs(size_t(c.ranks), std::string(size_t(c.inputElements()) * size, '\0'));
  for (std::string &input : inputs) {
    for (size_t i = 0; i < input.size(); i += size) {
      char *at = input.data() + i;
      if (c.type == ElementType::I1) {
        *at = char(random() & 1);
      } else if (!isFloat(c.type)) {
        storeInt(c.type, int64_t(random()), at);
      } else if (special && random() % 8 == 0) {
        const double values[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1e300, -1e300};
        storeDouble(c.type, values[random() % 7], at);
      } else {
        storeDouble(c.type, double(int64_t(random() % 20001) - 10000) / 4096.0, at);
      }
    }
    if (special && c.type != ElementType::I1 && !(c.reduces() && isFloat(c.type)))
      addSpecialWords(input, random);
  }
  return inputs;
}

static bool isDifferent(ElementType type, const char *seen, const char *expected) {
  if (std::memcmp(seen, expected, size_t(elementSizeBytes(type))) == 0)
    return false;
  return !(isFloat(type) && std::isnan(loadDouble(type, seen)) && std::isnan(loadDouble(type, expected)));
}

int64_t countDifferences(ElementType type, const std::string &seen, const std::string &expected) {
  if (seen == expected)
    return 0;
  int64_t count = 0;
  for (size_t at = 0; at < expected.size(); at += size_t(elementSizeBytes(type)))
    count += isDifferent(type, seen.data() + at, expected.data() + at);
  return count;
}

std::string firstDifference(ElementType type, const std::string &seen, const std::string &expected) {
  if (seen.size() != expected.size())
    return std::to_string(seen.size()) + " bytes, expected " + std::to_string(expected.size());
  size_t size = size_t(elementSizeBytes(type));
  for (size_t i = 0; i < seen.size(); i += size)
    if (isDifferent(type, seen.data() + i, expected.data() + i))
      return "element " + std::to_string(i / size) + ": " + formatElement(type, seen.data() + i) + ", expected " +
             formatElement(type, expected.data() + i);
  return "";
}

} // namespace heddle::reference
