// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Integers of 8 bits to floats, by the bits of floats: below the leading bits of a power of two, a byte is a number
// that is so much too large; subtracting that is exact. It takes fewer instructions than one conversion for each byte.
#include "compiler/lowering/nvptx/NvptxTarget.h"
#include "compiler/lowering/simt/Vectors.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::nvptx;
using Values = SmallVector<Value>;

static Value word(ImplicitLocOpBuilder &b, uint32_t bits) {
  return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(bits)));
}

/// Two words as vectors of `element`, subtracted, as values.
static Values difference(ImplicitLocOpBuilder &b, Type element, Value x, Value y) {
  auto vector = [&](Value value) -> Value {
    return element.isF32() ? LLVM::BitcastOp::create(b, element, value)
                           : LLVM::BitcastOp::create(b, VectorType::get(2, element), value);
  };
  Value result = arith::SubFOp::create(b, vector(x), vector(y));
  return element.isF32() ? Values{result} : simt::apart(b, result);
}

NvptxTarget::Values NvptxTarget::fromBytes(Builder &b, ValueRange bytes, Type to, bool isSigned) const {
  Value all = LLVM::BitcastOp::create(b, b.getI32Type(), simt::joined(b, bytes));
  auto permute = [&](Value from, uint32_t fill, uint32_t selector) {
    return call(b, b.getI32Type(), "llvm.nvvm.prmt", {from, word(b, fill), word(b, selector)});
  };
  Values results;
  // A bf16 has 7 bits below its leading one: 128 + the low ones, less 128, or 256 where the sign is set.
  if (to.isBF16() && isSigned) {
    for (uint32_t selector : {0x4140u, 0x4342u}) { // two bytes, each with a 0 above it
      Value pair = permute(all, 0, selector), power = word(b, 0x43004300);
      auto part = [&](uint32_t mask) {
        return arith::OrIOp::create(b, arith::AndIOp::create(b, pair, word(b, mask)), power);
      };
      llvm::append_range(results, difference(b, to, part(0x007f007f), part(0x00800080)));
    }
    return results;
  }
  // With the sign bit flipped a byte is 128 more than its number.
  Value unsignedBytes = isSigned ? Value(arith::XOrIOp::create(b, all, word(b, 0x80808080))) : all;
  if (to.isF16()) {
    for (uint32_t selector : {0x4140u, 0x4342u}) // 1024 + the byte
      llvm::append_range(results, difference(b, to, permute(unsignedBytes, 0x64646464, selector),
                                             word(b, isSigned ? 0x64806480 : 0x64006400)));
    return results;
  }
  for (uint32_t selector : {0x7440u, 0x7441u, 0x7442u, 0x7443u}) // 2^23 + the byte
    llvm::append_range(results, difference(b, b.getF32Type(), permute(unsignedBytes, 0x4b000000, selector),
                                           word(b, isSigned ? 0x4b000080 : 0x4b000000)));
  if (!to.isF32())
    for (Value &value : results)
      value = arith::TruncFOp::create(b, to, value);
  return results;
}
