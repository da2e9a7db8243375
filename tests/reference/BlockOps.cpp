// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Block pointers and tensor descriptors. As tiles, a block pointer is [base, shape.., strides.., offsets..] and a
// descriptor is [base, padding, shape.., strides..]; shapes, strides and offsets count elements.
#include "support/Error.h"
#include "tests/reference/Atomics.h"
#include "tests/reference/BlockAccess.h"

using namespace mlir;
using namespace heddle::reference;
using heddle::triton::PaddingOption;

namespace {
/// A tensor in memory: where its elements are, and which coordinates exist.
struct StridedTensor {
  uint64_t base = 0;
  Type element;
  std::vector<int64_t> shape, strides;

  size_t rank() const { return shape.size(); }
  bool holds(const std::vector<int64_t> &at, size_t d) const { return at[d] >= 0 && at[d] < shape[d]; }
  bool holds(const std::vector<int64_t> &at) const {
    for (size_t d = 0; d < rank(); ++d)
      if (!holds(at, d))
        return false;
    return true;
  }
  uint64_t addressOf(const std::vector<int64_t> &at) const {
    int64_t offset = 0;
    for (size_t d = 0; d < rank(); ++d)
      offset += at[d] * strides[d];
    return base + uint64_t(offset * int64_t(elementBytes(element)));
  }
};
} // namespace

static uint64_t paddingBits(Type element, PaddingOption padding) {
  return padding == PaddingOption::Nan && isa<FloatType>(element) ? formatOf(element).quietNan() : 0;
}

//===-- Block pointers -------------------------------------------------------------------------------------------===//

static RankedTensorType blockTypeOf(Type pointer) {
  return cast<RankedTensorType>(cast<heddle::triton::PointerType>(pointer).getPointeeType());
}

static StridedTensor tensorOf(const Tile &pointer) {
  RankedTensorType block = blockTypeOf(pointer.type);
  int64_t rank = block.getRank();
  auto fields = pointer.bits.begin() + 1;
  return {pointer.bits[0], block.getElementType(), {fields, fields + rank}, {fields + rank, fields + 2 * rank}};
}

static std::vector<int64_t> offsetsOf(const Tile &pointer) {
  return {pointer.bits.end() - blockTypeOf(pointer.type).getRank(), pointer.bits.end()};
}

static std::vector<int64_t> sum(std::vector<int64_t> a, const std::vector<int64_t> &b) {
  for (size_t d = 0; d < a.size(); ++d)
    a[d] += b[d];
  return a;
}

static bool passes(const StridedTensor &tensor, const std::vector<int64_t> &at, ArrayRef<int32_t> checked) {
  return llvm::all_of(checked, [&](int32_t d) { return tensor.holds(at, size_t(d)); });
}

Tile heddle::reference::loadBlock(Program &program, const Tile &pointer, ArrayRef<int32_t> checked,
                                  std::optional<PaddingOption> padding) {
  StridedTensor tensor = tensorOf(pointer);
  RankedTensorType block = blockTypeOf(pointer.type);
  return buildTile(block, [&](int64_t i) {
    std::vector<int64_t> at = sum(unravel(i, block.getShape()), offsetsOf(pointer));
    if (passes(tensor, at, checked))
      return program.launch.memory.read(tensor.addressOf(at), elementBytes(block));
    return padding ? paddingBits(tensor.element, *padding) : program.undefinedBits(block);
  });
}

void heddle::reference::storeBlock(Program &program, const Tile &pointer, const Tile &value,
                                   ArrayRef<int32_t> checked) {
  StridedTensor tensor = tensorOf(pointer);
  for (int64_t i = 0; i < value.size(); ++i) {
    std::vector<int64_t> at = sum(unravel(i, value.shape()), offsetsOf(pointer));
    if (passes(tensor, at, checked))
      program.launch.memory.write(tensor.addressOf(at), elementBytes(value.type), value.bits[i]);
  }
}

static Results makeBlockPointer(Program &, Operation *op, const Inputs &in) {
  Tile pointer{op->getResult(0).getType(), {in[0].bits[0]}};
  for (size_t i = 1; i < in.size(); ++i) // shapes and strides are i64, offsets i32
    pointer.bits.push_back(uint64_t(signedAt(in[i], 0)));
  return {pointer};
}

static Results advance(Program &, Operation *op, const Inputs &in) {
  Tile pointer = in[0];
  size_t rank = in.size() - 1;
  for (size_t d = 0; d < rank; ++d)
    pointer.bits[pointer.bits.size() - rank + d] += uint64_t(signedAt(in[1 + d], 0));
  return {pointer};
}

//===-- Descriptors ----------------------------------------------------------------------------------------------===//

