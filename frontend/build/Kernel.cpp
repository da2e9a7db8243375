// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keeps the kernel that is being recorded, runs the C++ function once, and reports faults at its C++ position.
#include "frontend/build/Kernel.h"
#include "compiler/dialects/ttg/TritonGpu.h"
#include "frontend/build/Emitter.h"
#include "frontend/build/TypedKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "support/Error.h"
#include "llvm/ADT/StringExtras.h"
#include <atomic>
#include <set>

using namespace mlir;

namespace heddle::build {

Program::Implementation::Implementation(std::string name, bool hasLayouts)
    : name(std::move(name)), hasLayouts(hasLayouts), context(MLIRContext::Threading::DISABLED) {
  context
      .loadDialect<triton::TritonDialect, arith::ArithDialect, gpu::GPUDialect, math::MathDialect, scf::SCFDialect>();
  if (hasLayouts)
    context.loadDialect<triton::gpu::TritonGpuDialect, triton::amdg::AmdGpuDialect, triton::gluon::GluonDialect>();
}

const std::string &Program::name() const {
  return implementation->name;
}

std::string Program::text(bool withLocations) const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  OpPrintingFlags flags;
  flags.enableDebugInfo(withLocations).printNameLocAsPrefix();
  implementation->module.get()->print(stream, flags);
  return implementation->hasLayouts ? triton::amdg::nameScheduleBarriers(text) : text;
}

