// RUN: heddle-opt %s -split-input-file -verify-diagnostics
// Rules P1 to P15.

tt.func @p1(%p: !tt.ptr<f32>, %v: i32) {
  // expected-error @+1 {{'peer.atomic_write' op works on memory of i32 or i64, not of 'f32'}}
  peer.atomic_write relaxed, sys, %p, %v : !tt.ptr<f32>, i32
  tt.return
}
// -----
tt.func @p1_block_pointer(%p: !tt.ptr<tensor<4xi32>>, %v: i32) {
  // expected-error @+1 {{works on memory of i32 or i64, not of 'tensor<4xi32>'}}
  peer.atomic_write relaxed, sys, %p, %v : !tt.ptr<tensor<4xi32>>, i32
  tt.return
}
// -----
tt.func @p1_wait(%p: tensor<4x!tt.ptr<i16>>, %v: i32, %d: i64, %g: !tt.ptr<i64>) {
  // expected-error @+1 {{'peer.atomic_spin_wait' op result #0 must be}}
  %0 = peer.atomic_spin_wait relaxed, sys, eq, %p, %v within %d, %g : tensor<4x!tt.ptr<i16>>, i32
  tt.return
}
// -----
tt.func @p1_send(%p: !tt.ptr<i32>, %v: i32) {
  // expected-error @+1 {{'peer.packet_send' op works on memory of i64, not of 'i32'}}
  peer.packet_send %p, %v, %v : !tt.ptr<i32>
  tt.return
}
// -----
tt.func @p1_receive(%p: tensor<2x!tt.ptr<i32>>, %v: i32, %d: i64, %g: !tt.ptr<i64>) {
  // expected-error @+1 {{'peer.packet_receive' op works on memory of i64, not of 'i32'}}
  %0, %1 = peer.packet_receive %p, %v within %d, %g : tensor<2x!tt.ptr<i32>>
  tt.return
}
// -----
tt.func @p2(%p: !tt.ptr<i32, 3>, %v: i32) {
  // expected-error @+1 {{works on global memory, address space 1, but the pointer has address space 3}}
  peer.atomic_write relaxed, sys, %p, %v : !tt.ptr<i32, 3>, i32
  tt.return
}
// -----
tt.func @p3(%p: !tt.ptr<i32>, %v: i32, %m: tensor<4xi1>) {
  // expected-error @+1 {{mask type 'tensor<4xi1>' does not fit pointer type '!tt.ptr<i32>', which needs 'i1'}}
  "peer.atomic_write"(%p, %v, %m) <{sem = 1 : i32, scope = 3 : i32}> : (!tt.ptr<i32>, i32, tensor<4xi1>) -> ()
  tt.return
}
// -----
tt.func @p3_wait(%p: tensor<4x!tt.ptr<i32>>, %v: i32, %m: tensor<2xi1>, %d: i64, %g: !tt.ptr<i64>) {
  // expected-error @+1 {{mask type 'tensor<2xi1>' does not fit pointer type 'tensor<4x!tt.ptr<i32>>', which needs 'tensor<4xi1>'}}
  %0 = "peer.atomic_spin_wait"(%p, %v, %m, %d, %g) <{sem = 1 : i32, scope = 3 : i32, comparator = 0 : i32}> : (tensor<4x!tt.ptr<i32>>, i32, tensor<2xi1>, i64, !tt.ptr<i64>) -> tensor<4xi32>
  tt.return
}
// -----
tt.func @p4(%p: !tt.ptr<i32>, %v: i64) {
  // expected-error @+1 {{value type 'i64' does not fit pointer type '!tt.ptr<i32>', which needs 'i32'}}
  peer.atomic_write relaxed, sys, %p, %v : !tt.ptr<i32>, i64
  tt.return
}
// -----
tt.func @p4_wait(%p: tensor<4x!tt.ptr<i64>>, %v: tensor<2xi64>, %d: i64, %g: !tt.ptr<i64>) {
  // expected-error @+1 {{expected type 'tensor<2xi64>' does not fit pointer type 'tensor<4x!tt.ptr<i64>>', which needs 'i64' or 'tensor<4xi64>'}}
  %0 = peer.atomic_spin_wait relaxed, sys, eq, %p, %v within %d, %g : tensor<4x!tt.ptr<i64>>, tensor<2xi64>
  tt.return
}
// -----
tt.func @p5(%p: !tt.ptr<i32>, %i: i32, %g: !tt.ptr<i64>) {
  %0 = peer.address %p, %i, %g : !tt.ptr<i32>, i32
  %1 = tt.addptr %0, %i : !tt.ptr<i32>, i32
  // expected-error @+1 {{accesses the memory of another rank at scope 'gpu'; the one scope that reaches it is 'sys'}}
  peer.atomic_write relaxed, gpu, %1, %i : !tt.ptr<i32>, i32
  tt.return
}
// -----
tt.func @p5_wait(%p: tensor<4x!tt.ptr<i32>>, %i: i32, %d: i64, %g: !tt.ptr<i64>) {
  %0 = peer.address %p, %i, %g : tensor<4x!tt.ptr<i32>>, i32
  // expected-error @+1 {{accesses the memory of another rank at scope 'cta'; the one scope that reaches it is 'sys'}}
  %1 = peer.atomic_spin_wait relaxed, cta, eq, %0, %i within %d, %g : tensor<4x!tt.ptr<i32>>, i32
  tt.return
}
// -----
tt.func @p6(%p: !tt.ptr<i32>, %v: i32) {
  // expected-error @+1 {{'peer.atomic_write' op cannot be 'acquire': a write is 'relaxed' or 'release'}}
  peer.atomic_write acquire, sys, %p, %v : !tt.ptr<i32>, i32
  tt.return
}
// -----
tt.func @p6_both(%p: !tt.ptr<i32>, %v: i32) {
  // expected-error @+1 {{cannot be 'acq_rel': a write is 'relaxed' or 'release'}}
  peer.atomic_write acq_rel, sys, %p, %v : !tt.ptr<i32>, i32
  tt.return
}
// -----
tt.func @p7(%p: !tt.ptr<i32>, %v: i32, %d: i64, %g: !tt.ptr<i64>) {
  // expected-error @+1 {{'peer.atomic_spin_wait' op cannot be 'release': a wait is 'relaxed' or 'acquire'}}
  %0 = peer.atomic_spin_wait release, sys, eq, %p, %v within %d, %g : !tt.ptr<i32>, i32
  tt.return
}
// -----
tt.func @p7_both(%p: !tt.ptr<i32>, %v: i32, %d: i64, %g: !tt.ptr<i64>) {
  // expected-error @+1 {{cannot be 'acq_rel': a wait is 'relaxed' or 'acquire'}}
  %0 = peer.atomic_spin_wait acq_rel, sys, eq, %p, %v within %d, %g : !tt.ptr<i32>, i32
  tt.return
}
// -----
tt.func @p8(%p: !tt.ptr<i32>, %v: i32, %d: i64, %g: !tt.ptr<i64>) {
  // expected-error @+1 {{comparator 'hi' compares the high halves of i64, not of 'i32'}}
  %0 = peer.atomic_spin_wait relaxed, sys, hi, %p, %v within %d, %g : !tt.ptr<i32>, i32
  tt.return
}
// -----
tt.func @p9(%p: !tt.ptr<i32>, %r: tensor<4xi32>, %g: !tt.ptr<i64>) {
  // expected-error @+1 {{rank type 'tensor<4xi32>' does not fit pointer type '!tt.ptr<i32>', which needs i32}}
  %0 = peer.address %p, %r, %g : !tt.ptr<i32>, tensor<4xi32>
  tt.return
}
// -----
tt.func @p10(%p: !tt.ptr<i32>, %g: !tt.ptr<i64>) {
  %c8 = arith.constant 8 : i32
  // expected-error @+1 {{rank 8 is not 0 to 7}}
  %0 = peer.address %p, %c8, %g : !tt.ptr<i32>, i32
  tt.return
}
// -----
tt.func @p11(%p: !tt.ptr<i64>, %e: i64) {
  // expected-error @+1 {{'world_size' 9 is not 1 to 8}}
  %0 = peer.block_barrier %p, %e, %e, %p, tag %e {world_size = 9 : i32}
  tt.return
}
// -----
tt.func @p11_nobody(%p: !tt.ptr<i64>, %e: i64) {
  // expected-error @+1 {{'world_size' 0 is not 1 to 8}}
  %0 = peer.block_barrier %p, %e, %e, %p, tag %e {world_size = 0 : i32}
  tt.return
}
// -----
tt.func @p12(%p: tensor<4x!tt.ptr<i64>>, %v: i32) {
  // expected-error @+1 {{data type 'i32' does not fit pointer type 'tensor<4x!tt.ptr<i64>>', which needs 'tensor<4xi32>'}}
  "peer.packet_send"(%p, %v, %v) : (tensor<4x!tt.ptr<i64>>, i32, i32) -> ()
  tt.return
}
// -----
tt.func @p13(%f: i1, %r: i32, %e: i64, %es: tensor<4xi64>, %g: !tt.ptr<i64>) {
  // expected-error @+1 {{'seen' has type 'tensor<4xi64>', which is neither a scalar nor in the shape of 'failed', 'i1'}}
  peer.report %f, %r, %e, %es, %e, %g, tag %e : i1, i32, i64, tensor<4xi64>
  tt.return
}
// -----
tt.func @p14(%p: !tt.ptr<i64>, %e: i64) {
  // expected-error @+1 {{exchanges 3 values: it has 1, 2 or 4}}
  %0 = peer.block_exchange relaxed, %p, (%e, %e, %e), %e, %e, %p, tag %e {world_size = 4 : i32}
  tt.return
}
// -----
tt.func @p14_ranks(%p: !tt.ptr<i64>, %e: i64) {
  // expected-error @+1 {{'world_size' 9 is not 1 to 8}}
  %0 = peer.block_exchange relaxed, %p, (%e), %e, %e, %p, tag %e {world_size = 9 : i32}
  tt.return
}
// -----
tt.func @p15(%p: !tt.ptr<i64>, %e: i64) {
  // expected-error @+1 {{cannot be 'acquire': an exchange is 'relaxed' or 'release'}}
  %0 = peer.block_exchange acquire, %p, (%e), %e, %e, %p, tag %e {world_size = 4 : i32}
  tt.return
}
// -----
// What the text fixes by type: a group is `!tt.ptr<i64>`, words of a comparator exist.
tt.func @other_group(%g: !tt.ptr<i32>) { // expected-note {{prior use here}}
  // expected-error @+1 {{expects different type than prior uses: '!tt.ptr<i64>' vs '!tt.ptr<i32>'}}
  %0 = peer.rank %g : i32
  tt.return
}
// -----
tt.func @other_comparator(%p: !tt.ptr<i32>, %v: i32, %d: i64, %g: !tt.ptr<i64>) {
  // expected-error @+1 {{eq, lt, le, gt, ge, hi}}
  %0 = peer.atomic_spin_wait relaxed, sys, ne, %p, %v within %d, %g : !tt.ptr<i32>, i32
  tt.return
}
