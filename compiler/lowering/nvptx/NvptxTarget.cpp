// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is not in one of the files by family: thread ids, barriers, waits, shuffles, launch bounds.
#include "compiler/lowering/nvptx/NvptxTarget.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::nvptx;
using namespace heddle::simt;
using namespace heddle::triton;

std::unique_ptr<GpuTarget> nvptx::makeTarget(const Chip &chip) {
  return std::make_unique<NvptxTarget>(chip);
}

bool NvptxTarget::isNativeFp8(Type type) const {
  return chip.fp8 == Fp8Formats::Ocp && isa<Float8E4M3FNType, Float8E5M2Type>(type);
}

void NvptxTarget::markKernel(LLVM::LLVMFuncOp function, int64_t threads, int64_t residentBlocks) const {
  function.getContext()->loadDialect<NVVM::NVVMDialect>(); // what is created below
  OpBuilder b(function.getContext());
  function.setCConv(LLVM::CConv::PTX_Kernel);
  auto attribute = [&](StringRef name, int64_t value) -> Attribute {
    return b.getArrayAttr({b.getStringAttr(name), b.getStringAttr(llvm::Twine(value).str())});
  };
  // What LLVM reads of a kernel: the exact size of its blocks, and how many are to fit on a multiprocessor. Where that
  // is not asked for (0), the phase resident-blocks chooses it.
  SmallVector<Attribute> attributes = {attribute("nvvm.reqntid", threads)};
  if (residentBlocks)
    attributes.push_back(attribute("nvvm.minctasm", std::min(residentBlocks, chip.unit.mostBlocks(threads))));
  function.setPassthroughAttr(b.getArrayAttr(attributes));
}

// The launch behind is let start only now, so that one at most lies ready behind each that runs: those that wait take
// the room of others.
bool NvptxTarget::waitForLaunchBefore(Builder &b) const {
  if (!chip.dependentLaunches)
    return false;
  NVVM::GriddepcontrolOp::create(b, NVVM::GridDepActionKind::wait);
  // The device takes 0.6 ns for each block that says so, one after the other (one H200): large grids of short blocks
  // would take twice as long. Their blocks say it by ending.
  constexpr int64_t mostBlocks = 1024;
  Value blocks = arith::ConstantIntOp::create(b, 1, 64);
  for (int axis = 0; axis < 3; ++axis)
    blocks = arith::MulIOp::create(b, blocks, Value(arith::ExtUIOp::create(b, b.getI64Type(), programCount(b, axis))));
  Value most = arith::ConstantIntOp::create(b, mostBlocks, 64);
  auto few = scf::IfOp::create(b, Value(arith::CmpIOp::create(b, arith::CmpIPredicate::ule, blocks, most)));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(few.thenBlock());
  NVVM::GriddepcontrolOp::create(b, NVVM::GridDepActionKind::launch_dependents);
  return true;
}

Value NvptxTarget::threadId(Builder &b) const {
  return NVVM::ThreadIdXOp::create(b, b.getI32Type());
}

Value NvptxTarget::laneNumber(Builder &b) const {
  return NVVM::LaneIdOp::create(b, b.getI32Type(), LLVM::ConstantRangeAttr::get(b.getContext(), 32, 0, 32));
}

Value NvptxTarget::programId(Builder &b, int axis) const {
  Type i32 = b.getI32Type();
  return axis == 0   ? Value(NVVM::BlockIdXOp::create(b, i32))
         : axis == 1 ? Value(NVVM::BlockIdYOp::create(b, i32))
                     : Value(NVVM::BlockIdZOp::create(b, i32));
}

Value NvptxTarget::programCount(Builder &b, int axis) const {
  Type i32 = b.getI32Type();
  return axis == 0   ? Value(NVVM::GridDimXOp::create(b, i32))
         : axis == 1 ? Value(NVVM::GridDimYOp::create(b, i32))
                     : Value(NVVM::GridDimZOp::create(b, i32));
}

void NvptxTarget::endThread(Builder &b) const {
  NVVM::Exit::create(b);
}

//===-- Barriers and exchange within a warp ----------------------------------------------------------------------===//

void NvptxTarget::barrier(Builder &b) const {
  NVVM::Barrier0Op::create(b);
}

