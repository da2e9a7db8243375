// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// heddle-device-library: calls of the vendors' device libraries (CUDA's libdevice, ROCm's ocml), which text that Triton
// has made for a GPU contains, become math operations.
#include "compiler/dialects/triton/Triton.h"
#include "compiler/transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/StringMap.h"
#include <cmath>

namespace heddle {
#define GEN_PASS_DEF_DEVICELIBRARYPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle::triton;

namespace {

using Builder = ImplicitLocOpBuilder;

/// Scalars or tiles of one type.
class Numbers {
public:
  Numbers(Builder &builder, Type type) : b(builder), type(type) {}
  Value number(double value) const {
    Attribute element = b.getFloatAttr(getElementTypeOrSelf(type), value);
    if (auto tile = dyn_cast<RankedTensorType>(type))
      return arith::ConstantOp::create(b, DenseElementsAttr::get(tile, element));
    return arith::ConstantOp::create(b, cast<TypedAttr>(element));
  }
  Value times(Value x, double factor) const { return arith::MulFOp::create(b, x, number(factor)); }
  Value choose(Value condition, Value one, Value other) const {
    return arith::SelectOp::create(b, condition, one, other);
  }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) const {
    return arith::CmpFOp::create(b, predicate, x, y);
  }
  Value equal(Value x, Value y) const { return compare(arith::CmpFPredicate::OEQ, x, y); }

