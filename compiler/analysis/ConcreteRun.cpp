// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The small interpreter of the soundness tests. It shares no code with the analysis.
#include "compiler/analysis/ConcreteRun.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::analysis;

namespace {
std::vector<int64_t> dimensionsOf(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile ? tile.getShape().vec() : std::vector<int64_t>();
}

int64_t elementsOf(Type type) {
  int64_t count = 1;
  for (int64_t size : dimensionsOf(type))
    count *= size;
  return count;
}

unsigned widthOf(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isInteger() ? element.getIntOrFloatBitWidth() : 64;
}

/// Row-major strides, so that coordinate d of element i is i / strides[d] % shape[d].
std::vector<int64_t> stridesOf(const std::vector<int64_t> &shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    strides[d - 1] = strides[d] * shape[d];
  return strides;
}

uint64_t asUnsigned(int64_t value, unsigned width) {
  return width == 64 ? uint64_t(value) : uint64_t(value) & ((uint64_t(1) << width) - 1);
}

// Narrow integers wrap around; that wider ones do is excluded by what the facts assume.
int64_t fit(__int128 value, unsigned width) {
  int64_t cut = llvm::SignExtend64(uint64_t(value), width);
  if (width >= 32 && cut != value)
    throw ConcreteRun::Abandoned();
  return cut;
}

bool compare(arith::CmpIPredicate predicate, int64_t left, int64_t right, unsigned width) {
  uint64_t leftBits = asUnsigned(left, width), rightBits = asUnsigned(right, width);
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return left == right;
  case arith::CmpIPredicate::ne:
    return left != right;
  case arith::CmpIPredicate::slt:
    return left < right;
  case arith::CmpIPredicate::sle:
    return left <= right;
  case arith::CmpIPredicate::sgt:
    return left > right;
  case arith::CmpIPredicate::sge:
    return left >= right;
  case arith::CmpIPredicate::ult:
    return leftBits < rightBits;
  case arith::CmpIPredicate::ule:
    return leftBits <= rightBits;
  case arith::CmpIPredicate::ugt:
    return leftBits > rightBits;
  case arith::CmpIPredicate::uge:
    return leftBits >= rightBits;
  }
  return false;
}

int64_t divide(Operation *op, int64_t left, int64_t right, unsigned width) {
  if (right == 0)
    throw ConcreteRun::Abandoned();
  if (isa<arith::DivSIOp>(op))
    return left / right;
  if (isa<arith::RemSIOp>(op))
    return left % right;
  uint64_t leftBits = asUnsigned(left, width), rightBits = asUnsigned(right, width);
  uint64_t result = isa<arith::DivUIOp>(op) ? leftBits / rightBits : leftBits % rightBits;
  return llvm::SignExtend64(result, width);
}

int64_t shift(Operation *op, int64_t left, int64_t right, unsigned width) {
  if (right < 0 || right >= width)
    throw ConcreteRun::Abandoned();
  if (isa<arith::ShLIOp>(op))
    return fit(__int128(left) * (__int128(1) << right), width);
  return isa<arith::ShRSIOp>(op) ? left >> right : llvm::SignExtend64(asUnsigned(left, width) >> right, width);
}

int64_t combine(Operation *op, int64_t left, int64_t right, unsigned width) {
  bool isLess = asUnsigned(left, width) < asUnsigned(right, width);
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case([&](arith::AddIOp) { return fit(__int128(left) + right, width); })
      .Case([&](arith::SubIOp) { return fit(__int128(left) - right, width); })
      .Case([&](arith::MulIOp) { return fit(__int128(left) * right, width); })
      .Case<arith::DivSIOp, arith::RemSIOp, arith::DivUIOp, arith::RemUIOp>(
          [&](auto) { return divide(op, left, right, width); })
      .Case<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>([&](auto) { return shift(op, left, right, width); })
      .Case([&](arith::AndIOp) { return left & right; })
      .Case([&](arith::OrIOp) { return left | right; })
      .Case([&](arith::XOrIOp) { return left ^ right; })
      .Case([&](arith::MinSIOp) { return std::min(left, right); })
      .Case([&](arith::MaxSIOp) { return std::max(left, right); })
      .Case([&](arith::MinUIOp) { return isLess ? left : right; })
      .Case([&](arith::MaxUIOp) { return isLess ? right : left; })
      .Default([](Operation *op) -> int64_t {
        ADD_FAILURE() << "not known to the test: " << op->getName().getStringRef().str();
        return 0;
      });
}
} // namespace

//===-- Claims ---------------------------------------------------------------------------------------------------===//

