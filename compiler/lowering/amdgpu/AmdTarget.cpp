// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is not in one of the files by family: program ids, waits, barriers, arithmetic of single elements.
#include "compiler/lowering/amdgpu/AmdTarget.h"
#include "chips/AmdBuffer.h"
#include "chips/AmdWaits.h"
#include "compiler/lowering/amdgpu/Buffers.h"
#include "compiler/lowering/simt/Vectors.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::amdgpu;
using namespace heddle::simt;

std::unique_ptr<GpuTarget> amdgpu::makeTarget(const Chip &chip) {
  return std::make_unique<AmdTarget>(chip);
}

void AmdTarget::markKernel(LLVM::LLVMFuncOp function, int64_t threads, int64_t) const {
  function.getContext()->loadDialect<ROCDL::ROCDLDialect>(); // what is created below
  OpBuilder b(function.getContext());
  function.setCConv(LLVM::CConv::AMDGPU_KERNEL);
  std::string count = llvm::Twine(threads).str();
  auto attribute = [&](StringRef name, StringRef value) -> Attribute {
    return b.getArrayAttr({b.getStringAttr(name), b.getStringAttr(value)});
  };
  function.setPassthroughAttr(b.getArrayAttr({attribute("amdgpu-flat-work-group-size", count + "," + count),
                                              attribute("uniform-work-group-size", "true"),
                                              // Extrema then return the number beside any NaN, which is what is asked
                                              // for; in the other mode LLVM 22 forgets signalling NaNs of bf16.
                                              attribute("amdgpu-ieee", "false")}));
  // Preloaded into scalar registers before the first instruction, as many as fit: no wave waits for its arguments.
  for (unsigned number = 0; number < function.getNumArguments(); ++number)
    function.setArgAttr(number, LLVM::LLVMDialect::getInRegAttrName(), b.getUnitAttr());
}

Value AmdTarget::programId(Builder &b, int axis) const {
  Type word = b.getI32Type();
  switch (axis) {
  case 0:
    return ROCDL::BlockIdXOp::create(b, word);
  case 1:
    return ROCDL::BlockIdYOp::create(b, word);
  default:
    return ROCDL::BlockIdZOp::create(b, word);
  }
}

// The numbers of workgroups are the first of the hidden arguments of code objects from version 5.
Value AmdTarget::programCount(Builder &b, int axis) const {
  Type pointer = LLVM::LLVMPointerType::get(b.getContext(), 4);
  Value hidden = call(b, pointer, "llvm.amdgcn.implicitarg.ptr", {});
  Value place = LLVM::GEPOp::create(b, pointer, b.getI32Type(), hidden, ArrayRef<LLVM::GEPArg>{axis});
  return LLVM::LoadOp::create(b, b.getI32Type(), place, /*alignment=*/4, /*isVolatile=*/false, /*isNonTemporal=*/false,
                              /*isInvariant=*/true);
}

//===-- Buffers --------------------------------------------------------------------------------------------------===//

Value amdgpu::descriptorOf(ImplicitLocOpBuilder &b, Value pointer) {
  auto constant = [&](int64_t value, int bits) -> Value { return arith::ConstantIntOp::create(b, value, bits); };
  Type type = LLVM::LLVMPointerType::get(b.getContext(), 8);
  return ROCDL::MakeBufferRsrcOp::create(b, type, pointer, constant(0, 16), constant(buffer::bytes, 64),
                                         constant(buffer::flags, 32));
}

Value amdgpu::offsetOf(ImplicitLocOpBuilder &b, const GpuTarget::BufferPlace &place) {
  if (!place.allowed)
    return place.offset;
  Value outside = arith::ConstantIntOp::create(b, int32_t(buffer::outside), 32);
  return arith::SelectOp::create(b, place.allowed, place.offset, outside);
}

// The bits of CDNA 3 and 4: 1 sc0, 2 nt, 16 sc1. Past the caches of the compute unit and of its die (cv), through them
// (wt), or with lines that leave first (cs).
int64_t amdgpu::policyOf(triton::CacheModifier cache) {
  switch (cache) {
  case triton::CacheModifier::Volatile:
  case triton::CacheModifier::WriteThrough:
    return 1 | 16;
  case triton::CacheModifier::Streaming:
    return 2;
  default:
    return 0;
  }
}

Value AmdTarget::bufferLoad(Builder &b, const BufferPlace &place, Type type, triton::CacheModifier cache) const {
  Value resource = descriptorOf(b, place.pointer), offset = offsetOf(b, place);
  return ROCDL::RawPtrBufferLoadOp::create(b, type, resource, offset, i32(b, 0), i32(b, policyOf(cache)),
                                           /*alias_scopes=*/ArrayAttr(), /*noalias_scopes=*/ArrayAttr(),
                                           /*tbaa=*/ArrayAttr());
}

