// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Execution of global, flat, scratch and buffer instructions around a style of addressing. A style says which space its
// addresses lead to, which counters it uses, at which place of the text each operand stands, and how addresses come
// from registers.
#pragma once
#include "simulator/instructions/Atomics.h"
#include "simulator/instructions/MemoryAccess.h"

namespace heddle::simulator {

/// Places of operands in an instruction's text.
struct Places {
  uint8_t destination = 0, data = 0;
  uint8_t address = 0; ///< what follows it (base, descriptor, offset) belongs to the style
};

template <typename Style>
void beginRequest(const Wave &wave, const Instruction &instruction, RequestKind kind, unsigned bytes,
                  MemoryRequest &request) {
  request.instruction = &instruction;
  request.kind = kind;
  request.space = bytes ? Style::space : Space::None;
  request.scope = scopeOf(instruction.modifiers, kind);
  request.bytes = uint8_t(bytes);
  request.queues = Style::queues;
  request.lanes = wave.exec();
}

template <typename Style, AccessForm form>
void executeStore(Wave &wave, const Instruction &instruction) {
  MemoryRequest request;
  beginRequest<Style>(wave, instruction, RequestKind::Store, form.bytes, request);
  request.sample = sampleStore<Style::space, form>;
  request.words = form.words();
  gatherData<form>(wave, instruction.operands[Style::store.data], request);
  Style::resolve(wave, instruction, Style::store.address, form.bytes, request);
  wave.memory->issue(wave, request);
}

/// A load whose data go to LDS: sub-dword data fill a dword, and lanes lie 4 bytes apart, or 16 for data of 12 and 16.
template <AccessForm form>
void landInLds(Wave &wave, MemoryRequest &request) {
  unsigned stride = request.ldsStride;
  std::vector<uint8_t> &lds = wave.workgroup->lds;
  if (request.lanes == allLanes && uint64_t(request.ldsBase) + waveLanes * stride <= lds.size()) {
    uint8_t *place = lds.data() + request.ldsBase;
    for (unsigned lane = 0; lane < waveLanes; ++lane)
      for (unsigned word = 0; word < form.words(); ++word)
        std::memcpy(place + lane * stride + 4 * word, &request.data[word][lane], 4);
    return;
  }
  forLanes(request.lanes, [&](unsigned lane) {
    uint32_t value[form.words()];
    for (unsigned word = 0; word < form.words(); ++word)
      value[word] = request.data[word][lane];
    std::memcpy(bytesAt(wave, Space::Lds, lane, uint64_t(request.ldsBase) + lane * stride, sizeof value, true), value,
                sizeof value);
  });
}

template <typename Style, AccessForm form>
void executeLoadToLds(Wave &wave, const Instruction &instruction) {
  MemoryRequest request;
  beginRequest<Style>(wave, instruction, RequestKind::LoadToLds, form.bytes, request);
  request.sample = sampleLoad<Style::space, form>;
  request.land = landInLds<form>;
  request.ldsStride = form.bytes > 4 ? 16 : 4;
  request.words = form.words();
  request.ldsBase = wave.s[m0Register] + uint32_t(instruction.modifiers.offset);
  Style::resolve(wave, instruction, 0, form.bytes, request);
  wave.memory->issue(wave, request);
}

template <typename Style, AccessForm form>
void executeLoad(Wave &wave, const Instruction &instruction) {
  if constexpr (Style::loadsToLds) // with `lds` in the text there is no destination
    if (instruction.modifiers.lds)
      return executeLoadToLds<Style, form>(wave, instruction);
  MemoryRequest request;
  beginRequest<Style>(wave, instruction, RequestKind::Load, form.bytes, request);
  request.sample = sampleLoad<Style::space, form>;
  request.land = landRegisters<form>;
  request.words = form.words();
  request.destination = instruction.operands[Style::load.destination].index;
  Style::resolve(wave, instruction, Style::load.address, form.bytes, request);
  wave.memory->issue(wave, request);
}

/// `sc0` asks for the old value.
template <typename Style, unsigned bytes, MemoryEvent sample, bool compares>
void executeAtomic(Wave &wave, const Instruction &instruction) {
  constexpr AccessForm form{.bytes = bytes}, data{.bytes = compares ? 2 * bytes : bytes};
  bool returns = instruction.modifiers.sc0;
  const Places &places = returns ? Style::atomicReturning : Style::atomic;
  MemoryRequest request;
  beginRequest<Style>(wave, instruction, RequestKind::Atomic, bytes, request);
  request.sample = sample;
  request.land = returns ? landRegisters<form> : MemoryEvent(nullptr);
  request.words = form.words();
  request.destination = instruction.operands[places.destination].index;
  gatherData<data>(wave, instruction.operands[places.data], request);
  Style::resolve(wave, instruction, places.address, bytes, request);
  if (bytes == 8)
    request.inRange[0] &= request.inRange[1]; // all or nothing
  wave.memory->issue(wave, request);
}

/// Rows of one style: `prefix` is `global_`.
template <typename Style>
class VectorMemoryRows {
public:
  VectorMemoryRows(InstructionTable &table, std::string prefix) : table(table), prefix(std::move(prefix)) {}

