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
  if (!name.consume_front("hip:"))
    return module.emitError() << "TTGIR for `" << target.getValue()
                              << "`: only that for AMD's gfx942 and gfx950 is read; for other chips give the text of "
                                 "`kernel.asm['ttir']`";
  about.target = name.str();
  about.warps = int(warps.getInt());
  about.lanes = int(lanes.getInt());
  if (about.warps < 1 || about.warps > 16 || !llvm::isPowerOf2_32(uint32_t(about.warps)) || about.lanes != 64)
    return module.emitError() << "TTGIR of " << about.warps << " warps of " << about.lanes
                              << " threads: AMD's blocks have 1, 2, 4, 8 or 16 warps of 64";
  if (blocks && blocks.getInt() != 1)
    return module.emitError() << "TTGIR of clusters of " << blocks.getInt() << " blocks, which AMD's chips have not";
  return std::optional<TtgModule>(about);
}

LogicalResult simt::refuseUnsupported(ModuleOp module) {
  WalkResult result = module.walk([&](Operation *op) {
    StringRef why = llvm::TypeSwitch<Operation *, StringRef>(op)
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
    if (why.empty())
      return WalkResult::advance();
    op->emitOpError() << "in TTGIR: " << why;
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}
