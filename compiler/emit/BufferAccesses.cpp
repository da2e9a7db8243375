// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/emit/BufferAccesses.h"
#include "compiler/emit/AddressParts.h"
#include "compiler/emit/WaveScalars.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;
using namespace heddle;

namespace {

constexpr unsigned globalSpace = 1, bufferSpace = 8;
/// A buffer has 2 GB. An offset that no constant of an instruction brings back into it marks what a mask forbids; as a
/// float it is -2, which an instruction holds without a register.
constexpr int64_t bufferBytes = int64_t(1) << 31, outside = 0xC0000000, mostAddend = int64_t(1) << 29;
/// Offsets are in bytes, of plain memory.
constexpr int64_t descriptorFlags = (7 << 12) | (4 << 15);
constexpr int64_t widestAccess = 16;
/// Above, a block stays a branch: it is more than stores and what they alone need.
constexpr long mostFlattened = 48;

/// What decides an access: it happens where the bit is set, or where it is not.
struct Guard {
  Value *bit;
  bool inverted;
  bool operator==(const Guard &) const = default;
};

/// Where an access goes: the wave's pointer + the lane's offset + a constant.
struct Place {
  AddressParts parts;
  int64_t ofPointer = 0; ///< added to what the wave shares
  int64_t ofOffset = 0;  ///< added to the lane's part, which is then 0 or more
  int64_t constant = 0;  ///< the instruction's
};

/// An access to global memory, as it was found.
struct Access {
  Instruction *instruction;
  WeakTrackingVH pointer;
  SmallVector<Guard, 2> guards;         ///< all of them have to allow it
  SmallVector<Guard, 2> ofWave, ofLane; ///< the same, apart; known when all accesses have been found
  SelectInst *otherwise;                ///< chooses a constant in the place of what is not loaded; null: that is 0
  std::optional<Place> place;           ///< only if the lane's part is proven to fit into a buffer
};

/// A branch around a block that only stores.
struct StoreBranch {
  BranchInst *branch;
  BasicBlock *block, *next;
  SmallVector<Guard, 2> ofWave, ofLane;
};

class AccessWriter {
public:
  AccessWriter(Function &function, FunctionAnalysisManager &analyses)
      : function(function), addresses(function, analyses), scalars(addresses),
        loops(analyses.getResult<LoopAnalysis>(function)),
        zeros(function.getParent()->getGlobalVariable("heddle_zeros", /*AllowInternal=*/true)) {}

  bool run();

private:
  void collect();
  void addAccess(Instruction &instruction, Value *pointer, Type *type);
  std::optional<Place> placeOf(Value *pointer, const Instruction *at) const;
  bool isOfWave(const Guard &guard, const Instruction *at) const { return addresses.isOfWave(guard.bit, at); }

  Value *pointerOf(IRBuilder<> &b, const Place &place) const;
  Value *offsetOf(IRBuilder<> &b, const Place &place) const;
  void writeBuffer(Access &access);
  void writeSplit(Access &access);
  void shareRows(const Access &access);
  void shareMasks(MutableArrayRef<Guard> guards, const Instruction *at);
  bool canFlatten(BasicBlock &block) const;
  void planFlattening();
  void flatten(BasicBlock *block);
  void writeBranches();
  void planRows();
  void writeRows(ArrayRef<StoreBranch> chain);
  void writeBranch(ArrayRef<Access *> group);

