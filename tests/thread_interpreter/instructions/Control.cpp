// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Branches, the end of threads, copies at the edges of the control flow, and calls of functions given by the test.
#include "tests/thread_interpreter/Machine.h"
#include <fmt/format.h>

using namespace heddle::threads;

static Flow jump(Warp &warp, const Op &op) {
  warp.pc = op.immediate;
  return Flow::Jumped;
}

static Flow branch(Warp &warp, const Op &op) {
  const uint64_t *condition = warp.reg(op.in[0]);
  uint32_t taken = 0;
  eachLane(warp.active, [&](unsigned lane) { taken |= uint32_t(condition[lane]) << lane; });
  if (taken == warp.active || !taken) {
    warp.pc = taken ? op.immediate : op.second;
    return Flow::Jumped;
  }
  eachLane(warp.active, [&](unsigned lane) { warp.pcs[lane] = taken >> lane & 1 ? op.immediate : op.second; });
  return Flow::Switch;
}

static Flow switchTo(Warp &warp, const Op &op) {
  const uint64_t *value = warp.reg(op.in[0]);
  const SwitchTable &table = warp.program().switches[op.immediate];
  eachLane(warp.active, [&](unsigned lane) {
    warp.pcs[lane] = table.otherwise;
    for (const auto &[match, target] : table.cases)
      if (match == value[lane])
        warp.pcs[lane] = target;
  });
  return Flow::Switch;
}

static Flow leave(Warp &warp, const Op &) {
  warp.live &= ~warp.active;
  warp.atWarpSync = 0; // those who wait for lanes that are gone look again
  return Flow::Switch;
}

// All operands are read before any result is written: phi nodes exchange values.
static Flow copy(Warp &warp, const Op &op) {
  eachLane(warp.active, [&](unsigned lane) {
    uint64_t values[16];
    std::vector<uint64_t> many(op.ins > 16 ? op.ins : 0);
    uint64_t *buffer = many.empty() ? values : many.data();
    for (unsigned i = 0; i < op.ins; ++i)
      buffer[i] = warp.reg(op.in[i])[lane];
    for (unsigned i = 0; i < op.outs; ++i)
      warp.reg(op.out[i])[lane] = buffer[i];
  });
  return Flow::Next;
}
static Flow copyOne(Warp &warp, const Op &op) {
  const uint64_t *from = warp.reg(op.in[0]);
  uint64_t *to = warp.reg(op.out[0]);
  eachLane(warp.active, [&](unsigned lane) { to[lane] = from[lane]; });
  return Flow::Next;
}

// One warp at a time, in order: every access is seen at once, and only its order among others has to be kept.
static Flow fence(Warp &warp, const Op &op) {
  if (warp.deviceOrder && op.order != Order::Plain)
    warp.machine().order->fence(warp, warp.active, op.order, op.scope);
  return Flow::Next;
}

static Flow call(Warp &warp, const Op &op) {
  const LaneFunction &function = warp.program().functions[op.immediate];
  std::vector<uint64_t> operands(op.ins), results(op.outs);
  unsigned lane = 0;
  bool isPoll = op.access == Access::Read && op.order != Order::Plain;
  LaneCall context{operands, results, [&] { return warp.machine().nanoseconds(); }, {}, {}};
  context.device = [&](uint64_t address, unsigned sizeBytes) {
    Place place = locate(warp, op, lane, address, sizeBytes, Global, sizeBytes);
    if (op.access != Access::None)
      note(warp, op, lane, place, sizeBytes, op.access);
    if (isPoll && lane == unsigned(std::countr_zero(warp.active))) {
      warp.polledAddress = reinterpret_cast<uint64_t>(place.bytes), warp.polledValue = 0;
      std::memcpy(&warp.polledValue, place.bytes, std::min<size_t>(sizeBytes, sizeof warp.polledValue));
    }
    return place.bytes;
  };
  context.update = [&](uint64_t address, unsigned sizeBytes, const LaneCall::Change &change) {
    ChangedBytes memory(warp, op, lane, address, sizeBytes, Global, sizeBytes, op.access);
    uint64_t before = 0;
    std::memcpy(&before, memory.bytes, sizeBytes);
    uint64_t after = change(before);
    std::memcpy(memory.bytes, &after, sizeBytes);
    memory.writeBack();
    return before;
  };
  eachLane(warp.active, [&](unsigned number) {
    lane = number;
    for (unsigned i = 0; i < op.ins; ++i)
      operands[i] = warp.reg(op.in[i])[lane];
    function(context);
    for (unsigned i = 0; i < op.outs; ++i)
      warp.reg(op.out[i])[lane] = results[i];
  });
  if (op.access == Access::None)
    fence(warp, op);
  return Flow::Yield; // who polls a flag by inline assembly lets the others go on
}

