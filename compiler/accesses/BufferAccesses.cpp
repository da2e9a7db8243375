// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rewrites each access of global memory in the form that its address allows.
#include "compiler/accesses/BufferAccesses.h"
#include "chips/AmdBuffer.h"
#include "compiler/accesses/MaskBranches.h"
#include "compiler/accesses/MaskedAccess.h"
#include "compiler/accesses/PointerCopies.h"
#include "compiler/accesses/WaveScalars.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Passes/PassBuilder.h"

using namespace llvm;
using namespace heddle;

namespace {

constexpr unsigned globalSpace = 1, bufferSpace = 8;
constexpr int64_t mostAddend = int64_t(1) << 29, widestAccess = 16;

class AccessWriter {
public:
  AccessWriter(Function &function, FunctionAnalysisManager &analyses)
      : function(function), addresses(function, analyses), loops(analyses.getResult<LoopAnalysis>(function)),
        scalars(addresses, loops) {}

  bool run();

private:
  void collect();
  void addPlain(Instruction &instruction, Value *pointer, Value *stored);
  void addCopy(IntrinsicInst &call);
  std::optional<Place> placeOf(Value *pointer, const Instruction *at) const;
  void splitMask(GlobalAccess &access) const;

  Value *pointerOf(IRBuilder<> &b, const Place &place) const;
  Value *offsetOf(IRBuilder<> &b, const Place &place) const;
  /// The resource, and the offset in it.
  std::pair<Value *, Value *> bufferOf(IRBuilder<> &b, const GlobalAccess &access) const;
  void writeBuffer(GlobalAccess &access);
  Value *splitPointer(const GlobalAccess &access) const;
  void prepareBranch(GlobalAccess &access);
  void writeCopy(GlobalAccess &access);

  Function &function;
  AddressAnalysis addresses;
  LoopInfo &loops;
  WaveScalars scalars;
  std::vector<GlobalAccess> accesses;
  std::vector<GlobalAccess> copies;          ///< straight to LDS, by pointers
  SmallVector<IntrinsicInst *> bufferCopies; ///< straight to LDS, as the program wrote them
};

} // namespace

//===-- Finding --------------------------------------------------------------------------------------------------===//

// What travels: whole words as words, less as it is; null when no buffer instruction moves it.
static Type *carrierOf(Type *type, const DataLayout &layout) {
  if (type->isAggregateType() || (type->isVectorTy() && type->getScalarType()->isPointerTy()))
    return nullptr;
  uint64_t bits = layout.getTypeSizeInBits(type).getFixedValue();
  LLVMContext &context = type->getContext();
  if (bits == 64 || bits == 96 || bits == 128)
    return FixedVectorType::get(Type::getInt32Ty(context), unsigned(bits / 32));
  if (bits == 8 || bits == 16 || bits == 32)
    return type->isVectorTy() ? Type::getIntNTy(context, unsigned(bits)) : type;
  return nullptr;
}

// The lane's part as an offset of 32 bits that is 0 or more and within the buffer.
std::optional<Place> AccessWriter::placeOf(Value *pointer, const Instruction *at) const {
  std::optional<AddressParts> parts = addresses.split(pointer, at);
  int64_t low = 0, high = 0, spread = 0;
  if (!parts || AddOverflow(parts->least, parts->constant, low) || AddOverflow(parts->most, parts->constant, high) ||
      SubOverflow(parts->most, parts->least, spread) || spread > buffer::bytes - widestAccess) {
    parts = addresses.splitWithinBuffer(pointer);
    if (!parts)
      return std::nullopt;
    int64_t constant = parts->constant;
    return Place{.parts = std::move(*parts), .ofOffset = constant};
  }
  Place place{std::move(*parts)};
  bool fits = low >= 0 && high <= buffer::bytes - widestAccess;
  if (fits && place.parts.least >= 0 && place.parts.constant >= 0 && place.parts.constant <= mostAddend) {
    place.constant = place.parts.constant;
  } else if (fits) {
    place.ofOffset = place.parts.constant;
  } else {
    place.ofPointer = low;
    place.ofOffset = -place.parts.least;
  }
  return place;
}

