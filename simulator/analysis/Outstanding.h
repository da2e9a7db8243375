// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory operations that may be under way at a place of the code, and what needs them to be over.
#pragma once
#include "simulator/checks/RegisterUse.h"
#include "simulator/instructions/HardwareRegisters.h"
#include <cstdint>
#include <set>
#include <vector>

namespace heddle::simulator {

/// What an instruction is to the counters and to the order of memory.
struct Operation {
  enum class Kind : uint8_t { None, Vector, Lds, Scalar, Flat };
  Kind kind = Kind::None;
  bool isVisible = false;    ///< others may see whether it is over: all but loads of global memory into registers
  bool isOrderPoint = false; ///< it comes behind all that was issued before it
  bool isBarrier = false;    ///< what others may see comes before it
  bool writesLds = false;    ///< a load to LDS
  RegisterUse use;
};

Operation operationOf(const Instruction &instruction);

/// Whether `instruction`, which is `operation`, goes wrong while `earlier` is under way.
bool needs(const Instruction &instruction, const Operation &operation, const Operation &earlier);

/// Numbers of instructions whose operations may be under way.
struct Outstanding {
  /// Operations that return in order, by age: how many were issued after them.
  class Queue {
  public:
    explicit Queue(unsigned capacity) : capacity(capacity) {}
    void issue(uint32_t index);
    void truncate(unsigned count); ///< older ones are over
    bool join(const Queue &other); ///< true when it grows
    std::vector<uint32_t> from(unsigned age) const;
    /// The least age from `age` on at which the operation may be.
    unsigned youngestFrom(unsigned age, uint32_t index) const;

  private:
    unsigned capacity; ///< the last age is this minus one, or more
    std::vector<std::set<uint32_t>> byAge;
  };
  Queue vector{63}, local{15};
  std::set<uint32_t> scalar; ///< counted with `local`, in any order
  bool maySkip = false;      ///< VSKIP may be set: an instruction that is no scalar one may do nothing

  void issue(uint32_t index, const Operation &operation);
  void note(SkipEffect effect);
  void waitVector(unsigned count);
  void waitLocal(unsigned count);
  bool join(const Outstanding &other);
};

} // namespace heddle::simulator
