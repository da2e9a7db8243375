// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sources: LLVM's memory model for AMDGPU and syncscopes of NVPTX; `%globaltimer` counts nanoseconds, `s_memrealtime`
// at 100 MHz.
#include "compiler/lowering/peer/PeerTarget.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace heddle::peer;
using heddle::triton::MemScope;
using heddle::triton::RMWOp;

// clang-format off
static constexpr PeerTarget targets[] = {
  {.name = "host", .addressSpace = 0, .gpuScope = "", .ctaScope = "", .threadId = nullptr, .nanosecondsPerTick = 0,
   .splitsRelease = false, .fencesAfterLoop = false, .fencesEachThread = false, .streamFence = "llvm.x86.sse.sfence",
   .joinsWaits = false, .predicatesLoads = false, .pollsPerClock = 128, .holdConstraints = nullptr,
   .pause = "llvm.x86.sse2.pause"},
  {.name = "nvptx", .addressSpace = 1, .gpuScope = "device", .ctaScope = "block",
   .threadId = "llvm.nvvm.read.ptx.sreg.tid.x", .nanosecondsPerTick = 1,
   .splitsRelease = false, .fencesAfterLoop = false, .fencesEachThread = false, .streamFence = nullptr,
   .joinsWaits = true, .predicatesLoads = true, .pollsPerClock = 1024, .holdConstraints = "=l,0", .pause = nullptr},
  {.name = "amdgpu", .addressSpace = 1, .gpuScope = "agent", .ctaScope = "workgroup",
   .threadId = "llvm.amdgcn.workitem.id.x", .nanosecondsPerTick = 10,
   .splitsRelease = true, .fencesAfterLoop = true, .fencesEachThread = true, .streamFence = nullptr,
   .joinsWaits = true, .predicatesLoads = false, .pollsPerClock = 64, .holdConstraints = nullptr, .pause = nullptr},
};
// clang-format on

const PeerTarget *heddle::peer::findPeerTarget(StringRef name) {
  for (const PeerTarget &target : targets)
    if (name == target.name)
      return &target;
  return nullptr;
}

std::string heddle::peer::peerTargetNames() {
  std::string names;
  for (const PeerTarget &target : targets)
    names += (names.empty()                                 ? ""
              : &target == &targets[std::size(targets) - 1] ? " or "
                                                            : ", ") +
             std::string(target.name);
  return names;
}

StringRef heddle::peer::syncScope(const PeerTarget &target, MemScope scope) {
  switch (scope) {
  case MemScope::System:
    return "";
  case MemScope::Gpu:
    return target.gpuScope;
  case MemScope::Cta:
    return target.ctaScope;
  }
  llvm::report_fatal_error("peer: unknown memory sync scope");
}

LLVM::AtomicBinOp heddle::peer::atomicOperation(RMWOp kind) {
  switch (kind) {
  case RMWOp::And:
    return LLVM::AtomicBinOp::_and;
  case RMWOp::Or:
    return LLVM::AtomicBinOp::_or;
  case RMWOp::Xor:
    return LLVM::AtomicBinOp::_xor;
  case RMWOp::Add:
    return LLVM::AtomicBinOp::add;
  case RMWOp::FAdd:
    return LLVM::AtomicBinOp::fadd;
  case RMWOp::Max:
    return LLVM::AtomicBinOp::max;
  case RMWOp::Min:
    return LLVM::AtomicBinOp::min;
  case RMWOp::UMax:
    return LLVM::AtomicBinOp::umax;
  case RMWOp::UMin:
    return LLVM::AtomicBinOp::umin;
  case RMWOp::Exchange:
    return LLVM::AtomicBinOp::xchg;
  }
  llvm::report_fatal_error("peer: unknown atomic operation");
}

Value heddle::peer::callLibrary(ImplicitLocOpBuilder &b, StringRef name, ValueRange arguments) {
  auto module = b.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!function) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    auto type = LLVM::LLVMFunctionType::get(b.getI32Type(), llvm::to_vector(arguments.getTypes()));
    function = LLVM::LLVMFuncOp::create(b, name, type);
  }
  return LLVM::CallOp::create(b, function, arguments).getResult();
}