void AmdTarget::bufferStore(Builder &b, Value value, const BufferPlace &place, triton::CacheModifier cache) const {
  Value resource = descriptorOf(b, place.pointer), offset = offsetOf(b, place);
  ROCDL::RawPtrBufferStoreOp::create(b, value, resource, offset, i32(b, 0), i32(b, policyOf(cache)),
                                     /*alias_scopes=*/ArrayAttr(), /*noalias_scopes=*/ArrayAttr(),
                                     /*tbaa=*/ArrayAttr());
}

//===-- Barriers -------------------------------------------------------------------------------------------------===//

static void fence(ImplicitLocOpBuilder &b, LLVM::AtomicOrdering order, const char *scope) {
  LLVM::FenceOp::create(b, order, scope);
}

// The instruction waits for nothing: each thread waits for what it did itself. The release fence's wait is one that
// LLVM 22 may delete at the head of a loop though the iteration before left LDS operations in flight
// (docs/production.md, L1), so that a wait of our own, which it merges but never deletes, is in its place. Products
// that come before stay before: between the fence and the barrier they would begin with a wait for all that the fence
// waits for.
void AmdTarget::barrier(Builder &b) const {
  ROCDL::SchedBarrier::create(b, 0);
  fence(b, LLVM::AtomicOrdering::release, "workgroup");
  ROCDL::SWaitcntOp::create(b, waitForLgkmcnt0);
  ROCDL::SBarrierOp::create(b);
  fence(b, LLVM::AtomicOrdering::acquire, "workgroup");
}

// The bit of the first lane is in a scalar register: the branch is one of the whole wave. Where lanes differed, the
// instruction would be executed by all of them.
void AmdTarget::barrierIf(Builder &b, Value bit) const {
  Value word = arith::ExtUIOp::create(b, b.getI32Type(), bit);
  Value first = ROCDL::ReadfirstlaneOp::create(b, b.getI32Type(), word);
  Value isSet = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, first, i32(b, 0));
  scf::IfOp::create(b, isSet, [&](OpBuilder &, Location) {
    ROCDL::SBarrierOp::create(b);
    scf::YieldOp::create(b, ValueRange{});
  });
}

// An effect for LLVM, which orders nothing: all kinds of instructions may pass.
void AmdTarget::stayInBranch(Builder &b) const {
  constexpr uint32_t everything = 0x7FF;
  ROCDL::SchedBarrier::create(b, everything);
}

// LDS operations of a wave happen in their order: the compiler only must keep it, and nothing has to wait. A copy
// straight to LDS is an operation of global memory: LDS operations before it are not waited for.
void AmdTarget::warpBarrier(Builder &b, bool beforeCopies) const {
  fence(b, LLVM::AtomicOrdering::acq_rel, "wavefront");
  if (beforeCopies) {
    ROCDL::SchedBarrier::create(b, 0u);
    ROCDL::SWaitcntOp::create(b, waitForLgkmcnt0);
  }
  call(b, "llvm.amdgcn.wave.barrier", {});
}

// A word for each wave, which its lanes write alike.
Value AmdTarget::barrierOr(Builder &b, Value bit, int warps) const {
  constexpr int64_t mostWaves = 16;
  constexpr const char *name = "heddle_votes";
  auto function = b.getInsertionBlock()->getParentOp();
  if (!isa<LLVM::LLVMFuncOp>(function))
    function = function->getParentOfType<LLVM::LLVMFuncOp>();
  auto module = function->getParentOfType<ModuleOp>();
  auto votes = module.lookupSymbol<LLVM::GlobalOp>(name);
  if (!votes) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(function);
    votes = LLVM::GlobalOp::create(b, LLVM::LLVMArrayType::get(b.getI32Type(), mostWaves), /*isConstant=*/false,
                                   LLVM::Linkage::Internal, name, Attribute(), /*alignment=*/16, /*addrSpace=*/3);
  }
  Type pointer = LLVM::LLVMPointerType::get(b.getContext(), 3), word = b.getI32Type();
  Value first = LLVM::AddressOfOp::create(b, pointer, name);
  auto placeOf = [&](LLVM::GEPArg wave) -> Value {
    return LLVM::GEPOp::create(b, pointer, word, first, ArrayRef<LLVM::GEPArg>{wave});
  };
  Value lanes = ROCDL::BallotOp::create(b, b.getI64Type(), bit);
  Value any = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, lanes, arith::ConstantIntOp::create(b, 0, 64));
  Value wave = arith::ShRUIOp::create(b, threadId(b), i32(b, llvm::Log2_32(unsigned(lanesPerWarp()))));
  LLVM::StoreOp::create(b, arith::ExtUIOp::create(b, word, any), placeOf(wave));
  barrier(b);
  Value result;
  for (int32_t i = 0; i < warps; ++i) {
    Value one = LLVM::LoadOp::create(b, word, placeOf(i));
    result = result ? Value(arith::OrIOp::create(b, result, one)) : one;
  }
  barrier(b); // the words are free for the next vote
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, result, i32(b, 0));
}

