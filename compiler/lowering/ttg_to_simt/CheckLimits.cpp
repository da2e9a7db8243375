// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a module of TTGIR says of itself, and what of it is refused.
#include "compiler/dialects/ttg/ForeignWords.h"
#include "compiler/dialects/ttg/TritonGpu.h"
#include "compiler/lowering/ttg_to_simt/TtgToSimt.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
namespace ttg = heddle::triton::gpu;

FailureOr<std::optional<TtgModule>> simt::describeTtgModule(ModuleOp module) {
  TtgModule about;
  auto target = module->getAttrOfType<StringAttr>(ttg::targetAttribute);
  auto number = [&](StringRef name) { return module->getAttrOfType<IntegerAttr>(name); };
  IntegerAttr warps = number(ttg::numWarpsAttribute), lanes = number(ttg::threadsPerWarpAttribute),
              blocks = number(ttg::numCtasAttribute);
  if (!target && !warps && !lanes)
    return std::optional<TtgModule>();
  if (!target || !warps || !lanes)
    return module.emitError() << "a module of TTGIR says `" << ttg::targetAttribute << "`, `" << ttg::numWarpsAttribute
                              << "` and `" << ttg::threadsPerWarpAttribute << "`; this one lacks "
                              << (!target  ? ttg::targetAttribute
                                  : !warps ? ttg::numWarpsAttribute
                                           : ttg::threadsPerWarpAttribute);
  StringRef name = target.getValue();
  bool isAmd = name.consume_front("hip:");
  if (!isAmd && name != "cuda:90")
    return module.emitError() << "TTGIR for `" << target.getValue()
                              << "`: only that for AMD's gfx942 and gfx950 and for NVIDIA's sm_90 (`cuda:90`) is read; "
                                 "for other chips give the text of `kernel.asm['ttir']`";
  about.target = isAmd ? name.str() : "sm_90";
  about.warps = int(warps.getInt());
  about.lanes = int(lanes.getInt());
  int expected = isAmd ? 64 : 32, most = isAmd ? 16 : 32;
  if (about.warps < 1 || about.warps > most || !llvm::isPowerOf2_32(uint32_t(about.warps)) || about.lanes != expected)
    return module.emitError() << "TTGIR of " << about.warps << " warps of " << about.lanes << " threads: a block for `"
                              << target.getValue() << "` has 1, 2, 4 ... or " << most << " warps of " << expected;
  if (blocks && blocks.getInt() != 1)
    return module.emitError() << "TTGIR of clusters of " << blocks.getInt() << " blocks, which "
                              << (isAmd ? "AMD's chips have not" : "are not compiled: give `num_ctas` 1");
  return std::optional<TtgModule>(about);
}

/// The encoding that a type's layout is made from; null where it has none.
static Attribute baseEncoding(Type type) {
  Attribute encoding;
  if (auto tile = dyn_cast<RankedTensorType>(type))
    encoding = tile.getEncoding();
  else if (auto memory = dyn_cast<ttg::MemDescType>(type))
    encoding = memory.getEncoding();
  while (auto slice = dyn_cast_or_null<ttg::SliceAttr>(encoding))
    encoding = slice.getParent();
  if (auto operand = dyn_cast_or_null<ttg::DotOperandAttr>(encoding))
    encoding = operand.getParent();
  return encoding;
}

/// What to write instead of what is of another vendor's chips; empty for what is not.
static StringRef foreignAdvice(Operation *op, bool isAmd) {
  if (StringRef advice = ttg::adviceOnForeignWord(isAmd, ("'" + op->getName().getStringRef() + "'").str());
      !advice.empty())
    return advice;
  for (Type type : llvm::concat<const Type>(op->getResultTypes(), op->getOperandTypes()))
    if (Attribute encoding = baseEncoding(type)) {
      StringRef name = encoding.getAbstractAttribute().getName().rsplit('.').second; // without the dialect
      if (StringRef advice = ttg::adviceOnForeignWord(isAmd, ("`" + name + "`").str()); !advice.empty())
        return advice;
    }
  return {};
}

LogicalResult simt::refuseUnsupported(ModuleOp module) {
  auto target = module->getAttrOfType<StringAttr>(ttg::targetAttribute);
  bool isAmd = target && target.getValue().starts_with("hip:");
  bool isSpecialised = module.walk([](ttg::WarpSpecializeOp) { return WalkResult::interrupt(); }).wasInterrupted();
  WalkResult result = module.walk([&](Operation *op) {
    StringRef why =
        llvm::TypeSwitch<Operation *, StringRef>(op)
            .Case([&](ttg::WarpSpecializeOp specialise) {
              return isa<triton::FuncOp>(specialise->getParentOp())
                         ? ""
                         : "it stands in a loop or branch, or in another one: warps are specialised in the "
                           "kernel's own block";
            })
            .Case<triton::PrintOp>([&](auto print) {
              return print->template getParentOfType<ttg::WarpSpecializeOp>()
                         ? "in specialised warps there are no prints"
                         : "";
            })
            .Case<triton::AssertOp>([&](auto) { // who ends would leave the others waiting
              return isSpecialised ? "in a kernel with specialised warps there are no assertions" : "";
            })
            .Case([&](triton::MakeTensorDescOp) { return ttg::adviceOnDescriptor(isAmd); })
            .Case([&](triton::FuncOp function) {
              return isAmd && llvm::any_of(function.getArgumentTypes(), llvm::IsaPred<triton::TensorDescType>)
                         ? ttg::adviceOnDescriptor(isAmd)
                         : "";
            })
            .Case([](scf::ExecuteRegionOp stage) {
              return stage.getRegion().hasOneBlock() ? "" : "a region of several blocks is not compiled";
            })
            .Default([](Operation *op) {
              bool isRead = !isa_and_nonnull<ROCDL::ROCDLDialect>(op->getDialect()) ||
                            isa<ROCDL::SchedBarrier, ROCDL::SetPrioOp>(op);
              return isRead ? ""
                            : "of `rocdl` only `rocdl.sched.barrier` and `rocdl.s.setprio` are read; "
                              "barriers and waits are `ttg.barrier` and `ttg.async_wait`";
            });
    if (StringRef advice = foreignAdvice(op, isAmd); !advice.empty()) {
      auto error = op->emitOpError("is not for `") << (target ? target.getValue() : "this chip") << "`";
      error.attachNote() << advice;
      return WalkResult::interrupt();
    }
    if (why.empty())
      return WalkResult::advance();
    op->emitOpError() << "in TTGIR: " << why;
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}
