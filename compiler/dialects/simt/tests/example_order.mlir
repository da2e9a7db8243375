// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// Atomic accesses, waits for values, fences, and barriers of some warps.
#line = #simt.linear<register = [[1]], lane = [[2], [4]], warp = [], shape = [8]>

// CHECK-LABEL: tt.func @atomics
tt.func @atomics(%p: !tt.ptr<i32>, %q: tensor<8x!tt.ptr<i32>, #line>, %v: i32, %t: tensor<8xi32, #line>,
                 %m: tensor<8xi1, #line>, %limit: i64) {
  // CHECK: simt.atomic_load acquire, gpu, %{{.*}} : !tt.ptr<i32>
  %0 = simt.atomic_load acquire, gpu, %p : !tt.ptr<i32>
  // CHECK: simt.atomic_load relaxed, cta, %{{.*}} if %{{.*}} : tensor<8x!tt.ptr<i32>
  %1 = simt.atomic_load relaxed, cta, %q if %m : tensor<8x!tt.ptr<i32>, #line>
  // CHECK: simt.atomic_store release, sys, %{{.*}}, %{{.*}} if %{{.*}} : tensor<8x!tt.ptr<i32>
  simt.atomic_store release, sys, %q, %1 if %m : tensor<8x!tt.ptr<i32>, #line>
  // CHECK: simt.atomic_cas acq_rel, gpu, %{{.*}}, %{{.*}}, %{{.*}} : !tt.ptr<i32> -> i32
  %2 = simt.atomic_cas acq_rel, gpu, %p, %v, %0 : !tt.ptr<i32> -> i32
  // CHECK: simt.atomic_cas relaxed, gpu, %{{.*}}, %{{.*}}, %{{.*}} if %{{.*}} : tensor<8x!tt.ptr<i32>, #linear>{{$}}
  simt.atomic_cas relaxed, gpu, %q, %t, %t if %m : tensor<8x!tt.ptr<i32>, #line>
  // CHECK: simt.atomic_wait acquire, gpu, %{{.*}}, %{{.*}} : !tt.ptr<i32>{{$}}
  simt.atomic_wait acquire, gpu, %p, %v : !tt.ptr<i32>
  // CHECK: simt.atomic_wait relaxed, sys, %{{.*}}, %{{.*}} timeout %{{.*}} : tensor<8x!tt.ptr<i32>, {{.*}} -> tensor<8xi1
  %3 = simt.atomic_wait relaxed, sys, %q, %t timeout %limit : tensor<8x!tt.ptr<i32>, #line> -> tensor<8xi1, #line>
  tt.return
}

// CHECK-LABEL: tt.func @barriers
tt.func @barriers(%half: i32) {
  // CHECK: simt.shift_warps
  simt.shift_warps
  // CHECK: simt.barrier bare
  simt.barrier bare
  // CHECK: simt.align_warps
  simt.align_warps
  // CHECK: simt.fence release, gpu
  simt.fence release, gpu
  // CHECK: simt.fence acq_rel, cta
  simt.fence acq_rel, cta
  %warp = simt.warp_id
  %late = arith.cmpi sge, %warp, %half : i32
  // CHECK: simt.cond_barrier %{{.*}}
  simt.cond_barrier %late
  %objects = simt.alloc : !simt.shared<2 * 1xi64, offset = []>
  // CHECK: simt.init_arrivals %{{.*}}, 256 : !simt.shared<2 * 1xi64
  simt.init_arrivals %objects, 256 : !simt.shared<2 * 1xi64, offset = []>
  // CHECK: simt.arrive %{{.*}}[%{{.*}}] copies : !simt.shared<2 * 1xi64
  simt.arrive %objects[%half] copies : !simt.shared<2 * 1xi64, offset = []>
  // CHECK: simt.wait_arrivals %{{.*}}[%{{.*}}] parity %{{.*}} : !simt.shared<2 * 1xi64
  simt.wait_arrivals %objects[%half] parity %half : !simt.shared<2 * 1xi64, offset = []>
  // CHECK: simt.set_priority 2
  simt.set_priority 2
  // CHECK: simt.schedule_barrier 6
  simt.schedule_barrier 6
  tt.return
}

// CHECK-LABEL: tt.func @stages
tt.func @stages(%x: tensor<8xf32, #line>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    // CHECK: simt.stage "products" priority 1 -> tensor<8xf32, #linear> {
    %y = simt.stage "products" priority 1 -> tensor<8xf32, #line> {
      %twice = arith.addf %x, %x : tensor<8xf32, #line>
      // CHECK: simt.yield %{{.*}} : tensor<8xf32
      simt.yield %twice : tensor<8xf32, #line>
    }
    simt.barrier
    // CHECK: simt.stage "bubble" {
    simt.stage "bubble" {
    }
  }
  tt.return
}
