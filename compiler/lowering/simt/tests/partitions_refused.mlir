// Partitions that a block has no warps or no barriers for. `stores` shares a warp with `loads`, `loads` one with the kernel;
// one function is started twice; 36 warps.
// RUN: heddle compile %s --from simplify-layouts --to asm | FileCheck --check-prefix=WARPS %s
// RUN: sed 's/first_warp = 8/first_warp = 6/' %s > %t.common.mlir
// RUN: %fails2 heddle compile %t.common.mlir --from simplify-layouts 2>&1 | FileCheck --check-prefix=COMMON %s
// RUN: sed 's/first_warp = 4/first_warp = 2/' %s > %t.kernel.mlir
// RUN: %fails2 heddle compile %t.kernel.mlir --from simplify-layouts 2>&1 | FileCheck --check-prefix=KERNEL %s
// RUN: sed 's/loads, @stores/loads, @loads/' %s > %t.twice.mlir
// RUN: %fails2 heddle compile %t.twice.mlir --from simplify-layouts 2>&1 | FileCheck --check-prefix=TWICE %s
// RUN: sed 's/first_warp = 8 : i64, simt.warps = 1/first_warp = 31 : i64, simt.warps = 4/' %s > %t.many.mlir
// RUN: %fails2 heddle compile %t.many.mlir --from simplify-layouts 2>&1 | FileCheck --check-prefix=MANY %s
// RUN: sed 's/target = "sm_90"/target = "gfx950"/' %s > %t.amd.mlir
// RUN: %fails2 heddle compile %t.amd.mlir --from simplify-layouts 2>&1 | FileCheck --check-prefix=AMD %s
// WARPS: .reqntid 384
// COMMON: error: partitions 'loads' and 'stores' have warps in common: warps 4 to 7 and 6 to 6
// KERNEL: error: partition 'loads' begins with warp 2, which is one of the kernel's 4
// TWICE: error: partition 'loads' is started twice: make a function for each start
// MANY: error: kernel 'kernel' has 36 warps with those of its partitions, in whole groups of 4; a block has 32
// AMD: error: kernel 'kernel' has 2 partitions; the chip has barriers for 0
module attributes {simt.target = "sm_90", simt.warps = 4 : i64} {
  tt.func public @kernel(%x: !tt.ptr<f32>) {
    simt.start_partitions [@loads, @stores]
    simt.join_partitions
    tt.return
  }
  tt.func private @loads(%x: !tt.ptr<f32>) attributes {simt.first_warp = 4 : i64, simt.warps = 4 : i64} {
    tt.return
  }
  tt.func private @stores(%x: !tt.ptr<f32>) attributes {simt.first_warp = 8 : i64, simt.warps = 1 : i64} {
    tt.return
  }
}
