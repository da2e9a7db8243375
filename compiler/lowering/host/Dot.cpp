// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matrix products: operands are evaluated once into scratch in the compute type (f32, f64 or i32), B in panels, and a
// register-blocked kernel accumulates into the result. Accumulation is by fused multiply-add in order of K.
#include "compiler/lowering/host/HostEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace heddle::host;
using namespace heddle::triton;

static bool isZeroTile(Value value) {
  return matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero());
}

void HostEmitter::emitDot(DotOp op) {
  auto result = cast<RankedTensorType>(op.getType()), left = cast<RankedTensorType>(op.getA().getType());
  Type element = result.getElementType();
  Type type = element.isF64() ? element : isa<IntegerType>(element) ? Type(b.getI32Type()) : Type(b.getF32Type());
  int rank = result.getRank();
  int64_t batches = rank == 3 ? result.getShape()[0] : 1, n = result.getShape()[rank - 1],
          k = left.getShape()[rank - 1];

  TileBuffer a;
  if (auto known = buffers.find(op.getA()); known != buffers.end() && known->second->stored == type) {
    a = *known->second;
  } else {
    a = allocate(left, type);
    fill(op.getA(), a);
  }
  int64_t lanes = std::min<int64_t>(n, maxLanes());
  int64_t panel = std::min<int64_t>(n, (options.vectorBits == 512 ? 4 : 2) * lanes);
  Value packed = scratch(n * k * sizeOf(type));

  // The result may lie in the buffer of a loop-carried tile that an operand reads. B is packed before the result is
  // touched; A, which may be read in place, must not lie there.
  auto target = std::make_unique<TileBuffer>();
  TileBuffer *reused = reusableLoopBuffer(op.getD());
  if (batches > 1 || (reused && reused->pointer == a.pointer))
    reused = nullptr;
  *target = reused && reused->stored == type ? *reused : allocate(result, type);
  if (batches == 1)
    packB(op.getB(), packed, type, i64(0), panel);
  bool startAtZero = isZeroTile(op.getC());
  auto accumulator = buffers.find(op.getC());
  bool inPlace = accumulator != buffers.end() && accumulator->second->pointer == target->pointer;
  if (!startAtZero && !inPlace)
    fill(op.getC(), *target);
  forLoop(0, batches, 1, {}, [&](Value batch, ValueRange) -> Values {
    if (batches > 1)
      packB(op.getB(), packed, type, batch, panel);
    multiplyTile(a, packed, *target, batch, panel, startAtZero);
    return {};
  });
  buffers[op.getD()] = std::move(target);
}

// B as N/panel panels of K rows of `panel` columns.
void HostEmitter::packB(Value operand, Value packed, Type type, Value batch, int64_t panel) {
  auto tile = cast<RankedTensorType>(operand.getType());
  int rank = tile.getRank();
  int64_t k = tile.getShape()[rank - 2], n = tile.getShape()[rank - 1];
  TileBuffer panels{packed, type, tile.getElementType(), {n / panel, k, panel}};
  int primary = std::max(0, plan.preferredDim(operand) - (rank - 2));
  SmallVector<int64_t> shape{k, n};
  iterate(shape, chooseLanes(shape, primary, maxLanes()), [&](TileIndex index) {
    TileIndex source = index;
    if (rank == 3)
      source.insert(source.begin(), Index{batch, {}});
    TileIndex column = delinearize(index[1], {n / panel, panel});
    writeBuffer(panels, {column[0], index[0], column[1]}, evaluate(operand, source));
  });
}

void HostEmitter::multiplyTile(const TileBuffer &a, Value packed, const TileBuffer &d, Value batch, int64_t panel,
                               bool startAtZero) {
  int rank = d.shape.size();
  int64_t m = d.shape[rank - 2], n = d.shape[rank - 1], k = a.shape[rank - 1];
  Type type = d.stored;
  int64_t lanes = std::min<int64_t>(n, maxLanes()), vectors = panel / lanes;
  int64_t rows = std::min<int64_t>(m, vectors >= 4 ? 4 : options.vectorBits == 512 ? 8 : 4);
  PieceScope scope(*this, lanes);
  Type vector = lanes == 1 ? type : Type(VectorType::get({lanes}, type));
  bool integer = isa<IntegerType>(type);
  auto multiplyAdd = [&](Value x, Value y, Value sum) -> Value {
    if (integer)
      return arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, x, y), sum);
    return math::FmaOp::create(b, loc, x, y, sum);
  };
  forLoop(0, n, panel, {}, [&](Value column, ValueRange) -> Values {
    Value panelBase = gep(packed, type, mul(column, k));
    forLoop(0, m, rows, {}, [&](Value row, ValueRange) -> Values {
      Value aRow = gep(a.pointer, type, add(mul(batch, m * k), mul(row, k)));
      Value dRow = gep(d.pointer, type, add(add(mul(batch, m * n), mul(row, n)), column));
      auto element = [&](int64_t r, int64_t v) { return gep(dRow, type, i64(r * n + v * lanes)); };
      Values sums;
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t v = 0; v < vectors; ++v)
          sums.push_back(startAtZero ? zero(vector) : loadFrom(element(r, v), vector));
      sums = forLoop(0, k, 1, sums, [&](Value at, ValueRange carried) {
        Values next(carried), bs;
        Value bRow = gep(panelBase, type, mul(at, panel)), aHere = gep(aRow, type, at);
        for (int64_t v = 0; v < vectors; ++v)
          bs.push_back(loadFrom(gep(bRow, type, i64(v * lanes)), vector));
        for (int64_t r = 0; r < rows; ++r) {
          Value x = splat(loadFrom(gep(aHere, type, i64(r * k)), type));
          for (int64_t v = 0; v < vectors; ++v)
            next[r * vectors + v] = multiplyAdd(x, bs[v], next[r * vectors + v]);
        }
        return next;
      });
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t v = 0; v < vectors; ++v)
          storeTo(element(r, v), sums[r * vectors + v]);
      return {};
    });
    return {};
  });
}
