// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matrix products: by the target's matrix instructions, whose operands lie in registers, or by multiply-adds from
// shared memory for what no instruction multiplies.
#include "compiler/lowering/simt/ThreadEmitter.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;
using layout::tileDim;

void ThreadEmitter::emitDot(DotOp op) {
  if (divergent)
    return (void)refuse(op, "it stands in a branch that not all threads take");
  if (std::optional<MatrixInstruction> instruction = target.matrixInstruction(op))
    emitMatrixDot(op, *instruction);
  else
    emitPlainDot(op);
}

namespace {
/// Registers of a tile by the part of their coordinates that registers add.
class RegisterMap {
public:
  RegisterMap(const layout::LinearLayout &layout, int rank) {
    using layout::Dim;
    for (int64_t reg = 0; reg < layout.inputSize(Dim::Register); ++reg) {
      llvm::SmallVector<int64_t, 3> at(size_t(rank), 0);
      for (int bit = 0; reg >> bit; ++bit)
        if (reg >> bit & 1)
          for (int axis = 0; axis < rank; ++axis)
            at[size_t(axis)] ^= layout.basis(Dim::Register, bit, layout::tileDim(axis));
      places.insert({at, reg});
    }
  }
  bool has(llvm::ArrayRef<int64_t> at) const { return places.count(llvm::SmallVector<int64_t, 3>(at)); }
  size_t operator()(llvm::ArrayRef<int64_t> at) const { return size_t(places.at(llvm::SmallVector<int64_t, 3>(at))); }
  /// The values that the coordinate `axis` takes, ascending.
  llvm::SmallVector<int64_t> along(int axis) const {
    std::set<int64_t> seen;
    for (auto &[at, reg] : places)
      seen.insert(at[size_t(axis)]);
    return {seen.begin(), seen.end()};
  }

private:
  std::map<llvm::SmallVector<int64_t, 3>, int64_t> places;
};
} // namespace

// Neighbours along K as one register of 32 bits.
static Value pack(ImplicitLocOpBuilder &b, ArrayRef<Value> values) {
  Type word = b.getI32Type(), element = values.front().getType();
  if (values.size() == 1)
    return element == word ? values.front() : Value(LLVM::BitcastOp::create(b, word, values.front()));
  Value vector = LLVM::PoisonOp::create(b, VectorType::get(int64_t(values.size()), element));
  for (auto [i, value] : llvm::enumerate(values))
    vector = LLVM::InsertElementOp::create(b, vector, value, arith::ConstantIntOp::create(b, int64_t(i), 32));
  return LLVM::BitcastOp::create(b, word, vector);
}

// An instruction takes the rows m and m + 8 of A, the column n of B, and of K two runs of kWidth that lie 4 kWidth
// apart for each lane; which lane has what is the layouts' matter.
void ThreadEmitter::emitMatrixDot(DotOp op, const MatrixInstruction &instruction) {
  auto aType = cast<RankedTensorType>(op.getA().getType()), bType = cast<RankedTensorType>(op.getB().getType());
  auto dType = cast<RankedTensorType>(op.getType());
  int rank = int(dType.getRank());
  int m = rank - 2, n = rank - 1;
  RegisterMap aMap(layoutOf(aType), rank), bMap(layoutOf(bType), rank), dMap(layoutOf(dType), rank);
  Values accumulators = of(op.getC());
  int64_t kWidth = instruction.kWidth, half = 4 * kWidth, depth = aType.getDimSize(rank - 1);
  auto at = [&](int64_t batch, int64_t row, int64_t column) {
    SmallVector<int64_t, 3> place;
    if (rank == 3)
      place.push_back(batch);
    place.append({row, column});
    return place;
  };
  std::map<std::tuple<int64_t, int64_t, int64_t>, Values> aParts, bParts;
  // What lies in shared memory is read where it is needed, so that few registers hold it.
  auto valueOf = [&](Value operand, size_t reg) {
    auto load = operand.getDefiningOp<LoadSharedOp>();
    return load && sharedReads.count(load) ? readShared(load, int64_t(reg)) : of(operand)[reg];
  };
  auto word = [&](const RegisterMap &map, Value operand, int64_t batch, int64_t row, int64_t column, bool alongRow) {
    SmallVector<Value> parts;
    for (int64_t i = 0; i < kWidth; ++i)
      parts.push_back(valueOf(operand, map(alongRow ? at(batch, row + i, column) : at(batch, row, column + i))));
    return pack(b, parts);
  };
  auto fragmentA = [&](int64_t batch, int64_t row, int64_t k) -> const Values & {
    Values &parts = aParts[{batch, row, k}];
    if (parts.empty())
      for (int64_t step : {int64_t(0), half})
        for (int64_t rows : {0, 8})
          parts.push_back(word(aMap, op.getA(), batch, row + rows, k + step, /*alongRow=*/false));
    return parts;
  };
  auto fragmentB = [&](int64_t batch, int64_t k, int64_t column) -> const Values & {
    Values &parts = bParts[{batch, k, column}];
    if (parts.empty())
      for (int64_t step : {int64_t(0), half})
        parts.push_back(word(bMap, op.getB(), batch, k + step, column, /*alongRow=*/true));
    return parts;
  };
  SmallVector<int64_t> batches = rank == 3 ? dMap.along(0) : SmallVector<int64_t>{0};
  for (int64_t k = 0; k < depth; k += instruction.k)
    for (int64_t batch : batches)
      for (int64_t row : dMap.along(m)) {
        if (row & 8)
          continue;
        for (int64_t column : dMap.along(n)) {
          if (column & 1)
            continue;
          size_t registers[] = {dMap(at(batch, row, column)), dMap(at(batch, row, column + 1)),
                                dMap(at(batch, row + 8, column)), dMap(at(batch, row + 8, column + 1))};
          Values c;
          for (size_t reg : registers)
            c.push_back(accumulators[reg]);
          SmallVector<Value> d = target.multiply(b, op, fragmentA(batch, row, k), fragmentB(batch, k, column), c);
          for (auto [reg, value] : llvm::zip(registers, d))
            accumulators[reg] = value;
        }
      }
  emitted[op.getD()] = accumulators;
}

