// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operand counts, types and shapes of every operation: what is refused, with both values.
#include "frontend/hlo/TestModule.h"

using namespace heddle;
using namespace heddle::hlo;

/// The error of `q = LINE` after the parameters p: f32[2,3], i: s32[2,3], b: pred[2,3], s: f32[], n: s32[], c: c64[2].
static std::string refused(const std::string &line) {
  return refusal(
      "p = f32[2,3] parameter(0)\ni = s32[2,3] parameter(1)\nb = pred[2,3] parameter(2)\n"
      "s = f32[] parameter(3)\nn = s32[] parameter(4)\nc = c64[2] parameter(5)\nt = (f32[], f32[]) parameter(6)\n"
      "q = " +
      line);
}

TEST(HloOperands, counts) {
  EXPECT_CONTAINS(refused("add(p)"), "t.hlo:14:1: 'add' takes 2 operands, got 1");
  EXPECT_CONTAINS(refused("c64[2] complex(p)"), "'complex' takes 2 operands, got 1");
  EXPECT_CONTAINS(refused("c64[2] add()"), "'add' takes 2 operands, got 0");
  EXPECT_CONTAINS(refused("c64[2] dot(p)"), "'dot' takes 2 operands, got 1");
  EXPECT_CONTAINS(refused("negate(p, p)"), "'negate' takes 1 operand, got 2");
  EXPECT_CONTAINS(refused("select(b, p)"), "'select' takes 3 operands, got 2");
  EXPECT_CONTAINS(refused("f32[2] all-reduce(), to_apply=add"), "'all-reduce' takes 1 or more operands, got 0");
  EXPECT_CONTAINS(refused("concatenate(), dimensions={0}"), "'concatenate' takes 1 or more operands, got 0");
  EXPECT_CONTAINS(refused("u32[] partition-id(p)"), "'partition-id' takes 0 operands, got 1");
}

TEST(HloOperands, element_types) {
  EXPECT_CONTAINS(refused("exponential(i)"), "'exponential' of type s32 is not supported");
  EXPECT_CONTAINS(refused("and(p, p)"), "'and' of type f32 is not supported");
  EXPECT_CONTAINS(refused("subtract(b, b)"), "'subtract' of type pred is not supported");
  EXPECT_CONTAINS(refused("maximum(c, c)"), "'maximum' of complex arrays is not supported");
  EXPECT_CONTAINS(refused("popcnt(p)"), "'popcnt' of type f32 is not supported");
  EXPECT_CONTAINS(refused("compare(c, c), direction=LT"), "'compare' of complex arrays is not supported");
  EXPECT_CONTAINS(refused("f32[2] convert(c)"), "'convert' of complex arrays is not supported");
  EXPECT_CONTAINS(refused("complex(i, i)"), "'complex' takes parts of f32 or f64, got s32");
  EXPECT_CONTAINS(refused("real(p)"), "'real' of type f32 is not supported");
  EXPECT_CONTAINS(refused("c64[2,3] fft(p), fft_type=FFT, fft_length={3}"),
                  "'fft' takes fft_type FFT, IFFT or IRFFT of a complex");
  EXPECT_CONTAINS(
      refusal("p = c64[2,268435456] parameter(0)\nq = c64[2,268435456] fft(p), fft_type=FFT, fft_length={268435456}"),
      "'fft' of length 268435456; 16777216 is the most");
  EXPECT_CONTAINS(refusal("p = c64[4097] parameter(0)\nq = c64[4098] fft(p), fft_type=FFT, fft_length={4098}"),
                  "fft_length with its last dimensions, got FFT, {4098} and c64[4097]");
  EXPECT_CONTAINS(refusal("p = c64[4106] parameter(0)\nq = c64[4106] fft(p), fft_type=FFT, fft_length={4106}"),
                  "'fft' of length 4106, which has the prime factor 2053; 2048 is the most");
  EXPECT_CONTAINS(refused("pred[2] iota(), iota_dimension=0"), "'iota' of type pred is not supported");
  EXPECT_CONTAINS(refused("add(t, t)"), "'add' takes arrays, operand 0 is (f32[], f32[])");
}

TEST(HloOperands, element_wise_shapes) {
  EXPECT_CONTAINS(refused("add(p, i)"), "'add' takes operands of one shape, got f32[2,3] and s32[2,3]");
  EXPECT_CONTAINS(refused("add(p, s)"), "'add' takes operands of one shape, got f32[2,3] and f32[]");
  EXPECT_CONTAINS(refused("select(p, p, p)"), "'select' takes a pred of the shape of the values, or a scalar");
  EXPECT_CONTAINS(refused("clamp(n, p, s)"),
                  "'clamp' takes bounds of the shape of the value, or scalars, got s32[] for f32[2,3]");
  EXPECT_CONTAINS(refused("f64[2] bitcast-convert(p)"), "needs a last dimension of size 2");
  EXPECT_CONTAINS(refused("convert(p)"), "the shape of 'convert' cannot be inferred; write it");
}