//===-- Numbers --------------------------------------------------------------------------------------------------===//

bool AmdTarget::isNativeFp8(Type type) const {
  return chip.fp8 == Fp8Formats::Ocp    ? isa<Float8E4M3FNType, Float8E5M2Type>(type)
         : chip.fp8 == Fp8Formats::Fnuz ? isa<Float8E4M3FNUZType, Float8E5M2FNUZType>(type)
                                        : false;
}

bool AmdTarget::narrowsPairs(Type element) const {
  return chip.narrowingPairs && (element.isF16() || element.isBF16());
}

Value AmdTarget::clamp(Builder &b, Value value, double largest) const {
  Type f32 = b.getF32Type();
  auto constant = [&](double number) -> Value { return arith::ConstantOp::create(b, b.getFloatAttr(f32, number)); };
  if (chip.nanKeepingExtrema)
    return arith::MinimumFOp::create(b, arith::MaximumFOp::create(b, value, constant(-largest)), constant(largest));
  Value within = ROCDL::FMed3Op::create(b, f32, value, constant(-largest), constant(largest));
  Value isNumber = arith::CmpFOp::create(b, arith::CmpFPredicate::ORD, value, value);
  return arith::SelectOp::create(b, isNumber, within, value);
}

static Value bitcast(ImplicitLocOpBuilder &b, Type type, Value value) {
  return LLVM::BitcastOp::create(b, type, value);
}

// One instruction writes a half of a word, and makes NaN or infinity of what is too large; the language wants the
// largest number.
AmdTarget::Values AmdTarget::toFp8(Builder &b, ValueRange values, Type to, bool isWithinRange) const {
  if (!isNativeFp8(to))
    return {};
  double largest = llvm::APFloat::getLargest(cast<FloatType>(to).getFloatSemantics()).convertToDouble();
  bool isBf8 = isa<Float8E5M2Type, Float8E5M2FNUZType>(to);
  Values results, within;
  for (Value value : values)
    within.push_back(isWithinRange ? value : clamp(b, value, largest));
  constexpr size_t inWord = 4;
  for (size_t first = 0; first < within.size(); first += inWord) {
    size_t count = std::min(inWord, within.size() - first);
    Value word = LLVM::PoisonOp::create(b, b.getI32Type());
    for (size_t i = 0; i < count; i += 2) {
      Value low = within[first + i], high = within[first + std::min(i + 1, count - 1)];
      bool isUpper = i > 0;
      word = isBf8 ? Value(ROCDL::CvtPkBf8F32Op::create(b, b.getI32Type(), low, high, word, isUpper))
                   : Value(ROCDL::CvtPkFp8F32Op::create(b, b.getI32Type(), low, high, word, isUpper));
    }
    Values bytes = apart(b, bitcast(b, VectorType::get(inWord, b.getI8Type()), word));
    results.append(bytes.begin(), bytes.begin() + ptrdiff_t(count));
  }
  return results;
}

// Words of four elements, each half of which is one instruction: `convert` gives the two of a half.
static AmdTarget::Values fromWords(ImplicitLocOpBuilder &b, ValueRange values,
                                   llvm::function_ref<Value(Value word, bool isUpper)> convert) {
  AmdTarget::Values results;
  for (size_t first = 0; first < values.size(); first += 4) {
    Value word = bitcast(b, b.getI32Type(), joined(b, values.slice(first, 4)));
    for (bool isUpper : {false, true})
      llvm::append_range(results, apart(b, convert(word, isUpper)));
  }
  return results;
}

