// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matmuls: by the target's matrix instructions, whose operands lie in registers, or by multiply-adds from shared memory
// for what no instruction multiplies.
#include "compiler/lowering/simt/RegisterMap.h"
#include "compiler/lowering/simt/SharedCode.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;
using layout::tileDim;

namespace {
class Matmuls : public SharedCode {
public:
  using SharedCode::SharedCode;
  void lower(MatrixDotOp op);
  void lower(DotScratchOp op);

private:
  /// d = a * b + c; returns d.
  Values multiplyByInstruction(ValueRange abc, Type d, const MatrixInstruction &instruction);
};
} // namespace

void Matmuls::lower(MatrixDotOp op) {
  if (refuseIfDivergent())
    return;
  if (op.getWarpGroups())
    return refuse("its operands are not in shared memory: run share-operands first");
  if (!op.getInstruction()) {
    refuseWithout("lower-exchanges");
    return;
  }
  std::string why;
  std::optional<MatrixInstruction> instruction = target.findInstruction(op, why);
  if (!instruction)
    return refuse(why);
  made[op.getD()] = multiplyByInstruction({op.getA(), op.getB(), op.getC()}, op.getType(), *instruction);
}

namespace {
/// The elements that this thread gives to the instructions of one product, in registers, each made once.
class Fragments {
public:
  using Words = llvm::SmallVector<Value>;
  using Element = llvm::function_ref<Value(ArrayRef<int64_t> place)>;
  Fragments(ImplicitLocOpBuilder &b, Type element)
      : b(b), perWord(std::max(1u, 32 / element.getIntOrFloatBitWidth())) {}

  /// `along`: the places on K of one instruction; `outer` the row of A or the column of B.
  /// A tile of fewer than the instruction's rows or columns, `size`, repeats them.
  const Words &get(int64_t batch, int64_t outer, ArrayRef<int64_t> along, ArrayRef<int64_t> outers, int64_t size,
                   Element element) {
    Words &words = known[{batch, outer, along.front()}];
    if (!words.empty())
      return words;
    for (size_t first = 0; first < along.size(); first += perWord)
      for (int64_t step : outers) {
        llvm::SmallVector<Value> parts;
        for (int64_t k : along.slice(first, perWord))
          parts.push_back(element({batch, (outer + step) % size, k}));
        words.push_back(packRegister(b, parts));
      }
    return words;
  }

private:
  ImplicitLocOpBuilder &b;
  size_t perWord; ///< elements of a register
  std::map<std::tuple<int64_t, int64_t, int64_t>, Words> known;
};
} // namespace

/// Where the wide operand of 4 x 64 or 64 x 4 has what the lanes of the narrow one have along K; else `along` itself.
static SmallVector<int64_t> alongWide(ArrayRef<int64_t> along, const layout::LinearLayout &narrow, int k,
                                      int64_t pieces) {
  SmallVector<int64_t> wide;
  int firstBit = narrow.inputBits(layout::Dim::Lane) - int(llvm::Log2_64(uint64_t(pieces)));
  for (int64_t piece = 0; piece < pieces; ++piece) {
    int64_t start = 0;
    for (int bit = 0; piece >> bit; ++bit)
      if (piece >> bit & 1)
        start ^= narrow.basis(layout::Dim::Lane, firstBit + bit, tileDim(k));
    for (int64_t each : along)
      wide.push_back(start ^ each);
  }
  return wide;
}

