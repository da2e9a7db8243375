// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LDS reads, writes and atomics. Source: AMD Instinct MI300 (CDNA3) and CDNA4 Instruction Set Architecture, "Data Share
// Operations".
#include "simulator/instructions/Atomics.h"
#include "simulator/instructions/Families.h"
#include "simulator/instructions/MemoryAccess.h"

namespace heddle::simulator {
namespace {

/// Every lane's address plus the instruction's offset, in 32 bits.
void beginLocal(const Wave &wave, const Instruction &instruction, const Operand &address, RequestKind kind,
                unsigned bytes, MemoryRequest &request) {
  if (instruction.modifiers.gds)
    throw Fault("uses global data share, which this chip does not have");
  request.instruction = &instruction;
  request.kind = kind;
  request.space = Space::Lds;
  request.scope = Scope::Workgroup;
  request.bytes = uint8_t(bytes);
  request.queues = MemoryRequest::Lds;
  request.lanes = wave.exec();
  const uint32_t *lanes = wave.v[address.index];
  uint32_t offset = uint32_t(instruction.modifiers.offset);
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    request.address[lane] = uint32_t(lanes[lane] + offset);
  setAllInRange(request);
}

template <AccessForm form>
void read(Wave &wave, const Instruction &instruction) {
  MemoryRequest request;
  beginLocal(wave, instruction, instruction.operands[1], RequestKind::Load, form.bytes, request);
  request.sample = sampleLoad<Space::Lds, form>;
  request.land = landRegisters<form>;
  request.words = form.words();
  request.destination = instruction.operands[0].index;
  wave.memory->issue(wave, request);
}

template <AccessForm form>
void write(Wave &wave, const Instruction &instruction) {
  MemoryRequest request;
  beginLocal(wave, instruction, instruction.operands[0], RequestKind::Store, form.bytes, request);
  request.sample = sampleStore<Space::Lds, form>;
  request.words = form.words();
  gatherData<form>(wave, instruction.operands[1], request);
  wave.memory->issue(wave, request);
}

/// Two elements, in units of `unit` bytes from the address. It is counted from the lower one: the address of a lane may
/// be negative, and the sum with an offset is one of 32 bits.
template <unsigned bytes, unsigned unit>
void beginTwo(const Wave &wave, const Instruction &instruction, unsigned address, RequestKind kind,
              MemoryRequest &request) {
  beginLocal(wave, instruction, instruction.operands[address], kind, bytes, request);
  request.pieces = 2;
  uint32_t offsets[2] = {instruction.modifiers.offset0 * unit, instruction.modifiers.offset1 * unit};
  uint32_t lower = std::min(offsets[0], offsets[1]);
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    request.address[lane] = uint32_t(request.address[lane] + lower);
  for (unsigned half = 0; half < 2; ++half)
    request.pieceOffset[half] = offsets[half] - lower;
  request.words = bytes / 2;
}

/// Calls `action(lane, half, bytes)` with the place of each of the two elements.
template <unsigned bytes, typename Action>
void forTwoPlaces(Wave &wave, const MemoryRequest &request, bool writes, Action action) {
  for (unsigned half = 0; half < 2; ++half) {
    uint32_t offset = request.pieceOffset[half];
    CommonPlace common = findCommonPlace<Space::Lds>(wave, request, request.lanes, offset + bytes, writes);
    if (common.found)
      forLanes(request.lanes, [&](unsigned lane) { action(lane, half, common.at(request.address[lane] + offset, 0)); });
    else
      forLanes(request.lanes, [&](unsigned lane) {
        action(lane, half, bytesAt(wave, Space::Lds, lane, request.address[lane] + offset, bytes, writes));
      });
  }
}

template <unsigned bytes>
void sampleTwo(Wave &wave, MemoryRequest &request) {
  forTwoPlaces<bytes>(wave, request, false, [&](unsigned lane, unsigned half, const uint8_t *place) {
    uint32_t value[bytes / 4];
    std::memcpy(value, place, bytes);
    for (unsigned word = 0; word < bytes / 4; ++word)
      request.data[half * bytes / 4 + word][lane] = value[word];
  });
}

template <unsigned bytes, unsigned unit>
void readTwo(Wave &wave, const Instruction &instruction) {
  MemoryRequest request;
  beginTwo<bytes, unit>(wave, instruction, 1, RequestKind::Load, request);
  request.sample = sampleTwo<bytes>;
  request.land = landRegisters<AccessForm{.bytes = 2 * bytes}>;
  request.destination = instruction.operands[0].index;
  wave.memory->issue(wave, request);
}

template <unsigned bytes>
void sampleWriteTwo(Wave &wave, MemoryRequest &request) {
  forTwoPlaces<bytes>(wave, request, true, [&](unsigned lane, unsigned half, uint8_t *place) {
    uint32_t value[bytes / 4];
    for (unsigned word = 0; word < bytes / 4; ++word)
      value[word] = request.data[half * bytes / 4 + word][lane];
    std::memcpy(place, value, bytes);
  });
}

void gatherWords(const Wave &wave, const Operand &operand, unsigned words, unsigned first, MemoryRequest &request) {
  for (unsigned word = 0; word < words; ++word)
    std::memcpy(request.data[first + word], wave.v[operand.index + word], sizeof(Row));
}

template <unsigned bytes, unsigned unit>
void writeTwo(Wave &wave, const Instruction &instruction) {
  MemoryRequest request;
  beginTwo<bytes, unit>(wave, instruction, 0, RequestKind::Store, request);
  request.sample = sampleWriteTwo<bytes>;
  gatherWords(wave, instruction.operands[1], bytes / 4, 0, request);
  gatherWords(wave, instruction.operands[2], bytes / 4, bytes / 4, request);
  wave.memory->issue(wave, request);
}

/// Operands: the old value's destination when it is asked for, the address, the data; of an exchange on equality the
/// value to compare with, then the new one.
template <unsigned bytes, MemoryEvent sample, bool returns, bool compares>
void atomic(Wave &wave, const Instruction &instruction) {
  MemoryRequest request;
  beginLocal(wave, instruction, instruction.operands[returns], RequestKind::Atomic, bytes, request);
  request.sample = sample;
  request.land = returns ? landRegisters<AccessForm{.bytes = bytes}> : MemoryEvent(nullptr);
  request.words = bytes / 4;
  request.destination = instruction.operands[0].index;
  const Operand &first = instruction.operands[returns + 1];
  if (compares) {
    gatherWords(wave, instruction.operands[returns + 2], bytes / 4, 0, request);
    gatherWords(wave, first, bytes / 4, bytes / 4, request);
  } else
    gatherWords(wave, first, bytes / 4, 0, request);
  wave.memory->issue(wave, request);
}

class LocalRows {
public:
  explicit LocalRows(InstructionTable &table) : table(table) {}

