// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where caches get their lines: pieces of equal size out of large blocks. What a kernel touches once costs little more
// than the first touch of these, so that blocks are as large as the system's large pages and are used again.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <vector>

namespace heddle::simulator {

class LinePool {
public:
  static constexpr std::size_t pieceBytes = 4096, alignment = 128;

  /// Uninitialised.
  void *take() {
    if (spare.empty())
      addBlock();
    void *piece = spare.back();
    spare.pop_back();
    return piece;
  }
  void give(void *piece) { spare.push_back(piece); }

private:
  struct Free {
    void operator()(void *block) const { std::free(block); }
  };
  void addBlock();

  std::vector<std::unique_ptr<void, Free>> blocks;
  std::vector<void *> spare;
  std::size_t nextBytes = std::size_t(1) << 16; ///< of the next block: small runs need little
};

} // namespace heddle::simulator