void ConcreteRun::check(Value value, const Tile &tile) {
  const AxisInfo &info = facts.of(value);
  std::vector<int64_t> shape = dimensionsOf(value.getType());
  if (shape.empty())
    shape = {1};
  std::vector<int64_t> strides = stridesOf(shape);
  bool holds = info.axes.size() == shape.size();
  std::ostringstream claims;
  for (size_t d = 0; holds && d < shape.size(); ++d) {
    const Axis &axis = info.axes[d];
    claims << " axis " << d << ": c " << axis.contiguity << " v " << axis.divisibility << " k " << axis.constancy;
    eloquent += axis.contiguity > 1 || (axis.constancy > 1 && axis.constancy < shape[d]);
    for (size_t i = 0; i < tile.size(); ++i) {
      int64_t place = int64_t(i) / strides[d] % shape[d];
      if (place % axis.contiguity == 0)
        holds &= (tile[i] & (axis.divisibility - 1)) == 0;
      else
        holds &= tile[i] == tile[i - strides[d]] + info.step;
      holds &= place % axis.constancy == 0 || tile[i] == tile[i - strides[d]];
      holds &= !info.constant || *info.constant == tile[i];
    }
  }
  ++checked;
  if (holds)
    return;
  ++failures;
  std::string text;
  llvm::raw_string_ostream(text) << value;
  std::ostringstream elements;
  for (size_t i = 0; i < std::min<size_t>(tile.size(), 32); ++i)
    elements << " " << tile[i];
  ADD_FAILURE() << text << "\nis claimed to have" << claims.str() << "\nbut is" << elements.str();
}

void ConcreteRun::bind(Value value, Tile tile) {
  check(value, tile);
  values[value] = std::move(tile);
}

std::vector<ConcreteRun::Tile> ConcreteRun::read(ValueRange operands) {
  std::vector<Tile> tiles;
  for (Value operand : operands)
    tiles.push_back(values.at(operand));
  return tiles;
}

void ConcreteRun::bindAll(ValueRange names, std::vector<Tile> tiles) {
  for (auto [name, tile] : llvm::zip_equal(names, tiles))
    bind(name, std::move(tile));
}

int64_t ConcreteRun::hash(int64_t value) const {
  uint64_t mixed = (uint64_t(value) + uint64_t(seed) * 77) * 0x9E3779B97F4A7C15u;
  return (mixed >> 40) % 200;
}

//===-- Control flow ---------------------------------------------------------------------------------------------===//

void ConcreteRun::run(triton::FuncOp function, const std::vector<int64_t> &arguments) {
  for (auto [name, argument] : llvm::zip_equal(function.getArguments(), arguments))
    bind(name, {argument});
  runRegion(function.getBody());
}

Operation *ConcreteRun::runRegion(Region &region) {
  Block *block = &region.front();
  for (int steps = 0; steps < 100; ++steps) {
    for (Operation &op : block->without_terminator())
      execute(&op);
    Operation *last = block->getTerminator();
    if (!isa<BranchOpInterface>(last))
      return last;
    auto choice = dyn_cast<cf::CondBranchOp>(last);
    unsigned taken = choice && !values.at(choice.getCondition())[0] ? 1 : 0;
    block = last->getSuccessor(taken);
    bindAll(block->getArguments(),
            read(cast<BranchOpInterface>(last).getSuccessorOperands(taken).getForwardedOperands()));
  }
  throw Abandoned();
}

void ConcreteRun::executeFor(scf::ForOp loop) {
  int64_t lower = values.at(loop.getLowerBound())[0], upper = values.at(loop.getUpperBound())[0],
          step = values.at(loop.getStep())[0];
  std::vector<Tile> carried = read(loop.getInitArgs());
  if (step <= 0 || (upper - lower) / step > 100)
    throw Abandoned();
  for (int64_t i = lower; i < upper; i += step) {
    bind(loop.getInductionVar(), {i});
    bindAll(loop.getRegionIterArgs(), carried);
    carried = read(runRegion(loop.getRegion())->getOperands());
  }
  bindAll(loop.getResults(), carried);
}

void ConcreteRun::executeWhile(scf::WhileOp loop) {
  std::vector<Tile> carried = read(loop.getInits());
  for (int rounds = 0; rounds < 100; ++rounds) {
    bindAll(loop.getBeforeArguments(), carried);
    runRegion(loop.getBefore());
    std::vector<Tile> passed = read(loop.getConditionOp().getArgs());
    if (!values.at(loop.getConditionOp().getCondition())[0])
      return bindAll(loop.getResults(), passed);
    bindAll(loop.getAfterArguments(), passed);
    carried = read(runRegion(loop.getAfter())->getOperands());
  }
  throw Abandoned();
}

void ConcreteRun::execute(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return executeFor(loop);
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return executeWhile(loop);
  if (auto choice = dyn_cast<scf::IfOp>(op)) {
    bool taken = values.at(choice.getCondition())[0];
    return bindAll(choice.getResults(),
                   read(runRegion(taken ? choice.getThenRegion() : choice.getElseRegion())->getOperands()));
  }
  if (auto assumption = dyn_cast<LLVM::AssumeOp>(op)) {
    if (!values.at(assumption.getCond())[0])
      throw Abandoned();
    return;
  }
  if (op->getNumResults() == 1)
    bind(op->getResult(0), compute(op));
}