static void addGuards(SmallVectorImpl<Value *> &guards, Value *bit) {
  Value *x = nullptr, *y = nullptr;
  if (PatternMatch::match(bit, PatternMatch::m_LogicalAnd(PatternMatch::m_Value(x), PatternMatch::m_Value(y)))) {
    addGuards(guards, x);
    addGuards(guards, y);
  } else {
    guards.push_back(bit);
  }
}

void AccessWriter::splitMask(GlobalAccess &access) const {
  Guards guards;
  addGuards(guards, access.bit);
  for (Value *guard : guards)
    (addresses.isOfWave(guard, access.instruction) ? access.ofWave : access.ofLane).push_back(guard);
  // A uniform load under a uniform mask is the scalar unit's. Waves that go together save a store when they jump, and
  // one lane's store to a place of the wave is done sooner in a branch.
  bool isUniform = access.place && access.place->parts.ofLane.empty();
  access.isInBranch =
      !access.place || (access.isLoad ? isUniform && access.ofLane.empty() : isUniform || access.ofLane.empty());
}

void AccessWriter::addPlain(Instruction &instruction, Value *pointer, Value *stored) {
  if (pointer->getType()->getPointerAddressSpace() == globalSpace)
    accesses.push_back({&instruction, !stored, pointer, stored, Align()});
}

void AccessWriter::addCopy(IntrinsicInst &call) {
  copies.push_back({&call, /*isLoad=*/true, call.getArgOperand(0), nullptr, Align()});
  std::optional<OperandBundleUse> mask = call.getOperandBundle(buffer::copyMask);
  if (mask && !PatternMatch::match(mask->Inputs[0].get(), PatternMatch::m_One()))
    copies.back().bit = mask->Inputs[0];
}

// All masks are read before anything is asked of the function: reading one may take a bit out of a vector.
void AccessWriter::collect() {
  for (Instruction &instruction : instructions(function))
    if (auto *load = dyn_cast<LoadInst>(&instruction); load && load->isSimple()) {
      addPlain(instruction, load->getPointerOperand(), nullptr);
    } else if (auto *store = dyn_cast<StoreInst>(&instruction); store && store->isSimple()) {
      addPlain(instruction, store->getPointerOperand(), store->getValueOperand());
    } else if (isMasked(instruction)) {
      MaskedAccess masked = readMasked(instruction);
      accesses.push_back({&instruction, masked.isLoad, masked.pointer, masked.value, masked.align, masked.bit});
    } else if (auto *call = dyn_cast<IntrinsicInst>(&instruction)) {
      if (call->getIntrinsicID() == Intrinsic::amdgcn_global_load_lds)
        addCopy(*call);
      else if (call->getIntrinsicID() == Intrinsic::amdgcn_raw_ptr_buffer_load_lds)
        bufferCopies.push_back(call);
    }
  for (GlobalAccess &copy : copies) {
    copy.place = placeOf(copy.pointer, copy.instruction);
    if (copy.bit)
      splitMask(copy);
  }
  for (GlobalAccess &access : accesses) {
    if (carrierOf(access.type(), function.getDataLayout()))
      access.place = placeOf(access.pointer, access.instruction);
    if (access.bit)
      splitMask(access);
  }
  joinStores(accesses);
}

//===-- Writing --------------------------------------------------------------------------------------------------===//

static Value *scaled(IRBuilder<> &b, Value *value, int64_t factor) {
  if (factor > 0 && isPowerOf2_64(uint64_t(factor)))
    return factor == 1 ? value : b.CreateShl(value, Log2_64(uint64_t(factor)));
  return b.CreateMul(value, ConstantInt::getSigned(value->getType(), factor));
}

