// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// wgmma.mma_async m64nNk8, k16 and k32, the left operand in shared memory or in registers, from the text of its inline
// assembly. A form has a last operand that is 0 where the accumulators' values are not added. Each warp computes its 16
// rows when it comes by, which is the earliest that the hardware may read; that the group's other warps come too is not
// checked. Source: PTX ISA, "Asynchronous warpgroup level matrix instructions": the matrix descriptor, the canonical
// layouts, and the accumulators' fragments.
#include "tests/thread_interpreter/instructions/MatrixOperands.h"
#include <cstring>
#include <fmt/format.h>

using namespace heddle::threads;

namespace {

/// Fields of a descriptor, in bytes.
struct Descriptor {
  uint32_t start, leading, stride, swizzle;

  explicit Descriptor(uint64_t bits)
      : start((bits & 0x3fff) << 4), leading((bits >> 16 & 0x3fff) << 4), stride((bits >> 32 & 0x3fff) << 4),
        swizzle(std::array<uint32_t, 4>{0, 128, 64, 32}[bits >> 62]) {}

  /// The address of an element of so many bytes: `outer` along M or N, `k` along the depth.
  uint32_t address(uint32_t outer, uint32_t k, bool alongK, uint32_t bytes) const {
    uint32_t at = start, row = swizzle / bytes;
    if (!swizzle) // core matrices of 8 rows of 16 bytes; the leading offset is along K
      return alongK ? at + outer / 8 * stride + outer % 8 * 16 + k * bytes / 16 * leading + k * bytes % 16
                    : at + outer * bytes / 16 * stride + outer * bytes % 16 + k / 8 * leading + k % 8 * 16;
    if (alongK)
      at += outer / 8 * stride + outer % 8 * swizzle + bytes * k;
    else
      at += outer / row * leading + k / 8 * stride + k % 8 * swizzle + outer % row * bytes;
    return at ^ (at >> 3 & (swizzle - 16)); // bits 4 ... by bits 7 ...
  }
};

} // namespace

/// Where the left operand is: in shared memory along K, or across it, or in registers.
enum class Left : uint8_t { AlongK, AcrossK, Registers };

/// An element of a left operand in registers: words of contiguous elements along K, of this row and the one eight
/// below, then of the second half of the depth.
template <class A>
static double leftElement(Warp &warp, const Op &op, unsigned row, unsigned k) {
  constexpr unsigned perWord = 4 / A::bytes, half = 4 * perWord;
  unsigned word = row / 8 + 2 * (k / half), lane = row % 8 * 4 + k % half / perWord;
  auto bits = uint32_t(warp.reg(op.in[op.outs + word])[lane]);
  return A::value(bits >> k % perWord * 8 * A::bytes & ~0u >> (32 - 8 * A::bytes));
}

/// Whether the accumulators are added, which is the same for the whole warp.
static bool addsAccumulators(Warp &warp, const Op &op) {
  const uint64_t *flags = warp.reg(op.in[op.ins - 1]);
  for (unsigned lane = 1; lane < warpSize; ++lane)
    if (!flags[lane] != !flags[0])
      warp.fail(op, lane, "whether the accumulators are added differs between threads of the warp");
  return flags[0] != 0;
}

/// `Chooses`: the last operand says whether the accumulators are added.
template <class A, class B, Left Where, bool BAlongK, class Sum, bool Chooses>
static Flow multiplyGroup(Warp &warp, const Op &op) {
  return converge(
      warp, op, [&](unsigned) { return ~0u; },
      [&](uint32_t lanes) {
        if (lanes != ~0u)
          warp.fail(op, std::countr_zero(lanes), "a matrix instruction needs all 32 threads of the warp");
        unsigned columns = op.outs * 2u, end = op.ins - unsigned(Chooses);
        bool adds = !Chooses || addsAccumulators(warp, op);
        Descriptor a(warp.reg(op.in[end - 2])[0]), b(warp.reg(op.in[end - 1])[0]);
        constexpr unsigned depth = 32 / A::bytes;
        auto read = [&]<class Format>(Format, const Descriptor &matrix, unsigned outer, unsigned k, bool alongK,
                                      unsigned lane) {
          uint32_t offset = matrix.address(outer, k, alongK, Format::bytes);
          if (offset + Format::bytes > warp.block.shared.size())
            warp.fail(op, lane, fmt::format("the operand's byte {} is outside shared memory", offset));
          warp.block.checks.read(warp, lane, op, offset, Format::bytes);
          warp.groupReads.push_back({&op, offset, lane, Format::bytes, warp.productGroups});
          uint32_t bits = 0;
          std::memcpy(&bits, warp.block.shared.data() + offset, Format::bytes);
          return Format::value(bits);
        };
        std::vector<std::array<double, depth>> left(16), right(columns);
        for (unsigned k = 0; k < depth; ++k) {
          for (unsigned row = 0; row < 16; ++row)
            left[row][k] = Where == Left::Registers
                               ? leftElement<A>(warp, op, row, k)
                               : read(A(), a, warp.index % 4 * 16 + row, k, Where == Left::AlongK, row);
          for (unsigned column = 0; column < columns; ++column)
            right[column][k] = read(B(), b, column, k, BAlongK, column % warpSize);
        }
        for (unsigned lane = 0; lane < warpSize; ++lane)
          for (unsigned i = 0; i < op.outs; ++i) {
            const auto &row = left[lane / 4 + i / 2 % 2 * 8], &column = right[i / 4 * 8 + lane % 4 * 2 + i % 2];
            double sum = adds ? Sum::get(warp.reg(op.in[i])[lane]) : 0;
            for (unsigned k = 0; k < depth; ++k)
              sum += row[k] * column[k];
            warp.reg(op.out[i])[lane] = Sum::put(sum);
          }
      });
}

