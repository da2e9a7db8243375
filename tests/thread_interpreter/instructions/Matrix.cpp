// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mma.sync and ldmatrix, with the fragment maps of the PTX ISA ("Matrix Fragments for mma.m16n8k*"). With g = lane / 4
// and t = lane % 4, and p elements packed in a 32-bit register (4 / bytes of an element):
//   A: register r holds row g + 8 * (r % 2), columns p * t + 4 * p * (r / 2) + 0 .. p - 1
//   B: register r holds column g, rows p * t + 4 * p * r + 0 .. p - 1
//   C, D: element i is row g + 8 * (i / 2), column 2 * t + i % 2
// Products are summed in double and rounded once to the accumulator, which the hardware does not promise to do better.
#include "tests/thread_interpreter/instructions/MatrixOperands.h"
#include <cstring>
#include <unordered_map>

using namespace heddle::threads;
struct SaturatedSum {
  static double get(uint64_t bits) { return int32_t(bits); }
  static uint64_t put(double value) {
    return uint32_t(value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : int32_t(value));
  }
};

/// The element `element` of the packed register `index` of an operand that begins at op.in[first]. An LLVM value of
/// several scalars, as <2 x half>, has a slot for each.
template <class Format>
static uint32_t elementBits(Warp &warp, const Op &op, unsigned first, unsigned index, unsigned element, unsigned lane) {
  constexpr unsigned packed = 4 / Format::bytes;
  if (op.second) // one slot an element
    return warp.reg(op.in[first + index * packed + element])[lane];
  uint64_t bits = warp.reg(op.in[first + index])[lane] >> (8 * Format::bytes * element);
  return uint32_t(bits & (~uint64_t(0) >> (64 - 8 * Format::bytes)));
}

/// op.second: operands have a slot for each element. M = 16, N = 8.
template <class A, class B, class Sum, unsigned K>
static Flow multiply(Warp &warp, const Op &op) {
  constexpr unsigned packed = 4 / A::bytes, registersA = K * 16 / 32 / packed, registersB = K * 8 / 32 / packed;
  unsigned slots = op.second ? packed : 1, firstB = registersA * slots, firstC = firstB + registersB * slots;
  return converge(
      warp, op, [&](unsigned) { return ~0u; },
      [&](uint32_t lanes) {
        if (lanes != ~0u)
          warp.fail(op, std::countr_zero(lanes), "a matrix instruction needs all 32 threads of the warp");
        double a[16][K], b[8][K];
        for (unsigned lane = 0; lane < warpSize; ++lane) {
          unsigned group = lane / 4, inGroup = lane % 4;
          for (unsigned r = 0; r < registersA; ++r)
            for (unsigned i = 0; i < packed; ++i)
              a[group + 8 * (r % 2)][packed * inGroup + 4 * packed * (r / 2) + i] =
                  A::value(elementBits<A>(warp, op, 0, r, i, lane));
          for (unsigned r = 0; r < registersB; ++r)
            for (unsigned i = 0; i < packed; ++i)
              b[group][packed * inGroup + 4 * packed * r + i] = B::value(elementBits<B>(warp, op, firstB, r, i, lane));
        }
        for (unsigned lane = 0; lane < warpSize; ++lane)
          for (unsigned i = 0; i < 4; ++i) {
            const double *row = a[lane / 4 + 8 * (i / 2)], *column = b[2 * (lane % 4) + i % 2];
            double sum = 0;
            for (unsigned k = 0; k < K; ++k)
              sum += row[k] * column[k];
            warp.reg(op.out[i])[lane] = Sum::put(Sum::get(warp.reg(op.in[firstC + i])[lane]) + sum);
          }
      });
}

/// Matrix i has its row addresses in lanes 8 * i ...; thread T receives row T / 4, elements 2 * (T % 4) and the next,
/// or, transposed, the column instead.
template <bool Transposed>
static Flow loadMatrix(Warp &warp, const Op &op) {
  return converge(
      warp, op, [&](unsigned) { return ~0u; },
      [&](uint32_t lanes) {
        if (lanes != ~0u)
          warp.fail(op, std::countr_zero(lanes), "a matrix instruction needs all 32 threads of the warp");
        for (unsigned matrix = 0; matrix < op.outs; ++matrix) {
          uint16_t values[8][8];
          for (unsigned row = 0; row < 8; ++row) {
            unsigned lane = matrix * 8 + row;
            Place place = locate(warp, op, lane, warp.reg(op.in[0])[lane], 16, op.space, 16);
            if (place.shared)
              warp.block.checks.read(warp, lane, op, place.offset, 16);
            std::memcpy(values[row], place.bytes, 16);
          }
          for (unsigned lane = 0; lane < warpSize; ++lane) {
            unsigned row = lane / 4, column = 2 * (lane % 4);
            uint32_t low = Transposed ? values[column][row] : values[row][column];
            uint32_t high = Transposed ? values[column + 1][row] : values[row][column + 1];
            warp.reg(op.out[matrix])[lane] = low | high << 16;
          }
        }
      });
}