// The places on K that a thread has go to the instructions in their order: what each multiplies is the same for A and
// B, and that is all a sum over K needs.
ThreadCode::Values Matmuls::multiplyByInstruction(ValueRange abc, Type d, const MatrixInstruction &instruction) {
  auto aType = cast<RankedTensorType>(abc[0].getType()), bType = cast<RankedTensorType>(abc[1].getType());
  auto dType = cast<RankedTensorType>(d);
  int rank = int(dType.getRank());
  int m = rank - 2, n = rank - 1;
  RegisterMap aMap(layoutOf(aType), rank), bMap(layoutOf(bType), rank), dMap(layoutOf(dType), rank);
  Type dElement = dType.getElementType();
  auto at = [&](int64_t batch, int64_t row, int64_t column) {
    SmallVector<int64_t, 3> place;
    if (rank == 3)
      place.push_back(batch);
    place.append({row, column});
    return place;
  };
  // What lies in shared memory is read where it is needed, so that few registers hold it.
  auto valueOf = [&](Value operand, size_t reg, Type wanted) -> Value {
    Value value = registerOf(operand, int64_t(reg));
    Type element = elementTypeOf(operand.getType());
    return element == wanted ? value : convertFloat(value, element, wanted, false);
  };
  auto elementA = [&](ArrayRef<int64_t> place) {
    return valueOf(abc[0], aMap(at(place[0], place[1], place[2])), instruction.a);
  };
  auto elementB = [&](ArrayRef<int64_t> place) {
    return valueOf(abc[1], bMap(at(place[0], place[2], place[1])), instruction.b);
  };
  Values accumulators = of(abc[2]);
  for (Value &value : accumulators)
    if (dElement != instruction.d)
      value = convertFloat(value, dElement, instruction.d, false);
  Fragments a(b, threadType(instruction.a)), bb(b, threadType(instruction.b));
  SmallVector<int64_t> batches = rank == 3 ? dMap.along(0) : SmallVector<int64_t>{0};
  int64_t rows = dType.getDimSize(m), columns = dType.getDimSize(n);
  bool isTall = instruction.m > instruction.n && instruction.pieces > 1;
  SmallVector<int64_t> places = isTall ? bMap.along(m) : aMap.along(n); // of the operand that has fewer
  const layout::LinearLayout &narrow = layoutOf(isTall ? bType : aType);
  for (size_t first = 0; first < places.size(); first += size_t(instruction.kPerLane))
    for (int64_t batch : batches)
      for (int64_t row : dMap.along(m)) {
        if (row % instruction.m)
          continue;
        for (int64_t column : dMap.along(n)) {
          if (column % instruction.n)
            continue;
          SmallVector<size_t> registers;
          Values c;
          for (auto [down, across] : instruction.results) {
            registers.push_back(dMap(at(batch, (row + down) % rows, (column + across) % columns)));
            c.push_back(accumulators[registers.back()]);
          }
          ArrayRef<int64_t> along = ArrayRef<int64_t>(places).slice(first, size_t(instruction.kPerLane));
          SmallVector<int64_t> wide = alongWide(along, narrow, isTall ? m : n, instruction.pieces);
          const auto &left = a.get(batch, row, isTall ? wide : along, instruction.aRows, rows, elementA);
          const auto &right = bb.get(batch, column, isTall ? along : wide, {0}, columns, elementB);
          SmallVector<Value> products = target.multiply(b, instruction, left, right, c);
          for (auto [reg, value] : llvm::zip(registers, products))
            accumulators[reg] = value;
        }
      }
  for (Value &value : accumulators)
    if (dElement != instruction.d)
      value = convertFloat(value, instruction.d, dElement, false);
  return accumulators;
}

//===-- From scratch memory, element by element ------------------------------------------------------------------===//

void Matmuls::lower(DotScratchOp op) {
  SharedType a = op.getA().getType(), right = op.getB().getType();
  const LinearLayout &layout = layoutOf(op.getType());
  auto rank = int(a.getShape().size());
  int64_t rows = a.getShape()[size_t(rank - 2)], columns = right.getShape()[size_t(rank - 1)],
          depth = a.getShape()[size_t(rank - 1)] / a.getParts();
  Type computed = elementTypeOf(op.getType());
  bool isInteger = isa<IntegerType>(computed);
  Value startOfA = memoryAt(op.getA(), Value()).base, startOfB = memoryAt(op.getB(), Value()).base;
  auto operand = [&](Value index, Value start, Type element) -> Value {
    Type stored = memoryType(element);
    Value offset = arith::MulIOp::create(b, index, i32(stored.getIntOrFloatBitWidth() / 8));
    Value value = fromMemory(loadShared(sharedPointer(start, offset), stored, 1).front(), element);
    if (isInteger)
      return value.getType() == computed ? value : Value(arith::ExtSIOp::create(b, computed, value));
    return convertFloat(value, element, computed, false);
  };
  auto loop = scf::ForOp::create(b, i32(0), i32(depth), i32(1), of(op.getC()));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(loop.getBody());
  Value k = loop.getInductionVar();
  std::map<std::pair<int64_t, int64_t>, Value> aKnown, bKnown;
  Values next;
  for (int64_t reg = 0; reg < layout.inputSize(Dim::Register); ++reg) {
    int64_t batch = rank == 3 ? registerPart(layout, reg, Dim::Dim0) : 0;
    auto placeOf = [&](int axis) { return registerPart(layout, reg, tileDim(axis)); };
    Value batchIndex = rank == 3 ? coordinate(layout, reg, Dim::Dim0) : i32(0);
    Value &left = aKnown[{batch, placeOf(rank - 2)}];
    if (!left) {
      Value row = coordinate(layout, reg, tileDim(rank - 2));
      row = arith::AddIOp::create(b, arith::MulIOp::create(b, batchIndex, i32(rows)), row);
      Value index = arith::AddIOp::create(b, arith::MulIOp::create(b, row, i32(depth)), k);
      left = operand(index, startOfA, a.getElementType());
    }
    Value &column = bKnown[{batch, placeOf(rank - 1)}];
    if (!column) {
      Value row = arith::AddIOp::create(b, arith::MulIOp::create(b, batchIndex, i32(depth)), k);
      Value index = arith::AddIOp::create(b, arith::MulIOp::create(b, row, i32(columns)),
                                          coordinate(layout, reg, tileDim(rank - 1)));
      column = operand(index, startOfB, right.getElementType());
    }
    Value sum = loop.getRegionIterArgs()[size_t(reg)];
    next.push_back(isInteger ? Value(arith::AddIOp::create(b, sum, Value(arith::MulIOp::create(b, left, column))))
                             : Value(math::FmaOp::create(b, left, column, sum)));
  }
  scf::YieldOp::create(b, next);
  made[op.getD()] = loop.getResults();
}

void simt::addMatmuls(RewritePatternSet &patterns, ThreadState &state) {
  addFamily<Matmuls, MatrixDotOp, DotScratchOp>(patterns, state);
}
