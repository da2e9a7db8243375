// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels that the C++ compiler refuses, each with the message that its author reads. CTest compiles this file with
// clang's -verify: every error must be announced, and every announced error must come.
#include "frontend/build/Block.h"

using namespace heddle::build;

void shapes() {
  // expected-error@*:* {{the shapes of the operands do not agree: only dimensions of 1 are repeated}}
  range<4>() + range<8>();
  // expected-error@*:* {{the operands have different ranks: give the smaller one its dimensions with row(), }}
  range<4>() + column(range<4>());
  // expected-error@*:* {{every dimension of a tile is a power of two}}
  zeros<f32, 24>();
  // expected-error@*:* {{a tile has at most 2^20 elements}}
  zeros<f32, 2048, 1024>();
  // expected-error@*:* {{reshape: the number of elements changes}}
  reshape<4, 4>(range<8>());
  // expected-error@*:* {{broadcast: only dimensions of 1 are repeated, and the rank stays}}
  broadcast<8>(range<4>());
  // expected-error@*:* {{trans: the order is a permutation of the dimensions}}
  trans<0, 0>(zeros<f32, 4, 4>());
  // expected-error@*:* {{the result of an assignment has another shape than its left side}}
  auto line = full<i32>(0);
  line += range<4>();
}

void elements(Tile<f32, 8> x, Tile<f16, 8> h, Tile<i32, 8> i, Tile<i1, 8> bits, Tile<f8E4M3FN, 8> small) {
  // expected-error@*:* {{the operands have different element types: convert one of them with cast<T>()}}
  x + h;
  // expected-error@*:* {{a floating-point literal meets an integer tile: convert the tile with cast<f32>()}}
  i * 0.5;
  // expected-error@*:* {{i1 has no arithmetic: convert it with cast<i32>(), or use `&` and `|`}}
  bits + bits;
  // expected-error@*:* {{fp8 has no arithmetic: convert it with cast<f32>() first}}
  small *small;
  // expected-error@*:* {{`&`, `|` and `^` work on integers and i1}}
  x & x;
  // expected-error@*:* {{`&&`, `||` and `!` work on i1: compare first}}
  i &&bits;
  // expected-error@*:* {{exp works on f32 and f64: use cast<f32>()}}
  exp(h);
  // expected-error@*:* {{bitcast: the two types have different widths}}
  bitcast<i16>(x);
  // expected-error@*:* {{select: the condition is i1: compare first}}
  select(i, x, x);
}

void products(Tile<f16, 64, 32> a, Tile<f16, 64, 64> b, Tile<f32, 64, 64> c, Tile<f32, 32, 64> d, Tile<f64, 64, 64> e) {
  // expected-error@*:* {{dot: K of the operands differs: [M, K] x [K, N]}}
  dot(a, b, c);
  // expected-error@*:* {{dot: the accumulator is not [M, N]}}
  dot(b, b, zeros<f32, 32, 64>());
  // expected-error@*:* {{dot: the operands have different element types: convert one of them with cast<T>()}}
  dot(a, d, c);
  // expected-error@*:* {{dot: this accumulator does not go with these operands: floats accumulate in f32}}
  dot(b, b, e);
  // expected-error@*:* {{dot: the operands have two dimensions each, or three with a batch first}}
  dot(cast<f16>(range<8>()), b, c);
}

void memory(Pointer<f32> p, Tile<f32, 8> x, Tile<i32, 8> i) {
  // expected-error@*:* {{the value has another element type than memory: convert it with cast<T>()}}
  store(p + i, i);
  // expected-error@*:* {{the value does not have the shape of the pointers}}
  store(p, x);
  // expected-error@*:* {{the mask does not have the shape of the pointers}}
  load(p + i, range<4>() < 2);
  // expected-error@*:* {{the mask is i1: compare first}}
  load(p + i, i);
  // expected-error@*:* {{the offset of a pointer is an integer, counted in elements}}
  p + x;
  // expected-error@*:* {{bitwise atomics work on integers}}
  atomicXor(p, 1);
  // expected-error@*:* {{a hint has one value for each dimension, one for a scalar}}
  multipleOf<8, 8>(i);
}

