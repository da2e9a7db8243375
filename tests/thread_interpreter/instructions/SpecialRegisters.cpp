// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a thread is, how large everything is, and the clocks, which count the steps of all warps.
#include "tests/thread_interpreter/Machine.h"

using namespace heddle::threads;

template <auto Value>
static Flow readRegister(Warp &warp, const Op &op) {
  uint64_t *result = warp.reg(op.out[0]);
  eachLane(warp.active, [&](unsigned lane) { result[lane] = Value(warp, lane) & op.mask; });
  return Flow::Next;
}
template <auto Value>
static Entry row(std::string_view name) {
  return forAll(name, &readRegister<[](const Warp &warp, unsigned lane) -> uint64_t { return Value(warp, lane); }>);
}

static const Dim3 &grid(const Warp &warp) {
  return warp.block.rank.launch.grid;
}
static const Dim3 &block(const Warp &warp) {
  return warp.block.rank.launch.block;
}

std::span<const Entry> heddle::threads::registerTable() {
  static const Entry rows[] = {
      row<[](const Warp &w, unsigned lane) { return w.thread(lane) % block(w).x; }>("llvm.nvvm.read.ptx.sreg.tid.x"),
      row<[](const Warp &w, unsigned lane) { return w.thread(lane) / block(w).x % block(w).y; }>(
          "llvm.nvvm.read.ptx.sreg.tid.y"),
      row<[](const Warp &w, unsigned lane) { return w.thread(lane) / (block(w).x * block(w).y); }>(
          "llvm.nvvm.read.ptx.sreg.tid.z"),
      row<[](const Warp &w, unsigned) { return block(w).x; }>("llvm.nvvm.read.ptx.sreg.ntid.x"),
      row<[](const Warp &w, unsigned) { return block(w).y; }>("llvm.nvvm.read.ptx.sreg.ntid.y"),
      row<[](const Warp &w, unsigned) { return block(w).z; }>("llvm.nvvm.read.ptx.sreg.ntid.z"),
      row<[](const Warp &w, unsigned) { return w.block.index.x; }>("llvm.nvvm.read.ptx.sreg.ctaid.x"),
      row<[](const Warp &w, unsigned) { return w.block.index.y; }>("llvm.nvvm.read.ptx.sreg.ctaid.y"),
      row<[](const Warp &w, unsigned) { return w.block.index.z; }>("llvm.nvvm.read.ptx.sreg.ctaid.z"),
      row<[](const Warp &w, unsigned) { return grid(w).x; }>("llvm.nvvm.read.ptx.sreg.nctaid.x"),
      row<[](const Warp &w, unsigned) { return grid(w).y; }>("llvm.nvvm.read.ptx.sreg.nctaid.y"),
      row<[](const Warp &w, unsigned) { return grid(w).z; }>("llvm.nvvm.read.ptx.sreg.nctaid.z"),
      row<[](const Warp &, unsigned lane) { return lane; }>("llvm.nvvm.read.ptx.sreg.laneid"),
      row<[](const Warp &w, unsigned) { return w.index; }>("llvm.nvvm.read.ptx.sreg.warpid"),
      row<[](const Warp &w, unsigned) { return w.block.warps.size(); }>("llvm.nvvm.read.ptx.sreg.nwarpid"),
      row<[](const Warp &, unsigned) { return warpSize; }>("llvm.nvvm.read.ptx.sreg.warpsize"),
      row<[](const Warp &, unsigned lane) { return 1u << lane; }>("llvm.nvvm.read.ptx.sreg.lanemask.eq"),
      row<[](const Warp &, unsigned lane) { return (1u << lane) - 1; }>("llvm.nvvm.read.ptx.sreg.lanemask.lt"),
      row<[](const Warp &, unsigned lane) { return (2ull << lane) - 1; }>("llvm.nvvm.read.ptx.sreg.lanemask.le"),
      row<[](const Warp &, unsigned lane) { return ~0ull << lane; }>("llvm.nvvm.read.ptx.sreg.lanemask.ge"),
      row<[](const Warp &, unsigned lane) { return ~0ull << 1 << lane; }>("llvm.nvvm.read.ptx.sreg.lanemask.gt"),
      row<[](const Warp &w, unsigned) { return w.block.rank.launch.dynamicSharedBytes; }>(
          "llvm.nvvm.read.ptx.sreg.dynamic_smem_size"),
      row<[](const Warp &w, unsigned) { return w.block.shared.size(); }>("llvm.nvvm.read.ptx.sreg.total_smem_size"),
      row<[](const Warp &w, unsigned) { return w.machine().report.warpSteps; }>("llvm.nvvm.read.ptx.sreg.clock"),
      row<[](const Warp &w, unsigned) { return w.machine().report.warpSteps; }>("llvm.nvvm.read.ptx.sreg.clock64"),
      row<[](const Warp &w, unsigned) { return w.machine().report.warpSteps; }>("llvm.readcyclecounter"),
      row<[](const Warp &w, unsigned) { return w.machine().nanoseconds(); }>("llvm.readsteadycounter"),
      row<[](const Warp &w, unsigned) { return w.machine().nanoseconds(); }>("llvm.nvvm.read.ptx.sreg.globaltimer"),
      row<[](const Warp &w, unsigned) { return w.machine().nanoseconds(); }>("llvm.nvvm.read.ptx.sreg.globaltimer.lo"),
      row<[](const Warp &, unsigned) { return 0; }>("llvm.nvvm.read.ptx.sreg.smid"),
      row<[](const Warp &, unsigned) { return 0; }>("llvm.nvvm.read.ptx.sreg.cluster.ctarank"),
  };
  return rows;
}