TEST(HloOperands, movement) {
  EXPECT_CONTAINS(refused("f32[2,4] broadcast(p), dimensions={0,1}"),
                  "the sizes of the dimensions that it keeps differ");
  EXPECT_CONTAINS(refused("f32[2,3] broadcast(p), dimensions={0}"),
                  "'broadcast' has 1 dimensions for the 2 dimensions of f32[2,3]");
  EXPECT_CONTAINS(refused("f32[5] reshape(p)"), "'reshape' from f32[2,3] to f32[5]: the numbers of elements differ");
  EXPECT_CONTAINS(refused("f64[6] bitcast(p)"), "the numbers of bits differ");
  EXPECT_CONTAINS(refused("transpose(p), dimensions={0,0}"), "'transpose' names dimension 0 twice");
  EXPECT_CONTAINS(refused("slice(p), slice={[0:3],[0:3]}"), "slice [0:3:1] does not fit dimension 0 of size 2");
  EXPECT_CONTAINS(refused("slice(p), slice={[0:2]}"), "'slice' has 1 bounds for the 2 dimensions");
  EXPECT_CONTAINS(refused("slice(p), slice={[0:2:0],[0:3]}"), "slice [0:2:0] does not fit");
  EXPECT_CONTAINS(refused("dynamic-slice(p, n), dynamic_slice_sizes={1,1}"),
                  "'dynamic-slice' has 1 start indices for the 2 dimensions");
  EXPECT_CONTAINS(refused("dynamic-slice(p, n, s), dynamic_slice_sizes={1,1}"),
                  "takes integer scalars as start indices, operand 2 is f32[]");
  EXPECT_CONTAINS(refused("dynamic-slice(p, n, n), dynamic_slice_sizes={1,4}"),
                  "size 4 does not fit dimension 1 of size 3");
  EXPECT_CONTAINS(refused("dynamic-update-slice(p, i, n, n)"), "'dynamic-update-slice' of s32[2,3] into f32[2,3]");
  EXPECT_CONTAINS(refused("concatenate(p, i), dimensions={0}"), "type and other dimensions must agree");
  EXPECT_CONTAINS(refused("pad(p, n), padding=0_0x0_0"), "'pad' of f32[2,3] takes a scalar of its type, got s32[]");
  EXPECT_CONTAINS(refused("pad(p, s), padding=0_-5x0_0"), "padding 0_-5_0 does not fit dimension 0 of size 2");
  EXPECT_CONTAINS(refused("pad(p, s), padding=0_0x0"), "padding '0_0x0' is not of the form");
  EXPECT_CONTAINS(refused("pad(p, s), padding=0_0x0_0_9223372036854775807"), "does not fit dimension 1");
  EXPECT_CONTAINS(refused("reverse(p), dimensions={2}"), "dimension 2 is out of range for rank 2");
}

TEST(HloOperands, contractions) {
  EXPECT_CONTAINS(refused("reduce(p), dimensions={0}, to_apply=add"),
                  "'reduce' takes values and as many initial values, got 1 operands");
  EXPECT_CONTAINS(refused("reduce(p, n), dimensions={0}, to_apply=add"),
                  "takes a scalar of its type as initial value, got s32[]");
  EXPECT_CONTAINS(refused("reduce(i, n), dimensions={0}, to_apply=add"), "computation 'add' does not reduce (s32[])");
  EXPECT_CONTAINS(refused("reduce(p, s), dimensions={0,0}, to_apply=add"), "'reduce' names dimension 0 twice");
  EXPECT_CONTAINS(refused("dot(p, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
                  "'dot' of f32[2,3] and f32[2,3]: contracting dimensions 1 and 0 have the sizes 3 and 2");
  EXPECT_CONTAINS(refused("dot(p, p), lhs_contracting_dims={1}"),
                  "'dot' has 1 contracting dimensions on the left and 0 on the right");
  EXPECT_CONTAINS(refused("dot(p, i), lhs_contracting_dims={1}, rhs_contracting_dims={1}"), "'dot' of f32 and s32");
  EXPECT_CONTAINS(
      refused("dot(p, p), lhs_batch_dims={1}, rhs_batch_dims={1}, lhs_contracting_dims={1}, rhs_contracting_dims={1}"),
      "'dot' names dimension 1 twice");
}

TEST(HloOperands, tuples_and_calls) {
  EXPECT_CONTAINS(refused("get-tuple-element(p), index=0"), "'get-tuple-element' of f32[2,3], which is no tuple");
  EXPECT_CONTAINS(refused("get-tuple-element(t), index=2"), "index 2 is out of range for a tuple of 2 elements");
  EXPECT_CONTAINS(refused("call(s), to_apply=add"), "'call' has 1 operands, computation 'add' takes 2");
  EXPECT_CONTAINS(refused("fusion(s, n), kind=kLoop, calls=add"),
                  "operand 1 of 'fusion' is s32[], parameter 1 of 'add' is f32[]");
  EXPECT_CONTAINS(refused("while(s), condition=add, body=add"),
                  "computation 'add' does not take the one parameter f32[] of its 'while'");
  EXPECT_CONTAINS(refused("after-all(p)"), "'after-all' takes tokens, operand 0 is f32[2,3]");
}

TEST(HloOperands, collectives) {
  EXPECT_CONTAINS(refused("f32[] all-reduce(t), to_apply=add"),
                  "'all-reduce' takes arrays, operand 0 is (f32[], f32[])");
  EXPECT_CONTAINS(refused("f32[2,3] collective-permute(p), source_target_pairs={}, slice_sizes={{1}}"),
                  "'collective-permute' with slice_sizes is not supported");
  EXPECT_CONTAINS(refused("f32[2,3] collective-broadcast(p), has_dynamic_root=true"),
                  "with has_dynamic_root is not supported");
}
