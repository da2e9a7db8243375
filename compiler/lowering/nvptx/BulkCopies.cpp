// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Barrier objects that count bytes, bulk copies of tensors (TMA), and what partitions of a block need: barriers by
// number and registers by warp group. Source: PTX ISA 8.6.
#include "compiler/lowering/nvptx/NvptxTarget.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::nvptx;
using namespace heddle::simt;
using namespace heddle::triton;

//===-- Barrier objects ------------------------------------------------------------------------------------------===//

void NvptxTarget::arriveTimes(Builder &b, Value object, int64_t count) const {
  call(b, b.getI64Type(), "llvm.nvvm.mbarrier.arrive.scope.cta.space.cta", {object, i32(b, count)});
}

void NvptxTarget::expectBytes(Builder &b, Value object, int64_t bytes) const {
  call(b, b.getI64Type(), "llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta", {object, i32(b, bytes)});
}

void NvptxTarget::endArrivals(Builder &b, Value object) const {
  callWithout(b, "llvm.nvvm.mbarrier.inval.shared", {object});
}

void NvptxTarget::publishArrivals(Builder &b) const {
  callWithout(b, "llvm.nvvm.fence.mbarrier_init.release.cluster", {});
  publishShared(b);
}

//===-- Bulk copies ----------------------------------------------------------------------------------------------===//

// The launch gives the map itself, which stays where the parameters are.
Value NvptxTarget::tensorMap(LLVM::LLVMFuncOp kernel, int64_t) const {
  MLIRContext *context = kernel.getContext();
  OpBuilder b(context);
  constexpr unsigned mapBytes = 128, alignment = 64;
  auto map = LLVM::LLVMArrayType::get(b.getI8Type(), mapBytes);
  kernel->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr()); // which grid constants ask for
  NamedAttribute attributes[] = {b.getNamedAttr(LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(map)),
                                 b.getNamedAttr(LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(alignment)),
                                 b.getNamedAttr(NVVM::NVVMDialect::getGridConstantAttrName(), b.getUnitAttr())};
  return addParameter(kernel, LLVM::LLVMPointerType::get(context), b.getDictionaryAttr(attributes));
}

/// Coordinates as the instruction has them: the innermost first.
static SmallVector<Value> innermostFirst(ValueRange place) {
  SmallVector<Value> values(place);
  std::reverse(values.begin(), values.end());
  return values;
}

void NvptxTarget::bulkLoad(Builder &b, Value shared, Value map, ValueRange place, Value object) const {
  SmallVector<Value> operands = {shared, object, map};
  llvm::append_range(operands, innermostFirst(place));
  operands.push_back(arith::ConstantIntOp::create(b, 0, 64));
  operands.push_back(arith::ConstantIntOp::create(b, 0, 1));
  callWithout(b, "llvm.nvvm.cp.async.bulk.tensor.g2s.cta.tile." + std::to_string(place.size()) + "d", operands);
}

void NvptxTarget::bulkStore(Builder &b, Value shared, Value map, ValueRange place,
                            std::optional<DescriptorReduceKind> kind) const {
  SmallVector<Value> operands = {shared, map};
  llvm::append_range(operands, innermostFirst(place));
  operands.push_back(arith::ConstantIntOp::create(b, 0, 64));
  operands.push_back(arith::ConstantIntOp::create(b, 0, 1));
  std::string name = "llvm.nvvm.cp.async.bulk.tensor.";
  name += kind ? "reduce." + stringifyDescriptorReduceKind(*kind).str() : "s2g";
  callWithout(b, name + ".tile." + std::to_string(place.size()) + "d", operands);
}

void NvptxTarget::bulkCommit(Builder &b) const {
  callWithout(b, "llvm.nvvm.cp.async.bulk.commit.group", {});
}

void NvptxTarget::bulkWait(Builder &b, int64_t pending, bool reads) const {
  callWithout(b, reads ? "llvm.nvvm.cp.async.bulk.wait.group.read" : "llvm.nvvm.cp.async.bulk.wait.group",
              {i32(b, pending)});
}

//===-- Partitions -----------------------------------------------------------------------------------------------===//

void NvptxTarget::namedBarrier(Builder &b, int64_t number, int64_t threads) const {
  callWithout(b, "llvm.nvvm.barrier.cta.sync.aligned.count", {i32(b, number), i32(b, threads)});
}

Value NvptxTarget::namedBarrierOr(Builder &b, Value bit, int64_t number, int64_t threads) const {
  return call(b, b.getI1Type(), "llvm.nvvm.barrier.cta.red.or.aligned.count", {i32(b, number), i32(b, threads), bit});
}

void NvptxTarget::limitRegisters(LLVM::LLVMFuncOp kernel, int64_t registers) const {
  OpBuilder b(kernel.getContext());
  SmallVector<Attribute> attributes;
  if (ArrayAttr known = kernel.getPassthroughAttr())
    attributes.append(known.begin(), known.end());
  attributes.push_back(
      b.getArrayAttr({b.getStringAttr("nvvm.maxnreg"), b.getStringAttr(llvm::Twine(registers).str())}));
  kernel.setPassthroughAttr(b.getArrayAttr(attributes));
}

void NvptxTarget::takeRegisters(Builder &b, int64_t registers, bool more) const {
  callWithout(b, more ? "llvm.nvvm.setmaxnreg.inc.sync.aligned.u32" : "llvm.nvvm.setmaxnreg.dec.sync.aligned.u32",
              {i32(b, registers)});
}