  Function &function;
  AddressAnalysis addresses;
  WaveScalars scalars;
  LoopInfo &loops;
  GlobalVariable *zeros;
  MapVector<Instruction *, Access> accesses;
  SmallVector<std::pair<BasicBlock *, Guard>> flattened;
  std::vector<SmallVector<StoreBranch>> rows;
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

// Neither volatile nor atomic.
static bool isSimple(const Instruction &instruction) {
  auto *load = dyn_cast<LoadInst>(&instruction);
  return load ? load->isSimple() : cast<StoreInst>(instruction).isSimple();
}

static void addGuards(SmallVectorImpl<Guard> &guards, Value *bit, bool inverted) {
  Value *x = nullptr, *y = nullptr;
  if (!inverted &&
      PatternMatch::match(bit, PatternMatch::m_LogicalAnd(PatternMatch::m_Value(x), PatternMatch::m_Value(y)))) {
    addGuards(guards, x, false);
    addGuards(guards, y, false);
  } else {
    guards.push_back({bit, inverted});
  }
}

// The lane's part as an offset of 32 bits that is 0 or more and within the buffer.
std::optional<Place> AccessWriter::placeOf(Value *pointer, const Instruction *at) const {
  std::optional<AddressParts> parts = addresses.split(pointer, at);
  int64_t low = 0, high = 0, spread = 0;
  if (!parts || AddOverflow(parts->least, parts->constant, low) || AddOverflow(parts->most, parts->constant, high) ||
      SubOverflow(parts->most, parts->least, spread) || spread > bufferBytes - widestAccess)
    return std::nullopt;
  Place place{std::move(*parts)};
  bool fits = low >= 0 && high <= bufferBytes - widestAccess;
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
  Access access{&instruction, pointer, {}, {}, {}, nullptr, std::nullopt};
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

static Value *conjunction(IRBuilder<> &b, ArrayRef<Guard> guards) {
  Value *all = nullptr;
  for (const Guard &guard : guards) {
    Value *bit = guard.inverted ? b.CreateNot(guard.bit) : guard.bit;
    all = all ? b.CreateLogicalAnd(all, bit) : bit;
  }
  return all;
}

static Value *convert(IRBuilder<> &b, Value *value, Type *to) {
  if (value->getType()->isPointerTy())
    value = b.CreatePtrToInt(value, b.getInt64Ty());
  if (to->isPointerTy())
    return b.CreateIntToPtr(b.CreateBitCast(value, b.getInt64Ty()), to);
  return b.CreateBitCast(value, to);
}

// What all lanes are forbidden empties the buffer; what one lane is forbidden lies outside.
void AccessWriter::writeBuffer(Access &access) {
  Instruction *old = access.instruction;
  IRBuilder<> b(old);
  Value *size = b.getInt64(bufferBytes), *offset = offsetOf(b, *access.place);
  if (!access.ofWave.empty())
    size = b.CreateSelect(conjunction(b, access.ofWave), size, b.getInt64(0));
  if (!access.ofLane.empty())
    offset = b.CreateSelect(conjunction(b, access.ofLane), offset, b.getInt32(uint32_t(outside)));
  if (access.place->constant)
    offset = b.CreateAdd(offset, b.getInt32(uint32_t(access.place->constant)), "", /*HasNUW=*/true);
  Value *pointer = pointerOf(b, *access.place);
  Type *descriptor = PointerType::get(b.getContext(), bufferSpace);
  Value *buffer = b.CreateIntrinsic(Intrinsic::amdgcn_make_buffer_rsrc, {descriptor, pointer->getType()},
                                    {pointer, b.getInt16(0), size, b.getInt32(descriptorFlags)});
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
void AccessWriter::writeSplit(Access &access) {
  IRBuilder<> b(access.instruction);
  Value *offset = b.CreateZExt(offsetOf(b, *access.place), b.getInt64Ty(), "", /*IsNonNeg=*/true);
  Value *pointer = b.CreateGEP(b.getInt8Ty(), pointerOf(b, *access.place), offset);
  if (access.place->constant)
    pointer = b.CreateGEP(b.getInt8Ty(), pointer, b.getInt64(uint64_t(access.place->constant)));
  access.instruction->setOperand(isa<LoadInst>(access.instruction) ? 0 : 1, pointer);
}

//===-- Stores in branches ---------------------------------------------------------------------------------------===//

// What may be computed although nobody asked. The chip's own functions have no undefined behaviour.
static bool isHarmless(const Instruction &instruction) {
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  if (call && call->doesNotAccessMemory() && !call->isConvergent() && call->willReturn() &&
      call->getCalledFunction()->getName().starts_with("llvm.amdgcn."))
    return true;
  return isSafeToSpeculativelyExecute(&instruction);
}

bool AccessWriter::canFlatten(BasicBlock &block) const {
  bool stores = false;
  if (block.sizeWithoutDebug() > mostFlattened || isa<PHINode>(block.front()))
    return false;
  for (Instruction &instruction : block) {
    if (instruction.isTerminator())
      break;
    stores |= isa<StoreInst>(instruction);
    auto found = accesses.find(&instruction);
    // One lane's store to a place of the wave is done sooner in its branch.
    bool isBounded = found != accesses.end() && found->second.place && !found->second.place->parts.ofLane.empty();
    if (!isBounded && (instruction.mayReadOrWriteMemory() || !isHarmless(instruction)))
      return false;
  }
  return stores;
}

// A branch that lanes take apart, around a block of stores. Waves that go together save the block when they jump.
void AccessWriter::planFlattening() {
  for (BasicBlock &head : function) {
    auto *branch = dyn_cast<BranchInst>(head.getTerminator());
    if (!branch || !branch->isConditional() || addresses.isOfWave(branch->getCondition(), branch))
      continue;
    for (bool inverted : {false, true}) {
      BasicBlock *block = branch->getSuccessor(inverted), *next = branch->getSuccessor(!inverted);
      if (block == next || next == &head || block->getSinglePredecessor() != &head ||
          block->getSingleSuccessor() != next || isa<PHINode>(next->front()) || !canFlatten(*block))
        continue;
      flattened.push_back({block, {branch->getCondition(), inverted}});
      for (Instruction &instruction : *block)
        if (auto found = accesses.find(&instruction); found != accesses.end())
          addGuards(found->second.guards, branch->getCondition(), inverted);
      break;
    }
  }
}

void AccessWriter::flatten(BasicBlock *block) {
  BasicBlock *head = block->getSinglePredecessor(), *next = block->getSingleSuccessor();
  Instruction *branch = head->getTerminator();
  for (Instruction &instruction : make_early_inc_range(*block)) {
    if (instruction.isTerminator())
      continue;
    instruction.moveBefore(branch->getIterator());
    if (!instruction.mayReadOrWriteMemory())
      instruction.dropUBImplyingAttrsAndMetadata();
  }
  IRBuilder<>(branch).CreateBr(next);
  branch->eraseFromParent();
  DeleteDeadBlock(block);
}

//===-- Rows of waves --------------------------------------------------------------------------------------------===//

// Rows of a wave are scalars.
void AccessWriter::shareRows(const Access &access) {
  Instruction *at = access.instruction;
  for (auto *step = dyn_cast<GEPOperator>((Value *)access.pointer); step;
       step = dyn_cast<GEPOperator>(step->getPointerOperand())) {
    auto *index = dyn_cast<CastInst>(step->getOperand(1));
    if (Value *scalar = index && isa<SExtInst, ZExtInst>(index) ? scalars.scalarOf(index->getOperand(0), at) : nullptr)
      index->setOperand(0, scalar);
  }
}

// So are their masks, but for those that a loop only reads.
void AccessWriter::shareMasks(MutableArrayRef<Guard> guards, const Instruction *at) {
  Loop *loop = loops.getLoopFor(at->getParent());
  for (Guard &guard : guards) {
    auto *compared = dyn_cast<ICmpInst>(guard.bit);
    if (!compared || (loop && !loop->contains(compared)) || isOfWave(guard, at))
      continue;
    if (Value *bit = scalars.comparisonOf(compared, at))
      guard.bit = bit;
  }
}

//===-- Loads in branches ----------------------------------------------------------------------------------------===//

// `%x = load ...; %y = select bit, %x, other` with the load's own bit: %y, if nobody else reads %x.
static SelectInst *otherwiseOf(Instruction *load, ArrayRef<Guard> guards) {
  auto *choice = load->hasOneUse() ? dyn_cast<SelectInst>(load->user_back()) : nullptr;
  if (!choice || guards.size() != 1 || guards.front().inverted || choice->getCondition() != guards.front().bit ||
      choice->getTrueValue() != load || !isa<Constant>(choice->getFalseValue()))
    return nullptr;
  return choice;
}

// Moves the loads into a block before `at` that is entered where `bit` is set; `values` are what they are behind it.
static void moveIntoBranch(Value *bit, ArrayRef<Instruction *> loads, Instruction *at, MutableArrayRef<Value *> values,
                           ArrayRef<Value *> others) {
  Instruction *end = SplitBlockAndInsertIfThen(bit, at->getIterator(), /*Unreachable=*/false);
  BasicBlock *then = end->getParent(), *head = then->getSinglePredecessor(), *tail = then->getSingleSuccessor();
  for (size_t i = 0; i < loads.size(); ++i) {
    loads[i]->moveBefore(end->getIterator());
    auto *phi = PHINode::Create(loads[i]->getType(), 2, "", tail->begin());
    phi->addIncoming(loads[i], then);
    phi->addIncoming(others[i], head);
    values[i] = phi;
  }
}

// Loads whose lanes have one mask share its branch; in it, each mask of the wave has a branch of its own.
void AccessWriter::writeBranch(ArrayRef<Access *> group) {
  Instruction *first = group.front()->instruction;
  SmallVector<Instruction *> loads;
  SmallVector<Value *> values, others;
  for (Access *access : group) {
    Instruction *load = access->instruction;
    loads.push_back(load);
    values.push_back(load);
    others.push_back(access->otherwise ? access->otherwise->getFalseValue() : Constant::getNullValue(load->getType()));
  }
  // Behind the loads, in the place where their values are used from now on.
  SmallVector<Instruction *> marks;
  for (size_t i = 0; i < loads.size(); ++i) {
    Instruction *used = group[i]->otherwise ? group[i]->otherwise : loads[i];
    auto *mark = new FreezeInst(PoisonValue::get(loads[i]->getType()), "", first->getIterator());
    used->replaceAllUsesWith(mark);
    if (used != loads[i])
      used->eraseFromParent();
    marks.push_back(mark);
    loads[i]->setOperand(0, group[i]->pointer);
  }
  ArrayRef<Guard> ofLane = group.front()->ofLane;
  IRBuilder<> b(marks.front());
  Instruction *at = marks.front(), *end = nullptr;
  if (!ofLane.empty())
    at = end = SplitBlockAndInsertIfThen(conjunction(b, ofLane), at->getIterator(), /*Unreachable=*/false);
  BasicBlock *outside = end ? end->getParent()->getSinglePredecessor() : nullptr;
  for (size_t from = 0, to = 0; from < group.size(); from = to) {
    ArrayRef<Guard> ofWave = group[from]->ofWave;
    for (to = from + 1; to < group.size() && ArrayRef<Guard>(group[to]->ofWave) == ofWave;)
      ++to;
    auto part = [&](auto &all) { return MutableArrayRef(all).slice(from, to - from); };
    b.SetInsertPoint(at);
    if (!ofWave.empty())
      moveIntoBranch(conjunction(b, ofWave), part(loads), at, part(values), part(others));
    else
      for (Instruction *load : part(loads))
        load->moveBefore(at->getIterator());
  }
  for (size_t i = 0; i < group.size(); ++i) {
    Value *value = values[i];
    if (end) {
      auto *phi = PHINode::Create(value->getType(), 2, "", end->getParent()->getSingleSuccessor()->begin());
      phi->addIncoming(value, end->getParent());
      phi->addIncoming(others[i], outside);
      value = phi;
    }
    marks[i]->replaceAllUsesWith(value);
    marks[i]->eraseFromParent();
  }
}

void AccessWriter::writeBranches() {
  SmallVector<Access *> rest;
  for (auto &[instruction, access] : accesses)
    if (instruction && !access.guards.empty() && !access.place)
      rest.push_back(&access);
  while (!rest.empty()) {
    Access *first = rest.front();
    SmallVector<Access *> group = {first};
    for (Access *next : ArrayRef(rest).drop_front()) {
      Instruction *last = group.back()->instruction;
      if (!isSimple(*last) || !isSimple(*next->instruction) || next->instruction->getParent() != last->getParent() ||
          next->ofLane != first->ofLane)
        break;
      auto between = make_range(std::next(last->getIterator()), next->instruction->getIterator());
      auto isLate = [&](Value *value) {
        auto *made = dyn_cast<Instruction>(value);
        return made && made->getParent() == last->getParent() && !made->comesBefore(first->instruction);
      };
      if (any_of(between, [](Instruction &i) { return i.mayWriteToMemory(); }) || isLate(next->pointer) ||
          any_of(next->guards, [&](const Guard &guard) { return isLate(guard.bit); }))
        break;
      group.push_back(next);
    }
    writeBranch(group);
    rest.erase(rest.begin(), rest.begin() + ptrdiff_t(group.size()));
  }
}

//===-- Stores of rows -------------------------------------------------------------------------------------------===//

// Branches around stores, one behind the other, whose lanes have one mask and whose rows have masks of the wave.
void AccessWriter::planRows() {
  auto found = [&](BasicBlock &head) -> std::optional<StoreBranch> {
    auto *branch = dyn_cast<BranchInst>(head.getTerminator());
    if (!branch || !branch->isConditional())
      return std::nullopt;
    StoreBranch row{branch, branch->getSuccessor(0), branch->getSuccessor(1), {}, {}};
    bool isStore = any_of(*row.block, [&](Instruction &i) { return isa<StoreInst>(i) && accesses.contains(&i); });
    if (!isStore || row.block->getSinglePredecessor() != &head || row.block->getSingleSuccessor() != row.next ||
        row.next == &head || isa<PHINode>(row.next->front()) || isa<PHINode>(row.block->front()))
      return std::nullopt;
    SmallVector<Guard, 2> guards;
    addGuards(guards, branch->getCondition(), false);
    shareMasks(guards, branch);
    for (const Guard &guard : guards)
      (isOfWave(guard, branch) ? row.ofWave : row.ofLane).push_back(guard);
    return row;
  };
  auto isBare = [](BasicBlock &block) { return block.sizeWithoutDebug() == 1; };
  DenseSet<BasicBlock *> taken;
  for (auto &[block, guard] : flattened)
    taken.insert(block->getSinglePredecessor());
  for (BasicBlock &head : function) {
    SmallVector<StoreBranch> chain;
    for (BasicBlock *at = &head; !taken.contains(at);) {
      std::optional<StoreBranch> row = found(*at);
      bool fits = row && !row->ofWave.empty() && !row->ofLane.empty();
      if (!fits ||
          (!chain.empty() && (!isBare(*at) || !at->hasNPredecessors(2) || row->ofLane != chain.front().ofLane)))
        break;
      taken.insert(at);
      at = row->next;
      chain.push_back(std::move(*row));
    }
    if (chain.size() < 2)
      continue;
    for (StoreBranch &row : chain)
      for (Instruction &instruction : *row.block)
        if (auto access = accesses.find(&instruction); access != accesses.end() && isa<StoreInst>(instruction))
          shareRows(access->second);
    rows.push_back(std::move(chain));
  }
}

// The lanes' mask is tested once, in front of all.
void AccessWriter::writeRows(ArrayRef<StoreBranch> chain) {
  BranchInst *first = chain.front().branch;
  BasicBlock *inner = BasicBlock::Create(function.getContext(), "", &function, first->getSuccessor(0));
  IRBuilder<> b(first);
  b.CreateCondBr(conjunction(b, chain.front().ofLane), inner, chain.back().next);
  first->removeFromParent();
  first->insertInto(inner, inner->end());
  for (const StoreBranch &row : chain) {
    b.SetInsertPoint(row.branch);
    row.branch->setCondition(conjunction(b, row.ofWave));
  }
}

bool AccessWriter::run() {
  collect();
  planFlattening();
  planRows();
  for (auto &[instruction, access] : accesses) {
    // A uniform load under a uniform mask is the scalar unit's, behind a branch.
    bool isScalar = access.place && access.place->parts.ofLane.empty() && isa<LoadInst>(instruction) &&
                    all_of(access.guards, [&](const Guard &guard) { return isOfWave(guard, access.instruction); });
    if (isScalar)
      access.place.reset();
    if (!access.place && isa<LoadInst>(instruction)) {
      access.otherwise = otherwiseOf(instruction, access.guards);
      shareRows(access);
      shareMasks(access.guards, instruction);
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
  for (auto &[block, guard] : flattened)
    flatten(block);
  for (ArrayRef<StoreBranch> chain : rows)
    writeRows(chain);
  writeBranches();
  return !accesses.empty();
}

PreservedAnalyses BufferAccessesPass::run(Function &function, FunctionAnalysisManager &analyses) {
  if (function.isDeclaration() || !AccessWriter(function, analyses).run())
    return PreservedAnalyses::all();
  return PreservedAnalyses::none();
}