//===-- Single operations ----------------------------------------------------------------------------------------===//

ConcreteRun::Tile ConcreteRun::computeShape(Operation *op, const Tile &source) {
  Type type = op->getResult(0).getType();
  std::vector<int64_t> from = dimensionsOf(op->getOperand(0).getType()), to = dimensionsOf(type);
  std::vector<int64_t> fromStrides = stridesOf(from), toStrides = stridesOf(to);
  Tile tile(elementsOf(type));
  for (size_t i = 0; i < tile.size(); ++i) {
    int64_t at = 0;
    auto place = [&](size_t d) { return int64_t(i) / toStrides[d] % to[d]; };
    if (isa<triton::BroadcastOp>(op))
      for (size_t d = 0; d < to.size(); ++d)
        at += from[d] == 1 ? 0 : place(d) * fromStrides[d];
    else if (auto trans = dyn_cast<triton::TransOp>(op))
      for (size_t d = 0; d < to.size(); ++d)
        at += place(d) * fromStrides[trans.getOrder()[d]];
    else
      at = isa<triton::SplatOp>(op) ? 0 : int64_t(i);
    tile[i] = source[at];
  }
  return tile;
}

ConcreteRun::Tile ConcreteRun::computeArithmetic(Operation *op) {
  Value left = op->getOperand(0), right = op->getOperand(1);
  const Tile &leftTile = values.at(left), &rightTile = values.at(right);
  unsigned width = widthOf(left.getType());
  auto compared = dyn_cast<arith::CmpIOp>(op);
  bool isUnsigned =
      isa<arith::MinUIOp, arith::MaxUIOp>(op) || (compared && compared.getPredicate() >= arith::CmpIPredicate::ult);
  Tile tile(leftTile.size());
  for (size_t i = 0; i < tile.size(); ++i) {
    bool divides = isa<arith::DivSIOp, arith::RemSIOp>(op);
    if ((divides || isUnsigned) && width >= 32 && !expectsSign(left, leftTile[i]))
      throw Abandoned();
    if (isUnsigned && width >= 32 && !expectsSign(right, rightTile[i]))
      throw Abandoned();
    tile[i] = compared ? -int64_t(compare(compared.getPredicate(), leftTile[i], rightTile[i], width))
                       : combine(op, leftTile[i], rightTile[i], width);
  }
  return tile;
}

ConcreteRun::Tile ConcreteRun::compute(Operation *op) {
  Type type = op->getResult(0).getType();
  std::vector<Tile> in = read(op->getOperands());
  auto build = [&](auto element) {
    Tile tile(elementsOf(type));
    for (size_t i = 0; i < tile.size(); ++i)
      tile[i] = element(i);
    return tile;
  };
  unsigned width = widthOf(type);
  return llvm::TypeSwitch<Operation *, Tile>(op)
      .Case([&](arith::ConstantOp op) {
        Attribute value = op.getValue();
        if (auto splat = dyn_cast<SplatElementsAttr>(value))
          value = splat.getSplatValue<Attribute>();
        return build([&](size_t) { return cast<IntegerAttr>(value).getValue().getSExtValue(); });
      })
      .Case([&](triton::MakeRangeOp op) { return build([&](size_t i) { return op.getStart() + i; }); })
      .Case([&](triton::GetProgramIdOp) { return Tile{hash(1)}; })
      .Case<triton::SplatOp, triton::ExpandDimsOp, triton::BroadcastOp, triton::ReshapeOp, triton::TransOp>(
          [&](auto) { return computeShape(op, in[0]); })
      .Case([&](triton::AddPtrOp op) {
        auto pointee = cast<triton::PointerType>(getElementTypeOrSelf(type)).getPointeeType();
        int64_t bytes = std::max(1u, triton::elementBits(pointee) / 8);
        return build([&](size_t i) { return in[0][i] + in[1][i] * bytes; });
      })
      .Case([&](triton::LoadOp op) {
        return build([&](size_t i) { return !op.getMask() || !op.getOther() || in[1][i] ? hash(in[0][i]) : in[2][i]; });
      })
      .Case([&](arith::SelectOp op) {
        return build([&](size_t i) { return in[0][in[0].size() == 1 ? 0 : i] ? in[1][i] : in[2][i]; });
      })
      .Case([&](arith::ExtUIOp op) {
        unsigned from = widthOf(op.getIn().getType());
        return build([&](size_t i) {
          if (from >= 32 && !expectsSign(op.getIn(), in[0][i]))
            throw Abandoned();
          return int64_t(asUnsigned(in[0][i], from));
        });
      })
      .Case([&](arith::TruncIOp) { return build([&](size_t i) { return fit(in[0][i], width); }); })
      .Case<arith::ExtSIOp, triton::BitcastOp, triton::PtrToIntOp, triton::IntToPtrOp>([&](auto) { return in[0]; })
      .Default([&](Operation *op) { return computeArithmetic(op); });
}
