// RUN: heddle-opt %s -split-input-file -verify-diagnostics
// Rules of atomic accesses, fences and stages: S37 for global memory, S58 to S61, S66 to S69; S71 of hints to schedulers; S73 of shifted warps; S77 and S78 of barrier objects.

tt.func @s37_global(%p: !tt.ptr<i32>, %v: i32) {
  // expected-error @+1 {{'simt.atomic_rmw' op has kind 'fadd' for elements of 'i32'}}
  simt.atomic_rmw fadd, relaxed, gpu, %p, %v : !tt.ptr<i32>
  tt.return
}

// -----

tt.func @s58(%p: !tt.ptr<i32>) {
  // expected-error @+1 {{'simt.atomic_load' op is 'release', but can only be 'relaxed' or 'acquire'}}
  %0 = simt.atomic_load release, gpu, %p : !tt.ptr<i32>
  tt.return
}

// -----

tt.func @s58_store(%p: !tt.ptr<i32>, %v: i32) {
  // expected-error @+1 {{'simt.atomic_store' op is 'acq_rel', but can only be 'relaxed' or 'release'}}
  simt.atomic_store acq_rel, gpu, %p, %v : !tt.ptr<i32>
  tt.return
}

// -----

tt.func @s58_wait(%p: !tt.ptr<i32>, %v: i32) {
  // expected-error @+1 {{'simt.atomic_wait' op is 'release', but can only be 'relaxed' or 'acquire'}}
  simt.atomic_wait release, gpu, %p, %v : !tt.ptr<i32>
  tt.return
}

// -----

tt.func @s59(%p: !tt.ptr<i8>, %v: i8) {
  // expected-error @+1 {{'simt.atomic_cas' op works on numbers of 16 to 64 bits, not on 'i8'}}
  simt.atomic_cas relaxed, gpu, %p, %v, %v : !tt.ptr<i8>
  tt.return
}

// -----

tt.func @s59_load(%p: !tt.ptr<i1>) {
  // expected-error @+1 {{'simt.atomic_load' op works on numbers of 8 to 64 bits, not on 'i1'}}
  %0 = simt.atomic_load relaxed, gpu, %p : !tt.ptr<i1>
  tt.return
}

// -----

tt.func @s59_sum(%p: !tt.ptr<f8E4M3FN>, %v: f8E4M3FN) {
  // expected-error @+1 {{'simt.atomic_rmw' op works on numbers of 16 to 64 bits, not on 'f8E4M3FN'}}
  simt.atomic_rmw fadd, relaxed, gpu, %p, %v : !tt.ptr<f8E4M3FN>
  tt.return
}

// -----

#line = #simt.linear<register = [[1]], lane = [[2], [4]], warp = [], shape = [8]>
tt.func @s60(%p: tensor<8x!tt.ptr<i32>, #line>, %v: tensor<8xi32, #line>) {
  // expected-error @+1 {{'simt.atomic_wait' op answers with 'i1' where 'tensor<8xi1}}
  %0 = simt.atomic_wait relaxed, gpu, %p, %v : tensor<8x!tt.ptr<i32>, #line> -> i1
  tt.return
}

// -----

tt.func @s61() {
  // expected-error @+1 {{'simt.fence' op is 'relaxed', which orders nothing: it is 'acquire', 'release' or 'acq_rel'}}
  simt.fence relaxed, gpu
  tt.return
}

// -----

tt.func @s66() {
  // expected-error @+1 {{'simt.stage' op has priority 4: it is 0, 1, 2 or 3}}
  simt.stage "loads" priority 4 {
  }
  tt.return
}

// -----

tt.func @s67(%x: i32) {
  // expected-error @+1 {{'simt.stage' op has 1 results of 'i64' and yields 1 values of 'i32'}}
  %0 = simt.stage "loads" -> i64 {
    simt.yield %x : i32
  }
  tt.return
}

// -----

tt.func @s68() {
  // expected-note @+1 {{the stage}}
  simt.stage "loads" {
    // expected-error @+1 {{'simt.async_wait' op waits in stage 'loads': it stands between two stages (rule W2)}}
    simt.async_wait 0
  }
  tt.return
}

// -----

