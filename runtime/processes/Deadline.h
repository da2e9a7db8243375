// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A moment after which a wait for another process ends.
#pragma once
#include <algorithm>
#include <chrono>

namespace heddle {

class Deadline {
public:
  using Clock = std::chrono::steady_clock;
  /// From now; more than `longest` counts as that.
  static constexpr double longest = 1e6;
  explicit Deadline(double seconds)
      : end(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                               std::chrono::duration<double>(std::clamp(seconds, 0.0, longest)))) {}

  bool passed() const { return Clock::now() >= end; }
  Clock::time_point time() const { return end; }
  /// For poll(2): rounded up, at least 0, at most `most`.
  int milliseconds(int most = 1000) const {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    return int(std::clamp<long long>(left, 0, most));
  }
  Deadline sooner(double seconds) const {
    Deadline other(seconds);
    return other.end < end ? other : *this;
  }

private:
  Clock::time_point end;
};

} // namespace heddle
