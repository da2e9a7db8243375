// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the waves of a workgroup did, step by step, and whether a wait or a barrier among it ordered anything. This is
// no check, and uses none: it knows neither clocks nor policies, only which accesses meet in the same bytes and which
// barriers and waits lie between them. What it cannot tell counts as ordered.
#pragma once
#include "simulator/checks/RegisterUse.h"
#include "simulator/instructions/WaitCounts.h"
#include "simulator/memory/MemoryRequest.h"
#include <span>
#include <unordered_map>

namespace heddle::simulator {

/// Bytes from `begin` up to `end`.
struct ByteRange {
  uint64_t begin = 0, end = 0;
};

struct LoggedRequest {
  const Instruction *instruction = nullptr;
  RequestKind kind = RequestKind::Other;
  Space space = Space::None;
  Scope scope = Scope::Wave;
  uint8_t queues = 0, bytes = 0;
  bool hasResult = false;
  RegisterSpan result;
  std::vector<ByteRange> lds, global; ///< sorted; a load to LDS has both
  uint32_t step = 0;

  /// Nothing is accessed, and nothing brought: no lane was active.
  bool isEmpty() const { return bytes > 0 && lds.empty() && global.empty(); }
  bool isGlobal() const { return queues & (MemoryRequest::Vector | MemoryRequest::Scalar) && space != Space::Scratch; }
  bool writesLds() const { return kind != RequestKind::Load; }
  bool writesGlobal() const { return kind == RequestKind::Store || kind == RequestKind::Atomic; }
  /// A load or store that tells others nothing, and learns nothing from others.
  bool isPlain() const {
    return (kind == RequestKind::Load || kind == RequestKind::Store) && space == Space::Global &&
           scope == Scope::Wave && queues == MemoryRequest::Vector;
  }
  /// May be how others learn of something.
  bool tells() const {
    return isGlobal() &&
           (kind == RequestKind::Atomic || kind == RequestKind::WriteBack || kind == RequestKind::ScalarWriteBack ||
            (kind == RequestKind::Store && (scope > Scope::Wave || queues & MemoryRequest::Scalar)));
  }
  /// That, or how it learns from others.
  bool synchronises() const {
    return tells() || (isGlobal() && (kind == RequestKind::Invalidate || kind == RequestKind::ScalarInvalidate ||
                                      scope >= Scope::Agent));
  }
};

struct LoggedWave {
  std::vector<const Instruction *> steps;
  std::vector<LoggedRequest> requests; ///< in the order of their steps
  std::vector<uint32_t> barriers;      ///< steps

  /// The requests of the steps after `from` up to `to`.
  std::span<const LoggedRequest> between(uint32_t from, uint32_t to) const;
};

/// What a wait or a barrier did for a workgroup.
enum class Order : uint8_t {
  Idle,   ///< nothing was in flight that it would have waited for
  Free,   ///< it waited, and nothing depended on that
  Needed, ///< something did, or that could not be told
};

class GroupLog {
public:
  /// `left` is what all logs of a run may take yet, in units of 16 bytes. A log that finds nothing left is given up.
  GroupLog(size_t waves, size_t &left) : waves(waves), left(left) {}
  ~GroupLog() { left += taken; }

  void step(const Wave &wave, const Instruction &instruction);
  void request(const Wave &wave, const MemoryRequest &request);

  /// Of the wait at address `pc`, if it demanded no more than `weaker`.
  Order withWait(uint64_t pc, WaitCounts weaker);
  /// Of the barrier at `pc`, if it were not there.
  Order withoutBarrier(uint64_t pc);

private:
  using Steps = std::vector<uint32_t>;
  struct Access {
    size_t wave;
    const LoggedRequest *request;
    uint32_t from, to; ///< between which barriers it began and was known to be over
  };
  bool take(size_t units);
  void prepare();
  Steps completions(const LoggedWave &wave, uint64_t pc, WaitCounts weaker) const;
  static uint32_t intervalOf(const LoggedWave &wave, uint32_t step);
  bool isFree(size_t wave, const LoggedRequest &request, uint32_t from, uint32_t to);
  bool isFreeInMemory(const LoggedWave &wave, const LoggedRequest &request, uint32_t from, uint32_t to) const;
  bool isFreeInLds(size_t wave, const LoggedRequest &request, uint32_t from, uint32_t to);
  bool usesResult(const LoggedWave &wave, const LoggedRequest &request, uint32_t from, uint32_t to);
  bool areAllAlike() const;
  bool losesOrder(const Access &first, const Access &second, const Steps &merged) const;
  const RegisterUse &useOf(const Instruction &instruction);

  std::vector<LoggedWave> waves;
  size_t &left;
  size_t taken = 0;
  bool isComplete = true, isPrepared = false;
  std::vector<Steps> over;                    ///< of each wave's requests: the step that proved it
  std::vector<std::vector<Access>> intervals; ///< what begins between two barriers
  std::unordered_map<const Instruction *, RegisterUse> uses;
};

} // namespace heddle::simulator