tt.func @s68_arrivals(%i: i32) {
  %0 = simt.alloc : !simt.shared<2 * 1xi64, offset = []>
  // expected-note @+1 {{the stage}}
  simt.stage "loads" {
    // expected-error @+1 {{'simt.wait_arrivals' op waits in stage 'loads': it stands between two stages (rule W2)}}
    simt.wait_arrivals %0[%i] parity %i : !simt.shared<2 * 1xi64, offset = []>
  }
  tt.return
}

// -----

tt.func @s68_barrier(%bit: i1) {
  // expected-note @+1 {{the stage}}
  simt.stage "loads" {
    scf.if %bit {
      // expected-error @+1 {{'simt.barrier' op waits in stage 'loads': it stands between two stages (rule W2)}}
      simt.barrier
    }
  }
  tt.return
}

// -----

tt.func @s69(%n: i32) {
  // expected-note @+1 {{the stage}}
  simt.stage "loads" {
    // expected-error @+1 {{'scf.for' op stands in stage 'loads': a stage has no loop and no stage in it (rule W2)}}
    scf.for %i = %n to %n step %n : i32 {
    }
  }
  tt.return
}

// -----

tt.func @s69_stage() {
  // expected-note @+1 {{the stage}}
  simt.stage "loads" {
    // expected-error @+1 {{'simt.stage' op stands in stage 'loads': a stage has no loop and no stage in it (rule W2)}}
    simt.stage "inner" {
    }
  }
  tt.return
}

// -----

tt.func @s67_end() {
  // expected-error @+1 {{'simt.stage' op has a region that does not end by 'simt.yield'}}
  "simt.stage"() <{label = "loads"}> ({
    tt.return
  }) : () -> ()
  tt.return
}

// -----

tt.func @s67_arguments() {
  // expected-error @+1 {{'simt.stage' op has a region of 1 arguments: a stage uses values from before it as they are}}
  "simt.stage"() <{label = "loads"}> ({
  ^bb0(%a: i32):
    simt.yield
  }) : () -> ()
  tt.return
}

// -----

tt.func @s66_of_a_warp() {
  // expected-error @+1 {{'simt.set_priority' op has priority -1: it is 0, 1, 2 or 3}}
  simt.set_priority -1
  tt.return
}

// -----

tt.func @s71() {
  // expected-error @+1 {{'simt.schedule_barrier' op lets kinds 4096 pass: the mask has 12 bits, 0 to 4095}}
  simt.schedule_barrier 4096
  tt.return
}

// -----

tt.func @s73_open() {
  // expected-error @+1 {{'simt.shift_warps' op is not followed by 'simt.align_warps' in its block}}
  simt.shift_warps
  tt.return
}

// -----

tt.func @s73_twice() {
  // expected-error @+1 {{'simt.shift_warps' op is not followed by 'simt.align_warps' in its block}}
  simt.shift_warps
  simt.shift_warps
  simt.align_warps
  tt.return
}

// -----

tt.func @s73_closed() {
  simt.shift_warps
  simt.align_warps
  // expected-error @+1 {{'simt.align_warps' op does not follow 'simt.shift_warps' in its block}}
  simt.align_warps
  tt.return
}

// -----

tt.func @s77(%i: i32) {
  %0 = simt.alloc : !simt.shared<2 * 1xi32, offset = []>
  // expected-error @+1 {{'simt.arrive' op takes a ring of one i64 a stage, not '!simt.shared<2 * 1xi32, offset = []>'}}
  simt.arrive %0[%i] : !simt.shared<2 * 1xi32, offset = []>
  tt.return
}

// -----

tt.func @s77_wait(%i: i32) {
  %0 = simt.alloc : !simt.shared<1 * 2xi64, offset = [[1]]>
  // expected-error @+1 {{'simt.wait_arrivals' op takes a ring of one i64 a stage, not '!simt.shared<1 * 2xi64, offset = [[1]]>'}}
  simt.wait_arrivals %0[%i] parity %i : !simt.shared<1 * 2xi64, offset = [[1]]>
  tt.return
}

// -----

tt.func @s78() {
  %0 = simt.alloc : !simt.shared<2 * 1xi64, offset = []>
  // expected-error @+1 {{'simt.init_arrivals' op expects 0 arrivals: there are 1 to 1048575}}
  simt.init_arrivals %0, 0 : !simt.shared<2 * 1xi64, offset = []>
  tt.return
}