void ThreadEmitter::emitPlainDot(DotOp op) {
  auto aType = cast<RankedTensorType>(op.getA().getType()), bType = cast<RankedTensorType>(op.getB().getType());
  auto dType = cast<RankedTensorType>(op.getType());
  int rank = int(dType.getRank());
  int64_t depth = aType.getDimSize(rank - 1), rows = aType.getDimSize(rank - 2), columns = bType.getDimSize(rank - 1);
  Type aElement = aType.getElementType(), bElement = bType.getElementType(), dElement = dType.getElementType();
  Type aStored = memoryType(aElement), bStored = memoryType(bElement);
  int64_t aBytes = aStored.getIntOrFloatBitWidth() / 8, bBytes = bStored.getIntOrFloatBitWidth() / 8;
  int64_t bStart = int64_t(llvm::alignTo(uint64_t(aType.getNumElements() * aBytes), 16));
  Value base = scratch(bStart + bType.getNumElements() * bBytes);
  auto write = [&](Value source, RankedTensorType tile, Type element, int64_t bytes, int64_t start) {
    LinearLayout layout = layoutOf(tile);
    when(isOwner(layout), {},
         [&]() -> Values {
           for (int64_t reg = 0; reg < layout.inputSize(Dim::Register); ++reg)
             if (firstCopy(layout, reg) == reg) {
               Value offset = arith::MulIOp::create(b, flatIndex(tile, reg), i32(bytes));
               storeShared(sharedPointer(base, arith::AddIOp::create(b, offset, i32(start))),
                           toMemory(of(source)[size_t(reg)], element));
             }
           return {};
         },
         {});
  };
  write(op.getA(), aType, aElement, aBytes, 0);
  write(op.getB(), bType, bElement, bBytes, bStart);
  meet();
  LinearLayout layout = layoutOf(dType);
  bool isInteger = isa<IntegerType>(dElement);
  Type computed = isInteger ? dElement : dElement.isF64() ? dElement : Type(b.getF32Type());
  Values inits;
  for (Value value : of(op.getC()))
    inits.push_back(isInteger ? value : convertFloat(value, dElement, computed, false));
  auto operand = [&](Value pointer, Type stored, Type element) -> Value {
    Value value = fromMemory(loadShared(pointer, stored, 1).front(), element);
    if (isInteger)
      return value.getType() == computed ? value : Value(arith::ExtSIOp::create(b, computed, value));
    return convertFloat(value, element, computed, false);
  };
  auto loop = scf::ForOp::create(b, i32(0), i32(depth), i32(1), inits);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(loop.getBody());
    Value k = loop.getInductionVar();
    std::map<std::pair<int64_t, int64_t>, Value> aKnown, bKnown;
    Values next;
    for (int64_t reg = 0; reg < layout.inputSize(Dim::Register); ++reg) {
      int64_t batch = rank == 3 ? registerPart(layout, reg, Dim::Dim0) : 0;
      auto placeOf = [&](int axis) { return registerPart(layout, reg, tileDim(axis)); };
      Value batchIndex = rank == 3 ? coordinate(layout, reg, Dim::Dim0) : i32(0);
      Value &a = aKnown[{batch, placeOf(rank - 2)}];
      if (!a) {
        Value row = coordinate(layout, reg, tileDim(rank - 2));
        row = arith::AddIOp::create(b, arith::MulIOp::create(b, batchIndex, i32(rows)), row);
        Value index = arith::AddIOp::create(b, arith::MulIOp::create(b, row, i32(depth)), k);
        a = operand(sharedPointer(base, arith::MulIOp::create(b, index, i32(aBytes))), aStored, aElement);
      }
      Value &c = bKnown[{batch, placeOf(rank - 1)}];
      if (!c) {
        Value row = arith::AddIOp::create(b, arith::MulIOp::create(b, batchIndex, i32(depth)), k);
        Value index = arith::AddIOp::create(b, arith::MulIOp::create(b, row, i32(columns)),
                                            coordinate(layout, reg, tileDim(rank - 1)));
        index = arith::AddIOp::create(b, arith::MulIOp::create(b, index, i32(bBytes)), i32(bStart));
        c = operand(sharedPointer(base, index), bStored, bElement);
      }
      Value sum = loop.getRegionIterArgs()[size_t(reg)];
      next.push_back(isInteger ? Value(arith::AddIOp::create(b, sum, Value(arith::MulIOp::create(b, a, c))))
                               : Value(math::FmaOp::create(b, a, c, sum)));
    }
    scf::YieldOp::create(b, next);
  }
  Values results;
  for (Value value : loop.getResults())
    results.push_back(isInteger ? value : convertFloat(value, computed, dElement, false));
  emitted[op.getD()] = results;
}
