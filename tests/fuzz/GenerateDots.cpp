// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matrix products of every type family, alone and accumulated in a loop, and block-scaled ones.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tests/fuzz/Generator.h"
#include <cmath>

using namespace mlir;
using namespace heddle;
using namespace heddle::fuzz;

Generator::DotTypes Generator::randomDotTypes() {
  Type f16 = builder.getF16Type(), bf16 = builder.getBF16Type(), f32 = builder.getF32Type(), f64 = builder.getF64Type();
  switch (random.below(9)) {
  case 0:
  case 1:
    return {f16, f16, f32};
  case 2:
    return {f16, f16, f16};
  case 3:
    return {bf16, bf16, f32};
  case 4:
    return {f64, f64, f64};
  case 5:
    return {builder.getI8Type(), builder.getI8Type(), builder.getI32Type()};
  case 6: {
    Type a = randomFp8Type();
    Type b = randomFp8Type();
    return {a, b, f32};
  }
  default:
    return {f32, f32, f32};
  }
}

// Facts of c plus a sum of `terms` products. Small integers are exact in any order and precision; otherwise each
// product and each addition may be off by a unit of the accumulator, and f32 operands may be rounded to tf32.
std::optional<Facts> Generator::dotFacts(const Entry &a, const Entry &b, const Entry &c, double terms, bool tf32) {
  Type type = elementOf(c);
  if (type.isInteger())
    return integers(type, c.facts.low - terms * a.facts.magnitude() * b.facts.magnitude(),
                    c.facts.high + terms * a.facts.magnitude() * b.facts.magnitude());
  for (const Entry *entry : {&a, &b, &c})
    if (entry->facts.special)
      return std::nullopt;
  const Facts &x = a.facts, &y = b.facts, &z = c.facts;
  double sum = terms * x.magnitude() * y.magnitude(), bound = sum + z.magnitude();
  bool exact = x.exact() && y.exact() && z.exact() && x.integral && y.integral && z.integral &&
               std::max(x.magnitude(), y.magnitude()) <= 1024 && bound <= std::ldexp(1.0, precisionOf(type));
  Facts facts{-bound, bound, 0, exact, false, true};
  if (!exact) {
    double unit = std::ldexp(1.0, 1 - precisionOf(type));
    facts.error = terms * (x.magnitude() * y.error + y.magnitude() * x.error + x.error * y.error) + z.error +
                  2 * (terms + 1) * bound * unit;
    if (tf32)
      facts.error += 2 * sum * std::ldexp(1.0, -10);
  }
  if (bound + facts.error > largestOf(type) / 4)
    return std::nullopt;
  return facts;
}

std::optional<Entry> Generator::dot(const Entry &a, const Entry &b, const Entry &c, double trips) {
  bool tf32 = random.chance(50); // printed by default for every type, and matters for f32 only
  double terms = double(shapeOf(a).back()) * trips;
  auto facts = dotFacts(a, b, c, terms, tf32 && elementOf(a).isF32());
  if (!facts)
    return std::nullopt;
  Value result = triton::DotOp::create(builder, location, c.type(), a.value, b.value, c.value,
                                       tf32 ? triton::InputPrecision::TF32 : triton::InputPrecision::IEEE);
  return Entry{result, *facts};
}

static constexpr int64_t inputsPerDot = 4096; // four steps of 32x32

static std::vector<int64_t> dotExtents(Random &random) {
  static const std::vector<int64_t> sizes = {2, 4, 8, 16, 16, 32};
  std::vector<int64_t> extents;
  for (int i = 0; i < 3; ++i)
    extents.push_back(random.pick(sizes));
  return extents;
}

void Generator::addDot() {
  std::vector<int64_t> extents = dotExtents(random);
  Shape batch;
  if (random.chance(20))
    batch.push_back(2);
  auto shape = [&](int64_t rows, int64_t columns) {
    Shape result = batch;
    result.push_back(rows);
    result.push_back(columns);
    return result;
  };
  DotTypes types = randomDotTypes();
  Entry a = random.chance(50) ? smallIntegers(shape(extents[0], extents[2]), types.a)
                              : operand(shape(extents[0], extents[2]), types.a);
  Entry b = random.chance(50) ? smallIntegers(shape(extents[2], extents[1]), types.b)
                              : operand(shape(extents[2], extents[1]), types.b);
  Entry c = operand(shape(extents[0], extents[1]), types.accumulator);
  if (auto result = dot(a, b, c, 1))
    keep(result->value, result->facts);
}

