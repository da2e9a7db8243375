// Chips without hints to the scheduler refuse both.
// RUN: %fails2 heddle compile %s --target sm_90 --from simplify-layouts -o %t.hpkg 2>&1 | FileCheck %s
// CHECK: hints.mlir:10:5: error: 'simt.set_priority' cannot be compiled: this chip takes no such hint: leave it out
// RUN: sed 's/simt.set_priority 1/simt.schedule_barrier 0/' %s > %t.mlir
// RUN: %fails2 heddle compile %t.mlir --target sm_90 --from simplify-layouts -o %t.hpkg 2>&1 | FileCheck --check-prefix=SCHEDULE %s
// SCHEDULE: error: 'simt.schedule_barrier' cannot be compiled: this chip takes no such hint: leave it out
module attributes {simt.target = "sm_90", simt.warps = 4 : i64} {
  tt.func public @hints() {
    simt.fence release, gpu
    simt.set_priority 1
    tt.return
  }
}
