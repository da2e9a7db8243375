// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The frame of a thread's code, and the conversion of what stands in it.
#include "compiler/lowering/simt/SimtToThreads.h"
#include "compiler/lowering/simt/PartitionWarps.h"
#include "compiler/lowering/simt/PlaceShared.h"
#include "compiler/lowering/simt/TensorMaps.h"
#include "compiler/lowering/simt/ThreadCode.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Transforms/RegionUtils.h"

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
  // Once one is refused the rest stays as it is. Operations go with the regions that hold them then, and `toLower`
  // would take new ones at their addresses for them.
  legal.markUnknownOpDynamicallyLegal([&](Operation *op) { return state.failed || !state.facts.toLower.contains(op); });
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

/// Replaces one function by its code.
static LogicalResult lowerFunction(FuncOp source, ThreadState &state) {
  Frame(state, source).make();
  source.erase();
  return convert(state);
}

/// Replaces a kernel and its partitions, each by warps of its own, by their code.
static LogicalResult lowerKernel(FuncOp source, const PartitionWarps &partitions, ThreadState &state) {
  const RegisterPlan &registers = partitions.registers;
  bool hasPartitions = !partitions.functions.empty();
  state.barrier = hasPartitions ? barrierOfKernel : 0;
  state.registers = registers.first && registers.first != registers.kernel ? registers.kernel : 0;
  state.moreRegisters = registers.kernel > registers.first;
  if (failed(lowerFunction(source, state)))
    return failure();
  if (registers.first)
    state.target.limitRegisters(state.entry, registers.first);
  for (auto [number, partition] : llvm::enumerate(partitions.functions)) {
    ThreadOptions own = state.options;
    own.warps = warpsOf(partition, 1);
    ThreadState part(partition, state.target, own, state.kernel);
    part.barrier = barrierOfPartitions + int64_t(number);
    part.shared = state.shared;
    if (failed(lowerFunction(partition, part)))
      return failure();
    part.prologueEnd->erase();
    state.shared = part.shared;
  }
  if (hasPartitions)
    dispatch(state, partitions);
  if (state.shared && hasPartitions) // a partition's tiles, too
    state.shared.setAlignment(uint64_t(memoryAlignment));
  state.prologueEnd->erase();
  return success();
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
  FailureOr<std::vector<PackageTensorMap>> tensorMaps = collectTensorMaps(module);
  FailureOr<PartitionWarps> partitions = findPartitions(module, source, options.warps, target);
  if (failed(tensorMaps) || failed(partitions))
    return failure();
  kernel.tensorMaps = std::move(*tensorMaps);
  kernel.threads = partitions->block * target.lanesPerWarp();
  kernel.sharedBytes = placedBytes(source);
  for (FuncOp partition : partitions->functions)
    kernel.sharedBytes = std::max(kernel.sharedBytes, placedBytes(partition));
  ThreadState state(source, target, options, kernel);
  if (failed(lowerKernel(source, *partitions, state)))
    return failure();
  sizeShared(state);
  kernel.sites = std::move(state.facts.sites.sites);
  if (kernel.sharedBytes > target.sharedMemoryBytes())
    return emitError(place) << "kernel '" << kernel.kernel << "' needs " << kernel.sharedBytes
                            << " bytes of shared memory for each block; the chip has " << target.sharedMemoryBytes();
  return success();
}