// What changes least comes first, so that it can leave loops.
Value *AccessWriter::pointerOf(IRBuilder<> &b, const Place &place) const {
  auto depth = [&](const AddressTerm &term) {
    auto *instruction = dyn_cast<Instruction>((Value *)term.value);
    return instruction ? loops.getLoopDepth(instruction->getParent()) : 0;
  };
  SmallVector<AddressTerm, 4> terms;
  for (const AddressTerm &term : place.parts.ofWave)
    terms.insert(llvm::find_if(terms, [&](const AddressTerm &other) { return depth(other) > depth(term); }), term);
  Value *pointer = place.parts.base;
  Type *word = b.getInt64Ty(), *byte = b.getInt8Ty();
  for (const AddressTerm &term : terms) {
    Value *value = b.CreateIntCast(term.value, word, term.isSigned);
    value = scaled(b, value, term.factor);
    pointer = b.CreateGEP(byte, pointer, value);
  }
  return place.ofPointer ? b.CreateGEP(byte, pointer, ConstantInt::getSigned(word, place.ofPointer)) : pointer;
}

Value *AccessWriter::offsetOf(IRBuilder<> &b, const Place &place) const {
  Type *type = b.getInt32Ty();
  Value *offset = nullptr;
  for (const AddressTerm &term : place.parts.ofLane) {
    Value *value = b.CreateIntCast(term.value, type, term.isSigned);
    value = scaled(b, value, int32_t(term.factor));
    offset = offset ? b.CreateAdd(offset, value) : value;
  }
  if (!offset)
    return ConstantInt::getSigned(type, place.ofOffset);
  return place.ofOffset ? b.CreateAdd(offset, ConstantInt::getSigned(type, int64_t(int32_t(place.ofOffset)))) : offset;
}

// What all lanes are forbidden empties the buffer; what one lane is forbidden lies outside.
std::pair<Value *, Value *> AccessWriter::bufferOf(IRBuilder<> &b, const GlobalAccess &access) const {
  Value *size = b.getInt64(buffer::bytes), *offset = offsetOf(b, *access.place);
  if (!access.ofWave.empty())
    size = b.CreateSelect(conjunction(b, access.ofWave), size, b.getInt64(0));
  if (!access.ofLane.empty())
    offset = b.CreateSelect(conjunction(b, access.ofLane), offset, b.getInt32(uint32_t(buffer::outside)));
  if (access.place->constant)
    offset = b.CreateAdd(offset, b.getInt32(uint32_t(access.place->constant)), "", /*HasNUW=*/true);
  Value *pointer = pointerOf(b, *access.place);
  Type *descriptor = PointerType::get(b.getContext(), bufferSpace);
  Value *buffer = b.CreateIntrinsic(Intrinsic::amdgcn_make_buffer_rsrc, {descriptor, pointer->getType()},
                                    {pointer, b.getInt16(0), size, b.getInt32(buffer::flags)});
  return {buffer, offset};
}

void AccessWriter::writeBuffer(GlobalAccess &access) {
  IRBuilder<> b(access.instruction);
  auto [buffer, offset] = bufferOf(b, access);
  Value *none = b.getInt32(0);
  Type *type = access.type(), *carrier = carrierOf(type, function.getDataLayout());
  if (!access.isLoad) {
    Value *value = b.CreateBitCast(access.value, carrier);
    b.CreateIntrinsic(Intrinsic::amdgcn_raw_ptr_buffer_store, {carrier}, {value, buffer, offset, none, none});
    access.instruction->eraseFromParent();
    return;
  }
  Value *loaded = b.CreateIntrinsic(Intrinsic::amdgcn_raw_ptr_buffer_load, {carrier}, {buffer, offset, none, none});
  loaded = b.CreateBitCast(loaded, type);
  if (auto *other = dyn_cast<Constant>((Value *)access.value); !other || !other->isNullValue())
    loaded = b.CreateSelect(access.bit, loaded, access.value);
  replaceLoad(cast<IntrinsicInst>(access.instruction), loaded);
}

// Without a mask: the wave's address in scalar registers, the lane's offset in one of vectors.
Value *AccessWriter::splitPointer(const GlobalAccess &access) const {
  IRBuilder<> b(access.instruction);
  Value *offset = b.CreateZExt(offsetOf(b, *access.place), b.getInt64Ty(), "", /*IsNonNeg=*/true);
  Value *pointer = b.CreateGEP(b.getInt8Ty(), pointerOf(b, *access.place), offset);
  if (access.place->constant)
    pointer = b.CreateGEP(b.getInt8Ty(), pointer, b.getInt64(uint64_t(access.place->constant)));
  return pointer;
}

