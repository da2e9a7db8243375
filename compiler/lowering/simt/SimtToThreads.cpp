// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The frame of a thread's code, and the conversion of what stands in it.
#include "compiler/lowering/simt/SimtToThreads.h"
#include "compiler/lowering/simt/PlaceShared.h"
#include "compiler/lowering/simt/ThreadCode.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

// MLIR's own way to insert arguments takes no function that returns nothing.
Value simt::addParameter(LLVM::LLVMFuncOp function, Type type, DictionaryAttr attributes) {
  LLVM::LLVMFunctionType before = function.getFunctionType();
  SmallVector<Type> parameters(before.getParams());
  SmallVector<Attribute> all;
  if (ArrayAttr known = function.getArgAttrsAttr())
    all.append(known.begin(), known.end());
  all.resize(parameters.size(), DictionaryAttr::get(function.getContext()));
  parameters.push_back(type);
  all.push_back(attributes ? attributes : DictionaryAttr::get(function.getContext()));
  function.setFunctionType(LLVM::LLVMFunctionType::get(before.getReturnType(), parameters));
  function.setArgAttrsAttr(ArrayAttr::get(function.getContext(), all));
  return function.getBody().front().addArgument(type, function.getLoc());
}

namespace {

PackageTensorMap describe(TensorMapOp op) {
  TensorMapType type = op.getMap().getType();
  PackageTensorMap map;
  map.argument = int64_t(cast<BlockArgument>(op.getBase()).getArgNumber());
  llvm::raw_string_ostream(map.type) << type.getElementType();
  llvm::append_range(map.box, boxOf(type));
  map.swizzle = type.getSwizzle();
  return map;
}

/// The number of the map that the launch makes for `op`: those of the same argument and block are one.
size_t numberOf(TensorMapOp op, ArrayRef<PackageTensorMap> maps) {
  PackageTensorMap wanted = describe(op);
  return size_t(llvm::find_if(maps,
                              [&](const PackageTensorMap &map) {
                                return map.argument == wanted.argument && map.box == wanted.box &&
                                       map.type == wanted.type && map.swizzle == wanted.swizzle;
                              }) -
                maps.begin());
}

/// Makes the llvm.func of a kernel or of a partition, with the operations of the source in it.
class Frame : ThreadCode {
public:
  Frame(ThreadState &state, FuncOp source) : ThreadCode(state, OpBuilder(source), source), source(source) {}
  void make();

private:
  void makeEntry();
  void takeArguments(Block &block);
  void takeTensorMaps();
  void makePrologue();

  FuncOp source;
};

/// Named barriers of the warps that execute the kernel where there are partitions, and of the first partition. Those
/// before are of all warps, and of warp pipelines.
constexpr int64_t barrierOfKernel = 2, barrierOfPartitions = 3;
/// Warps that hardware gives registers to.
constexpr int64_t warpsOfGroup = 4;

} // namespace

// Scalars of fewer than 32 bits come as words; the last argument is the launch's record (binary/LaunchRecord.h).
void Frame::makeEntry() {
  SmallVector<Type> types;
  for (Type type : source.getArgumentTypes()) {
    Type own = threadType(type);
    bool isNarrow = own.isIntOrFloat() && own.getIntOrFloatBitWidth() < 32;
    types.push_back(isNarrow ? Type(b.getI32Type()) : own);
  }
  types.push_back(b.getI64Type());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), types);
  ThreadKernel &kernel = state.kernel;
  std::string name = source.getName().str();
  // The kernel keeps its name: the source function gives way.
  SymbolTable::setSymbolName(source, name + ".tile");
  if (isPartition(source)) {
    state.entry = LLVM::LLVMFuncOp::create(b, name, type, LLVM::Linkage::Internal);
    return;
  }
  kernel.entry = kernel.kernel = name;
  state.entry = LLVM::LLVMFuncOp::create(b, kernel.entry, type);
  auto residentBlocks = source->getAttrOfType<IntegerAttr>(residentBlocksAttribute);
  target.markKernel(state.entry, kernel.threads, residentBlocks ? residentBlocks.getInt() : 0);
}

void Frame::takeArguments(Block &block) {
  for (auto [from, to] : llvm::zip(source.getArguments(), block.getArguments())) {
    Value value = to;
    Type own = threadType(from.getType());
    if (own != value.getType())
      value = as(own, arith::TruncIOp::create(b, b.getIntegerType(own.getIntOrFloatBitWidth()), value));
    from.replaceAllUsesWith(stand(from.getType(), value));
  }
}

