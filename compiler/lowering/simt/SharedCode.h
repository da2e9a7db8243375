// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Thread code on memory objects of shared memory: addresses of elements, and accesses to them.
#pragma once
#include "compiler/layout/MatrixLoad.h"
#include "compiler/lowering/simt/ThreadCode.h"
#include <memory>
#include <optional>

namespace heddle::simt {

class SharedCode : public ThreadCode {
public:
  using ThreadCode::ThreadCode;

protected:
  Value sharedStart(); ///< the first byte of the block's shared memory
  Value sharedPointer(Value base, Value byteOffset);
  void storeShared(Value pointer, mlir::ValueRange values); ///< contiguous elements, as one vector
  Values loadShared(Value pointer, Type type, int64_t count);
  /// A tile in shared memory, as a thread addresses it.
  struct Memory {
    Value base;                 ///< a pointer
    Value offset;               ///< i32, elements from there, xor'ed to those of the tile's layout; null: none
    SharedType type;            ///< whose padding counts from `base` on where there is an offset
    int64_t mostContiguous = 0; ///< elements that an access may take, as far as offset and padding allow
  };
  /// `stage` may be null.
  Memory memoryAt(Value memory, Value stage);
  /// The memory object of which a value is all tiles; null for a part of one.
  const ThreadState::Ring *ringOf(Value memory);
  Value stageOf(Value ring, Value stage);       ///< a pointer; of what is neither padded nor a part
  Value firstByteOf(Value memory, Value stage); ///< a pointer to the first element; `stage` may be null
  static uint64_t possibleBits(Value offset);   ///< that it may have, as far as the operations of views tell
  Value elementPointer(const Memory &memory, const LinearLayout &offsets, int64_t reg);

  /// A read of a tile, register by register, as many at once as one instruction gives.
  struct Read {
    LoadSharedOp op;
    Memory memory;
    LinearLayout offsets;
    std::optional<layout::MatrixLoad> matrix;
    std::optional<layout::TransposedRead> transposed;
    std::vector<int> within; ///< register bits that one instruction covers
    Values values;           ///< known so far
  };
  Read startRead(LoadSharedOp op);
  Value readRegister(Read &read, int64_t reg);
  /// A register of an operand: of a read that was left to its reader (SourceFacts::lateReads), read at its first use.
  Value registerOf(Value operand, int64_t reg);

private:
  std::map<mlir::Operation *, Read> reads;
};

} // namespace heddle::simt