/// The reverse of ldmatrix: in: address, then one register a matrix.
template <bool Transposed>
static Flow storeMatrix(Warp &warp, const Op &op) {
  return converge(
      warp, op, [&](unsigned) { return ~0u; },
      [&](uint32_t lanes) {
        if (lanes != ~0u)
          warp.fail(op, std::countr_zero(lanes), "a matrix instruction needs all 32 threads of the warp");
        for (unsigned matrix = 0; matrix + 1 < op.ins; ++matrix) {
          uint16_t values[8][8];
          for (unsigned lane = 0; lane < warpSize; ++lane)
            for (unsigned i = 0; i < 2; ++i) {
              unsigned row = lane / 4, column = 2 * (lane % 4) + i;
              uint16_t value = warp.reg(op.in[1 + matrix])[lane] >> 16 * i;
              (Transposed ? values[column][row] : values[row][column]) = value;
            }
          for (unsigned row = 0; row < 8; ++row) {
            unsigned lane = matrix * 8 + row;
            Place place = locate(warp, op, lane, warp.reg(op.in[0])[lane], 16, op.space, 16);
            uint8_t bytes[16];
            std::memcpy(bytes, values[row], 16);
            if (place.shared)
              warp.block.checks.write(warp, lane, op, place.offset, 16, bytes);
            std::memcpy(place.bytes, bytes, 16);
          }
        }
      });
}

static const std::unordered_map<std::string_view, Handler> &matrixOps() {
  static const std::unordered_map<std::string_view, Handler> rows = {
      {"mma.m16n8k8.row.col.f32.f32", multiply<Half, Half, FloatSum, 8>},
      {"mma.m16n8k16.row.col.f32.f32", multiply<Half, Half, FloatSum, 16>},
      {"mma.m16n8k8.row.col.bf16", multiply<Bfloat, Bfloat, FloatSum, 8>},
      {"mma.m16n8k16.row.col.bf16", multiply<Bfloat, Bfloat, FloatSum, 16>},
      {"mma.m16n8k8.row.col.tf32", multiply<Tf32, Tf32, FloatSum, 8>},
      {"mma.m16n8k32.row.col.f32.e4m3.e4m3.f32", multiply<E4M3, E4M3, FloatSum, 32>},
      {"mma.m16n8k32.row.col.f32.e4m3.e5m2.f32", multiply<E4M3, E5M2, FloatSum, 32>},
      {"mma.m16n8k32.row.col.f32.e5m2.e4m3.f32", multiply<E5M2, E4M3, FloatSum, 32>},
      {"mma.m16n8k32.row.col.f32.e5m2.e5m2.f32", multiply<E5M2, E5M2, FloatSum, 32>},
      {"mma.m16n8k16.row.col.s8", multiply<S8, S8, IntegerSum, 16>},
      {"mma.m16n8k16.row.col.u8", multiply<U8, U8, IntegerSum, 16>},
      {"mma.m16n8k32.row.col.s8", multiply<S8, S8, IntegerSum, 32>},
      {"mma.m16n8k32.row.col.s8.u8", multiply<S8, U8, IntegerSum, 32>},
      {"mma.m16n8k32.row.col.u8", multiply<U8, U8, IntegerSum, 32>},
      {"mma.m16n8k32.row.col.u8.s8", multiply<U8, S8, IntegerSum, 32>},
      {"mma.m16n8k32.row.col.satfinite.s8", multiply<S8, S8, SaturatedSum, 32>},
      {"mma.m16n8k32.row.col.satfinite.s8.u8", multiply<S8, U8, SaturatedSum, 32>},
      {"mma.m16n8k32.row.col.satfinite.u8", multiply<U8, U8, SaturatedSum, 32>},
      {"mma.m16n8k32.row.col.satfinite.u8.s8", multiply<U8, S8, SaturatedSum, 32>},
      {"ldmatrix.sync.aligned.m8n8.x1.b16", loadMatrix<false>},
      {"ldmatrix.sync.aligned.m8n8.x2.b16", loadMatrix<false>},
      {"ldmatrix.sync.aligned.m8n8.x4.b16", loadMatrix<false>},
      {"ldmatrix.sync.aligned.m8n8.x1.trans.b16", loadMatrix<true>},
      {"ldmatrix.sync.aligned.m8n8.x2.trans.b16", loadMatrix<true>},
      {"ldmatrix.sync.aligned.m8n8.x4.trans.b16", loadMatrix<true>},
      {"stmatrix.sync.aligned.m8n8.x1.b16", storeMatrix<false>},
      {"stmatrix.sync.aligned.m8n8.x2.b16", storeMatrix<false>},
      {"stmatrix.sync.aligned.m8n8.x4.b16", storeMatrix<false>},
      {"stmatrix.sync.aligned.m8n8.x1.trans.b16", storeMatrix<true>},
      {"stmatrix.sync.aligned.m8n8.x2.trans.b16", storeMatrix<true>},
      {"stmatrix.sync.aligned.m8n8.x4.trans.b16", storeMatrix<true>},
  };
  return rows;
}

Handler heddle::threads::findMatrixOp(std::string_view name) {
  constexpr std::string_view prefix = "llvm.nvvm.";
  if (!name.starts_with(prefix))
    return nullptr;
  auto row = matrixOps().find(name.substr(prefix.size()));
  return row == matrixOps().end() ? nullptr : row->second;
}
