// RUN: heddle-opt %s -heddle-implement-peer-calls=target=amdgpu | FileCheck %s --check-prefixes=CHECK,AMD
// RUN: heddle-opt %s -heddle-implement-peer-calls=target=nvptx | FileCheck %s --check-prefixes=CHECK,NVPTX
// A masked write jumps over its store, a masked wait over its loop with 0; masks are i1 or were widened to i32. Masked and
// unmasked calls live in one module.

llvm.func @__heddle_atomicwrite_i32_relaxed_system_mask(!llvm.ptr<1>, i32, i1) -> i32
llvm.func @__heddle_atomicwrite_i32_relaxed_system_nomask(!llvm.ptr<1>, i32) -> i32
llvm.func @__heddle_atomicwrite_i64_relaxed_gpu_mask(!llvm.ptr<1>, i64, i32) -> i64
llvm.func @__heddle_atomicspinwait_i32_relaxed_system_eq_mask(!llvm.ptr<1>, i32, i64, !llvm.ptr<1>, i1) -> i32
llvm.func @__heddle_atomicspinwait_i64_relaxed_system_eq_mask(!llvm.ptr<1>, i64, i64, !llvm.ptr<1>, i32) -> i64

// CHECK-LABEL: @write
llvm.func @write(%p: !llvm.ptr<1>, %v: i32, %m: i1) -> i32 {
  // CHECK-NEXT: llvm.cond_br %arg2, ^[[STORE:bb.*]], ^[[EXIT:bb.*]]
  // CHECK: ^[[STORE]]:
  // CHECK-NEXT: llvm.store %arg1, %arg0 atomic monotonic
  // CHECK-NEXT: llvm.br ^[[EXIT]]
  // CHECK: ^[[EXIT]]:
  %0 = llvm.call @__heddle_atomicwrite_i32_relaxed_system_mask(%p, %v, %m) : (!llvm.ptr<1>, i32, i1) -> i32
  // CHECK-NEXT: llvm.store %arg1, %arg0 atomic monotonic
  %1 = llvm.call @__heddle_atomicwrite_i32_relaxed_system_nomask(%p, %v) : (!llvm.ptr<1>, i32) -> i32
  // Nothing reads the result of a write.
  // CHECK-NEXT: %[[POISON:.*]] = llvm.mlir.poison : i32
  // CHECK-NEXT: llvm.return %[[POISON]]
  llvm.return %1 : i32
}

// CHECK-LABEL: @write_wide
llvm.func @write_wide(%p: !llvm.ptr<1>, %v: i64, %m: i32) {
  // CHECK-NEXT: %[[ZERO:.*]] = llvm.mlir.constant(0 : i32) : i32
  // CHECK-NEXT: %[[ON:.*]] = llvm.icmp "ne" %arg2, %[[ZERO]] : i32
  // CHECK-NEXT: llvm.cond_br %[[ON]], ^[[STORE:bb.*]], ^[[EXIT:bb.*]]
  // CHECK-NOT: poison
  // CHECK: llvm.return
  %0 = llvm.call @__heddle_atomicwrite_i64_relaxed_gpu_mask(%p, %v, %m) : (!llvm.ptr<1>, i64, i32) -> i64
  llvm.return
}

// CHECK-LABEL: @wait
llvm.func @wait(%p: !llvm.ptr<1>, %v: i32, %d: i64, %g: !llvm.ptr<1>, %m: i1) -> i32 {
  // CHECK: %[[ZERO:.*]] = llvm.mlir.constant(0 : i32) : i32
  // CHECK: %[[NOTHING:.*]] = llvm.mlir.constant(0 : i32) : i32
  // CHECK: llvm.cond_br %arg4, ^[[LOOP:bb.*]](%[[ZERO]] : i32), ^[[EXIT:bb.*]](%[[NOTHING]] : i32)
  // CHECK: ^[[LOOP]](%{{.*}}: i32):
  // CHECK: %[[SEEN:.*]] = llvm.load
  // CHECK: llvm.cond_br %{{.*}}, ^[[DONE:bb.*]](%[[SEEN]] : i32), ^
  // CHECK: ^[[DONE]](%[[LAST:.*]]: i32):
  // CHECK-NEXT: llvm.br ^[[EXIT]](%[[LAST]] : i32)
  // CHECK: ^[[EXIT]](%[[RESULT:.*]]: i32):
  // CHECK-NEXT: llvm.return %[[RESULT]]
  %0 = llvm.call @__heddle_atomicspinwait_i32_relaxed_system_eq_mask(%p, %v, %d, %g, %m) : (!llvm.ptr<1>, i32, i64, !llvm.ptr<1>, i1) -> i32
  llvm.return %0 : i32
}

// CHECK-LABEL: @wait_wide
llvm.func @wait_wide(%p: !llvm.ptr<1>, %v: i64, %d: i64, %g: !llvm.ptr<1>, %m: i32) {
  // CHECK: %[[ON:.*]] = llvm.icmp "ne" %arg4, %{{.*}} : i32
  // CHECK: llvm.cond_br %[[ON]], ^{{.*}}(%{{.*}} : i32), ^{{.*}}(%{{.*}} : i64)
  %0 = llvm.call @__heddle_atomicspinwait_i64_relaxed_system_eq_mask(%p, %v, %d, %g, %m) : (!llvm.ptr<1>, i64, i64, !llvm.ptr<1>, i32) -> i64
  llvm.return
}

// Of two waits in one loop, what is masked off reads a word of the group, or nothing under a predicate.
// CHECK-LABEL: @wait_for_two
llvm.func @wait_for_two(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %v: i32, %d: i64, %g: !llvm.ptr<1>, %m: i1, %n: i1) -> i32 {
  // AMD: llvm.select %arg5, %arg0, %arg4
  // AMD: llvm.select %arg6, %arg1, %arg4
  // AMD: llvm.load {{.*}} atomic monotonic
  // AMD: llvm.load {{.*}} atomic monotonic
  // NVPTX: llvm.inline_asm has_side_effects "@$2 ld.relaxed.sys.global.b32 $0, [$1];", "=r,l,b,0,~{memory}" %arg0, %arg5, %
  // NVPTX: llvm.inline_asm has_side_effects "@$2 ld.relaxed.sys.global.b32 $0, [$1];", "=r,l,b,0,~{memory}" %arg1, %arg6, %
  %0 = llvm.call @__heddle_atomicspinwait_i32_relaxed_system_eq_mask(%p, %v, %d, %g, %m) : (!llvm.ptr<1>, i32, i64, !llvm.ptr<1>, i1) -> i32
  %1 = llvm.call @__heddle_atomicspinwait_i32_relaxed_system_eq_mask(%q, %v, %d, %g, %n) : (!llvm.ptr<1>, i32, i64, !llvm.ptr<1>, i1) -> i32
  %2 = llvm.add %0, %1 : i32
  llvm.return %2 : i32
}
// CHECK-NOT: __heddle_
