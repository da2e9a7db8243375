// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program around the values: the kernel, its scopes, and the choice of what to add next.
#include "tests/fuzz/Generator.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/IR/Verifier.h"
#include "support/Error.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::fuzz;

const std::vector<Generator::Family> &Generator::families() {
  static const std::vector<Family> table = {
      {"load", 8, &Generator::addLoad},
      {"scalar_load", 2, &Generator::addScalarLoad},
      {"store", 3, &Generator::addStore},
      {"integer", 10, &Generator::addIntegerArithmetic},
      {"integer_unary", 2, &Generator::addIntegerUnary},
      {"float", 10, &Generator::addFloatArithmetic},
      {"remainder", 1, &Generator::addRemainder},
      {"float_unary", 4, &Generator::addFloatUnary},
      {"function", 4, &Generator::addFunction},
      {"select", 6, &Generator::addCompareSelect},
      {"integer_conversion", 3, &Generator::addIntegerConversion},
      {"float_conversion", 5, &Generator::addFloatConversion},
      {"float_integer", 4, &Generator::addFloatIntegerConversion},
      {"bitcast", 2, &Generator::addBitcast},
      {"scalar", 4, &Generator::addScalarArithmetic},
      {"reshape", 3, &Generator::addReshape},
      {"trans", 3, &Generator::addTranspose},
      {"broadcast", 4, &Generator::addExpandBroadcast},
      {"join_split", 3, &Generator::addJoinSplit},
      {"gather", 2, &Generator::addGather},
      {"histogram", 1, &Generator::addHistogram},
      {"cat", 1, &Generator::addCat},
      {"reduce", 6, &Generator::addReduce},
      {"arg_reduce", 2, &Generator::addArgReduce},
      {"scan", 3, &Generator::addScan},
      {"recurrence_scan", 1, &Generator::addRecurrenceScan},
      {"map_elementwise", 2, &Generator::addMapElementwise},
      {"dot", 4, &Generator::addDot},
      {"dot_loop", 2, &Generator::addDotLoop},
      {"dot_scaled", 1, &Generator::addScaledDot},
      {"for", 3, &Generator::addFor},
      {"if", 3, &Generator::addIf},
      {"while", 2, &Generator::addWhile},
      {"pointer_loop", 2, &Generator::addPointerLoop},
      {"early_return", 1, &Generator::addEarlyReturn},
      {"call", 1, &Generator::addCall},
      {"spin_lock", 1, &Generator::addSpinLock},
      {"shared_atomic", 2, &Generator::addSharedAtomic},
      {"own_atomic", 2, &Generator::addOwnAtomic},
      {"cas", 1, &Generator::addCompareAndSwap},
      {"atomic_access", 1, &Generator::addAtomicAccess},
      {"block_pointer", 1, &Generator::addBlockPointer},
      {"descriptor", 1, &Generator::addDescriptor},
      {"descriptor_reduce", 1, &Generator::addDescriptorReduce},
      {"descriptor_gather", 1, &Generator::addDescriptorGather},
      {"descriptor_scatter", 1, &Generator::addDescriptorScatter},
      {"address_load", 2, &Generator::addAddressLoad},
      {"address_store", 1, &Generator::addAddressStore},
      {"print", 1, &Generator::addPrint},
      {"assert", 2, &Generator::addAssert},
  };
  return table;
}

std::vector<std::string> Generator::familyNames() {
  std::vector<std::string> names;
  for (const Family &family : families())
    names.push_back(family.name);
  return names;
}

Generator::Generator(MLIRContext &context, uint64_t seed, const GeneratorOptions &options)
    : context(context), builder(&context), location(UnknownLoc::get(&context)), random(seed), options(options) {
  program.seed = seed;
}

void Generator::beginKernel() {
  module = ModuleOp::create(location);
  builder.setInsertionPointToEnd(module->getBody());
  kernel = triton::FuncOp::create(builder, location, "kernel", builder.getFunctionType({}, {}));
  kernel.setSymVisibility("public"); // printed, as the front end does
  entryBlock = &kernel.getBody().emplaceBlock();
  currentBlock = entryBlock;
  builder.setInsertionPointToEnd(entryBlock);

  program.grid.x = int32_t(random.between(1, 4));
  program.grid.y = program.grid.x <= 2 && random.chance(30) ? 2 : 1;
  programCount = program.grid.x * program.grid.y;
  programIndex = triton::GetProgramIdOp::create(builder, location, triton::ProgramDim::X);
  if (program.grid.y > 1) {
    Value y = triton::GetProgramIdOp::create(builder, location, triton::ProgramDim::Y);
    Value width = triton::GetNumProgramsOp::create(builder, location, triton::ProgramDim::X);
    Value rows = create("arith.muli", {y, width}, builder.getI32Type());
    programIndex = create("arith.addi", {rows, programIndex}, builder.getI32Type());
  }
  keep(programIndex, Facts{0, double(programCount - 1)});
  int shapeCount = int(random.between(1, 3));
  for (int i = 0; i < shapeCount; ++i)
    shapes.push_back(randomShape());
}

void Generator::finishKernel() {
  triton::ReturnOp::create(builder, location);
  SmallVector<Type> types(entryBlock->getArgumentTypes());
  kernel.setFunctionType(builder.getFunctionType(types, {}));
  for (auto [index, type] : llvm::enumerate(types))
    if (isa<triton::PointerType>(type))
      kernel.setArgAttr(index, "tt.divisibility", builder.getI32IntegerAttr(16));
}

void Generator::addSteps(int count) {
  int total = 0;
  for (const Family &family : families())
    total += options.without.count(family.name) ? 0 : family.weight;
  for (int i = 0; i < count; ++i) {
    int64_t ticket = random.below(total);
    for (const Family &family : families()) {
      if (options.without.count(family.name))
        continue;
      ticket -= family.weight;
      if (ticket < 0) {
        (this->*family.add)();
        break;
      }
    }
  }
}

void Generator::inScope(const std::function<void()> &body) {
  size_t size = pool.size();
  ++depth;
  body();
  --depth;
  pool.resize(size);
}

void Generator::inBlock(Block *block, const std::function<void()> &body) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(block);
  body();
}

// Values that nothing uses are the ones whose computation has not been observed yet.
void Generator::storeLeftovers() {
  std::vector<Entry> leftovers;
  for (const Entry &entry : pool)
    if (entry.value.use_empty() || random.chance(15))
      leftovers.push_back(entry);
  for (size_t i = 0; i < leftovers.size(); ++i)
    store(leftovers[i]);
}

FuzzProgram Generator::generate() {
  beginKernel();
  addLoad();
  addSteps(int(random.between(4, 18)));
  storeLeftovers();
  finishKernel();
  if (failed(verify(*module)))
    throw internalError("seed " + std::to_string(program.seed) + " gives an invalid module");
  llvm::raw_string_ostream(program.text) << *module;
  return std::move(program);
}
