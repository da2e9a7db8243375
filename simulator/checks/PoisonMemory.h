// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which bytes of LDS, scratch and global memory nothing has written, and what loads and stores do to that.
#pragma once
#include "simulator/checks/Poison.h"
#include "simulator/memory/MemorySystem.h"

namespace heddle::simulator {

/// A flag (UnwrittenBytes) for each byte of LDS, or of a wave's scratch.
struct PoisonBytes {
  std::vector<uint8_t> flags;
  uint64_t count = 0;                            ///< of those that are not Written
  std::unordered_map<uint64_t, uint8_t> partial; ///< poison bits of bytes of which only some are
  PoisonOrigin copied = 0;                       ///< of what the first store brought that nothing had written

  void reset(uint64_t size) {
    flags.assign(size, UnwrittenBytes::Never);
    count = size;
    partial.clear();
    copied = 0;
  }
};

/// The poison that a request carries: of data to store, or of what it read.
struct CarriedPoison {
  const MemoryRequest *request = nullptr;
  PoisonRow words[mostWordsPerLane];
  uint32_t scalars[mostScalarWords] = {};
  std::vector<PartialWord> partial; ///< of `words`
  PoisonOrigin origin = 0;

  bool any() const;
  /// What the instruction moves between lanes after its read.
  void transpose(const Instruction &instruction);
  uint32_t bitsOf(unsigned word, unsigned lane) const;
};

/// The first byte that a request read of what nothing had written.
struct UnwrittenRead {
  int lane = -1;
  const PoisonBytes *bytes = nullptr;     ///< of LDS or scratch,
  const Allocation *allocation = nullptr; ///< or this
  uint64_t address = 0;
  bool isCopied = false;
};

/// What a wave's requests can reach.
class PoisonMemory {
public:
  /// `isApart`: the flags of `global` must not change, so that reading what nothing has written there is a Fault.
  PoisonMemory(AddressSpace &global, PoisonBytes &lds, PoisonBytes &scratch, bool isApart = false)
      : global(global), lds(lds), scratch(scratch), isApart(isApart) {}

  /// What the request read becomes its poison.
  UnwrittenRead read(Wave &wave, const MemoryRequest &request, CarriedPoison &carried);
  UnwrittenRead readScalars(const MemoryRequest &request, CarriedPoison &carried);
  /// The request stored its poison, or nothing that is poison when `carried` is null.
  void write(Wave &wave, const MemoryRequest &request, const CarriedPoison *carried);
  void writeScalars(Wave &wave, const MemoryRequest &request, const CarriedPoison *carried);
  /// A load to LDS put down its data there.
  void writeLds(const MemoryRequest &request, const CarriedPoison *carried);

  Allocation *firstCopy = nullptr; ///< the allocation that has just got its first copy

private:
  struct Place {
    uint8_t *flags = nullptr; ///< null: all written
    PoisonBytes *bytes = nullptr;
    Allocation *allocation = nullptr;
  };
  /// With `makes`, an allocation without flags gets them, and so does what is all written.
  Place find(Wave &wave, Space space, unsigned lane, uint64_t address, unsigned size, bool makes);
  /// The bytes of all lanes, when they lie side by side in LDS or in an allocation.
  struct Row {
    bool found = false;
    size_t size = 0;
    uint8_t *flags = nullptr;            ///< of `bytes`
    PoisonBytes *bytes = nullptr;        ///< of LDS,
    UnwrittenBytes *unwritten = nullptr; ///< or of an allocation; both null: all written
    uint64_t offset = 0;                 ///< in `unwritten`

    bool areWritten() const;
    void setWritten();
  };
  bool isWrittenBuffer(const MemoryRequest &request);
  Row findRow(const MemoryRequest &request, unsigned piece);
  bool isClean(Space space) const;
  bool areLanesWritten(const MemoryRequest &request, unsigned piece) const;
  bool setLdsWritten(uint64_t address, unsigned size);
  void put(Place &place, unsigned index, uint8_t poison, PoisonOrigin origin);
  static void readPartial(const Place &place, unsigned word, unsigned lane, CarriedPoison &carried);
  void writePiece(Wave &wave, const MemoryRequest &request, const CarriedPoison *carried, unsigned lane,
                  unsigned piece);

  AddressSpace &global;
  PoisonBytes &lds, &scratch;
  bool isApart;
};

} // namespace heddle::simulator