/// Adds parameters for all tensor maps, of a partition too.
void Frame::takeTensorMaps() {
  SmallVector<Value> addresses;
  for (size_t number = 0; number < state.kernel.tensorMaps.size(); ++number)
    addresses.push_back(isPartition(source) ? addParameter(state.entry, LLVM::LLVMPointerType::get(b.getContext()))
                                            : target.tensorMap(state.entry, int64_t(number)));
  source.walk([&](TensorMapOp op) { state.tensorMaps[op] = addresses[numberOf(op, state.kernel.tensorMaps)]; });
}

void Frame::makePrologue() {
  state.thread = target.threadId(b);
  int lanes = target.lanesPerWarp();
  if (auto first = source->getAttrOfType<IntegerAttr>(firstWarpAttribute))
    state.thread = arith::SubIOp::create(b, state.thread, i32(first.getInt() * lanes));
  state.lane = arith::AndIOp::create(b, state.thread, i32(lanes - 1));
  state.warp = arith::ShRUIOp::create(b, state.thread, i32(llvm::Log2_32(uint32_t(lanes))));
  if (facts.publishes) // descriptors of matrices are the same in a warp, which the assembler must see
    state.warp = target.shuffleFrom(b, state.warp, i32(0));
  state.prologueEnd = arith::ConstantIntOp::create(b, 0, 1);
  if (source.getBody().front().getOps<GridDependencyWaitOp>().empty())
    state.kernel.dependentLaunch = target.waitForLaunchBefore(b);
}

void Frame::make() {
  makeEntry();
  Block *block = state.entry.addEntryBlock(b);
  b.setInsertionPointToStart(block);
  takeTensorMaps(); // which are of arguments of the source
  takeArguments(*block);
  makePrologue();
  Region &from = source.getBody(), &to = state.entry.getBody();
  block->getOperations().splice(block->end(), from.front().getOperations());
  // Tiles go from block to block as their registers.
  for (Block &each : llvm::make_early_inc_range(llvm::drop_begin(from))) {
    each.moveBefore(&to, to.end());
    b.setInsertionPointToStart(&each);
    for (unsigned number = 0, count = each.getNumArguments(); number < count; ++number) {
      BlockArgument argument = each.getArgument(0);
      SmallVector<Type> types = threadTypes(argument.getType());
      SmallVector<Value> registers;
      for (Type type : types)
        registers.push_back(each.addArgument(type, argument.getLoc()));
      argument.replaceAllUsesWith(stand(argument.getType(), registers));
      each.eraseArgument(0);
    }
  }
}

//===-- The conversion -------------------------------------------------------------------------------------------===//

static void addPatterns(RewritePatternSet &patterns, ThreadState &state) {
  for (auto add : {addAssembly,    addAtomics,       addBuffers,        addCalls,        addControlFlow,
                   addConversions, addDirectCopies,  addElementwise,    addGlobalMemory, addGroupMatmuls,
                   addMaps,        addMatmuls,       addBulkCopies,     addPartitions,   addPolls,
                   addReductions,  addReports,       addScaledMatmuls,  addScans,        addShapes,
                   addArrivals,    addSharedIndexed, addSharedRepacked, addSharedTiles,  addSynchronisation})
    add(patterns, state);
}

// What has not been replaced is what `toLower` holds. Nothing is folded, and nothing is undone: a pattern that cannot
// lower an operation says so (ThreadCode::refuse).
static LogicalResult convert(ThreadState &state) {
  MLIRContext *context = state.entry.getContext();
  RewritePatternSet patterns(context);
  addPatterns(patterns, state);
  ConversionTarget legal(*context);
  legal.markUnknownOpDynamicallyLegal([&](Operation *op) { return !state.facts.toLower.contains(op); });
  ConversionConfig config;
  config.allowPatternRollback = false;
  config.buildMaterializations = false;
  config.foldingMode = DialectConversionFoldingMode::Never;
  if (failed(applyPartialConversion(state.entry, legal, std::move(patterns), config)) || state.failed)
    return failure();
  SmallVector<UnrealizedConversionCastOp> casts, left;
  state.entry.walk([&](UnrealizedConversionCastOp cast) { casts.push_back(cast); });
  reconcileUnrealizedCasts(casts, &left);
  for (UnrealizedConversionCastOp cast : left)
    return cast.emitError("a value of a tile is left in the code of a thread");
  return success();
}

