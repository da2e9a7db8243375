// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a module of TTGIR says of itself, and what of it is refused.
#include "compiler/dialects/ttg/TritonGpu.h"
#include "compiler/lowering/ttg_to_simt/TtgToSimt.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
namespace ttg = heddle::triton::gpu;
namespace amdg = heddle::triton::amdg;

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

/// What is of another vendor's chips; empty for what is not.
static StringRef foreignAdvice(Operation *op, bool isAmd) {
  StringRef dialect = op->getName().getDialectNamespace();
  if (isAmd && dialect == "ttng")
    return "`ttng` is of NVIDIA's chips: on gfx942 and gfx950 `cdna3.mfma` multiplies, `async_copy` of `cdna4` copies "
           "to "
           "shared memory, and `gl.barrier()` is the barrier of a block";
  if (isAmd && isa<ttg::WarpSpecializeOp>(op))
    return "on gfx942 and gfx950 all warps execute one program: overlap its parts by `gl.amd.warp_pipeline_stage`";
  if (!isAmd && (dialect == "amdg" || dialect == "rocdl"))
    return "the operation is of AMD's chips: on sm_90 `gl.load` and `gl.store`, `async_copy` of `ampere` and `tma` of "
           "`hopper` access memory";
  for (Type type : llvm::concat<const Type>(op->getResultTypes(), op->getOperandTypes())) {
    Attribute encoding;
    if (auto tile = dyn_cast<RankedTensorType>(type))
      encoding = tile.getEncoding();
    else if (auto memory = dyn_cast<ttg::MemDescType>(type))
      encoding = memory.getEncoding();
    for (auto slice = dyn_cast_or_null<ttg::SliceAttr>(encoding); slice; slice = dyn_cast<ttg::SliceAttr>(encoding))
      encoding = slice.getParent();
    if (auto operand = dyn_cast_or_null<ttg::DotOperandAttr>(encoding))
      encoding = operand.getParent();
    if (isAmd && isa_and_nonnull<ttg::NvidiaMmaAttr>(encoding))
      return "the layout is of NVIDIA's chips: use `gl.amd.AMDMFMALayout`";
    if (isAmd && isa_and_nonnull<ttg::NvmmaSharedAttr>(encoding))
      return "the layout is of NVIDIA's chips: use `gl.SwizzledSharedLayout` or `gl.PaddedSharedLayout`";
    if (!isAmd && isa_and_nonnull<ttg::AmdMfmaAttr, ttg::RotatingSharedAttr>(encoding))
      return "the layout is of AMD's chips: use `gl.NVMMADistributedLayout` or `gl.NVMMASharedLayout`";
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
            .Case([&](triton::MakeTensorDescOp) {
              return isAmd ? ""
                           : "tensor descriptors that a kernel makes are not compiled: make the descriptor on "
                             "the host, `TensorDescriptor.from_tensor`, and pass it as an argument";
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
