// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A timeline of the compute unit that is timed, in the Chrome trace format, which Perfetto opens: a track for each
// wave, for the matrix unit of each SIMD and for LDS, and one slice for each memory instruction in flight. A
// microsecond there is a cycle. Source of the format: "Trace Event Format", the Chromium project.
#pragma once
#include "simulator/timing/UnitModel.h"
#include <map>
#include <string>

namespace heddle::simulator {

class TraceEvents {
public:
  /// Of the first `groups` workgroups, and no more than `mostEvents`.
  TraceEvents(size_t groups, size_t mostEvents) : groups(groups), mostEvents(mostEvents) {}

  enum class Unit { Matrix, Lds };

  /// A wave that could have issued from `ready` on waited for `bound`, and issues at `time`.
  void issue(size_t group, unsigned wave, InstructionKind kind, uint64_t ready, uint64_t time, Bound bound);
  void busy(Unit unit, unsigned number, size_t group, const std::string &mnemonic, uint64_t begin, uint64_t cycles);
  void inFlight(size_t group, unsigned wave, const std::string &mnemonic, uint64_t begin, uint64_t cycles,
                unsigned bytes);

  /// The file. `title` names the compute unit.
  std::string json(const std::string &title);
  size_t dropped() const { return droppedEvents; } ///< beyond `mostEvents`

private:
  /// Instructions of one kind that a wave issues one after the other are one slice.
  struct Slice {
    InstructionKind kind = InstructionKind::Other;
    uint64_t begin = 0, end = 0, count = 0;
  };
  bool takes(size_t group);
  unsigned trackOfWave(size_t group, unsigned wave);
  void close(unsigned track, Slice &slice);
  void add(const std::string &event) { events += ",\n" + event; }

  size_t groups, mostEvents, count = 0, droppedEvents = 0;
  unsigned nextFlight = 0;
  std::map<unsigned, std::string> trackNames;
  std::map<unsigned, Slice> open; ///< by track
  std::string events;
};

} // namespace heddle::simulator
