// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads of 4-bit elements that shared memory packs along one axis and registers along another: by reads that transpose
// (ds_read_b64_tr_b4) where the layout of the tile allows it, else byte by byte. Here an offset counts 4-bit elements.
#include "compiler/layout/Axes.h"
#include "compiler/lowering/simt/RegisterGroups.h"
#include "compiler/lowering/simt/SharedCode.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using layout::LinearLayout;

namespace {
class SharedRepacked : public SharedCode {
public:
  using SharedCode::SharedCode;
  void lower(LoadRepackedOp op);

private:
  void readTransposed(const Memory &memory, const layout::TransposedRead &read, Values &bytes);
  void readBytes(const Memory &memory, const LinearLayout &offsets, Values &bytes);
};
} // namespace

/// With bases of `change(basis, input, bit)` in the place of each.
static std::vector<LinearLayout::Input>
changed(const LinearLayout &layout,
        llvm::function_ref<void(std::vector<int64_t> &, LinearLayout::Input &, int)> change) {
  std::vector<LinearLayout::Input> inputs = layout.inputs();
  for (LinearLayout::Input &input : inputs)
    for (auto [bit, basis] : llvm::enumerate(input.bases))
      change(basis, input, int(bit));
  return inputs;
}

static LinearLayout inBytes(const LinearLayout &offsets) {
  using layout::Dim;
  return {changed(offsets, [](std::vector<int64_t> &basis, LinearLayout::Input &, int) { basis[0] /= 2; }),
          {{Dim::Offset, offsets.outputSize(Dim::Offset) / 2}}};
}

/// (register, lane, warp) -> offset. The registers are those of the tile, with a bit below them: which of the two
/// elements of a byte.
static LinearLayout elementOffsets(LoadRepackedOp op) {
  using layout::Dim;
  const LinearLayout &tile = layoutOf(op.getTile().getType());
  auto [packed, wanted] = op.getAxes();
  std::vector<LinearLayout::Output> outputs = tile.outputs();
  outputs[size_t(packed)].size /= 2;
  outputs[size_t(wanted)].size *= 2;
  std::vector<LinearLayout::Input> inputs = changed(tile, [&](std::vector<int64_t> &basis, LinearLayout::Input &, int) {
    basis[size_t(packed)] /= 2;
    basis[size_t(wanted)] *= 2;
  });
  std::vector<int64_t> second(outputs.size(), 0);
  second[size_t(wanted)] = 1;
  for (LinearLayout::Input &input : inputs)
    if (input.dim == Dim::Register)
      input.bases.insert(input.bases.begin(), second);
  LinearLayout bytes = op.getRing().getType().offsetsOf(LinearLayout(inputs, outputs));
  Dim along = layout::tileDim(int(packed));
  inputs = changed(bytes, [&](std::vector<int64_t> &basis, LinearLayout::Input &input, int bit) {
    int of = input.dim == Dim::Register ? bit - 1 : bit;
    basis = {2 * basis[0] + (of < 0 ? 0 : tile.basis(input.dim, of, along) & 1)};
  });
  return {inputs, {{Dim::Offset, 2 * bytes.outputSize(Dim::Offset)}}};
}

void SharedRepacked::readTransposed(const Memory &memory, const layout::TransposedRead &read, Values &bytes) {
  LinearLayout addresses = inBytes(read.addresses);
  int64_t together = (int64_t(1) << read.registerBits) / 2;
  llvm::DenseMap<int64_t, Values> known; // by what the register adds to the address
  for (int64_t first = 0, count = int64_t(bytes.size()); first < count; first += together) {
    Values &parts = known[registerPart(addresses, 2 * first, Dim::Offset)];
    if (parts.empty())
      parts = target.readTransposed(b, elementPointer(memory, addresses, 2 * first), b.getIntegerType(4));
    llvm::copy(parts, bytes.begin() + first);
  }
}

void SharedRepacked::readBytes(const Memory &memory, const LinearLayout &offsets, Values &bytes) {
  LinearLayout places = inBytes(offsets);
  std::vector<int> together = layout::contiguousRegisterBits(places, memory.mostContiguous);
  llvm::DenseMap<int64_t, Value> known; // by what the register adds to the offset
  auto byteOf = [&](int64_t reg) {
    int64_t offset = registerPart(places, reg, Dim::Offset), start = reg & ~maskOf(together);
    if (!known.contains(offset)) {
      SmallVector<int64_t> group = groupOf(start, together);
      Values read = loadShared(elementPointer(memory, places, start), b.getI8Type(), int64_t(group.size()));
      for (auto [member, value] : llvm::zip(group, read))
        known[registerPart(places, member, Dim::Offset)] = arith::ExtUIOp::create(b, b.getI32Type(), value);
    }
    return known[offset];
  };
  // The upper element of a byte is 4 bits higher: as the register says, and as the thread does.
  LinearLayout halves(changed(offsets, [](std::vector<int64_t> &basis, LinearLayout::Input &, int) { basis[0] &= 1; }),
                      {{Dim::Offset, 2}});
  Value ofThread = arith::ShLIOp::create(b, placePart(halves, Dim::Offset), i32(2));
  for (auto [reg, byte] : llvm::enumerate(bytes)) {
    Value shift = ofThread;
    if (registerPart(halves, 2 * int64_t(reg), Dim::Offset))
      shift = arith::XOrIOp::create(b, shift, i32(4));
    Value low = arith::ShRUIOp::create(b, byteOf(2 * int64_t(reg)), shift);
    Value high = arith::ShRUIOp::create(b, byteOf(2 * int64_t(reg) + 1), shift);
    low = arith::AndIOp::create(b, low, i32(15));
    high = arith::ShLIOp::create(b, high, i32(4));
    byte = arith::TruncIOp::create(b, b.getI8Type(), arith::OrIOp::create(b, low, high));
  }
}

void SharedRepacked::lower(LoadRepackedOp op) {
  LinearLayout offsets = elementOffsets(op);
  Memory memory = memoryAt(op.getRing(), Value());
  Values &bytes = made[op.getTile()];
  bytes.resize(size_t(registersOf(cast<RankedTensorType>(op.getTile().getType()))));
  std::optional<layout::TransposedRead> read;
  if (target.readsTransposed(4) && !divergent && memory.mostContiguous >= 8)
    read = layout::findTransposedRead(offsets, 4);
  if (read)
    readTransposed(memory, *read, bytes);
  else
    readBytes(memory, offsets, bytes);
}

void simt::addSharedRepacked(RewritePatternSet &patterns, ThreadState &state) {
  addFamily<SharedRepacked, LoadRepackedOp>(patterns, state);
}