// The loop of a matmul: pointers advance by K, the accumulator is carried.
void Generator::addDotLoop() {
  std::vector<int64_t> extents = dotExtents(random);
  int64_t m = extents[0], n = extents[1], k = extents[2];
  DotTypes types = randomDotTypes();
  int64_t trips = random.between(1, 4);
  bool small = random.chance(60);
  Fill fill = small ? Fill::Small : Fill::Fractions;
  Buffer left = addInput(types.a, inputsPerDot, fill);
  Buffer right = addInput(types.b, inputsPerDot, fill);
  Value leftIndex = linearIndex({m, k});
  Value rightIndex = linearIndex({k, n});
  Value leftStart = pointersAt(left, leftIndex);
  Value rightStart = pointersAt(right, rightIndex);
  Type i32 = builder.getI32Type(), accumulator = tileType({m, n}, types.accumulator);
  Value zero = types.accumulator.isInteger() ? constantInteger(accumulator, 0) : constantFloat(accumulator, 0);
  Value low = constantInteger(i32, 0);
  Value high = constantInteger(i32, trips);
  Value step = constantInteger(i32, 1);
  Entry a{leftStart, left.facts}, b{rightStart, right.facts}, c{zero, Facts{}};
  std::optional<Entry> last;
  auto loop = scf::ForOp::create(builder, location, low, high, step, ValueRange{leftStart, rightStart, zero});
  inBlock(loop.getBody(), [&] {
    auto load = [&](Value pointers, Type type) -> Value {
      return triton::LoadOp::create(builder, location, type, pointers, Value(), Value(), ArrayRef<int32_t>{},
                                    triton::PaddingOptionAttr());
    };
    Value pa = loop.getRegionIterArgs()[0], pb = loop.getRegionIterArgs()[1];
    a.value = load(pa, tileType({m, k}, types.a));
    b.value = load(pb, tileType({k, n}, types.b));
    c.value = loop.getRegionIterArgs()[2];
    last = dot(a, b, c, double(trips));
    Value moveA = splat(constantInteger(i32, m * k), {m, k});
    Value moveB = splat(constantInteger(i32, k * n), {k, n});
    Value nextA = triton::AddPtrOp::create(builder, location, pa.getType(), pa, moveA);
    Value nextB = triton::AddPtrOp::create(builder, location, pb.getType(), pb, moveB);
    scf::YieldOp::create(builder, location, ValueRange{nextA, nextB, last ? last->value : c.value});
  });
  keep(loop.getResult(2), last ? last->facts : Facts{});
}

// One side of a block-scaled product: [.., outer, K] on the left, [.., K, outer] on the right, with or without scales
// of
// [.., outer, groups along K].
Generator::ScaledSide Generator::scaledSide(const Shape &batch, int64_t outer, int64_t k, bool isLeft) {
  struct Format {
    triton::ScaleDotElemType kind;
    Type element;
  };
  Type i8 = builder.getI8Type(), e4m3 = Float8E4M3FNType::get(&context);
  std::vector<Format> formats = {{triton::ScaleDotElemType::E4M3, e4m3},
                                 {triton::ScaleDotElemType::E5M2, Float8E5M2Type::get(&context)},
                                 {triton::ScaleDotElemType::E2M1, i8},
                                 {triton::ScaleDotElemType::E2M1, i8},
                                 {triton::ScaleDotElemType::BF16, builder.getBF16Type()},
                                 {triton::ScaleDotElemType::FP16, builder.getF16Type()}};
  Format format = random.pick(formats);
  bool isPacked = format.kind == triton::ScaleDotElemType::E2M1; // two in a byte
  ScaledSide side{format.kind, !isPacked || random.chance(50), {}, {}, isPacked ? 6.0 : 8.0, true};
  auto shaped = [&](int64_t rows, int64_t columns) {
    Shape shape = batch;
    shape.push_back(rows);
    shape.push_back(columns);
    return shape;
  };
  int64_t outerBytes = isPacked && !side.packedAlongK ? outer / 2 : outer;
  int64_t kBytes = isPacked && side.packedAlongK ? k / 2 : k;
  Shape shape = isLeft ? shaped(outerBytes, kBytes) : shaped(kBytes, outerBytes);
  bool isRaw = format.element.getIntOrFloatBitWidth() == 8 && !isPacked && random.chance(30);
  if (isPacked) {
    side.tile = loadTile(shape, i8, Fill::Anything).value;
  } else if (isRaw) { // the bytes of positive numbers below 2
    Value bytes = loadTile(shape, i8, Fill::Anything).value;
    side.tile = create("arith.andi", {bytes, constantInteger(bytes.getType(), 0x3f)}, bytes.getType());
    side.largest = 2;
    side.coarse = false;
  } else {
    side.tile = smallIntegers(shape, format.element).value;
  }
  int64_t scaling = random.below(3); // none, E8M0 for each 32, E4M3 for each 16
  if (scaling == 1) {                // 2^-3 .. 2^4
    Entry bytes = smallIntegers(shaped(outer, k / 32), i8);
    Value low = create("arith.andi", {bytes.value, constantInteger(bytes.type(), 7)}, bytes.type());
    side.scale = create("arith.addi", {low, constantInteger(bytes.type(), 124 - 256)}, bytes.type());
    side.largest *= 16;
  } else if (scaling == 2) {
    side.scale = smallIntegers(shaped(outer, k / 16), e4m3).value;
    side.largest *= 8;
  }
  return side;
}

void Generator::addScaledDot() {
  Shape batch;
  if (random.chance(20))
    batch.push_back(2);
  int64_t m = 16, n = random.chance(60) ? 16 : 8, k = int64_t(32) << random.below(3);
  ScaledSide a = scaledSide(batch, m, k, true);
  ScaledSide b = scaledSide(batch, n, k, false);
  Shape shape = batch;
  shape.push_back(m);
  shape.push_back(n);
  Value c = constantFloat(tileType(shape, builder.getF32Type()), 1);
  Value d = triton::DotScaledOp::create(builder, location, c.getType(), a.tile, b.tile, c, a.scale, b.scale, a.format,
                                        b.format, /*fastMath=*/false, a.packedAlongK, b.packedAlongK);
  // Products of multiples of 2^-4 are multiples of 2^-8: exact in f32 up to 2^15.
  double bound = double(k) * a.largest * b.largest + 1;
  double error = a.coarse && b.coarse && bound <= 0x1p15 ? 0 : 2 * double(k) * bound * 0x1p-23;
  keep(d, Facts{-bound, bound, error, false, false, true});
}