void control(Scalar<i32> n, Scalar<i64> wide, Scalar<f32> x) {
  // expected-error@*:* {{forRange: the body returns values of other types than the loop carries}}
  forRange(0, n, 1, n, [&](Scalar<i32>, auto) { return x; });
  // expected-error@*:* {{forRange: the body returns a value, but the loop carries none}}
  forRange(0, n, 1, [&](Scalar<i32>) { return x; });
  // expected-error@*:* {{forRange: the bounds and the step are scalars of one type: use cast<T>()}}
  forRange(n, wide, 1, [](Scalar<i32>) {});
  // expected-error@*:* {{when: both branches return the same types}}
  when(n < 0, [&] { return n; }, [&] { return x; });
  // expected-error@*:* {{when: a value needs an `otherwise`}}
  when(n < 0, [&] { return n; });
  // expected-error@*:* {{whileLoop: the condition returns a Scalar<i1>}}
  whileLoop(n, [](auto n) { return n; }, [](auto n) { return n; });
  // expected-error@*:* {{the combining function returns one scalar for each input, of the input's element type}}
  reduce(range<8>(), axis<0>(), [&](Scalar<i32>, Scalar<i32>) { return x; });
  // expected-error@*:* {{carry takes values of the kernel; a literal becomes one by full<T>(x)}}
  carry(1, n);
}

void kernels() {
  // expected-error@*:* {{kernel: give one argument name for each parameter of the function}}
  kernel("k", {"x", "y"}, [](Scalar<i32>) {});
  // expected-error@*:* {{kernel: a parameter is a Scalar<T> or a Pointer<T>}}
  kernel("k", {"x"}, [](int) {});
  // expected-error@*:* {{kernel: a parameter is a scalar or a pointer; load() makes tiles}}
  kernel("k", {"x"}, [](Tile<i32, 8>) {});
}

void blocks(Shared<f16, 2, 64, 32> ring, Shared<f16, 64, 32> memory, Pointer<f16> p, Pointer<f32> q,
            Tile<i32, 64, 32> offsets, Tile<i64, 64, 32> wide, Tile<f16, 64, 32> tile, Scalar<i64> i) {
  // expected-error@*:* {{a memory object has elements of whole bytes}}
  Shared<i1, 64> bits(memory.handle());
  // expected-error@*:* {{index: the number of a slot is an i32}}
  ring.index(i);
  // expected-error@*:* {{slice: the part has as many dimensions as the memory object}}
  memory.slice<32>({0});
  // expected-error@*:* {{trans: give the order of the dimensions unless there are two}}
  ring.trans();
  // expected-error@*:* {{store: the tile has another shape or element type than the memory object}}
  memory.store(offsets);
  // expected-error@*:* {{the indices have as many dimensions as the memory object}}
  memory.gather(range<64>(), axis<0>());
  // expected-error@*:* {{bufferLoadToShared: the offsets do not have the shape of the memory object}}
  bufferLoadToShared(ring, p, offsets);
  // expected-error@*:* {{bufferLoadToShared: the pointer points to other elements than the memory object's}}
  bufferLoadToShared(memory, q, offsets);
  // expected-error@*:* {{globalLoadToShared: the pointers are not those of the memory object's elements}}
  globalLoadToShared(ring, p + offsets);
  // expected-error@*:* {{the offsets of a buffer are i32, in elements}}
  bufferLoad(p, wide);
  // expected-error@*:* {{the mask does not have the shape of the pointers}}
  bufferStore(p, offsets, tile, range<4>() < 2);
  // expected-error@*:* {{`other` is for elements that a mask leaves out}}
  bufferLoad(p, offsets, Absent(), 0);
  // expected-error@*:* {{bufferAtomicMax works on integers}}
  bufferAtomicMax(p, offsets, tile);
  // expected-error@*:* {{mfmaScaled: a scale is an E8M0 in an i8}}
  mfmaScaled(tile, offsets, ScaledFormat::E4M3, tile, Absent(), ScaledFormat::E4M3, zeros<f32, 64, 64>());
  // expected-error@*:* {{blockKernel: give one argument name for each parameter of the function}}
  blockKernel("k", {.warps = 4}, {"x", "y"}, [](Scalar<i32>) {});
}
