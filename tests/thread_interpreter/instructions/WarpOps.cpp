// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the lanes of a warp do together: shuffles, votes, reductions, bar.warp.sync. All lanes that the member mask
// names and that still live must arrive first.
#include "tests/thread_interpreter/Machine.h"
#include <fmt/format.h>

using namespace heddle::threads;

enum class Shuffle { Up, Down, Bfly, Idx };

/// in: mask, value, lane operand, clamp and segment mask; out: value, and for the p forms whether the source was in
/// range.
template <Shuffle Mode>
static Flow shuffle(Warp &warp, const Op &op) {
  const uint64_t *mask = warp.reg(op.in[0]), *value = warp.reg(op.in[1]), *operand = warp.reg(op.in[2]),
                 *control = warp.reg(op.in[3]);
  return converge(
      warp, op, [&](unsigned lane) { return uint32_t(mask[lane]); },
      [&](uint32_t lanes) {
        eachLane(lanes, [&](unsigned lane) {
          int segment = control[lane] >> 8 & 31, clamp = control[lane] & 31, b = operand[lane] & 31;
          int first = int(lane) & segment, last = first | (clamp & ~segment), source = lane;
          bool inRange;
          switch (Mode) {
          case Shuffle::Up:
            source -= b, inRange = source >= last;
            break;
          case Shuffle::Down:
            source += b, inRange = source <= last;
            break;
          case Shuffle::Bfly:
            source ^= b, inRange = source <= last;
            break;
          case Shuffle::Idx:
            source = first | (b & ~segment), inRange = source <= last;
            break;
          }
          if (!inRange)
            source = lane;
          bool present = lanes >> source & 1;
          if (!present)
            warp.machine().find(FindingKind::InactiveLane, &op, nullptr, [&] {
              return fmt::format("`{}`: {} reads lane {}, which does not take part", warp.program().describe(op),
                                 warp.name(lane), source);
            });
          warp.reg(op.out[0])[lane] = present ? value[source] : op.mask;
          if (op.outs > 1)
            warp.reg(op.out[1])[lane] = inRange;
        });
        warp.synchronise(lanes);
      });
}

static Flow warpBarrier(Warp &warp, const Op &op) {
  const uint64_t *mask = warp.reg(op.in[0]);
  return converge(
      warp, op, [&](unsigned lane) { return uint32_t(mask[lane]); }, [&](uint32_t lanes) { warp.synchronise(lanes); });
}

/// in: mask, operand. `combine(values of the lanes, result of the lane)`.
template <unsigned MaskOperand, auto Combine>
static Flow reduce(Warp &warp, const Op &op) {
  const uint64_t *mask = warp.reg(op.in[MaskOperand]), *value = warp.reg(op.in[1 - MaskOperand]);
  return converge(
      warp, op, [&](unsigned lane) { return uint32_t(mask[lane]); },
      [&](uint32_t lanes) {
        uint64_t result = Combine(lanes, value);
        eachLane(lanes, [&](unsigned lane) { warp.reg(op.out[0])[lane] = result & op.mask; });
        warp.synchronise(lanes);
      });
}

static uint64_t ballot(uint32_t lanes, const uint64_t *value) {
  uint32_t result = 0;
  eachLane(lanes, [&](unsigned lane) { result |= uint32_t(value[lane] & 1) << lane; });
  return result;
}
template <auto Two>
static uint64_t fold(uint32_t lanes, const uint64_t *value) {
  uint64_t result = value[std::countr_zero(lanes)];
  eachLane(lanes & (lanes - 1), [&](unsigned lane) { result = Two(result, value[lane]); });
  return result;
}
template <auto Two>
static Entry redux(std::string_view name) {
  return forAll(name, &reduce<1, fold<[](uint64_t a, uint64_t b) -> uint64_t { return Two(a, b); }>>);
}

static Flow matchAny(Warp &warp, const Op &op) {
  const uint64_t *mask = warp.reg(op.in[0]), *value = warp.reg(op.in[1]);
  return converge(
      warp, op, [&](unsigned lane) { return uint32_t(mask[lane]); },
      [&](uint32_t lanes) {
        eachLane(lanes, [&](unsigned lane) {
          uint32_t same = 0;
          eachLane(lanes, [&](unsigned other) { same |= uint32_t(value[other] == value[lane]) << other; });
          warp.reg(op.out[0])[lane] = same;
        });
        warp.synchronise(lanes);
      });
}