/// The memory that accesses are told of, as large as the kernel's.
static void sizeShared(ThreadState &state) {
  if (!state.shared || !state.target.ownsSharedMemory())
    return;
  Type byte = IntegerType::get(state.entry.getContext(), 8);
  state.shared.setGlobalType(LLVM::LLVMArrayType::get(byte, unsigned(state.kernel.sharedBytes)));
  state.shared.setLinkage(LLVM::Linkage::Internal);
}

/// Tensor maps of the module's functions. A launch makes them: what they are of are arguments.
static LogicalResult collectTensorMaps(ModuleOp module, ThreadKernel &kernel) {
  WalkResult walked = module.walk([&](TensorMapOp op) {
    auto isArgument = [&](Value value, size_t number) {
      auto argument = dyn_cast<BlockArgument>(value);
      return argument && isa<FuncOp>(argument.getOwner()->getParentOp()) && argument.getArgNumber() == number;
    };
    auto base = dyn_cast<BlockArgument>(op.getBase());
    bool isKnown = base && isArgument(base, base.getArgNumber());
    for (auto [number, value] : llvm::enumerate(llvm::concat<Value>(op.getSizes(), op.getStrides())))
      isKnown = isKnown && isArgument(value, base.getArgNumber() + 1 + number);
    if (!isKnown) {
      op.emitOpError() << "is of a pointer that is no argument of the kernel, or whose sizes and strides are not the "
                          "arguments after it: a launch makes tensor maps before the kernel begins";
      return WalkResult::interrupt();
    }
    if (numberOf(op, kernel.tensorMaps) == kernel.tensorMaps.size())
      kernel.tensorMaps.push_back(describe(op));
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

/// Replaces one function by its code.
static LogicalResult lowerFunction(FuncOp source, ThreadState &state) {
  Frame(state, source).make();
  source.erase();
  return convert(state);
}

/// A partition's function, and its warps in the block.
struct Partition {
  std::string name;
  int64_t first, warps;
};

/// Each partition has warps of its own, and is started once.
static LogicalResult checkWarps(ArrayRef<SmallVector<Partition>> starts, int64_t kernelWarps, Location place) {
  llvm::StringSet<> known;
  for (const SmallVector<Partition> &partitions : starts)
    for (auto [number, partition] : llvm::enumerate(partitions)) {
      if (!known.insert(partition.name).second)
        return emitError(place) << "partition '" << partition.name
                                << "' is started twice: make a function for each start";
      if (partition.first < kernelWarps)
        return emitError(place) << "partition '" << partition.name << "' begins with warp " << partition.first
                                << ", which is one of the kernel's " << kernelWarps;
      for (const Partition &other : ArrayRef(partitions).take_front(number))
        if (partition.first < other.first + other.warps && other.first < partition.first + partition.warps)
          return emitError(place) << "partitions '" << other.name << "' and '" << partition.name
                                  << "' have warps in common: warps " << other.first << " to "
                                  << other.first + other.warps - 1 << " and " << partition.first << " to "
                                  << partition.first + partition.warps - 1;
    }
  return success();
}

/// Puts the code of a partition after that of the kernel; where it ends, `next` goes on.
static Block *takeIn(LLVM::LLVMFuncOp kernel, LLVM::LLVMFuncOp partition, Block *next) {
  Block *begin = &partition.getBody().front();
  for (auto [from, to] : llvm::zip(begin->getArguments(), kernel.getBody().front().getArguments()))
    from.replaceAllUsesWith(to);
  begin->eraseArguments([](BlockArgument) { return true; });
  for (Block &block : partition.getBody())
    if (auto end = dyn_cast<LLVM::ReturnOp>(block.getTerminator())) {
      OpBuilder b(end);
      cf::BranchOp::create(b, end.getLoc(), next);
      end.erase();
    }
  kernel.getBody().getBlocks().splice(next->getIterator(), partition.getBody().getBlocks());
  partition.erase();
  return begin;
}

/// How many registers threads take where partitions ask for numbers of their own: hardware gives them to groups of four
/// warps. What partitions leave is the kernel's.
struct RegisterPlan {
  int64_t first = 0;           ///< that all begin with; 0: nothing is changed
  int64_t kernel = 0;          ///< of the kernel's warps
  SmallVector<int64_t> groups; ///< of the warps after them
};

static RegisterPlan planRegisters(ModuleOp module, ArrayRef<SmallVector<Partition>> starts, int64_t kernelWarps,
                                  int64_t blockWarps, const GpuTarget &target) {
  constexpr int64_t step = 8, least = 24, most = 240; // what `setmaxnreg` takes, but for numbers that ptxas cannot use
  RegisterPlan plan;
  if (starts.size() != 1 || kernelWarps % warpsOfGroup)
    return plan;
  plan.groups.assign(size_t((blockWarps - kernelWarps) / warpsOfGroup), 0);
  bool asks = false;
  int64_t each = target.registersPerThread(int(blockWarps)) / step * step, left = each * blockWarps;
  for (const Partition &partition : starts.front()) {
    auto wanted = module.lookupSymbol(partition.name)->getAttrOfType<IntegerAttr>(registersAttribute);
    asks |= bool(wanted);
    for (int64_t warp = partition.first; warp < partition.first + partition.warps; ++warp) {
      int64_t &group = plan.groups[size_t((warp - kernelWarps) / warpsOfGroup)];
      group = std::max(group, wanted ? wanted.getInt() / step * step : each);
    }
  }
  for (int64_t &group : plan.groups) {
    group = std::clamp(group ? group : least, least, most);
    left -= group * warpsOfGroup;
  }
  plan.kernel = std::min(left / kernelWarps / step * step, most);
  plan.first = asks && each < most && plan.kernel >= least ? each : 0;
  return plan;
}

/// Warps that are not the kernel's go from partition to partition, in the order in which it starts them: `starts`.
static void dispatch(ThreadState &state, int64_t kernelWarps, ArrayRef<SmallVector<Partition>> starts,
                     const RegisterPlan &plan) {
  auto module = state.entry->getParentOfType<ModuleOp>();
  Block *entry = state.prologueEnd->getBlock();
  Block *main = entry->splitBlock(state.prologueEnd->getNextNode());
  ImplicitLocOpBuilder b(state.entry.getLoc(), state.entry.getContext());
  auto number = [&](int64_t value) -> Value { return arith::ConstantIntOp::create(b, value, 32); };
  auto addBlock = [&] {
    auto *block = new Block();
    state.entry.getBody().push_back(block);
    return block;
  };
  b.setInsertionPointToEnd(entry);
  Block *others = addBlock();
  Value isOther = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, state.warp, number(kernelWarps));
  cf::CondBranchOp::create(b, isOther, others, ValueRange(), main, ValueRange());
  b.setInsertionPointToEnd(others);
  // Who takes more waits until others have given: that is so after the barrier.
  auto takeRegisters = [&](bool more) {
    for (auto [group, registers] : llvm::enumerate(plan.groups)) {
      if (!plan.first || registers == plan.first || (registers > plan.first) != more)
        continue;
      Value mine = arith::ShRUIOp::create(b, state.warp, number(llvm::Log2_64(warpsOfGroup)));
      Value isMine =
          arith::CmpIOp::create(b, arith::CmpIPredicate::eq, mine, number(kernelWarps / warpsOfGroup + int64_t(group)));
      auto branch = scf::IfOp::create(b, isMine);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      state.target.takeRegisters(b, registers, more);
    }
  };
  takeRegisters(/*more=*/false);
  for (const SmallVector<Partition> &partitions : starts) {
    state.target.barrier(b);
    takeRegisters(/*more=*/true);
    for (const Partition &partition : partitions) {
      Value isAfter = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, state.warp, number(partition.first));
      Value isBefore =
          arith::CmpIOp::create(b, arith::CmpIPredicate::ult, state.warp, number(partition.first + partition.warps));
      Block *next = addBlock();
      Block *begin = takeIn(state.entry, module.lookupSymbol<LLVM::LLVMFuncOp>(partition.name), next);
      cf::CondBranchOp::create(b, Value(arith::AndIOp::create(b, isAfter, isBefore)), begin, ValueRange(), next,
                               ValueRange());
      b.setInsertionPointToEnd(next);
    }
    state.target.barrier(b);
  }
  LLVM::ReturnOp::create(b, ValueRange());
}

LogicalResult simt::lowerSimtToThreads(ModuleOp module, const GpuTarget &target, const ThreadOptions &options,
                                       ThreadKernel &kernel) {
  int count = 0;
  FuncOp source = findKernel(module, count);
  if (!source)
    return module.emitError() << "expected one public 'tt.func', found " << count;
  module.getContext()
      ->loadDialect<arith::ArithDialect, cf::ControlFlowDialect, LLVM::LLVMDialect, math::MathDialect, scf::SCFDialect,
                    ub::UBDialect>(); // what is created below
  Location place = source.getLoc();
  for (auto function : module.getOps<FuncOp>()) {
    IRRewriter rewriter(function);
    (void)eraseUnreachableBlocks(rewriter, function->getRegions()); // the conversion would not visit them
  }
  if (failed(collectTensorMaps(module, kernel)))
    return failure();
  SmallVector<SmallVector<Partition>> starts;
  SmallVector<FuncOp> partitions;
  int64_t blockWarps = options.warps;
  source.walk([&](StartPartitionsOp start) {
    SmallVector<Partition> &started = starts.emplace_back();
    for (Attribute each : start.getPartitions()) {
      auto function = module.lookupSymbol<FuncOp>(cast<FlatSymbolRefAttr>(each).getValue());
      int64_t first = function->getAttrOfType<IntegerAttr>(firstWarpAttribute).getInt(), warps = warpsOf(function, 1);
      started.push_back({function.getName().str(), first, warps});
      partitions.push_back(function);
      blockWarps = std::max(blockWarps, first + warps);
    }
  });
  if (failed(checkWarps(starts, options.warps, place)))
    return failure();
  if (!partitions.empty() && int64_t(partitions.size()) + barrierOfPartitions > target.namedBarriers())
    return emitError(place) << "kernel '" << source.getName() << "' has " << partitions.size()
                            << " partitions; the chip has barriers for "
                            << std::max<int64_t>(0, target.namedBarriers() - barrierOfPartitions);
  if (!partitions.empty())
    blockWarps = int64_t(llvm::alignTo(uint64_t(blockWarps), uint64_t(warpsOfGroup)));
  constexpr int64_t mostThreads = 1024; // of a block, on each chip that has partitions
  if (blockWarps * target.lanesPerWarp() > mostThreads)
    return emitError(place) << "kernel '" << source.getName() << "' has " << blockWarps
                            << " warps with those of its partitions, in whole groups of " << warpsOfGroup
                            << "; a block has " << mostThreads / target.lanesPerWarp();
  ThreadState state(source, target, options, kernel);
  state.barrier = partitions.empty() ? 0 : barrierOfKernel;
  kernel.threads = blockWarps * target.lanesPerWarp();
  RegisterPlan plan = planRegisters(module, starts, options.warps, blockWarps, target);
  state.registers = plan.first != plan.kernel && plan.first ? plan.kernel : 0;
  state.moreRegisters = plan.kernel > plan.first;
  kernel.sharedBytes = placedBytes(source);
  for (FuncOp partition : partitions)
    kernel.sharedBytes = std::max(kernel.sharedBytes, placedBytes(partition));
  if (failed(lowerFunction(source, state)))
    return failure();
  if (plan.first)
    target.limitRegisters(state.entry, plan.first);
  for (auto [number, partition] : llvm::enumerate(partitions)) {
    ThreadOptions own = options;
    own.warps = warpsOf(partition, 1);
    ThreadState part(partition, target, own, kernel);
    part.barrier = barrierOfPartitions + int64_t(number);
    part.shared = state.shared;
    if (failed(lowerFunction(partition, part)))
      return failure();
    part.prologueEnd->erase();
    state.shared = part.shared;
  }
  if (!partitions.empty())
    dispatch(state, options.warps, starts, plan);
  if (state.shared && !partitions.empty()) // a partition's tiles, too
    state.shared.setAlignment(uint64_t(memoryAlignment));
  state.prologueEnd->erase();
  sizeShared(state);
  kernel.sites = std::move(state.facts.sites.sites);
  if (kernel.sharedBytes > target.sharedMemoryBytes())
    return emitError(place) << "kernel '" << kernel.kernel << "' needs " << kernel.sharedBytes
                            << " bytes of shared memory for each block; the chip has " << target.sharedMemoryBytes();
  return success();
}