  void add(std::string name, Execute execute, uint8_t destinations, uint16_t implicit = 0) {
    table.add({.mnemonic = table.keep(std::move(name)),
               .execute = execute,
               .types = allOf(DataType::B32),
               .destinations = destinations,
               .implicit = implicit});
  }
  /// `name` is `add` and `suffix` `u32`: ds_add_u32 and ds_add_rtn_u32.
  template <typename T, auto operation, bool compares = false>
  void addAtomic(const std::string &name, const std::string &suffix) {
    constexpr MemoryEvent sample = sampleAtomic<Space::Lds, T, operation>;
    add("ds_" + name + "_" + suffix, atomic<sizeof(T), sample, false, compares>, 0);
    addReturningAtomic<T, operation, compares>(name, suffix);
  }
  template <typename T, auto operation, bool compares = false>
  void addReturningAtomic(const std::string &name, const std::string &suffix) {
    constexpr MemoryEvent sample = sampleAtomic<Space::Lds, T, operation>;
    add("ds_" + name + "_rtn_" + suffix, atomic<sizeof(T), sample, true, compares>, 1);
  }
  template <typename U>
  void addIntegerAtomics(const std::string &bits);

private:
  InstructionTable &table;
};

template <typename U>
void LocalRows::addIntegerAtomics(const std::string &bits) {
  forEachIntegerAtomic<U>([&]<typename T, auto operation>(std::string name) {
    if (name == "swap")
      return addReturningAtomic<T, operation>("wrxchg", "b" + bits);
    bool isBits = name == "and" || name == "or" || name == "xor";
    bool isSigned = name == "smin" || name == "smax";
    if (isSigned || name == "umin" || name == "umax")
      name.erase(0, 1);
    addAtomic<T, operation>(name, (isBits ? "b" : isSigned ? "i" : "u") + bits);
  });
  addAtomic<U, [](U old, U data) -> U { return data - old; }>("rsub", "u" + bits);
  addAtomic<U, exchangeIfEqual<U>, true>("cmpst", "b" + bits);
  addAtomic<U, [](U old, U value, U mask) -> U { return (old & ~mask) | value; }, true>("mskor", "b" + bits);
}

void addReadsAndWrites(LocalRows &rows) {
  rows.add("ds_read_u8", read<{.bytes = 1}>, 1);
  rows.add("ds_read_i8", read<{.bytes = 1, .signExtend = true}>, 1);
  rows.add("ds_read_u16", read<{.bytes = 2}>, 1);
  rows.add("ds_read_i16", read<{.bytes = 2, .signExtend = true}>, 1);
  rows.add("ds_read_u8_d16", read<{.bytes = 1, .keepsOther = true}>, 1, readsDestination);
  rows.add("ds_read_u8_d16_hi", read<{.bytes = 1, .keepsOther = true, .high = true}>, 1, readsDestination);
  rows.add("ds_read_i8_d16", read<{.bytes = 1, .signExtend = true, .keepsOther = true}>, 1, readsDestination);
  rows.add("ds_read_i8_d16_hi", read<{.bytes = 1, .signExtend = true, .keepsOther = true, .high = true}>, 1,
           readsDestination);
  rows.add("ds_read_u16_d16", read<{.bytes = 2, .keepsOther = true}>, 1, readsDestination);
  rows.add("ds_read_u16_d16_hi", read<{.bytes = 2, .keepsOther = true, .high = true}>, 1, readsDestination);
  rows.add("ds_read_b32", read<{.bytes = 4}>, 1);
  rows.add("ds_read_b64", read<{.bytes = 8}>, 1);
  rows.add("ds_read_b96", read<{.bytes = 12}>, 1);
  rows.add("ds_read_b128", read<{.bytes = 16}>, 1);
  rows.add("ds_write_b8", write<{.bytes = 1}>, 0);
  rows.add("ds_write_b8_d16_hi", write<{.bytes = 1, .high = true}>, 0);
  rows.add("ds_write_b16", write<{.bytes = 2}>, 0);
  rows.add("ds_write_b16_d16_hi", write<{.bytes = 2, .high = true}>, 0);
  rows.add("ds_write_b32", write<{.bytes = 4}>, 0);
  rows.add("ds_write_b64", write<{.bytes = 8}>, 0);
  rows.add("ds_write_b96", write<{.bytes = 12}>, 0);
  rows.add("ds_write_b128", write<{.bytes = 16}>, 0);
  rows.add("ds_read2_b32", readTwo<4, 4>, 1);
  rows.add("ds_read2_b64", readTwo<8, 8>, 1);
  rows.add("ds_read2st64_b32", readTwo<4, 256>, 1);
  rows.add("ds_read2st64_b64", readTwo<8, 512>, 1);
  rows.add("ds_write2_b32", writeTwo<4, 4>, 0);
  rows.add("ds_write2_b64", writeTwo<8, 8>, 0);
  rows.add("ds_write2st64_b32", writeTwo<4, 256>, 0);
  rows.add("ds_write2st64_b64", writeTwo<8, 512>, 0);
}

} // namespace

void addLocalMemory(InstructionTable &table) {
  LocalRows rows(table);
  addReadsAndWrites(rows);
  rows.addIntegerAtomics<uint32_t>("32");
  rows.addIntegerAtomics<uint64_t>("64");
  rows.addAtomic<float, [](float old, float data) { return old + data; }>("add", "f32");
  rows.addAtomic<double, [](double old, double data) { return old + data; }>("add", "f64");
  rows.addAtomic<float, [](float old, float data) { return std::fmin(old, data); }>("min", "f32");
  rows.addAtomic<float, [](float old, float data) { return std::fmax(old, data); }>("max", "f32");
  rows.addAtomic<double, [](double old, double data) { return std::fmin(old, data); }>("min", "f64");
  rows.addAtomic<double, [](double old, double data) { return std::fmax(old, data); }>("max", "f64");
  rows.addAtomic<float, exchangeIfEqual<float>, true>("cmpst", "f32");
  rows.addAtomic<double, exchangeIfEqual<double>, true>("cmpst", "f64");
  rows.addAtomic<uint32_t, addHalves>("pk_add", "f16");
  rows.addAtomic<uint32_t, addBfloats>("pk_add", "bf16");
}

} // namespace heddle::simulator