static StridedTensor describedTensor(const Tile &descriptor) {
  RankedTensorType block = cast<heddle::triton::TensorDescType>(descriptor.type).getBlockType();
  int64_t rank = block.getRank();
  auto fields = descriptor.bits.begin() + 2;
  return {descriptor.bits[0], block.getElementType(), {fields, fields + rank}, {fields + rank, fields + 2 * rank}};
}

static ArrayRef<int64_t> blockShape(const Tile &descriptor) {
  return cast<heddle::triton::TensorDescType>(descriptor.type).getBlockType().getShape();
}

static Results makeDescriptor(Program &, Operation *op, const Inputs &in) {
  auto make = cast<heddle::triton::MakeTensorDescOp>(op);
  Tile descriptor{op->getResult(0).getType(), {in[0].bits[0], uint64_t(make.getPadding())}};
  for (size_t i = 1; i < in.size(); ++i) // shapes are i32, strides i64
    descriptor.bits.push_back(uint64_t(signedAt(in[i], 0)));
  if (descriptor.bits.back() != 1)
    throw heddle::inputError("the last stride is " + std::to_string(int64_t(descriptor.bits.back())) + ", not 1");
  return {descriptor};
}

static uint64_t readOrPad(Program &program, const Tile &descriptor, const std::vector<int64_t> &at) {
  StridedTensor tensor = describedTensor(descriptor);
  if (!tensor.holds(at))
    return paddingBits(tensor.element, PaddingOption(descriptor.bits[1]));
  return program.launch.memory.read(tensor.addressOf(at), elementBytes(tensor.element));
}

// Element i of a block that begins at the scalar operands from `first` on. Results may lack leading unit dimensions of
// the block, which does not change the row-major order.
static std::vector<int64_t> blockElement(const Inputs &in, size_t first, int64_t i) {
  std::vector<int64_t> at = unravel(i, blockShape(in[0]));
  for (size_t d = 0; d < at.size(); ++d)
    at[d] += signedAt(in[first + d], 0);
  return at;
}

static Results descriptorLoad(Program &program, Operation *op, const Inputs &in) {
  return {buildTile(op->getResult(0).getType(),
                    [&](int64_t i) { return readOrPad(program, in[0], blockElement(in, 1, i)); })};
}

static Results descriptorStore(Program &program, Operation *, const Inputs &in) {
  StridedTensor tensor = describedTensor(in[0]);
  for (int64_t i = 0; i < in[1].size(); ++i) {
    std::vector<int64_t> at = blockElement(in, 2, i);
    if (tensor.holds(at))
      program.launch.memory.write(tensor.addressOf(at), elementBytes(tensor.element), in[1].bits[i]);
  }
  return {};
}

static Results descriptorReduce(Program &program, Operation *op, const Inputs &in) {
  StridedTensor tensor = describedTensor(in[0]);
  auto kind = cast<heddle::triton::DescriptorReduceOp>(op).getKind();
  for (int64_t i = 0; i < in[1].size(); ++i) {
    std::vector<int64_t> at = blockElement(in, 2, i);
    if (!tensor.holds(at))
      continue;
    unsigned size = elementBytes(tensor.element);
    uint64_t old = program.launch.memory.read(tensor.addressOf(at), size);
    program.launch.memory.write(tensor.addressOf(at), size, update(kind, tensor.element, old, in[1].bits[i]));
  }
  return {};
}

// Element i of [rows, columns]: row x_offsets[r], column y_offset + c.
static std::vector<int64_t> gatheredElement(const Inputs &in, int64_t i) {
  int64_t columns = blockShape(in[0]).back();
  return {signedAt(in[1], i / columns), signedAt(in[2], 0) + i % columns};
}

static Results descriptorGather(Program &program, Operation *op, const Inputs &in) {
  return {buildTile(op->getResult(0).getType(),
                    [&](int64_t i) { return readOrPad(program, in[0], gatheredElement(in, i)); })};
}

static Results descriptorScatter(Program &program, Operation *, const Inputs &in) {
  StridedTensor tensor = describedTensor(in[0]);
  for (int64_t i = 0; i < in[3].size(); ++i) {
    std::vector<int64_t> at = gatheredElement(in, i);
    if (tensor.holds(at))
      program.launch.memory.write(tensor.addressOf(at), elementBytes(tensor.element), in[3].bits[i]);
  }
  return {};
}

void heddle::reference::addBlockHandlers(HandlerTable &table) {
  table["tt.make_tensor_ptr"] = makeBlockPointer;
  table["tt.advance"] = advance;
  table["tt.make_tensor_descriptor"] = makeDescriptor;
  table["tt.descriptor_load"] = descriptorLoad;
  table["tt.descriptor_store"] = descriptorStore;
  table["tt.descriptor_reduce"] = descriptorReduce;
  table["tt.descriptor_gather"] = descriptorGather;
  table["tt.descriptor_scatter"] = descriptorScatter;
}
