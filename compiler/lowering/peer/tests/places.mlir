// RUN: heddle-opt %s -heddle-implement-peer-calls=target=host | FileCheck %s
// Several calls in one block, calls in loops and branches: a value leaves its loop through the block after it. The host
// lets other threads run and asks the C library for the time, in the frame of the function.

llvm.func @__heddle_atomicspinwait_i32_relaxed_system_eq_nomask(!llvm.ptr, i32, i64, !llvm.ptr) -> i32
llvm.func @__heddle_gettid() -> i32
llvm.func @__heddle_clock() -> i64
llvm.func @__heddle_releasefence() -> i32

// CHECK-DAG: llvm.func @clock_gettime(i32, !llvm.ptr) -> i32
// CHECK-DAG: llvm.func @sched_yield() -> i32
// CHECK-LABEL: llvm.func @two
llvm.func @two(%p: !llvm.ptr, %v: i32, %d: i64, %g: !llvm.ptr) -> i32 {
  // CHECK: llvm.alloca %{{.*}} x i64 {alignment = 8 : i64}
  // CHECK: llvm.load %arg0 atomic monotonic
  // CHECK: llvm.call_intrinsic "llvm.x86.sse2.pause"
  // CHECK: llvm.cond_br %{{.*}}, ^[[YIELD:bb.*]], ^[[AGAIN:bb.*]]
  // CHECK: ^[[YIELD]]:
  // CHECK: llvm.call @sched_yield
  // CHECK-NEXT: llvm.br ^[[AGAIN]]
  // CHECK: llvm.call @clock_gettime
  // CHECK: llvm.icmp "uge" %{{.*}}, %arg2 : i64
  // CHECK: llvm.getelementptr %arg3[80]
  // CHECK: llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr -> i64
  // CHECK: llvm.inttoptr
  // CHECK: llvm.load %{{.*}} atomic monotonic {alignment = 4 : i64} : !llvm.ptr -> i32
  // CHECK: llvm.getelementptr %arg3[96]
  // CHECK: llvm.load %{{.*}} atomic monotonic {alignment = 4 : i64} : !llvm.ptr -> i32
  %0 = llvm.call @__heddle_atomicspinwait_i32_relaxed_system_eq_nomask(%p, %v, %d, %g) : (!llvm.ptr, i32, i64, !llvm.ptr) -> i32
  // CHECK: ^bb{{.*}}(%{{.*}}: i32):
  // CHECK-NEXT: llvm.br ^[[EXIT:bb.*]](%{{.*}} : i32)
  // CHECK: ^[[EXIT]](%[[FIRST:.*]]: i32):
  // CHECK: llvm.icmp "eq" %{{.*}}, %[[FIRST]] : i32
  %1 = llvm.call @__heddle_atomicspinwait_i32_relaxed_system_eq_nomask(%p, %0, %d, %g) : (!llvm.ptr, i32, i64, !llvm.ptr) -> i32
  // CHECK: llvm.br ^[[LAST:bb[0-9]+]](%{{.*}} : i32)
  // CHECK-NEXT: ^[[LAST]](%[[SECOND:.*]]: i32):
  // CHECK-NEXT: llvm.return %[[SECOND]]
  llvm.return %1 : i32
}

// CHECK-LABEL: llvm.func @in_loop
llvm.func @in_loop(%p: !llvm.ptr, %v: i32, %d: i64, %g: !llvm.ptr) -> i32 {
  llvm.br ^loop(%v : i32)
^loop(%x: i32):
  // CHECK: ^[[OUTER:bb.*]](%[[X:.*]]: i32):
  // CHECK: llvm.icmp "eq" %{{.*}}, %[[X]] : i32
  // CHECK: llvm.br ^[[EXIT:bb[0-9]+]](%{{.*}} : i32)
  // CHECK-NEXT: ^[[EXIT]](%[[SEEN:.*]]: i32):
  // CHECK: llvm.cond_br %{{.*}}, ^[[OUTER]](%[[SEEN]] : i32)
  %0 = llvm.call @__heddle_atomicspinwait_i32_relaxed_system_eq_nomask(%p, %x, %d, %g) : (!llvm.ptr, i32, i64, !llvm.ptr) -> i32
  %more = llvm.icmp "ne" %0, %v : i32
  llvm.cond_br %more, ^loop(%0 : i32), ^end
^end:
  llvm.return %0 : i32
}

// CHECK-LABEL: llvm.func @others
llvm.func @others() -> i64 {
  // A program is one thread.
  // CHECK: %[[ZERO:.*]] = llvm.mlir.constant(0 : i32) : i32
  %0 = llvm.call @__heddle_gettid() : () -> i32
  %1 = llvm.call @__heddle_releasefence() : () -> i32
  // CHECK: %[[BILLION:.*]] = llvm.mlir.constant(1000000000 : i64) : i64
  // CHECK: llvm.mul %{{.*}}, %[[BILLION]] : i64
  %2 = llvm.call @__heddle_clock() : () -> i64
  // CHECK: llvm.sext %[[ZERO]]
  %3 = llvm.sext %0 : i32 to i64
  %4 = llvm.add %2, %3 : i64
  llvm.return %4 : i64
}
// CHECK-NOT: __heddle_