[[noreturn]] static Flow unreachable(Warp &warp, const Op &op) {
  warp.fail(op, std::countr_zero(warp.active), "reached");
}

static Flow nothing(Warp &, const Op &) {
  return Flow::Next;
}
static Flow rest(Warp &, const Op &) {
  return Flow::Yield;
}

static Flow limitRegisters(Warp &warp, const Op &op) {
  constexpr uint64_t least = 24, most = 256, step = 8;
  uint64_t count = warp.reg(op.in[0])[std::countr_zero(warp.active)];
  if (count < least || count > most || count % step)
    warp.fail(op, std::countr_zero(warp.active),
              fmt::format("{} registers; {} to {} in steps of {} are possible", count, least, most, step));
  return Flow::Next;
}

std::span<const Entry> heddle::threads::controlTable() {
  static const Entry rows[] = {
      forAll("jump", jump),
      forAll("branch", branch),
      forAll("switch", switchTo),
      forAll("return", leave),
      forAll("llvm.nvvm.exit", leave),
      forAll("copy", copy),
      forAll("copy.one", copyOne),
      forAll("call", call),
      forAll("unreachable", unreachable),
      forAll("llvm.trap", unreachable),
      forAll("llvm.assume", nothing),
      forAll("llvm.donothing", nothing),
      forAll("llvm.lifetime.start", nothing),
      forAll("llvm.lifetime.end", nothing),
      forAll("llvm.experimental.noalias.scope.decl", nothing),
      forAll("llvm.sideeffect", nothing),
      forAll("llvm.prefetch", nothing),
      forAll("fence", fence),
      forAll("llvm.nvvm.membar.cta", fence),
      forAll("llvm.nvvm.membar.gl", fence),
      forAll("llvm.nvvm.membar.sys", fence),
      forAll("llvm.nvvm.fence.sc.cluster", fence),
      forAll("llvm.nvvm.fence.proxy.async", nothing),
      forAll("llvm.nvvm.fence.proxy.async.shared_cta", nothing),
      forAll("llvm.nvvm.fence.proxy.async.global", nothing),
      forAll("llvm.nvvm.fence.proxy.async_generic.acquire.sync_restrict.space.cluster.scope.cluster", nothing),
      forAll("llvm.nvvm.fence.proxy.async_generic.release.sync_restrict.space.cta.scope.cluster", nothing),
      forAll("llvm.nvvm.fence.mbarrier_init.release.cluster", nothing),
      forAll("llvm.nvvm.setmaxnreg.inc.sync.aligned.u32", limitRegisters),
      forAll("llvm.nvvm.setmaxnreg.dec.sync.aligned.u32", limitRegisters),
      forAll("llvm.nvvm.wgmma.fence.sync.aligned", nothing),
      forAll("llvm.nvvm.wgmma.commit_group.sync.aligned", closeProductGroup),
      forAll("llvm.nvvm.griddepcontrol.wait", nothing),
      forAll("llvm.nvvm.griddepcontrol.launch.dependents", nothing),
      forAll("llvm.nvvm.nanosleep", rest),
  };
  return rows;
}