void AccessWriter::prepareBranch(GlobalAccess &access) {
  if (access.place && !access.place->parts.ofLane.empty()) {
    access.pointer = splitPointer(access);
    return;
  }
  scalars.shareRows(access.pointer, access.instruction);
  Guards ofLane;
  for (Value *guard : access.ofLane) {
    Value *scalar = scalars.shareMask(guard, access.instruction);
    (scalar ? access.ofWave : ofLane).push_back(scalar ? scalar : guard);
  }
  access.ofLane = ofLane;
}

//===-- Copies straight to LDS -----------------------------------------------------------------------------------===//

void AccessWriter::writeCopy(GlobalAccess &copy) {
  auto &call = cast<IntrinsicInst>(*copy.instruction);
  IRBuilder<> b(&call);
  scalars.shareOffsets(call.getArgOperand(1), &call);
  if (copy.place) {
    auto [buffer, offset] = bufferOf(b, copy);
    Value *none = b.getInt32(0);
    b.CreateIntrinsic(
        Intrinsic::amdgcn_raw_ptr_buffer_load_lds, {},
        {buffer, call.getArgOperand(1), call.getArgOperand(2), offset, none, none, call.getArgOperand(4)});
  } else {
    copyByPointer(b, call, copy.bit);
  }
  call.eraseFromParent();
}

bool AccessWriter::run() {
  collect();
  std::vector<GlobalAccess> inBranches;
  for (GlobalAccess &access : accesses) {
    bool differs = access.place && !access.place->parts.ofLane.empty();
    if (access.isInBranch) {
      prepareBranch(access);
      inBranches.push_back(access);
    } else if (access.bit) {
      writeBuffer(access);
    } else if (differs) {
      access.instruction->setOperand(access.isLoad ? 0 : 1, splitPointer(access));
    }
  }
  writeBranches(inBranches);
  for (IntrinsicInst *copy : bufferCopies)
    scalars.shareOffsets(copy->getArgOperand(1), copy);
  for (GlobalAccess &copy : copies)
    writeCopy(copy);
  return !accesses.empty() || !copies.empty() || !bufferCopies.empty();
}

/// Loads and stores that all lanes make outside of a buffer read zeros and write nothing. LLVM 22 takes such a load for
/// one of a scalar, and fails where its result is needed in a vector register.
static bool dropOutside(Function &function) {
  bool isChanged = false;
  for (Instruction &instruction : make_early_inc_range(instructions(function))) {
    auto *call = dyn_cast<IntrinsicInst>(&instruction);
    Intrinsic::ID id = call ? call->getIntrinsicID() : Intrinsic::not_intrinsic;
    bool isLoad = id == Intrinsic::amdgcn_raw_ptr_buffer_load, isStore = id == Intrinsic::amdgcn_raw_ptr_buffer_store;
    if (!isLoad && !isStore)
      continue;
    auto *offset = dyn_cast<ConstantInt>(call->getArgOperand(isLoad ? 1 : 2));
    if (!offset || offset->getZExtValue() != uint64_t(buffer::outside))
      continue;
    if (isLoad)
      call->replaceAllUsesWith(Constant::getNullValue(call->getType()));
    call->eraseFromParent();
    isChanged = true;
  }
  return isChanged;
}

PreservedAnalyses BufferAccessesPass::run(Module &module, ModuleAnalysisManager &analyses) {
  auto &ofFunctions = analyses.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
  bool isChanged = false;
  for (Function &function : make_early_inc_range(module))
    if (!function.isDeclaration()) {
      isChanged |= dropOutside(function);
      isChanged |= AccessWriter(function, ofFunctions).run();
    }
  return isChanged ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

/// Of equal buffers and offsets one is kept, outside of loops where it can be.
constexpr static const char *tidy = "function(simplifycfg,early-cse<memssa>,loop-mssa(licm),early-cse<memssa>,adce)";

void heddle::addBufferAccesses(PassBuilder &builder, ModulePassManager &manager) {
  manager.addPass(BufferAccessesPass());
  cantFail(builder.parsePassPipeline(manager, tidy));
}