AmdTarget::Values AmdTarget::fromFp8(Builder &b, ValueRange values, Type from) const {
  if (!isNativeFp8(from))
    return {};
  bool isBf8 = isa<Float8E5M2Type, Float8E5M2FNUZType>(from);
  if (values.size() % 4 != 0)
    return llvm::map_to_vector(values, [&](Value value) {
      Value word = arith::ExtUIOp::create(b, b.getI32Type(), value);
      return isBf8 ? Value(ROCDL::CvtF32Bf8Op::create(b, b.getF32Type(), word, 0))
                   : Value(ROCDL::CvtF32Fp8Op::create(b, b.getF32Type(), word, 0));
    });
  Type pair = VectorType::get(2, b.getF32Type());
  return fromWords(b, values, [&](Value word, bool isUpper) {
    return isBf8 ? Value(ROCDL::CvtPkF32Bf8Op::create(b, pair, word, isUpper))
                 : Value(ROCDL::CvtPkF32Fp8Op::create(b, pair, word, isUpper));
  });
}

/// Two elements of 8 bits, a half of `word`, as f16 or bf16 times `scale`.
static Value convertScaled(ImplicitLocOpBuilder &b, Type pair, Value word, Value scale, bool isUpper, bool isBf8) {
  if (cast<VectorType>(pair).getElementType().isF16())
    return isBf8 ? Value(ROCDL::CvtScaleF32PkF16Bf8Op::create(b, pair, word, scale, isUpper))
                 : Value(ROCDL::CvtScaleF32PkF16Fp8Op::create(b, pair, word, scale, isUpper));
  return isBf8 ? Value(ROCDL::CvtScaleF32PkBf16Bf8Op::create(b, pair, word, scale, isUpper))
               : Value(ROCDL::CvtScaleF32PkBf16Fp8Op::create(b, pair, word, scale, isUpper));
}

// One instruction scales, here by 1. Without it, two f32 become two f16 in one instruction that rounds toward zero:
// nothing is cut.
AmdTarget::Values AmdTarget::fromFp8ToHalf(Builder &b, ValueRange values, Type from, Type to) const {
  bool isBf8 = isa<Float8E5M2Type, Float8E5M2FNUZType>(from);
  if (!isNativeFp8(from) || values.size() % 4 != 0 || !(to.isF16() || (to.isBF16() && chip.scaledConversions)))
    return {};
  Type pair = VectorType::get(2, to);
  if (chip.scaledConversions) {
    Value one = arith::ConstantOp::create(b, b.getF32FloatAttr(1));
    return fromWords(b, values,
                     [&](Value word, bool isUpper) { return convertScaled(b, pair, word, one, isUpper, isBf8); });
  }
  Values wide = fromFp8(b, values, from), results;
  for (size_t i = 0; i < wide.size(); i += 2)
    llvm::append_range(results, apart(b, ROCDL::CvtPkRtz::create(b, pair, wide[i], wide[i + 1])));
  return results;
}

// The bare instruction takes subnormal numbers for 0; LLVM's operation scales them.
Value AmdTarget::approximateExp2(Builder &b, Value f32, bool flushes) const {
  return flushes ? Value(ROCDL::ROCDLExp2::create(b, f32.getType(), f32)) : LLVM::Exp2Op::create(b, f32);
}

// An exact quotient takes two instructions more than one within 2 units of x / x = 1.
Value AmdTarget::approximateDivide(Builder &b, Value x, Value y) const {
  return arith::DivFOp::create(b, x, y);
}

// The instructions take subnormal numbers for 0: small ones are scaled by an even power of two.
/// `sign`: of the exponent of the root, 1/2 or -1/2.
static Value scaledRoot(AmdTarget::Builder &b, Value f32, int sign, llvm::function_ref<Value(Value)> root) {
  constexpr int scale = 32;
  Value limit = arith::ConstantOp::create(b, b.getF32FloatAttr(0x1p-96f));
  Value isSmall = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, f32, limit);
  auto scaled = [&](Value value, int by) {
    auto constant = [&](int64_t exponent) { return arith::ConstantIntOp::create(b, exponent, 32); };
    Value power = arith::SelectOp::create(b, isSmall, constant(by), constant(0));
    return LLVM::LoadExpOp::create(b, f32.getType(), value, power);
  };
  return scaled(root(scaled(f32, scale)), -sign * scale / 2);
}

Value AmdTarget::approximateSqrt(Builder &b, Value f32) const {
  return scaledRoot(b, f32, 1, [&](Value x) { return ROCDL::ROCDLSqrt::create(b, x.getType(), x); });
}

Value AmdTarget::approximateRsqrt(Builder &b, Value f32) const {
  return scaledRoot(b, f32, -1, [&](Value x) { return call(b, x.getType(), "llvm.amdgcn.rsq", {x}); });
}

Value AmdTarget::multiplyHigh(Builder &b, Value x, Value y) const {
  return arith::MulUIExtendedOp::create(b, x, y).getHigh();
}