void NvptxTarget::warpBarrier(Builder &b, bool) const {
  NVVM::SyncWarpOp::create(b, i32(b, -1));
}

/// Of the block's 16 barriers.
static constexpr int64_t barrierOfAll = 0, barrierOfStages = 1;

/// What `emit` makes, for the warps whose `bit` is set; null: all.
static void inWarpsWith(ImplicitLocOpBuilder &b, Value bit, llvm::function_ref<void()> emit) {
  OpBuilder::InsertionGuard guard(b);
  if (bit)
    b.setInsertionPointToStart(scf::IfOp::create(b, bit).thenBlock());
  emit();
}

// Warps count at a barrier by its number, wherever in the code they arrive.
void NvptxTarget::barrierIf(Builder &b, Value bit) const {
  inWarpsWith(b, bit, [&] { NVVM::Barrier0Op::create(b); });
}

void NvptxTarget::stageBarrier(Builder &b, int64_t threads, Value bit) const {
  inWarpsWith(b, bit, [&] {
    callWithout(b, "llvm.nvvm.barrier.cta.sync.aligned.count", {i32(b, barrierOfStages), i32(b, threads)});
  });
}

// The dialect's operation for it takes and gives words.
Value NvptxTarget::barrierOr(Builder &b, Value bit, int) const {
  return call(b, b.getI1Type(), "llvm.nvvm.barrier.cta.red.or.aligned.all", {i32(b, barrierOfAll), bit});
}

static Value shuffle(ImplicitLocOpBuilder &b, NVVM::ShflKind kind, Value value, Value lane) {
  auto constant = [&](int64_t number) -> Value { return arith::ConstantIntOp::create(b, number, 32); };
  return NVVM::ShflOp::create(b, b.getI32Type(), constant(-1), value, lane, constant(31), kind, UnitAttr());
}

Value NvptxTarget::combineWarp(Builder &b, Operation *combine, Value value) const {
  using Kind = NVVM::ReduxKind;
  auto kind = llvm::TypeSwitch<Operation *, std::optional<Kind>>(combine)
                  .Case([](arith::AddIOp) { return Kind::ADD; })
                  .Case([](arith::AndIOp) { return Kind::AND; })
                  .Case([](arith::OrIOp) { return Kind::OR; })
                  .Case([](arith::XOrIOp) { return Kind::XOR; })
                  .Case([](arith::MaxSIOp) { return Kind::MAX; })
                  .Case([](arith::MinSIOp) { return Kind::MIN; })
                  .Case([](arith::MaxUIOp) { return Kind::UMAX; })
                  .Case([](arith::MinUIOp) { return Kind::UMIN; })
                  .Default([](Operation *) { return std::nullopt; });
  if (!kind)
    return {};
  return NVVM::ReduxOp::create(b, value.getType(), value, *kind, i32(b, -1));
}

Value NvptxTarget::shuffleXor(Builder &b, Value value, int mask) const {
  return shuffle(b, NVVM::ShflKind::bfly, value, i32(b, mask));
}

Value NvptxTarget::shuffleFrom(Builder &b, Value value, Value lane) const {
  return shuffle(b, NVVM::ShflKind::idx, value, lane);
}

Value NvptxTarget::assembly(Builder &b, Type result, const std::string &text, const std::string &constraints,
                            ValueRange operands) {
  return LLVM::InlineAsmOp::create(b, result, operands, text, constraints, /*has_side_effects=*/true,
                                   /*is_align_stack=*/false, LLVM::TailCallKind::None, LLVM::AsmDialectAttr(),
                                   ArrayAttr())
      .getResult(0);
}

Type NvptxTarget::assemblyType(OpBuilder &b, StringRef constraint) const {
  return llvm::StringSwitch<Type>(constraint)
      .Case("h", b.getI16Type())
      .Case("r", b.getI32Type())
      .Case("l", b.getI64Type())
      .Case("f", b.getF32Type())
      .Case("d", b.getF64Type())
      .Default({});
}

//===-- Shared memory --------------------------------------------------------------------------------------------===//

// Those of 16 bytes stay out of the first-level cache.
void NvptxTarget::asyncCopy(Builder &b, Value shared, Value global, int64_t bytes, Value sourceBytes) const {
  auto modifier = bytes == 16 ? NVVM::LoadCacheModifierKind::CG : NVVM::LoadCacheModifierKind::CA;
  NVVM::CpAsyncOp::create(b, shared, global, uint32_t(bytes), modifier, sourceBytes);
}