namespace detail {
namespace {

struct CurrentKernel {
  OpBuilder builder;
  uint64_t number;
  Position latest;
  bool hasLayouts;
};
thread_local CurrentKernel *currentKernel = nullptr;

uint64_t nextKernelNumber() {
  static std::atomic<uint64_t> count{0};
  return ++count;
}

bool isIdentifier(StringRef name) {
  return !name.empty() && !llvm::isDigit(name[0]) &&
         llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

Location locationOf(MLIRContext *context, Position where) {
  return FileLineColLoc::get(context, where.file_name(), where.line(), where.column());
}

void checkArguments(std::span<const Argument> arguments, const std::vector<TileType> &types, Position where) {
  std::string here = formatPosition(where);
  if (arguments.size() != types.size())
    throw inputError(here + "the kernel's function has " + std::to_string(types.size()) + " parameters, but " +
                     std::to_string(arguments.size()) + " argument names are given");
  std::set<std::string> names;
  for (size_t i = 0; i < types.size(); ++i) {
    const Argument &argument = arguments[i];
    if (!isIdentifier(argument.name))
      throw inputError(here + "`" + argument.name + "` is no name for an argument",
                       {"a name has letters, digits and `_`, and begins with no digit"});
    if (!names.insert(argument.name).second)
      throw inputError(here + "two arguments are called `" + argument.name + "`");
    if (argument.divisor < 1)
      throw inputError(here + "argument `" + argument.name + "` cannot be divisible by " +
                       std::to_string(argument.divisor));
    if (argument.divisor > 1 && !types[i].isPointer && isFloating(types[i].element))
      throw inputError(here + "argument `" + argument.name + "` is a float, and floats have no divisibility");
  }
}

/// The innermost C++ position in a location.
std::string positionIn(Location location) {
  if (auto file = dyn_cast<FileLineColLoc>(location))
    return (file.getFilename().getValue() + ":" + Twine(file.getLine()) + ":" + Twine(file.getColumn()) + ": ").str();
  if (auto named = dyn_cast<NameLoc>(location))
    return positionIn(named.getChildLoc());
  if (auto fused = dyn_cast<FusedLoc>(location))
    if (!fused.getLocations().empty())
      return positionIn(fused.getLocations().front());
  return "";
}

} // namespace

std::string formatPosition(Position where) {
  return std::string(where.file_name()) + ":" + std::to_string(where.line()) + ":" + std::to_string(where.column()) +
         ": ";
}

//===-- Emitter --------------------------------------------------------------------------------------------------===//

static CurrentKernel &requireKernel(Position where) {
  if (!currentKernel)
    throw inputError(formatPosition(where) + "a tile operation stands outside of kernel()",
                     {"values of a kernel are made and used inside the function that kernel() runs"});
  return *currentKernel;
}

Emitter::Emitter(Position where)
    : builder(requireKernel(where).builder), location(locationOf(builder.getContext(), where)), where(where),
      kernel(currentKernel->number), hasLayouts(currentKernel->hasLayouts) {
  currentKernel->latest = where;
}

Position latestPosition(Position otherwise) {
  return currentKernel ? currentKernel->latest : otherwise;
}

void Emitter::fail(const std::string &message, std::vector<std::string> notes) const {
  throw inputError(formatPosition(where) + message, std::move(notes));
}

Value Emitter::value(Handle handle) const {
  if (handle.kernel != kernel)
    fail("a value of another kernel is used here", {"a value can be used only inside the kernel() that made it"});
  return Value::getFromOpaquePointer(handle.value);
}

SmallVector<Value> Emitter::values(const Handles &handles) const {
  return llvm::map_to_vector(handles, [&](Handle handle) { return value(handle); });
}

Handle Emitter::handle(Value value) const {
  return {value.getAsOpaquePointer(), kernel};
}

Handles Emitter::handles(ValueRange values) const {
  Handles result;
  for (Value value : values)
    result.push_back(handle(value));
  return result;
}

Type Emitter::elementType(ElementType element) const {
  MLIRContext *context = builder.getContext();
  switch (element) {
  case ElementType::F64:
    return Float64Type::get(context);
  case ElementType::F32:
    return Float32Type::get(context);
  case ElementType::F16:
    return Float16Type::get(context);
  case ElementType::BF16:
    return BFloat16Type::get(context);
  case ElementType::F8E4M3FN:
    return Float8E4M3FNType::get(context);
  case ElementType::F8E5M2:
    return Float8E5M2Type::get(context);
  case ElementType::F8E4M3FNUZ:
    return Float8E4M3FNUZType::get(context);
  case ElementType::F8E5M2FNUZ:
    return Float8E5M2FNUZType::get(context);
  default:
    return builder.getIntegerType(bitsOf(element));
  }
}

Type Emitter::type(const TileType &type) const {
  Type element = elementType(type.element);
  if (type.isPointer)
    element = triton::PointerType::get(element);
  if (!type.rank)
    return element;
  Attribute open = hasLayouts ? triton::gluon::AutoEncodingAttr::get(builder.getContext()) : Attribute();
  return RankedTensorType::get(ArrayRef(type.sizes, type.rank), element, open);
}

Type Emitter::typeLike(Type like, Type element) const {
  auto tile = dyn_cast<RankedTensorType>(like);
  return tile ? Type(tile.clone(element)) : element;
}

Value Emitter::create(StringRef name, Type result, ValueRange operands, ArrayRef<NamedAttribute> attributes) const {
  OperationState state(location, name, operands, TypeRange(result), attributes);
  return builder.create(state)->getResult(0);
}

NamedAttribute Emitter::i32Attribute(StringRef name, int32_t value) const {
  return builder.getNamedAttr(name, builder.getI32IntegerAttr(value));
}

SmallVector<Value> Emitter::fillRegion(Region &region, TypeRange arguments, const Body &body, StringRef terminator,
                                       bool forwardsArguments) const {
  OpBuilder::InsertionGuard guard(builder);
  Block *block =
      builder.createBlock(&region, region.end(), arguments, SmallVector<Location>(arguments.size(), location));
  SmallVector<Value> yielded = values(body(handles(block->getArguments())));
  SmallVector<Value> operands = yielded;
  if (forwardsArguments)
    llvm::append_range(operands, block->getArguments());
  builder.setInsertionPointToEnd(block);
  OperationState end(location, terminator, operands, TypeRange());
  builder.create(end);
  return yielded;
}

//===-- KernelScope ----------------------------------------------------------------------------------------------===//

/// Attributes of a module of TTGIR, as Triton names them.
static void describeBlock(ModuleOp module, const BlockOptions &block) {
  OpBuilder builder(module.getContext());
  module->setAttr(triton::gpu::numCtasAttribute, builder.getI32IntegerAttr(1));
  module->setAttr(triton::gpu::numWarpsAttribute, builder.getI32IntegerAttr(block.warps));
  module->setAttr(triton::gpu::targetAttribute, builder.getStringAttr(Twine("hip:") + block.chip));
  module->setAttr(triton::gpu::threadsPerWarpAttribute, builder.getI32IntegerAttr(64));
}

KernelScope::KernelScope(std::string_view name, KernelOptions options, const std::vector<TileType> &types,
                         Position where)
    : where(where) {
  std::span<const Argument> arguments = options.arguments;
  if (currentKernel)
    throw inputError(formatPosition(where) + "kernel() is called inside of a kernel",
                     {"build one kernel after the other"});
  if (!isIdentifier(StringRef(name)))
    throw inputError(formatPosition(where) + "`" + std::string(name) + "` is no name for a kernel",
                     {"a name has letters, digits and `_`, and begins with no digit"});
  checkArguments(arguments, types, where);
  if (options.block &&
      (options.block->warps < 1 || options.block->warps > 16 || !llvm::isPowerOf2_32(uint32_t(options.block->warps))))
    throw inputError(formatPosition(where) + "a block of " + std::to_string(options.block->warps) + " warps",
                     {"AMD's blocks have 1, 2, 4, 8 or 16 warps of 64 threads"});

  implementation = std::make_shared<Program::Implementation>(std::string(name), options.block);
  MLIRContext *context = &implementation->context;
  Location location = locationOf(context, where);
  implementation->module = ModuleOp::create(location);
  if (options.block)
    describeBlock(*implementation->module, *options.block);
  currentKernel = new CurrentKernel{OpBuilder::atBlockEnd(implementation->module->getBody()), nextKernelNumber(), where,
                                    implementation->hasLayouts};
  Emitter emitter(where);
  SmallVector<Type> inputs = llvm::map_to_vector(types, [&](const TileType &type) { return emitter.type(type); });
  OpBuilder &builder = emitter.builder;
  auto function = triton::FuncOp::create(builder, location, StringRef(name), builder.getFunctionType(inputs, {}));
  function.setSymVisibility("public");
  function->setAttr("noinline", builder.getBoolAttr(false));
  Block *entry = builder.createBlock(&function.getBody());
  for (size_t i = 0; i < types.size(); ++i) {
    entry->addArgument(inputs[i], NameLoc::get(builder.getStringAttr(arguments[i].name), location));
    if (arguments[i].divisor > 1)
      function.setArgAttr(i, "tt.divisibility", builder.getI32IntegerAttr(arguments[i].divisor));
  }
}

KernelScope::~KernelScope() {
  delete currentKernel;
  currentKernel = nullptr;
}

Handle KernelScope::argument(size_t number) const {
  auto function = *implementation->module->getOps<triton::FuncOp>().begin();
  return {function.getArgument(number).getAsOpaquePointer(), currentKernel->number};
}

Program KernelScope::finish() {
  triton::ReturnOp::create(currentKernel->builder, locationOf(&implementation->context, where));
  std::string message;
  std::vector<std::string> notes;
  ScopedDiagnosticHandler handler(&implementation->context, [&](Diagnostic &diagnostic) {
    if (message.empty())
      message = positionIn(diagnostic.getLocation()) + diagnostic.str();
    return success();
  });
  if (failed(verify(*implementation->module))) {
    bool dominance = message.find("dominate") != std::string::npos;
    if (!dominance && implementation->hasLayouts) // rules of memory objects, buffer accesses and parts
      throw inputError(triton::amdg::nameScheduleBarriers(message));
    if (!dominance)
      throw internalError(message);
    throw inputError(message,
                     {"a value made inside a loop or branch is used outside of it: carry it out as its result"});
  }
  PassManager passes(&implementation->context);
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  if (failed(passes.run(*implementation->module)))
    throw internalError(message);
  return Program(implementation);
}

} // namespace detail

Program typedKernel(std::string_view name, std::span<const TypedArgument> arguments,
                    const std::function<void(const TypedArguments &)> &body, Position where) {
  std::vector<Argument> names;
  std::vector<detail::TileType> types;
  static constexpr int64_t noSizes[1] = {};
  for (const TypedArgument &argument : arguments) {
    names.push_back(argument.argument);
    types.push_back({argument.type, argument.isPointer, noSizes, 0});
  }
  detail::KernelScope scope(name, {.arguments = names}, types, where);
  std::vector<detail::Handle> handles;
  for (size_t i = 0; i < names.size(); ++i)
    handles.push_back(scope.argument(i));
  body(TypedArguments(arguments, std::move(handles)));
  return scope.finish();
}

} // namespace heddle::build
