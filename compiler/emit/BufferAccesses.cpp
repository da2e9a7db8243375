// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/emit/BufferAccesses.h"
#include "chips/AmdBuffer.h"
#include "compiler/emit/RowBranches.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"

using namespace llvm;
using namespace heddle;

namespace {

constexpr unsigned globalSpace = 1, bufferSpace = 8;
constexpr int64_t mostAddend = int64_t(1) << 29, widestAccess = 16;

class AccessWriter {
public:
  AccessWriter(Function &function, FunctionAnalysisManager &analyses)
      : function(function), addresses(function, analyses), loops(analyses.getResult<LoopAnalysis>(function)),
        rows(function, addresses, loops),
        zeros(function.getParent()->getGlobalVariable("heddle_zeros", /*AllowInternal=*/true)) {}

  bool run();

private:
  void collect();
  void addAccess(Instruction &instruction, Value *pointer, Type *type);
  std::optional<Place> placeOf(Value *pointer, const Instruction *at) const;
  bool isOfWave(const Guard &guard, const Instruction *at) const { return addresses.isOfWave(guard.bit, at); }

  Value *pointerOf(IRBuilder<> &b, const Place &place) const;
  Value *offsetOf(IRBuilder<> &b, const Place &place) const;
  void writeBuffer(MaskedAccess &access);
  void writeSplit(MaskedAccess &access);

  Function &function;
  AddressAnalysis addresses;
  LoopInfo &loops;
  RowBranches rows;
  GlobalVariable *zeros;
  MaskedAccesses accesses;
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
      SubOverflow(parts->most, parts->least, spread) || spread > buffer::bytes - widestAccess)
    return std::nullopt;
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

void AccessWriter::addAccess(Instruction &instruction, Value *pointer, Type *type) {
  MaskedAccess access{&instruction, pointer};
  if (auto *choice = dyn_cast<SelectInst>(pointer); zeros && choice && isa<LoadInst>(instruction)) {
    bool inverted = choice->getTrueValue() == zeros;
    if (inverted || choice->getFalseValue() == zeros) {
      access.pointer = inverted ? choice->getFalseValue() : choice->getTrueValue();
      addGuards(access.guards, choice->getCondition(), inverted);
    }
  }
  if (isSimple(instruction) && carrierOf(type, function.getDataLayout()))
    access.place = placeOf(access.pointer, &instruction);
  accesses.insert({&instruction, std::move(access)});
}

void AccessWriter::collect() {
  for (Instruction &instruction : instructions(function)) {
    if (auto *load = dyn_cast<LoadInst>(&instruction); load && load->getPointerAddressSpace() == globalSpace)
      addAccess(instruction, load->getPointerOperand(), load->getType());
    if (auto *store = dyn_cast<StoreInst>(&instruction); store && store->getPointerAddressSpace() == globalSpace)
      addAccess(instruction, store->getPointerOperand(), store->getValueOperand()->getType());
  }
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

static Value *convert(IRBuilder<> &b, Value *value, Type *to) {
  if (value->getType()->isPointerTy())
    value = b.CreatePtrToInt(value, b.getInt64Ty());
  if (to->isPointerTy())
    return b.CreateIntToPtr(b.CreateBitCast(value, b.getInt64Ty()), to);
  return b.CreateBitCast(value, to);
}

// What all lanes are forbidden empties the buffer; what one lane is forbidden lies outside.
void AccessWriter::writeBuffer(MaskedAccess &access) {
  Instruction *old = access.instruction;
  IRBuilder<> b(old);
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
  auto *load = dyn_cast<LoadInst>(old);
  bool streams = old->hasMetadata(LLVMContext::MD_nontemporal);
  Value *none = b.getInt32(0), *policy = b.getInt32(streams ? 2 : 0);
  CallInst *access_ = nullptr;
  if (load) {
    Type *carrier = carrierOf(load->getType(), function.getDataLayout());
    access_ = b.CreateIntrinsic(Intrinsic::amdgcn_raw_ptr_buffer_load, {carrier}, {buffer, offset, none, policy});
    old->replaceAllUsesWith(convert(b, access_, load->getType()));
  } else {
    Value *value = cast<StoreInst>(old)->getValueOperand();
    value = convert(b, value, carrierOf(value->getType(), function.getDataLayout()));
    access_ = b.CreateIntrinsic(Intrinsic::amdgcn_raw_ptr_buffer_store, {value->getType()},
                                {value, buffer, offset, none, policy});
  }
  access_->copyMetadata(*old, {LLVMContext::MD_alias_scope, LLVMContext::MD_noalias, LLVMContext::MD_invariant_load});
  old->eraseFromParent();
}

// Without a mask: the wave's address in scalar registers, the lane's offset in one of vectors.
void AccessWriter::writeSplit(MaskedAccess &access) {
  IRBuilder<> b(access.instruction);
  Value *offset = b.CreateZExt(offsetOf(b, *access.place), b.getInt64Ty(), "", /*IsNonNeg=*/true);
  Value *pointer = b.CreateGEP(b.getInt8Ty(), pointerOf(b, *access.place), offset);
  if (access.place->constant)
    pointer = b.CreateGEP(b.getInt8Ty(), pointer, b.getInt64(uint64_t(access.place->constant)));
  access.instruction->setOperand(isa<LoadInst>(access.instruction) ? 0 : 1, pointer);
}

bool AccessWriter::run() {
  collect();
  FlatBranches flattened(function, addresses, accesses);
  rows.plan(accesses, flattened);
  for (auto &[instruction, access] : accesses) {
    // A uniform load under a uniform mask is the scalar unit's, behind a branch.
    bool isScalar = access.place && access.place->parts.ofLane.empty() && isa<LoadInst>(instruction) &&
                    all_of(access.guards, [&](const Guard &guard) { return isOfWave(guard, access.instruction); });
    if (isScalar)
      access.place.reset();
    if (!access.place && isa<LoadInst>(instruction)) {
      access.otherwise = otherwiseOf(instruction, access.guards);
      rows.shareRows(access);
      rows.shareMasks(access.guards, instruction);
    }
    for (const Guard &guard : access.guards)
      (isOfWave(guard, instruction) ? access.ofWave : access.ofLane).push_back(guard);
    if (!access.place)
      continue;
    if (access.guards.empty() && access.place->parts.ofLane.empty())
      continue;
    if (access.guards.empty())
      writeSplit(access);
    else
      writeBuffer(access);
  }
  flattened.remove();
  rows.write();
  writeLoadBranches(accesses);
  return !accesses.empty();
}

PreservedAnalyses BufferAccessesPass::run(Function &function, FunctionAnalysisManager &analyses) {
  if (function.isDeclaration() || !AccessWriter(function, analyses).run())
    return PreservedAnalyses::all();
  return PreservedAnalyses::none();
}
