// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops, conditionals, early returns, calls, and a spin lock. What a loop carries can have any value after it: carried
// integers may be anything, carried floating-point tiles must be exact.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tests/fuzz/Generator.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::fuzz;

static constexpr int deepest = 2;

static bool carriable(const Entry &entry) {
  return entry.facts.exact() && getElementTypeOrSelf(entry.type()).isIntOrFloat();
}

// A float of which only exactness is known; a carried zero may have met a maximum.
static Facts carriedFacts(Type type) {
  Facts facts = anything(type);
  facts.looseZero = isa<FloatType>(getElementTypeOrSelf(type));
  return facts;
}

void Generator::addFor() {
  if (depth >= deepest)
    return;
  std::vector<Entry> initial;
  int64_t count = random.between(1, 3);
  for (int64_t i = 0; i < count; ++i)
    if (auto entry = choose(carriable))
      initial.push_back(*entry);
  if (initial.empty())
    return;
  SmallVector<Value> values;
  for (const Entry &entry : initial)
    values.push_back(entry.value);
  Type type = random.chance(25) ? builder.getI64Type() : builder.getI32Type();
  Value low = constantInteger(type, random.between(-3, 3));
  Value high = constantInteger(type, random.between(0, 6));
  Value step = constantInteger(type, random.between(1, 3));
  if (type.isInteger(32) && random.chance(50)) { // a bound known only at run time
    Entry bound = scalarI32();
    high = boundedIndex(bound, 8);
  }
  auto loop = scf::ForOp::create(builder, location, low, high, step, values);
  if (random.chance(30))
    loop->setAttr("tt.num_stages", builder.getI32IntegerAttr(2));
  inScope([&] {
    inBlock(loop.getBody(), [&] {
      keep(loop.getInductionVar(), Facts{-3, 7});
      for (Value carried : loop.getRegionIterArgs())
        keep(carried, carriedFacts(carried.getType()));
      addSteps(int(random.between(1, 4)));
      SmallVector<Value> yielded;
      for (const Entry &entry : initial) {
        Entry next = exactOperand(shapeOf(entry), elementOf(entry));
        yielded.push_back(next.value);
      }
      scf::YieldOp::create(builder, location, yielded);
    });
  });
  for (Value result : loop.getResults())
    keep(result, carriedFacts(result.getType()));
}

void Generator::addIf() {
  if (depth >= deepest)
    return;
  Value condition = operand({}, builder.getI1Type()).value;
  std::vector<Entry> like;
  int64_t count = random.below(3);
  for (int64_t i = 0; i < count; ++i)
    if (auto entry = choose(carriable))
      like.push_back(*entry);
  SmallVector<Type> types;
  for (const Entry &entry : like)
    types.push_back(entry.type());
  auto branch = scf::IfOp::create(builder, location, types, condition, !types.empty() || random.chance(30));
  std::vector<Facts> facts(like.size());
  auto fill = [&](Block *block, bool first) {
    inScope([&] {
      inBlock(block, [&] {
        if (types.empty())
          builder.setInsertionPointToStart(block); // before the yield that the builder put there
        addSteps(int(random.between(1, 3)));
        SmallVector<Value> yielded;
        for (size_t i = 0; i < like.size(); ++i) {
          Entry value = exactOperand(shapeOf(like[i]), elementOf(like[i]));
          yielded.push_back(value.value);
          facts[i] = first ? value.facts : join(facts[i], value.facts);
        }
        if (types.empty()) {
          if (auto entry = choose([](const Entry &e) { return getElementTypeOrSelf(e.type()).isIntOrFloat(); }))
            store(*entry);
        } else {
          scf::YieldOp::create(builder, location, yielded);
        }
      });
    });
  };
  fill(branch.thenBlock(), true);
  if (branch.elseBlock())
    fill(branch.elseBlock(), false);
  for (size_t i = 0; i < like.size(); ++i)
    keep(branch.getResult(i), facts[i]);
}

// A countdown from a run-time value below 8, carrying a tile.
void Generator::addWhile() {
  if (depth >= deepest)
    return;
  auto tile = choose(carriable);
  if (!tile)
    return;
  Type i32 = builder.getI32Type();
  Entry start = scalarI32();
  Value count = boundedIndex(start, 8);
  SmallVector<Type> types{i32, tile->type()};
  auto loop = scf::WhileOp::create(builder, location, types, ValueRange{count, tile->value});
  SmallVector<Location> locations(2, location);
  Block *before = builder.createBlock(&loop.getBefore(), {}, types, locations);
  Block *after = builder.createBlock(&loop.getAfter(), {}, types, locations);
  builder.setInsertionPointAfter(loop);
  inBlock(before, [&] {
    Value more = arith::CmpIOp::create(builder, location, arith::CmpIPredicate::sgt, before->getArgument(0),
                                       constantInteger(i32, 0));
    scf::ConditionOp::create(builder, location, more, before->getArguments());
  });
  inScope([&] {
    inBlock(after, [&] {
      keep(after->getArgument(0), Facts{1, 7});
      keep(after->getArgument(1), carriedFacts(tile->type()));
      addSteps(int(random.between(1, 3)));
      Entry next = exactOperand(shapeOf(*tile), elementOf(*tile));
      Value less = create("arith.subi", {after->getArgument(0), constantInteger(i32, 1)}, i32);
      scf::YieldOp::create(builder, location, ValueRange{less, next.value});
    });
  });
  keep(loop.getResult(0), Facts{0, 7});
  keep(loop.getResult(1), carriedFacts(tile->type()));
}

