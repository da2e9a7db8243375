// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For tests: candidates with planted times, noise, failures and crashes, and a place where the process is killed.
#pragma once
#include "autotune/Search.h"
#include "support/Hash.h"
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <random>

namespace heddle::autotune {

/// What outlives a killed process: the devices of a test go on where they were.
struct FakeDevice {
  std::vector<double> times; ///< true ones, by candidate
  double noise = 0;          ///< standard deviation, as a part of the time
  double hiccups = 0;        ///< probability that a measurement takes three times as long
  uint64_t seed = 1;
  std::map<size_t, CandidateFailure> failures = {};
  bool isExact = false;
  std::vector<size_t> measured = {}; ///< the candidates, in order
  std::map<size_t, uint64_t> counts = {};
};

struct Killed {};

class FakeClock : public Clock {
public:
  explicit FakeClock(FakeDevice &device, size_t killAfter = SIZE_MAX) : device(device), left(killAfter) {}
  bool isExact() const override { return device.isExact; }
  void prepare(size_t candidate) override {
    auto failure = device.failures.find(candidate);
    if (failure != device.failures.end())
      throw failure->second;
  }
  double measure(size_t candidate) override {
    if (left-- == 0)
      throw Killed();
    device.measured.push_back(candidate);
    seconds += 0.001;
    // Of this measurement alone, so that a resumed search sees the same noise.
    std::mt19937_64 random(hashBytes(fmt::format("{} {} {}", device.seed, candidate, device.counts[candidate]++)));
    double uniform = double(random() >> 11) / double(1ULL << 53), angle = double(random() >> 11) / double(1ULL << 53);
    double normal = std::sqrt(-2 * std::log(1 - uniform)) * std::cos(2 * M_PI * angle);
    double hiccup = double(random() >> 11) / double(1ULL << 53) < device.hiccups ? 3 : 1;
    return device.times[candidate] * std::max(0.1, 1 + device.noise * normal) * hiccup;
  }
  double seconds = 0; ///< passed

private:
  FakeDevice &device;
  size_t left;
};

inline Key fakeKey(const std::string &extents = "M=64") {
  return Key({{"kernel", "fake"},
              {"kernel_version", "1"},
              {"compiler", "heddle 0"},
              {"chip", "host"},
              {"device", "test"},
              {"driver", "none"},
              {"clock", "fake"},
              {"types", "x=f32"},
              {"strides", "x=1"},
              {"alignment", "16"},
              {"extents", extents},
              {"options", "default"},
              {"fixed", "default"}});
}

inline std::vector<std::string> fakeNames(size_t count) {
  std::vector<std::string> names = {"default"};
  for (size_t i = 1; i < count; ++i)
    names.push_back(fmt::format("c={}", i));
  return names;
}

/// Times that are from `least` to 2.5 times the default's, evenly by their logarithms.
inline std::vector<double> landscape(size_t count, double least, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> times = {100};
  for (size_t i = 1; i < count; ++i) {
    double part = double(random() >> 11) / double(1ULL << 53);
    times.push_back(100 * least * std::pow(2.5 / least, part));
  }
  return times;
}

} // namespace heddle::autotune
