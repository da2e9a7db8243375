// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What stands for several threads in the text is said here: who arrives, and which barrier comes before it.
#include "compiler/lowering/ttg_to_simt/HopperOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
namespace ttg = heddle::triton::gpu;
namespace nvgpu = heddle::triton::nvgpu;
namespace tt = heddle::triton;

//===-- Tensor maps ----------------------------------------------------------------------------------------------===//

FailureOr<Type> simt::tensorMapType(tt::TensorDescType descriptor, EmitError emitError) {
  RankedTensorType block = descriptor.getBlockType();
  auto nvmma = dyn_cast_or_null<ttg::NvmmaSharedAttr>(block.getEncoding());
  if (!nvmma || nvmma.getTransposed())
    return emitError() << "the tensor descriptor " << descriptor
                       << " has no layout of shared memory that bulk copies write: give it `gl.NVMMASharedLayout`, not "
                          "transposed";
  Type element = block.getElementType();
  if (element.isInteger())
    element = IntegerType::get(element.getContext(), element.getIntOrFloatBitWidth()); // of no sign at this level
  Type type = TensorMapType::getChecked(emitError, descriptor.getContext(), block.getShape(), element,
                                        nvmma.getSwizzlingByteWidth());
  return type ? FailureOr<Type>(type) : FailureOr<Type>();
}

void simt::takeDescriptors(tt::FuncOp kernel) {
  Block &entry = kernel.getBody().front();
  OpBuilder b(&entry, entry.begin());
  bool any = false;
  for (BlockArgument argument : entry.getArguments()) {
    auto map = dyn_cast<TensorMapType>(argument.getType());
    if (!map)
      continue;
    any = true;
    auto following = entry.getArguments().drop_front(argument.getArgNumber() + 1);
    size_t rank = map.getShape().size();
    SmallVector<Value> sizes(following.take_front(std::min(rank, following.size()))),
        strides(following.drop_front(sizes.size()).take_front(std::min(rank, following.size() - sizes.size())));
    argument.setType(tt::PointerType::get(map.getElementType()));
    auto made = TensorMapOp::create(b, argument.getLoc(), map, argument, sizes, strides);
    argument.replaceAllUsesExcept(made, made);
  }
  if (any)
    kernel.setType(FunctionType::get(kernel.getContext(), entry.getArgumentTypes(), {}));
}

//===-- Matmuls --------------------------------------------------------------------------------------------------===//

namespace {

class HopperConverter {
public:
  HopperConverter(Operation *op, int warps) : op(op), b(op->getLoc(), op), warps(warps) {}
  LogicalResult run();

private:
  LogicalResult convert(nvgpu::WarpGroupDotOp dot);
  LogicalResult convert(nvgpu::WarpGroupDotWaitOp wait);
  Value multiply(Value a, Value bb, Value c, Value adds);
  /// What of a tile along K begins at `from` and is `size` long.
  Value partAlongK(Value operand, int axis, int64_t from, int64_t size);
  Value number(int64_t value) { return arith::ConstantIntOp::create(b, value, 32); }
  /// The bit, or null where it is known to be set.
  static Value unlessTrue(Value bit) { return bit && !matchPattern(bit, m_One()) ? bit : Value(); }
  /// All that these warps did before is over.
  void meet() { BarrierOp::create(b, /*warp=*/warps == 1, /*copies=*/false, /*shared=*/false, /*bare=*/false); }
  LogicalResult replace(ValueRange values) {
    op->replaceAllUsesWith(values);
    op->erase();
    return success();
  }

  Operation *op;
  ImplicitLocOpBuilder b;
  int warps;
};

} // namespace

Value HopperConverter::multiply(Value a, Value bb, Value c, Value adds) {
  Value stage = number(0), aStage = isa<SharedType>(a.getType()) ? stage : Value();
  return DotSharedOp::create(b, c.getType(), a, aStage, bb, stage, c, /*aTransposed=*/false, /*bTransposed=*/false,
                             adds);
}

