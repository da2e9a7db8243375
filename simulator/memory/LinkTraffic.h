// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What kernels move between devices, for each ordered pair of them: whether the links of a machine are used at once,
// and equally, shows here. Counted is what is asked for; that caches spare or add some is left out.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace heddle::simulator {

class AddressSpace;
struct MemoryRequest;

class LinkTraffic {
public:
  struct Link {
    uint64_t bytes = 0, requests = 0; ///< a wave's instruction is one request
    std::vector<uint64_t> windows;    ///< bytes; see windowBytes()
  };

  /// A request that a wave of `device` makes: what it reads goes from the memory's owner to the device, what it writes
  /// the other way, and of a read-modify-write both.
  void count(const AddressSpace &space, unsigned device, const MemoryRequest &request);

  /// By (from, to); pairs between which nothing went are left out.
  const std::map<std::pair<unsigned, unsigned>, Link> &links() const { return byPair; }
  /// How much all links together carried in a window, but for the last one, and up to a request more. It doubles, and
  /// windows become one two by two, where there would be too many.
  uint64_t windowBytes() const { return windowSize; }
  size_t windowCount() const { return window + (inWindow != 0); }

private:
  static constexpr size_t mostWindows = 64;
  void add(unsigned from, unsigned to, uint64_t bytes);
  void endWindow();

  std::map<std::pair<unsigned, unsigned>, Link> byPair;
  uint64_t windowSize = 1024, inWindow = 0;
  size_t window = 0;
};

} // namespace heddle::simulator
