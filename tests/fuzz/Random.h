// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fuzzer's own random numbers: splitmix64, the same on every machine and with every library.
#pragma once
#include <cstdint>
#include <vector>

namespace heddle::fuzz {

class Random {
public:
  /// Neighbouring seeds must not give shifted copies of one stream, so the seed is mixed before it becomes the state.
  explicit Random(uint64_t seed) : state(seed * 0xd1342543de82ef95u + 0x1234567u) { state = bits() ^ (seed << 32); }

  uint64_t bits() {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// Uniform in [0, bound).
  int64_t below(int64_t bound) { return int64_t(bits() % uint64_t(bound)); }
  /// Uniform in [low, high].
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  bool chance(int percent) { return below(100) < percent; }
  template <typename T>
  const T &pick(const std::vector<T> &choices) {
    return choices[below(int64_t(choices.size()))];
  }

private:
  uint64_t state;
};

} // namespace heddle::fuzz
