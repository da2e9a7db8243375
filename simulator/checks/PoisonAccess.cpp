// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The part of PoisonStep that memory instructions take: what must not be poison when they are issued.
#include "simulator/checks/PoisonStep.h"
#include "simulator/memory/MemoryRequest.h"

namespace heddle::simulator {

/// All words of a vector operand in the active lanes.
void PoisonStep::checkLanes(const Operand &operand, PoisonSink kind) {
  if (!operand.isVector())
    return checkScalars(operand, kind);
  uint64_t lanes = 0;
  for (unsigned word = 0; word < operand.words; ++word)
    if (uint64_t poison = registers.rows[operand.index + word].lanes() & wave.exec()) {
      lanes |= poison;
      noteOrigin(operand, word);
    }
  if (lanes)
    sink(kind, std::countr_zero(lanes));
  origin = 0;
}

void PoisonStep::checkScalars(const Operand &operand, PoisonSink kind) {
  if (operand.kind != Operand::Kind::Scalar)
    return;
  bool found = false;
  for (unsigned word = 0; word < operand.words && operand.index + word < 128; ++word)
    if (registers.scalars[operand.index + word]) {
      noteOrigin(operand, word);
      found = true;
    }
  if (found)
    sink(kind);
  origin = 0;
}

void PoisonStep::checkScalarMemory() {
  if (instruction.operandCount == 0) // what the cache is told
    return;
  std::string_view name = instruction.mnemonic;
  bool hasDescriptor = name.starts_with("s_buffer_"), isAtomic = name.find("_atomic_") != std::string_view::npos,
       isStore = name.find("_store_") != std::string_view::npos;
  checkScalars(instruction.operands[1], hasDescriptor ? PoisonSink::Descriptor : PoisonSink::Address);
  if (instruction.operandCount > 2)
    checkScalars(instruction.operands[2], PoisonSink::Address);
  if (isAtomic || (isStore && instruction.modifiers.sc0))
    checkScalars(instruction.operands[0], PoisonSink::SharedStore);
}

void PoisonStep::checkLocalMemory() {
  std::string_view name = instruction.mnemonic;
  if (name.find("permute_") != std::string_view::npos || name == "ds_swizzle_b32")
    return; // a wrong lane is no wrong place
  unsigned first = plan.destinations;
  if (first < instruction.operandCount)
    checkLanes(instruction.operands[first], PoisonSink::Address);
  bool isAtomic = !name.starts_with("ds_read") && !name.starts_with("ds_write");
  for (unsigned i = first + 1; i < instruction.operandCount && isAtomic; ++i)
    checkLanes(instruction.operands[i], PoisonSink::SharedStore);
}

void PoisonStep::checkVectorMemory() {
  const Operand *operands = instruction.operands;
  std::string_view name = instruction.mnemonic;
  unsigned count = instruction.operandCount, first = plan.destinations;
  if (count == 0) // cache operations
    return;
  bool isAtomic = name.find("_atomic_") != std::string_view::npos,
       isLoad = name.find("_load_") != std::string_view::npos;
  bool isPrivate = name.starts_with("scratch_"); // volatile, as its scope bits say
  bool isShared =
      isAtomic || (!isLoad && !isPrivate && scopeOf(instruction.modifiers, RequestKind::Store) >= Scope::Agent);
  bool toLds = instruction.modifiers.lds || name.starts_with("global_load_lds_");
  if (toLds && registers.scalars[m0Register]) {
    origin = registers.scalarOrigins[m0Register];
    sink(PoisonSink::M0);
    origin = 0;
  }
  if (name.starts_with("buffer_")) {
    unsigned address = instruction.modifiers.lds ? 0 : 1;
    checkLanes(operands[address], PoisonSink::Address);
    checkScalars(operands[address + 1], PoisonSink::Descriptor);
    checkScalars(operands[address + 2], PoisonSink::Address);
    if (isShared)
      checkLanes(operands[0], PoisonSink::SharedStore);
    return;
  }
  checkLanes(operands[first], PoisonSink::Address);
  if (count > first + 1)
    checkScalars(operands[count - 1], PoisonSink::Address);
  if (isShared)
    checkLanes(operands[first + 1], PoisonSink::SharedStore);
}

} // namespace heddle::simulator