  /// e^x - 1 = 2 t / (1 - t) of t = tanh(x / 2), exact near 0; beyond 30 t is 1.
  Value expm1(Value x) const {
    Value t = math::TanhOp::create(b, times(x, 0.5));
    Value near = arith::DivFOp::create(b, times(t, 2), arith::SubFOp::create(b, number(1), t));
    Value far = arith::SubFOp::create(b, math::ExpOp::create(b, x), number(1));
    Value size = math::AbsFOp::create(b, x);
    return choose(compare(arith::CmpFPredicate::OLT, size, number(1)), near, far);
  }
  /// The rounding of 1 + x cancels in the quotient.
  Value log1p(Value x) const {
    Value total = arith::AddFOp::create(b, number(1), x);
    Value logarithm = math::LogOp::create(b, total);
    Value ratio = arith::DivFOp::create(b, x, arith::SubFOp::create(b, total, number(1)));
    Value near = arith::MulFOp::create(b, logarithm, ratio);
    Value isUsual = compare(arith::CmpFPredicate::OLT, total, number(INFINITY));
    return choose(equal(total, number(1)), x, choose(isUsual, near, logarithm));
  }
  Value sinh(Value x) const {
    Value less = expm1(math::AbsFOp::create(b, x));
    Value more = arith::AddFOp::create(b, less, number(1));
    Value isLarge = equal(less, number(INFINITY));
    Value part = choose(isLarge, number(1), arith::DivFOp::create(b, less, more));
    return math::CopySignOp::create(b, times(arith::AddFOp::create(b, less, part), 0.5), x);
  }
  Value cosh(Value x) const {
    Value power = math::ExpOp::create(b, math::AbsFOp::create(b, x));
    return times(arith::AddFOp::create(b, power, arith::DivFOp::create(b, number(1), power)), 0.5);
  }
  Value pow(Value x, Value y) const {
    Value one = number(1), size = math::AbsFOp::create(b, x);
    Value result = math::Exp2Op::create(b, arith::MulFOp::create(b, y, math::Log2Op::create(b, size)));
    Value half = times(y, 0.5);
    Value isWhole = equal(math::FloorOp::create(b, y), y), isEven = equal(math::FloorOp::create(b, half), half);
    Value isFinite = compare(arith::CmpFPredicate::OLT, size, number(INFINITY));
    Value isNegative = arith::AndIOp::create(b, isFinite, compare(arith::CmpFPredicate::OLT, x, number(0)));
    Value signedResult = choose(isEven, result, math::CopySignOp::create(b, result, x));
    Value ofWhole = choose(isWhole, signedResult, choose(isNegative, number(NAN), result));
    Value infinite = equal(math::AbsFOp::create(b, y), number(INFINITY));
    Value limit = choose(equal(size, one), one, result);
    Value value = choose(infinite, limit, ofWhole);
    Value isOne = arith::OrIOp::create(b, equal(x, one), equal(y, number(0)));
    return choose(isOne, one, value);
  }

private:
  Builder &b;
  Type type;
};

using Arguments = ArrayRef<Value>;
using Make = Value (*)(Builder &b, const Numbers &numbers, Arguments x);

template <typename Op>
Value simple(Builder &b, const Numbers &, Arguments x) {
  return Op::create(b, x[0].getType(), ValueRange(x));
}

struct Function {
  unsigned arguments;
  Make make;
  bool inDouble = false; ///< in f64 also of f32: the formula loses digits
};

/// By the name without `__nv_` and `f`, or without `__ocml_` and `_f32`.
const llvm::StringMap<Function> &functions() {
  static const llvm::StringMap<Function> table = {
      {"exp", {1, simple<math::ExpOp>}},
      {"exp2", {1, simple<math::Exp2Op>}},
      {"log", {1, simple<math::LogOp>}},
      {"log2", {1, simple<math::Log2Op>}},
      {"sin", {1, simple<math::SinOp>}},
      {"cos", {1, simple<math::CosOp>}},
      {"tanh", {1, simple<math::TanhOp>}},
      {"erf", {1, simple<math::ErfOp>}},
      {"sqrt", {1, simple<math::SqrtOp>}},
      {"rsqrt", {1, simple<math::RsqrtOp>}},
      {"floor", {1, simple<math::FloorOp>}},
      {"ceil", {1, simple<math::CeilOp>}},
      {"trunc", {1, simple<math::TruncOp>}},
      {"round", {1, simple<math::RoundOp>}},
      {"rint", {1, simple<math::RoundEvenOp>}},
      {"nearbyint", {1, simple<math::RoundEvenOp>}},
      {"fabs", {1, simple<math::AbsFOp>}},
      {"copysign", {2, simple<math::CopySignOp>}},
      {"fmin", {2, simple<arith::MinNumFOp>}},
      {"fmax", {2, simple<arith::MaxNumFOp>}},
      {"fma", {3, simple<math::FmaOp>}},
      {"tan",
       {1,
        [](Builder &b, const Numbers &, Arguments x) -> Value {
          return arith::DivFOp::create(b, math::SinOp::create(b, x[0]), math::CosOp::create(b, x[0]));
        },
        true}},
      {"log10",
       {1,
        [](Builder &b, const Numbers &n, Arguments x) {
          return n.times(math::LogOp::create(b, x[0]), 0.43429448190325183);
        },
        true}},
      {"exp10",
       {1,
        [](Builder &b, const Numbers &n, Arguments x) -> Value {
          return math::Exp2Op::create(b, n.times(x[0], 3.3219280948873623));
        },
        true}},
      {"expm1", {1, [](Builder &, const Numbers &n, Arguments x) { return n.expm1(x[0]); }, true}},
      {"log1p", {1, [](Builder &, const Numbers &n, Arguments x) { return n.log1p(x[0]); }, true}},
      {"sinh", {1, [](Builder &, const Numbers &n, Arguments x) { return n.sinh(x[0]); }, true}},
      {"cosh", {1, [](Builder &, const Numbers &n, Arguments x) { return n.cosh(x[0]); }, true}},
      {"pow", {2, [](Builder &, const Numbers &n, Arguments x) { return n.pow(x[0], x[1]); }, true}},
  };
  return table;
}

/// The function that a symbol names for arguments of this type; null where there is none.
const Function *find(StringRef symbol, Type type) {
  StringRef name = symbol;
  bool isSingle = getElementTypeOrSelf(type).isF32(), isDouble = getElementTypeOrSelf(type).isF64();
  if (name.consume_front("__nv_")) {
    name.consume_front("fast_");
    if (!isDouble && !(isSingle && name.consume_back("f")))
      return nullptr;
  } else if (name.consume_front("__ocml_")) {
    name.consume_front("native_");
    if (!name.consume_back(isSingle ? "_f32" : isDouble ? "_f64" : "_f16"))
      return nullptr;
  } else {
    return nullptr;
  }
  auto found = functions().find(name);
  return found == functions().end() ? nullptr : &found->second;
}

void replace(ExternElementwiseOp op) {
  Type type = op.getType();
  auto isSame = [&](Value source) { return source.getType() == type; };
  if (op.getSrcs().empty() || !llvm::all_of(op.getSrcs(), isSame) || !isa<FloatType>(getElementTypeOrSelf(type)))
    return;
  const Function *function = find(op.getSymbol(), type);
  if (!function || function->arguments != op.getSrcs().size())
    return;
  Builder b(op.getLoc(), op);
  Type computed = type;
  if (function->inDouble && !getElementTypeOrSelf(type).isF64()) {
    auto tile = dyn_cast<RankedTensorType>(type);
    computed = tile ? Type(tile.clone(b.getF64Type())) : b.getF64Type();
  }
  SmallVector<Value> arguments(op.getSrcs());
  if (computed != type)
    for (Value &argument : arguments)
      argument = arith::ExtFOp::create(b, computed, argument);
  Value result = function->make(b, Numbers(b, computed), arguments);
  if (computed != type)
    result = arith::TruncFOp::create(b, type, result);
  op.replaceAllUsesWith(result);
  op.erase();
}

struct DeviceLibraryPass : heddle::impl::DeviceLibraryPassBase<DeviceLibraryPass> {
  void runOnOperation() override {
    SmallVector<ExternElementwiseOp> work;
    getOperation()->walk([&](ExternElementwiseOp op) { work.push_back(op); });
    for (ExternElementwiseOp op : work)
      replace(op);
  }
};

} // namespace