// Pointers carried through a loop that sums what they point at.
void Generator::addPointerLoop() {
  Type element = randomIntegerType(), i32 = builder.getI32Type();
  Shape shape = commonShape();
  Type type = tileType(shape, element);
  Buffer buffer = addInput(element, 4096, Fill::Anything);
  Value start = pointersAt(buffer, linearIndex(shape));
  Value zero = constantInteger(type, 0);
  Value low = constantInteger(i32, 0);
  Entry bound = scalarI32();
  Value high = boundedIndex(bound, 8);
  Value step = constantInteger(i32, 1);
  int64_t stride = random.between(0, 400);
  auto loop = scf::ForOp::create(builder, location, low, high, step, ValueRange{start, zero});
  inBlock(loop.getBody(), [&] {
    Value pointers = loop.getRegionIterArgs()[0];
    Value loaded = triton::LoadOp::create(builder, location, type, pointers, Value(), Value(), ArrayRef<int32_t>{},
                                          triton::PaddingOptionAttr());
    Value sum = create("arith.addi", {loop.getRegionIterArgs()[1], loaded}, type);
    Value offset = splat(constantInteger(i32, stride), shape);
    Value next = triton::AddPtrOp::create(builder, location, pointers.getType(), pointers, offset);
    scf::YieldOp::create(builder, location, ValueRange{next, sum});
  });
  keep(loop.getResult(1), anything(element));
}

// The rest of the kernel only runs in some programs.
void Generator::addEarlyReturn() {
  if (depth > 0)
    return;
  Value condition = operand({}, builder.getI1Type()).value;
  Block *leave = builder.createBlock(&kernel.getBody());
  Block *stay = builder.createBlock(&kernel.getBody());
  // createBlock moved the insertion point; the branch belongs at the end of the block that computed the condition.
  builder.setInsertionPointToEnd(currentBlock);
  cf::CondBranchOp::create(builder, location, condition, leave, ValueRange(), stay, ValueRange());
  builder.setInsertionPointToEnd(leave);
  triton::ReturnOp::create(builder, location);
  builder.setInsertionPointToEnd(stay);
  currentBlock = stay;
}

// A function that is not inlined: (x, s) -> x * x + s.
void Generator::addCall() {
  auto a = chooseTile([](Type type) { return type.isInteger() && !type.isInteger(1); });
  if (!a)
    return;
  Type type = a->type(), element = elementOf(*a);
  Entry addend = operand({}, element);
  std::string name = "helper" + std::to_string(helperCount++);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module->getBody());
    auto helper = triton::FuncOp::create(builder, location, name, builder.getFunctionType({type, element}, {type}));
    helper.setPrivate();
    Block &body = helper.getBody().emplaceBlock();
    body.addArguments({type, element}, {location, location});
    builder.setInsertionPointToEnd(&body);
    Value square = create("arith.muli", {body.getArgument(0), body.getArgument(0)}, type);
    Value sum = create("arith.addi", {square, splat(body.getArgument(1), shapeOf(*a))}, type);
    triton::ReturnOp::create(builder, location, sum);
  }
  auto call = triton::CallOp::create(builder, location, TypeRange(type), name, ValueRange{a->value, addend.value},
                                     ArrayAttr(), ArrayAttr());
  keep(call.getResult(0), anything(element));
}

// Every program adds to one cell under a lock.
void Generator::addSpinLock() {
  if (depth > 0)
    return;
  Type i32 = builder.getI32Type();
  Entry amount = scalarI32();
  Buffer lock = addLock();
  Buffer total = addOutput(i32, 1, anything(i32), true);
  Value zero = constantInteger(i32, 0), one = constantInteger(i32, 1);
  auto loop = scf::WhileOp::create(builder, location, TypeRange(), ValueRange());
  Block *before = builder.createBlock(&loop.getBefore());
  Block *after = builder.createBlock(&loop.getAfter());
  builder.setInsertionPointAfter(loop);
  inBlock(before, [&] {
    Value held = triton::AtomicCASOp::create(builder, location, i32, lock.pointer, zero, one,
                                             triton::MemSemantic::Acquire, triton::MemScope::Gpu);
    Value taken = arith::CmpIOp::create(builder, location, arith::CmpIPredicate::eq, held, one);
    scf::ConditionOp::create(builder, location, taken, ValueRange());
  });
  inBlock(after, [&] { scf::YieldOp::create(builder, location); });
  Value old = triton::LoadOp::create(builder, location, i32, total.pointer, Value(), Value(), ArrayRef<int32_t>{},
                                     triton::PaddingOptionAttr());
  Value sum = create("arith.addi", {old, amount.value}, i32);
  triton::StoreOp::create(builder, location, total.pointer, sum, Value());
  gpu::BarrierOp::create(builder, location);
  Value always = constantInteger(builder.getI1Type(), 1);
  triton::AtomicRMWOp::create(builder, location, i32, triton::RMWOp::Exchange, lock.pointer, zero, always,
                              triton::MemSemantic::Release, triton::MemScope::Gpu);
}
