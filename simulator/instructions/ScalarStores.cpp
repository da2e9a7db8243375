// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stores and atomic operations of scalar registers, and what the scalar cache is told. A store without glc stays in
// that cache until s_dcache_wb writes it back; an atomic operation is done where the device agrees, and with glc its
// register gets the old value. Source: AMD's "Vega" Instruction Set Architecture, SMEM (the CDNA manuals leave these
// out, LLVM assembles them for gfx942 and gfx950); LLVM's AMDGPU user guide, which writes back before s_endpgm.
#include "simulator/instructions/Atomics.h"
#include "simulator/instructions/Families.h"
#include "simulator/instructions/ScalarMemory.h"

namespace heddle::simulator {
namespace {

void sampleStore(Wave &wave, MemoryRequest &request) {
  for (uint64_t rest = request.lanes; rest; rest &= rest - 1) {
    auto word = unsigned(std::countr_zero(rest));
    uint64_t address = request.address[0] + 4 * word;
    if (wave.memory->isDirect())
      std::memcpy(wave.memory->global.at(address, 4, true), &request.scalarData[word], 4);
    else
      wave.memory->write(wave, request, address, 4, &request.scalarData[word]);
  }
}

/// The address, and the words that the range of a descriptor leaves.
template <bool isBuffer>
void setPlace(const Wave &wave, const Instruction &instruction, MemoryRequest &request) {
  request.instruction = &instruction;
  request.space = Space::Global;
  request.bytes = 4;
  request.queues = MemoryRequest::Scalar;
  if constexpr (isBuffer) {
    ScalarRange range(wave, instruction);
    request.lanes = range.words(request.words);
    request.address[0] = range.base + range.offset;
  } else {
    request.lanes = (uint64_t(1) << request.words) - 1;
    request.address[0] = scalarAddress(wave, instruction);
  }
}

template <unsigned words, bool isBuffer>
void store(Wave &wave, const Instruction &instruction) {
  MemoryRequest request;
  request.sample = sampleStore;
  request.kind = RequestKind::Store;
  request.scope = scalarScope(instruction);
  request.words = words;
  setPlace<isBuffer>(wave, instruction, request);
  std::memcpy(request.scalarData, wave.s + instruction.operands[0].index, words * 4);
  wave.memory->issue(wave, request);
}

//===-- Atomic operations ----------------------------------------------------------------------------------------===//

template <typename T>
T scalarValue(const MemoryRequest &request, unsigned first) {
  T value;
  std::memcpy(&value, request.scalarData + first, sizeof value);
  return value;
}

/// `operation(old)` of the value in memory; the old value takes the data's place.
template <typename T, typename Operation>
void changeScalar(Wave &wave, MemoryRequest &request, Operation operation) {
  uint64_t address = request.address[0];
  if (request.lanes + 1 != uint64_t(1) << request.words) { // beyond its descriptor
    std::memset(request.scalarData, 0, sizeof(T));
    return;
  }
  if (address % sizeof(T))
    faultMisaligned(address, sizeof(T), 0);
  uint8_t *place = wave.memory->change(wave, request, address, sizeof(T));
  T old;
  std::memcpy(&old, place, sizeof old);
  T changed = operation(old);
  std::memcpy(place, &changed, sizeof changed);
  std::memcpy(request.scalarData, &old, sizeof old);
}

template <typename T, auto operation>
void sampleScalarAtomic(Wave &wave, MemoryRequest &request) {
  changeScalar<T>(wave, request, [&](T old) -> T { return operation(old, scalarValue<T>(request, 0)); });
}

template <typename T>
void sampleScalarExchange(Wave &wave, MemoryRequest &request) {
  T data = scalarValue<T>(request, 0), compare = scalarValue<T>(request, sizeof(T) / 4);
  changeScalar<T>(wave, request, [&](T old) { return exchangeIfEqual(old, data, compare); });
}

/// `dataWords` in registers, of which the first `words` get the old value.
template <MemoryEvent sample, unsigned words, unsigned dataWords, bool isBuffer>
void change(Wave &wave, const Instruction &instruction) {
  MemoryRequest request;
  request.sample = sample;
  if (instruction.modifiers.sc0)
    request.land = landScalars;
  request.kind = RequestKind::Atomic;
  request.scope = Scope::Agent;
  request.words = words;
  request.destination = instruction.operands[0].index;
  setPlace<isBuffer>(wave, instruction, request);
  request.inRange[0] = request.lanes & 1;
  std::memcpy(request.scalarData, wave.s + instruction.operands[0].index, dataWords * 4);
  wave.memory->issue(wave, request);
}

//===-- The cache ------------------------------------------------------------------------------------------------===//

template <RequestKind kind>
void tellCache(Wave &wave, const Instruction &instruction) {
  MemoryRequest request;
  request.sample = [](Wave &wave, MemoryRequest &request) { wave.memory->tellScalarCache(wave, request.kind); };
  request.instruction = &instruction;
  request.kind = kind;
  request.queues = MemoryRequest::Scalar;
  wave.memory->issue(wave, request);
}

struct Adder {
  InstructionTable &table;
  void add(std::string name, Execute execute, uint16_t implicit = 0) {
    table.add({.mnemonic = table.keep(std::move(name)),
               .execute = execute,
               .types = allOf(DataType::I32),
               .destinations = 0,
               .implicit = implicit});
  }
  template <MemoryEvent sample, unsigned words, unsigned dataWords>
  void addAtomic(const std::string &name) {
    add("s_atomic_" + name, change<sample, words, dataWords, false>);
    add("s_buffer_atomic_" + name, change<sample, words, dataWords, true>);
  }
  template <typename U>
  void addAtomics(const std::string &suffix) {
    constexpr unsigned words = sizeof(U) / 4;
    forEachIntegerAtomic<U>([&]<typename T, auto operation>(const char *name) {
      addAtomic<sampleScalarAtomic<T, operation>, words, words>(name + suffix);
    });
    addAtomic<sampleScalarExchange<U>, words, 2 * words>("cmpswap" + suffix);
  }
  template <unsigned words>
  void addStore(const std::string &suffix) {
    add("s_store_dword" + suffix, store<words, false>);
    add("s_buffer_store_dword" + suffix, store<words, true>);
  }
};

} // namespace

void addScalarStores(InstructionTable &table) {
  Adder adder{table};
  adder.addStore<1>("");
  adder.addStore<2>("x2");
  adder.addStore<4>("x4");
  adder.addAtomics<uint32_t>("");
  adder.addAtomics<uint64_t>("_x2");
  for (const char *suffix : {"", "_vol"}) {
    adder.add(std::string("s_dcache_inv") + suffix, tellCache<RequestKind::ScalarInvalidate>);
    adder.add(std::string("s_dcache_wb") + suffix, tellCache<RequestKind::ScalarWriteBack>);
  }
}

} // namespace heddle::simulator