/// out: the lowest lane, and whether the thread is it.
static Flow elect(Warp &warp, const Op &op) {
  const uint64_t *mask = warp.reg(op.in[0]);
  return converge(
      warp, op, [&](unsigned lane) { return uint32_t(mask[lane]); },
      [&](uint32_t lanes) {
        unsigned leader = std::countr_zero(lanes);
        eachLane(lanes, [&](unsigned lane) {
          warp.reg(op.out[0])[lane] = leader;
          warp.reg(op.out[1])[lane] = lane == leader;
        });
        warp.synchronise(lanes);
      });
}

static Flow activeMask(Warp &warp, const Op &op) {
  eachLane(warp.active, [&](unsigned lane) { warp.reg(op.out[0])[lane] = warp.active; });
  return Flow::Next;
}

std::span<const Entry> heddle::threads::warpTable() {
  static constexpr auto all = [](uint32_t lanes, const uint64_t *value) {
    return uint64_t(ballot(lanes, value) == lanes);
  };
  static constexpr auto any = [](uint32_t lanes, const uint64_t *value) { return uint64_t(ballot(lanes, value) != 0); };
  static constexpr auto uniform = [](uint32_t lanes, const uint64_t *value) {
    uint64_t votes = ballot(lanes, value);
    return uint64_t(votes == 0 || votes == lanes);
  };
  static const Entry rows[] = {
      forAll("llvm.nvvm.shfl.sync.up.i32", shuffle<Shuffle::Up>),
      forAll("llvm.nvvm.shfl.sync.up.i32p", shuffle<Shuffle::Up>),
      forAll("llvm.nvvm.shfl.sync.up.f32", shuffle<Shuffle::Up>),
      forAll("llvm.nvvm.shfl.sync.up.f32p", shuffle<Shuffle::Up>),
      forAll("llvm.nvvm.shfl.sync.down.i32", shuffle<Shuffle::Down>),
      forAll("llvm.nvvm.shfl.sync.down.i32p", shuffle<Shuffle::Down>),
      forAll("llvm.nvvm.shfl.sync.down.f32", shuffle<Shuffle::Down>),
      forAll("llvm.nvvm.shfl.sync.down.f32p", shuffle<Shuffle::Down>),
      forAll("llvm.nvvm.shfl.sync.bfly.i32", shuffle<Shuffle::Bfly>),
      forAll("llvm.nvvm.shfl.sync.bfly.i32p", shuffle<Shuffle::Bfly>),
      forAll("llvm.nvvm.shfl.sync.bfly.f32", shuffle<Shuffle::Bfly>),
      forAll("llvm.nvvm.shfl.sync.bfly.f32p", shuffle<Shuffle::Bfly>),
      forAll("llvm.nvvm.shfl.sync.idx.i32", shuffle<Shuffle::Idx>),
      forAll("llvm.nvvm.shfl.sync.idx.i32p", shuffle<Shuffle::Idx>),
      forAll("llvm.nvvm.shfl.sync.idx.f32", shuffle<Shuffle::Idx>),
      forAll("llvm.nvvm.shfl.sync.idx.f32p", shuffle<Shuffle::Idx>),
      forAll("llvm.nvvm.bar.warp.sync", warpBarrier),
      forAll("llvm.nvvm.vote.all.sync", reduce<0, all>),
      forAll("llvm.nvvm.vote.any.sync", reduce<0, any>),
      forAll("llvm.nvvm.vote.uni.sync", reduce<0, uniform>),
      forAll("llvm.nvvm.vote.ballot.sync", reduce<0, ballot>),
      redux<[](uint64_t a, uint64_t b) { return a + b; }>("llvm.nvvm.redux.sync.add"),
      redux<[](uint64_t a, uint64_t b) { return a & b; }>("llvm.nvvm.redux.sync.and"),
      redux<[](uint64_t a, uint64_t b) { return a | b; }>("llvm.nvvm.redux.sync.or"),
      redux<[](uint64_t a, uint64_t b) { return a ^ b; }>("llvm.nvvm.redux.sync.xor"),
      redux<[](uint64_t a, uint64_t b) { return a < b ? a : b; }>("llvm.nvvm.redux.sync.umin"),
      redux<[](uint64_t a, uint64_t b) { return a > b ? a : b; }>("llvm.nvvm.redux.sync.umax"),
      redux<[](uint64_t a, uint64_t b) { return int32_t(a) < int32_t(b) ? a : b; }>("llvm.nvvm.redux.sync.min"),
      redux<[](uint64_t a, uint64_t b) { return int32_t(a) > int32_t(b) ? a : b; }>("llvm.nvvm.redux.sync.max"),
      forAll("llvm.nvvm.match.any.sync.i32", matchAny),
      forAll("llvm.nvvm.match.any.sync.i64", matchAny),
      forAll("llvm.nvvm.elect.sync", elect),
      forAll("llvm.nvvm.activemask", activeMask),
  };
  return rows;
}