void NvptxTarget::asyncCommit(Builder &b) const {
  NVVM::CpAsyncCommitGroupOp::create(b);
}

void NvptxTarget::asyncWait(Builder &b, int64_t pendingGroups) const {
  NVVM::CpAsyncWaitGroupOp::create(b, uint32_t(pendingGroups));
}

void NvptxTarget::initArrivals(Builder &b, Value object, int64_t arrivals) const {
  callWithout(b, "llvm.nvvm.mbarrier.init.shared", {object, i32(b, arrivals)});
}

void NvptxTarget::arrive(Builder &b, Value object) const {
  call(b, b.getI64Type(), "llvm.nvvm.mbarrier.arrive.shared", {object});
}

void NvptxTarget::arriveAfterCopies(Builder &b, Value object, bool increments) const {
  callWithout(
      b, increments ? "llvm.nvvm.cp.async.mbarrier.arrive.shared" : "llvm.nvvm.cp.async.mbarrier.arrive.noinc.shared",
      {object});
}

Value NvptxTarget::waitArrivals(Builder &b, Value object, Value parity) const {
  return call(b, b.getI1Type(), "llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta", {object, parity});
}

void NvptxTarget::publishShared(Builder &b) const {
  auto space = NVVM::SharedSpaceAttr::get(b.getContext(), NVVM::SharedSpace::shared_cta);
  NVVM::FenceProxyOp::create(b, NVVM::ProxyKind::async_shared, space);
}

//===-- Numbers --------------------------------------------------------------------------------------------------===//

// PTX ISA, `cvt`: integers are clamped, and a NaN of f32 becomes 0 in 32 bits.
Value NvptxTarget::saturateToWord(Builder &b, Value f32, bool isSigned) const {
  return call(b, b.getI32Type(), isSigned ? "llvm.nvvm.f2i.rz" : "llvm.nvvm.f2ui.rz", {f32});
}

// The instruction gives the largest number for what is larger.
NvptxTarget::Values NvptxTarget::toFp8(Builder &b, ValueRange values, Type to, bool isWithinRange) const {
  if (!isNativeFp8(to))
    return {};
  const char *name = isa<Float8E4M3FNType>(to) ? "llvm.nvvm.ff.to.e4m3x2.rn" : "llvm.nvvm.ff.to.e5m2x2.rn";
  Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  return llvm::map_to_vector(values, [&](Value value) -> Value {
    Value pair = call(b, b.getI16Type(), name, {zero, value}); // the second operand is the low byte
    return arith::TruncIOp::create(b, b.getI8Type(), pair);
  });
}

NvptxTarget::Values NvptxTarget::fromFp8(Builder &b, ValueRange values, Type from) const {
  if (!isNativeFp8(from))
    return {};
  const char *name = isa<Float8E4M3FNType>(from) ? "llvm.nvvm.e4m3x2.to.f16x2.rn" : "llvm.nvvm.e5m2x2.to.f16x2.rn";
  return llvm::map_to_vector(values, [&](Value value) -> Value {
    Value wide = arith::ExtUIOp::create(b, b.getI16Type(), value);
    Value pair = call(b, VectorType::get(2, b.getF16Type()), name, {wide});
    Value half = LLVM::ExtractElementOp::create(b, pair, i32(b, 0));
    return arith::ExtFOp::create(b, b.getF32Type(), half);
  });
}

Value NvptxTarget::approximateExp2(Builder &b, Value f32, bool flushes) const {
  return call(b, f32.getType(), flushes ? "llvm.nvvm.ex2.approx.ftz.f32" : "llvm.nvvm.ex2.approx.f32", {f32});
}

Value NvptxTarget::approximateDivide(Builder &b, Value x, Value y) const {
  return call(b, x.getType(), "llvm.nvvm.div.full", {x, y});
}

Value NvptxTarget::approximateSqrt(Builder &b, Value f32) const {
  return call(b, f32.getType(), "llvm.nvvm.sqrt.approx.f", {f32});
}

Value NvptxTarget::approximateRsqrt(Builder &b, Value f32) const {
  return call(b, f32.getType(), "llvm.nvvm.rsqrt.approx.f", {f32});
}
