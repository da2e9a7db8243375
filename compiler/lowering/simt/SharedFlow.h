// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The order in which a thread uses shared memory: steps and what may come after each. From it follow which meetings of
// threads (barriers) can be left out, and where buffers are to lie so that few are needed. No IR here.
#pragma once
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <vector>

namespace heddle::simt {

/// Who waits for whom: nobody, the lanes of a warp, the warps of a block.
enum class Meeting : uint8_t { None, Warp, Block };

/// A piece of shared memory that some accesses are for.
struct SharedBuffer {
  int64_t bytes = 0;
  /// Each warp writes and reads bytes of its own, the same at every use.
  bool perWarp = false;
  int64_t first = 0; ///< it may lie from here on
  int64_t start = 0; ///< chosen by placeBuffers
};

class SharedFlow {
public:
  enum Access : uint8_t { Read = 1, Write = 2, Update = 4 }; ///< updates are atomic: they do not disturb each other

  std::vector<SharedBuffer> buffers;
  bool oneWarp = false; ///< is all that the block has

  /// Adds a step after the open ends, and makes it the one open end. Accesses to a buffer between two meetings of the
  /// text are one step's worth: whoever emitted them knows that they are for different bytes.
  void access(unsigned buffer, uint8_t kinds);
  /// A meeting that may be left out or made smaller; its number is counted from 0. `depth` is that of its loop.
  void proposeMeeting(unsigned depth);
  /// A meeting of the block that the program asks for.
  void fixedMeeting();

  /// Where the flow stands: the steps that the next one comes after. Branches save, set and join ends; a loop's back
  /// edge is made by `link` to a `place()` at its head.
  using Ends = llvm::SmallVector<unsigned, 4>;
  Ends ends;
  void join(const Ends &other);
  unsigned place(); ///< an empty step, to link to
  void link(const Ends &from, unsigned to);

  /// Chooses where the buffers lie: those that are used one right after the other apart, so that the second need not
  /// wait for readers of the first, as far as all end before `limit`. Returns the end of all.
  int64_t placeBuffers(int64_t limit);

  /// The smallest sets of the proposed meetings such that any two accesses of different threads to one byte, of which
  /// one writes, are ordered on every path. No single one of them can be left out or made smaller.
  std::vector<Meeting> chooseMeetings() const;

private:
  struct Step {
    enum Kind : uint8_t { Place, Use, Proposed, Fixed } kind = Place;
    uint8_t kinds = 0;   ///< of a use: Access
    unsigned number = 0; ///< of the buffer or the proposed meeting
    unsigned phase = 0;  ///< of a use: how many meetings stand before it in the text
    unsigned depth = 0;
    llvm::SmallVector<unsigned, 2> before;
  };
  unsigned add(Step step);
  Meeting between(const Step &first, const Step &second) const; ///< what the two need; the buffers are placed
  bool isOrdered(const std::vector<Meeting> &meetings) const;
  std::vector<llvm::SmallVector<unsigned, 4>> findNeighbours() const;

  std::vector<Step> steps;
  std::vector<unsigned> proposed; ///< their steps
  unsigned phase = 0;
};

} // namespace heddle::simt
