// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Maps of the same argument and block are one.
#include "compiler/lowering/simt/TensorMaps.h"
#include "compiler/lowering/simt/GpuTarget.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

static PackageTensorMap describe(TensorMapOp op) {
  TensorMapType type = op.getMap().getType();
  PackageTensorMap map;
  map.argument = int64_t(cast<BlockArgument>(op.getBase()).getArgNumber());
  llvm::raw_string_ostream(map.type) << type.getElementType();
  llvm::append_range(map.box, boxOf(type));
  map.swizzle = type.getSwizzle();
  return map;
}

/// Whether base, sizes and strides are arguments of the kernel that follow one another.
static bool isOfArguments(TensorMapOp op) {
  auto base = dyn_cast<BlockArgument>(op.getBase());
  if (!base || !isa<triton::FuncOp>(base.getOwner()->getParentOp()))
    return false;
  auto rest = llvm::concat<Value>(op.getSizes(), op.getStrides());
  return llvm::all_of(llvm::enumerate(rest), [&](auto each) {
    auto argument = dyn_cast<BlockArgument>(each.value());
    return argument && argument.getOwner() == base.getOwner() &&
           argument.getArgNumber() == base.getArgNumber() + 1 + each.index();
  });
}

FailureOr<std::vector<PackageTensorMap>> simt::collectTensorMaps(ModuleOp module) {
  std::vector<PackageTensorMap> maps;
  WalkResult walked = module.walk([&](TensorMapOp op) {
    if (!isOfArguments(op)) {
      op.emitOpError() << "is of a pointer that is no argument of the kernel, or whose sizes and strides are not the "
                          "arguments after it: a launch makes tensor maps before the kernel begins";
      return WalkResult::interrupt();
    }
    if (numberOf(op, maps) == maps.size())
      maps.push_back(describe(op));
    return WalkResult::advance();
  });
  return walked.wasInterrupted() ? FailureOr<std::vector<PackageTensorMap>>() : maps;
}

size_t simt::numberOf(TensorMapOp op, ArrayRef<PackageTensorMap> maps) {
  return size_t(llvm::find(maps, describe(op)) - maps.begin());
}