static Value constant(ImplicitLocOpBuilder &b, Type type, int64_t value) {
  return LLVM::ConstantOp::create(b, type, b.getIntegerAttr(type, value));
}

// clock_gettime(CLOCK_MONOTONIC), whose two fields of 64 bits lie in the frame of the function.
static Value emitHostClock(ImplicitLocOpBuilder &b) {
  constexpr int64_t monotonic = 1, nanosecondsPerSecond = 1000000000;
  Type i64 = b.getI64Type(), pointer = LLVM::LLVMPointerType::get(b.getContext());
  Value time;
  {
    OpBuilder::InsertionGuard guard(b);
    auto function = b.getInsertionBlock()->getParentOp()->getParentOfType<LLVM::LLVMFuncOp>();
    if (!function)
      function = cast<LLVM::LLVMFuncOp>(b.getInsertionBlock()->getParentOp());
    b.setInsertionPointToStart(&function.getBody().front());
    time = LLVM::AllocaOp::create(b, pointer, i64, constant(b, i64, 2), /*alignment=*/8);
  }
  callLibrary(b, "clock_gettime", {constant(b, b.getI32Type(), monotonic), time});
  Value second = LLVM::GEPOp::create(b, pointer, b.getI8Type(), time, ArrayRef<LLVM::GEPArg>{8});
  Value seconds = LLVM::LoadOp::create(b, i64, time, 8), nanoseconds = LLVM::LoadOp::create(b, i64, second, 8);
  Value whole = LLVM::MulOp::create(b, seconds, constant(b, i64, nanosecondsPerSecond));
  return LLVM::AddOp::create(b, whole, nanoseconds);
}

Value heddle::peer::emitClock(ImplicitLocOpBuilder &b, const PeerTarget &target) {
  if (target.nanosecondsPerTick == 0)
    return emitHostClock(b);
  Value ticks =
      LLVM::CallIntrinsicOp::create(b, b.getI64Type(), b.getStringAttr("llvm.readsteadycounter"), ValueRange{})
          .getResult(0);
  if (target.nanosecondsPerTick == 1)
    return ticks;
  return LLVM::MulOp::create(b, ticks, constant(b, b.getI64Type(), target.nanosecondsPerTick));
}

void heddle::peer::emitReleaseFence(ImplicitLocOpBuilder &b, const PeerTarget &target, MemScope scope) {
  constexpr int64_t vmcnt0 = 0xf70; // s_waitcnt: vmcnt(0), nothing else
  LLVM::FenceOp::create(b, LLVM::AtomicOrdering::release, syncScope(target, scope));
  if (target.splitsRelease)
    LLVM::CallIntrinsicOp::create(b, b.getStringAttr("llvm.amdgcn.s.waitcnt"),
                                  ValueRange{constant(b, b.getI32Type(), vmcnt0)});
}

// LLVM has no masked load with an order. A byte travels in a register of 16 bits.
Value heddle::peer::emitPredicatedLoad(ImplicitLocOpBuilder &b, Value pointer, Value bit, Value other,
                                       StringRef order) {
  Type type = other.getType();
  unsigned bits = type.getIntOrFloatBitWidth();
  Type carried = bits == 8 ? b.getI16Type() : type;
  if (carried != type)
    other = LLVM::ZExtOp::create(b, carried, other);
  std::string letter = bits == 64 ? "l" : bits == 32 ? "r" : "h";
  std::string text = "@$2 ld." + order.str() + ".global.b" + std::to_string(bits) + " $0, [$1];";
  Value loaded =
      LLVM::InlineAsmOp::create(b, carried, ValueRange{pointer, bit, other}, text, "=" + letter + ",l,b,0,~{memory}",
                                /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::TailCallKind::None,
                                LLVM::AsmDialectAttr(), ArrayAttr())
          .getResult(0);
  return carried == type ? loaded : Value(LLVM::TruncOp::create(b, type, loaded));
}
