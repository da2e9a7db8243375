// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/lowering/peer/ZeroMemory.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;

LLVM::GlobalOp heddle::peer::zeroMemory(Operation *inside) {
  constexpr const char *name = "heddle_zeros";
  auto module = inside->getParentOfType<ModuleOp>();
  if (auto found = module.lookupSymbol<LLVM::GlobalOp>(name))
    return found;
  auto b = OpBuilder::atBlockBegin(module.getBody());
  Type type = LLVM::LLVMArrayType::get(b.getI32Type(), 4);
  auto zeros = LLVM::GlobalOp::create(b, module.getLoc(), type, /*isConstant=*/false, LLVM::Linkage::Internal, name,
                                      Attribute(), /*alignment=*/16, /*addrSpace=*/1);
  b.createBlock(&zeros.getInitializerRegion());
  LLVM::ReturnOp::create(b, module.getLoc(), ValueRange{LLVM::ZeroOp::create(b, module.getLoc(), type).getResult()});
  return zeros;
}