template <class A, class B, Left Where, bool BAlongK, class Sum = FloatSum>
static Handler handlerOf(bool chooses) {
  return chooses ? multiplyGroup<A, B, Where, BAlongK, Sum, true> : multiplyGroup<A, B, Where, BAlongK, Sum, false>;
}
template <class Format, Left Where>
static Handler handlerOf(bool bAlongK, bool chooses) {
  return bAlongK ? handlerOf<Format, Format, Where, true>(chooses) : handlerOf<Format, Format, Where, false>(chooses);
}

Flow heddle::threads::closeProductGroup(Warp &warp, const Op &) {
  ++warp.productGroups;
  return Flow::Next;
}

// All groups but the last `Pending` made their reads, any time until now. The accumulators go through, each tied to its
// register.
template <unsigned Pending>
static Flow waitGroups(Warp &warp, const Op &op) {
  auto isOver = [&](const GroupRead &read) { return read.group + Pending < warp.productGroups; };
  for (const GroupRead &read : warp.groupReads)
    if (isOver(read))
      warp.block.checks.read(warp, read.lane, *read.op, read.offset, read.bytes);
  std::erase_if(warp.groupReads, isOver);
  for (unsigned i = 0; i < op.outs; ++i)
    eachLane(warp.active, [&](unsigned lane) { warp.reg(op.out[i])[lane] = warp.reg(op.in[i])[lane]; });
  return Flow::Next;
}

/// The text that names `n` columns: accumulators $0 ..., tied to as many operands, then the left operand's descriptor
/// or its four words, then the other descriptor, then with `chooses` whether the accumulators are added. `tail`: for
/// floats the signs, then for elements of 16 bits which operand lies across the depth.
static std::string textOf(unsigned n, const char *types, const std::string &tail, bool inRegisters, bool chooses) {
  std::string list = "$0";
  for (unsigned i = 1; i < n / 2; ++i)
    list += fmt::format(", ${}", i);
  std::string left =
      inRegisters ? fmt::format("{{${}, ${}, ${}, ${}}}", n, n + 1, n + 2, n + 3) : fmt::format("${}", n);
  unsigned right = n + (inRegisters ? 4 : 1);
  std::string predicate = chooses ? fmt::format("setp.ne.u32 p, ${}, 0", right + 1) : "setp.eq.u32 p, 0, 0";
  return fmt::format("{{ .reg .pred p; {}; wgmma.mma_async.sync.aligned.m64n{}{} {{{}}}, {}, ${}, p{}; }}", predicate,
                     n, types, list, left, right, tail);
}

/// The forms of formats of 16 bits.
template <class Format>
static void addHalves(std::map<std::string, Handler, std::less<>> &rows, unsigned n, const char *types, bool bAlongK,
                      bool chooses) {
  std::string transposed = bAlongK ? "0" : "1";
  rows[textOf(n, types, ", 1, 1, 0, " + transposed, false, chooses)] =
      handlerOf<Format, Left::AlongK>(bAlongK, chooses);
  rows[textOf(n, types, ", 1, 1, 1, " + transposed, false, chooses)] =
      handlerOf<Format, Left::AcrossK>(bAlongK, chooses);
  rows[textOf(n, types, ", 1, 1, " + transposed, true, chooses)] = handlerOf<Format, Left::Registers>(bAlongK, chooses);
}

/// The forms of formats of 8 and 32 bits.
template <class A, class B, class Sum = FloatSum>
static void addAlongK(std::map<std::string, Handler, std::less<>> &rows, unsigned n, const char *types) {
  const char *tail = std::is_same_v<Sum, FloatSum> ? ", 1, 1" : "";
  for (bool chooses : {false, true}) {
    rows[textOf(n, types, tail, false, chooses)] = handlerOf<A, B, Left::AlongK, true, Sum>(chooses);
    rows[textOf(n, types, tail, true, chooses)] = handlerOf<A, B, Left::Registers, true, Sum>(chooses);
  }
}

Handler heddle::threads::findGroupMatrixOp(std::string_view text) {
  static const std::map<std::string, Handler, std::less<>> rows = [] {
    std::map<std::string, Handler, std::less<>> made = {{"wgmma.wait_group.sync.aligned 0;", waitGroups<0>},
                                                        {"wgmma.wait_group.sync.aligned 1;", waitGroups<1>}};
    for (unsigned n = 8; n <= 256; n += 8) {
      for (bool b : {false, true})
        for (bool chooses : {false, true}) {
          addHalves<Half>(made, n, "k16.f32.f16.f16", b, chooses);
          addHalves<Bfloat>(made, n, "k16.f32.bf16.bf16", b, chooses);
        }
      addAlongK<Tf32, Tf32>(made, n, "k8.f32.tf32.tf32");
      addAlongK<E4M3, E4M3>(made, n, "k32.f32.e4m3.e4m3");
      addAlongK<E4M3, E5M2>(made, n, "k32.f32.e4m3.e5m2");
      addAlongK<E5M2, E4M3>(made, n, "k32.f32.e5m2.e4m3");
      addAlongK<E5M2, E5M2>(made, n, "k32.f32.e5m2.e5m2");
      if (n <= 32 || n % 16 == 0) // PTX ISA, "Matrix Shape": integers have fewer shapes
        addAlongK<S8, S8, IntegerSum>(made, n, "k32.s32.s8.s8");
    }
    return made;
  }();
  auto row = rows.find(text);
  return row == rows.end() ? nullptr : row->second;
}
