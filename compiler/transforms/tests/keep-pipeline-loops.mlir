// RUN: heddle-opt %s --heddle-keep-pipeline-loops | FileCheck %s --check-prefix=HIDDEN
// RUN: heddle-opt %s --heddle-keep-pipeline-loops --canonicalize --cse --heddle-keep-pipeline-loops=restore=true | FileCheck %s
// A loop of one iteration that has stages of a warp pipeline stays a loop; others are inlined.
// HIDDEN-LABEL: tt.func @stages
// HIDDEN: %[[END:.*]] = builtin.unrealized_conversion_cast %{{.*}}, %{{.*}} : i32, i32 to i32
// HIDDEN: scf.for %{{.*}} = %{{.*}} to %[[END]]
// CHECK-LABEL: tt.func @stages
// CHECK: %[[ONE:.*]] = arith.constant 1 : i32
// CHECK-NOT: unrealized
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[ONE]] step %[[ONE]]
// CHECK-NEXT: amdg.schedule_fence
tt.func @stages() {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %c1 step %c1 : i32 {
    amdg.schedule_fence none {triton.warp_pipeline.border = "one"}
    amdg.schedule_fence none {triton.warp_pipeline.border = "two"}
  }
  tt.return
}

// So does an empty stage that is a region.
// HIDDEN-LABEL: tt.func @empty
// HIDDEN: scf.execute_region
// HIDDEN-NEXT: amdg.schedule_fence none {triton.warp_pipeline.stage = "bubble"}
// HIDDEN: {triton.warp_pipeline.stage = "bubble"}
// CHECK-LABEL: tt.func @empty
// CHECK: scf.for
// CHECK-NEXT: scf.execute_region
// CHECK-NEXT: scf.yield
// CHECK-NEXT: {triton.warp_pipeline.stage = "bubble"}
tt.func @empty(%n: i32) {
  %c1 = arith.constant 1 : i32
  scf.for %i = %c1 to %n step %c1 : i32 {
    scf.execute_region no_inline {
      scf.yield
    } {triton.warp_pipeline.stage = "bubble"}
  }
  tt.return
}

// CHECK-LABEL: tt.func @others
// CHECK-NOT: scf.for
// CHECK: amdg.schedule_fence
tt.func @others() {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %c1 step %c1 : i32 {
    amdg.schedule_fence none
  }
  tt.return
}
