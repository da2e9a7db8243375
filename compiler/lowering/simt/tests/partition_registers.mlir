// Eight warps of one partition have registers as one group, and four warps of two partitions as another, the larger number of
// both. Each group has code of its own; the kernel's warps get what is left: (65536 / 512 * 16 - 152 * 8 - 40 * 4) / 4.
// RUN: heddle compile %s --from simplify-layouts --to asm | FileCheck %s
// RUN: sed 's/, simt.registers = [0-9]* : i64//' %s > %t.none.mlir
// RUN: heddle compile %t.none.mlir --from simplify-layouts --to asm | FileCheck --check-prefix=NONE %s
// CHECK: .reqntid 512
// CHECK: .maxnreg 128
// CHECK-DAG: setmaxnreg.inc.sync.aligned.u32 152;
// CHECK-DAG: setmaxnreg.dec.sync.aligned.u32 40;
// CHECK-DAG: setmaxnreg.inc.sync.aligned.u32 168;
// CHECK-NOT: setmaxnreg
// NONE-NOT: setmaxnreg
// NONE: bar.sync 0;
module attributes {simt.target = "sm_90", simt.warps = 4 : i64} {
  tt.func public @kernel(%x: !tt.ptr<f32>) {
    simt.start_partitions [@multiplies, @loads, @stores]
    simt.join_partitions
    tt.return
  }
  tt.func private @multiplies(%x: !tt.ptr<f32>) attributes {simt.first_warp = 4 : i64, simt.registers = 152 : i64, simt.warps = 8 : i64} {
    tt.return
  }
  tt.func private @loads(%x: !tt.ptr<f32>) attributes {simt.first_warp = 12 : i64, simt.registers = 24 : i64, simt.warps = 1 : i64} {
    tt.return
  }
  tt.func private @stores(%x: !tt.ptr<f32>) attributes {simt.first_warp = 13 : i64, simt.registers = 40 : i64, simt.warps = 1 : i64} {
    tt.return
  }
}