Value HopperConverter::partAlongK(Value operand, int axis, int64_t from, int64_t size) {
  auto tile = dyn_cast<RankedTensorType>(operand.getType());
  auto memory = dyn_cast<SharedType>(operand.getType());
  SmallVector<int64_t> shape(tile ? tile.getShape() : memory.getShape()), start(2, 0);
  shape[size_t(axis)] = size;
  start[size_t(axis)] = from;
  if (tile) {
    layout::LinearLayout part =
        layout::wgmmaOperand({shape[0], shape[1]}, {warps, 1}, 32 / tile.getElementTypeBitWidth());
    return ExtractSliceOp::create(b, withLayout(RankedTensorType::get(shape, tile.getElementType()), part), operand,
                                  start);
  }
  auto part = SharedType::get(b.getContext(), 1, shape, memory.getElementType(), memory.getLayout(),
                              memory.getIntervals(), memory.getPaddings());
  return SubsliceOp::create(b, part, operand, start);
}

// Sums of products of 8 bits are kept in fewer bits than f32 has: after so many along K they are added to an f32.
LogicalResult HopperConverter::convert(nvgpu::WarpGroupDotOp dot) {
  Value a = op->getOperand(0), bb = op->getOperand(1), c = op->getOperand(2);
  auto memory = cast<SharedType>(bb.getType());
  auto sum = cast<RankedTensorType>(c.getType());
  Type element = memory.getElementType(), sumElement = sum.getElementType();
  unsigned bits = element.getIntOrFloatBitWidth();
  if (element.isF32() && dot.getInputPrecision() != tt::InputPrecision::TF32)
    return op->emitOpError()
           << "multiplies f32 exactly, for which `wgmma` has no form: give precision `tf32`, or use `gl.dot_fma`";
  for (Value operand : {a, bb}) {
    auto shared = dyn_cast<SharedType>(operand.getType());
    std::optional<OperandLayout> lies = shared ? operandLayout(shared) : std::nullopt;
    if (shared && !lies)
      return op->emitOpError() << "reads " << shared
                               << ": `wgmma` reads rows swizzled over 32, 64 or 128 bytes (`gl.NVMMASharedLayout`), "
                                  "or core matrices of 8 rows of 16 bytes";
    if (shared && bits != 16 && lies->columnMajor != (operand == bb))
      return op->emitOpError()
             << "has elements of " << bits
             << " bits that are not contiguous along K in shared memory: store the operand transposed, "
                "and multiply by its `permute`";
  }
  Value adds = unlessTrue(dot.getUseC());
  bool isShort = sumElement.isF16(); // sums in f32 until the end
  auto wide = isShort ? cast<RankedTensorType>(sum.clone(b.getF32Type())) : sum;
  if (isShort)
    c = arith::ExtFOp::create(b, wide, c);
  int64_t depth = memory.getShape()[0], most = int32_t(dot.getMaxNumImpreciseAcc());
  bool isNarrow = bits == 8 && isa<FloatType>(element) && most < depth;
  Value result;
  if (!isNarrow) {
    result = multiply(a, bb, c, adds);
    if (!dot.getIsAsync() || isShort)
      result = DotWaitOp::create(b, result.getType(), result, uint64_t(0));
  } else {
    int64_t step = std::max<int64_t>(32, int64_t(llvm::bit_floor(uint64_t(std::max<int64_t>(1, most)))));
    Value zero = arith::ConstantOp::create(b, wide, DenseElementsAttr::get(wide, b.getF32FloatAttr(0)));
    result = adds ? Value(arith::SelectOp::create(b, adds, c, zero)) : c;
    for (int64_t k = 0; k < depth; k += step) {
      Value left = step < depth ? partAlongK(a, 1, k, step) : a, right = step < depth ? partAlongK(bb, 0, k, step) : bb;
      Value started = multiply(left, right, zero, Value());
      Value part = DotWaitOp::create(b, started.getType(), started, uint64_t(0));
      result = arith::AddFOp::create(b, result, part);
    }
  }
  if (isShort)
    result = arith::TruncFOp::create(b, sum, result);
  return replace(result);
}