  void addRow(const std::string &name, Execute execute, uint8_t destinations, uint16_t implicit = 0,
              ChipSet chips = ChipSet::Both) {
    table.add({.mnemonic = table.keep(prefix + name),
               .execute = execute,
               .types = allOf(DataType::B32),
               .destinations = destinations,
               .implicit = implicit,
               .chips = chips});
  }
  template <AccessForm form>
  void addLoad(const std::string &name) {
    addRow(name, executeLoad<Style, form>, 1, form.keepsOther ? readsDestination : 0);
  }
  template <AccessForm form>
  void addStore(const std::string &name) {
    addRow(name, executeStore<Style, form>, 0);
  }
  void addLoadsAndStores();
  /// `bfloats`: where there is a sum of bf16.
  void addAtomics(ChipSet bfloats = ChipSet::Both);

private:
  template <unsigned bytes>
  void addIntegerAtomics(const std::string &suffix);

  InstructionTable &table;
  std::string prefix;
};

template <typename Style>
void VectorMemoryRows<Style>::addLoadsAndStores() {
  addLoad<{.bytes = 1}>("load_ubyte");
  addLoad<{.bytes = 1, .signExtend = true}>("load_sbyte");
  addLoad<{.bytes = 2}>("load_ushort");
  addLoad<{.bytes = 2, .signExtend = true}>("load_sshort");
  addLoad<{.bytes = 1, .keepsOther = true}>("load_ubyte_d16");
  addLoad<{.bytes = 1, .keepsOther = true, .high = true}>("load_ubyte_d16_hi");
  addLoad<{.bytes = 1, .signExtend = true, .keepsOther = true}>("load_sbyte_d16");
  addLoad<{.bytes = 1, .signExtend = true, .keepsOther = true, .high = true}>("load_sbyte_d16_hi");
  addLoad<{.bytes = 2, .keepsOther = true}>("load_short_d16");
  addLoad<{.bytes = 2, .keepsOther = true, .high = true}>("load_short_d16_hi");
  addLoad<{.bytes = 4}>("load_dword");
  addLoad<{.bytes = 8}>("load_dwordx2");
  addLoad<{.bytes = 12}>("load_dwordx3");
  addLoad<{.bytes = 16}>("load_dwordx4");
  addStore<{.bytes = 1}>("store_byte");
  addStore<{.bytes = 1, .high = true}>("store_byte_d16_hi");
  addStore<{.bytes = 2}>("store_short");
  addStore<{.bytes = 2, .high = true}>("store_short_d16_hi");
  addStore<{.bytes = 4}>("store_dword");
  addStore<{.bytes = 8}>("store_dwordx2");
  addStore<{.bytes = 12}>("store_dwordx3");
  addStore<{.bytes = 16}>("store_dwordx4");
}

template <typename Style>
template <unsigned bytes>
void VectorMemoryRows<Style>::addIntegerAtomics(const std::string &suffix) {
  using U = std::conditional_t<bytes == 8, uint64_t, uint32_t>;
  forEachIntegerAtomic<U>([&]<typename T, auto operation>(const char *name) {
    addRow("atomic_" + (name + suffix), executeAtomic<Style, bytes, sampleAtomic<Style::space, T, operation>, false>,
           0);
  });
  addRow("atomic_cmpswap" + suffix,
         executeAtomic<Style, bytes, sampleAtomic<Style::space, U, exchangeIfEqual<U>>, true>, 0);
}

template <typename Style>
void VectorMemoryRows<Style>::addAtomics(ChipSet bfloats) {
  addIntegerAtomics<4>("");
  addIntegerAtomics<8>("_x2");
  forEachFloatAtomic([&]<typename T, auto operation>(const char *name) {
    bool isBfloat = std::string_view(name).ends_with("bf16");
    addRow(std::string("atomic_") + name,
           executeAtomic<Style, sizeof(T), sampleAtomic<Style::space, T, operation>, false>, 0, 0,
           isBfloat ? bfloats : ChipSet::Both);
  });
}

} // namespace heddle::simulator
