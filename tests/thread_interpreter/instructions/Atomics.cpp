// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Read-modify-write operations. One warp runs at a time, so each lane's operation is indivisible; lanes go in order.
#include "tests/thread_interpreter/instructions/Elementwise.h"
#include <cstring>

using namespace heddle::threads;
using u64 = uint64_t;

// in: address, then operands; out: the old values. Vectors of elements are one access.
template <auto Update>
static Flow readModifyWrite(Warp &warp, const Op &op) {
  unsigned size = op.elementSize, bytes = size * op.outs;
  eachLane(warp.active, [&](unsigned lane) {
    ChangedBytes memory(warp, op, lane, warp.reg(op.in[0])[lane], bytes, op.space, op.alignment, Access::Update);
    for (unsigned i = 0; i < op.outs; ++i) {
      u64 before = 0;
      std::memcpy(&before, memory.bytes + i * size, size);
      u64 after = Update(op, before, warp.reg(op.in[1 + i])[lane]);
      std::memcpy(memory.bytes + i * size, &after, size);
      warp.reg(op.out[i])[lane] = before & op.mask;
    }
    memory.writeBack();
  });
  return Flow::Next;
}

// in: address, expected, new; out: the old value, whether it was the expected one.
static Flow compareExchange(Warp &warp, const Op &op) {
  unsigned size = op.elementSize;
  eachLane(warp.active, [&](unsigned lane) {
    ChangedBytes memory(warp, op, lane, warp.reg(op.in[0])[lane], size, op.space, op.alignment, Access::Update);
    u64 before = 0;
    std::memcpy(&before, memory.bytes, size);
    bool same = before == warp.reg(op.in[1])[lane];
    if (same)
      std::memcpy(memory.bytes, &warp.reg(op.in[2])[lane], size);
    memory.writeBack();
    warp.reg(op.out[0])[lane] = before;
    warp.reg(op.out[1])[lane] = same;
  });
  return Flow::Yield;
}

template <auto Update>
static Entry integers(std::string_view name) {
  return forIntegers(name, &readModifyWrite<[](const Op &op, u64 a, u64 b) -> u64 { return Update(op, a, b); }>);
}
template <auto Update>
static Entry floats(std::string_view name) {
  constexpr auto lift = []<class T>(T) {
    return &readModifyWrite<[](const Op &, u64 a, u64 b) { return T::put(Update(T::get(a), T::get(b))); }>;
  };
  return {name, {nullptr, lift(F16{}), lift(BF16{}), lift(F32{}), lift(F64{})}};
}

std::span<const Entry> heddle::threads::atomicTable() {
  static const Entry rows[] = {
      forAll("cmpxchg", compareExchange),
      forAll("atomicrmw.xchg", &readModifyWrite<[](const Op &, u64, u64 b) { return b; }>),
      integers<[](const Op &, u64 a, u64 b) { return a + b; }>("atomicrmw.add"),
      integers<[](const Op &, u64 a, u64 b) { return a - b; }>("atomicrmw.sub"),
      integers<[](const Op &, u64 a, u64 b) { return a & b; }>("atomicrmw.and"),
      integers<[](const Op &, u64 a, u64 b) { return ~(a & b); }>("atomicrmw.nand"),
      integers<[](const Op &, u64 a, u64 b) { return a | b; }>("atomicrmw.or"),
      integers<[](const Op &, u64 a, u64 b) { return a ^ b; }>("atomicrmw.xor"),
      integers<[](const Op &, u64 a, u64 b) { return a > b ? a : b; }>("atomicrmw.umax"),
      integers<[](const Op &, u64 a, u64 b) { return a < b ? a : b; }>("atomicrmw.umin"),
      integers<[](const Op &op, u64 a, u64 b) { return toSigned(op, a) > toSigned(op, b) ? a : b; }>("atomicrmw.max"),
      integers<[](const Op &op, u64 a, u64 b) { return toSigned(op, a) < toSigned(op, b) ? a : b; }>("atomicrmw.min"),
      integers<[](const Op &, u64 a, u64 b) { return a >= b ? 0 : a + 1; }>("atomicrmw.uinc_wrap"),
      integers<[](const Op &, u64 a, u64 b) { return a == 0 || a > b ? b : a - 1; }>("atomicrmw.udec_wrap"),
      floats<[](auto a, auto b) { return a + b; }>("atomicrmw.fadd"),
      floats<[](auto a, auto b) { return a - b; }>("atomicrmw.fsub"),
      floats<[](auto a, auto b) { return std::fmax(a, b); }>("atomicrmw.fmax"),
      floats<[](auto a, auto b) { return std::fmin(a, b); }>("atomicrmw.fmin"),
  };
  return rows;
}