LogicalResult HopperConverter::convert(nvgpu::WarpGroupDotWaitOp wait) {
  SmallVector<Value> values;
  bool waits = false;
  for (Value input : op->getOperands()) {
    bool isTile = isa<RankedTensorType>(input.getType());
    waits |= isTile;
    values.push_back(isTile ? Value(DotWaitOp::create(b, input.getType(), input, uint64_t(wait.getPendings())))
                            : input);
  }
  if (!waits)
    return op->emitOpError() << "waits for no matmul: give the result of one as `deps`";
  return replace(values);
}

//===-- All ------------------------------------------------------------------------------------------------------===//

LogicalResult HopperConverter::run() {
  Value first = op->getNumOperands() ? op->getOperand(0) : Value();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<nvgpu::WarpGroupDotOp, nvgpu::WarpGroupDotWaitOp>([&](auto product) { return convert(product); })
      .Case([&](nvgpu::FenceAsyncSharedOp) { // a cluster is one block
        FenceAsyncOp::create(b);
        return replace({});
      })
      .Case([&](nvgpu::InitBarrierOp init) {
        InitArrivalsOp::create(b, first, uint64_t(init.getCount()));
        return replace({});
      })
      .Case([&](nvgpu::InvalBarrierOp) {
        EndArrivalsOp::create(b, first);
        return replace({});
      })
      .Case([&](nvgpu::BarrierExpectOp expect) {
        ExpectBytesOp::create(b, first, number(0), uint64_t(expect.getSize()), unlessTrue(expect.getPred()));
        return replace({});
      })
      .Case([&](nvgpu::WaitBarrierOp wait) {
        WaitArrivalsOp::create(b, first, number(0), wait.getPhase(), unlessTrue(wait.getPred()));
        return replace({});
      })
      .Case([&](nvgpu::ArriveBarrierOp arrive) {
        meet();
        ArriveOnceOp::create(b, first, number(0), uint64_t(arrive.getCount()), unlessTrue(arrive.getPred()));
        return replace({});
      })
      .Case([&](nvgpu::AsyncCopyMbarrierArriveOp arrive) {
        ArriveOp::create(b, first, number(0), /*copies=*/true, /*increments=*/!arrive.getNoIncrement());
        return replace({});
      })
      .Case([&](nvgpu::AsyncTMACopyGlobalToLocalOp copy) {
        Value memory = copy.getResultMutable().get(), objects = copy.getBarrierMutable().get();
        BulkLoadOp::create(b, copy.getDescMutable().get(), copy.getCoord(), memory, objects,
                           unlessTrue(copy.getPred()));
        return replace({});
      })
      .Case([&](nvgpu::AsyncTMACopyLocalToGlobalOp copy) {
        BulkStoreOp::create(b, copy.getDescMutable().get(), copy.getCoord(), copy.getSrcMutable().get(),
                            tt::DescriptorReduceKindAttr());
        return replace({});
      })
      .Case([&](nvgpu::AsyncTMAReduceOp copy) {
        BulkStoreOp::create(b, copy.getDescMutable().get(), copy.getCoord(), copy.getSrcMutable().get(),
                            copy.getKindAttr());
        return replace({});
      })
      .Case([&](nvgpu::TMAStoreWaitOp wait) {
        BulkWaitOp::create(b, uint64_t(wait.getPendings()), wait.getReadOnly());
        return replace({});
      })
      .Default([](Operation *other) { return other->emitOpError("has no lowering"); });
}

LogicalResult simt::convertHopperOp(Operation *op, int warps) {
  return HopperConverter(op, warps).run();
}
