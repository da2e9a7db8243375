// RUN: heddle-opt %s -heddle-implement-peer-calls=target=nvptx | FileCheck %s
// A loop ends when `loaded CMP expected` holds, unsigned.

llvm.func @__heddle_atomicspinwait_i32_relaxed_system_eq_nomask(!llvm.ptr<1>, i32, i64, !llvm.ptr<1>) -> i32
llvm.func @__heddle_atomicspinwait_i32_relaxed_system_lt_nomask(!llvm.ptr<1>, i32, i64, !llvm.ptr<1>) -> i32
llvm.func @__heddle_atomicspinwait_i32_relaxed_system_le_nomask(!llvm.ptr<1>, i32, i64, !llvm.ptr<1>) -> i32
llvm.func @__heddle_atomicspinwait_i32_relaxed_system_gt_nomask(!llvm.ptr<1>, i32, i64, !llvm.ptr<1>) -> i32
llvm.func @__heddle_atomicspinwait_i32_relaxed_system_ge_nomask(!llvm.ptr<1>, i32, i64, !llvm.ptr<1>) -> i32
llvm.func @__heddle_atomicspinwait_i64_relaxed_system_hi_nomask(!llvm.ptr<1>, i64, i64, !llvm.ptr<1>) -> i64

// CHECK-LABEL: @eq
llvm.func @eq(%p: !llvm.ptr<1>, %v: i32, %d: i64, %g: !llvm.ptr<1>) {
  // CHECK: %[[SEEN:.*]] = llvm.load
  // CHECK-NEXT: %[[HOLDS:.*]] = llvm.icmp "eq" %[[SEEN]], %arg1 : i32
  // CHECK-NEXT: llvm.cond_br %[[HOLDS]], ^[[DONE:.*]](%[[SEEN]] : i32), ^
  %0 = llvm.call @__heddle_atomicspinwait_i32_relaxed_system_eq_nomask(%p, %v, %d, %g) : (!llvm.ptr<1>, i32, i64, !llvm.ptr<1>) -> i32
  llvm.return
}

// CHECK-LABEL: @lt
llvm.func @lt(%p: !llvm.ptr<1>, %v: i32, %d: i64, %g: !llvm.ptr<1>) {
  // CHECK: %[[SEEN:.*]] = llvm.load
  // CHECK-NEXT: %[[HOLDS:.*]] = llvm.icmp "ult" %[[SEEN]], %arg1 : i32
  // CHECK-NEXT: llvm.cond_br %[[HOLDS]], ^[[DONE:.*]](%[[SEEN]] : i32), ^
  %0 = llvm.call @__heddle_atomicspinwait_i32_relaxed_system_lt_nomask(%p, %v, %d, %g) : (!llvm.ptr<1>, i32, i64, !llvm.ptr<1>) -> i32
  llvm.return
}

// CHECK-LABEL: @le
llvm.func @le(%p: !llvm.ptr<1>, %v: i32, %d: i64, %g: !llvm.ptr<1>) {
  // CHECK: %[[SEEN:.*]] = llvm.load
  // CHECK-NEXT: %[[HOLDS:.*]] = llvm.icmp "ule" %[[SEEN]], %arg1 : i32
  // CHECK-NEXT: llvm.cond_br %[[HOLDS]], ^[[DONE:.*]](%[[SEEN]] : i32), ^
  %0 = llvm.call @__heddle_atomicspinwait_i32_relaxed_system_le_nomask(%p, %v, %d, %g) : (!llvm.ptr<1>, i32, i64, !llvm.ptr<1>) -> i32
  llvm.return
}

// CHECK-LABEL: @gt
llvm.func @gt(%p: !llvm.ptr<1>, %v: i32, %d: i64, %g: !llvm.ptr<1>) {
  // CHECK: %[[SEEN:.*]] = llvm.load
  // CHECK-NEXT: %[[HOLDS:.*]] = llvm.icmp "ugt" %[[SEEN]], %arg1 : i32
  // CHECK-NEXT: llvm.cond_br %[[HOLDS]], ^[[DONE:.*]](%[[SEEN]] : i32), ^
  %0 = llvm.call @__heddle_atomicspinwait_i32_relaxed_system_gt_nomask(%p, %v, %d, %g) : (!llvm.ptr<1>, i32, i64, !llvm.ptr<1>) -> i32
  llvm.return
}

// CHECK-LABEL: @ge
llvm.func @ge(%p: !llvm.ptr<1>, %v: i32, %d: i64, %g: !llvm.ptr<1>) {
  // CHECK: %[[SEEN:.*]] = llvm.load
  // CHECK-NEXT: %[[HOLDS:.*]] = llvm.icmp "uge" %[[SEEN]], %arg1 : i32
  // CHECK-NEXT: llvm.cond_br %[[HOLDS]], ^[[DONE:.*]](%[[SEEN]] : i32), ^
  %0 = llvm.call @__heddle_atomicspinwait_i32_relaxed_system_ge_nomask(%p, %v, %d, %g) : (!llvm.ptr<1>, i32, i64, !llvm.ptr<1>) -> i32
  llvm.return
}

// CHECK-LABEL: @hi
llvm.func @hi(%p: !llvm.ptr<1>, %v: i64, %d: i64, %g: !llvm.ptr<1>) {
  // CHECK: %[[SEEN:.*]] = llvm.load
  // CHECK-NEXT: %[[HALF:.*]] = llvm.mlir.constant(32 : i64) : i64
  // CHECK-NEXT: %[[FLAG:.*]] = llvm.lshr %[[SEEN]], %[[HALF]] : i64
  // CHECK-NEXT: %[[WANTED:.*]] = llvm.lshr %arg1, %[[HALF]] : i64
  // CHECK-NEXT: %[[HOLDS:.*]] = llvm.icmp "eq" %[[FLAG]], %[[WANTED]] : i64
  // CHECK-NEXT: llvm.cond_br %[[HOLDS]], ^[[DONE:.*]](%[[SEEN]] : i64), ^
  %0 = llvm.call @__heddle_atomicspinwait_i64_relaxed_system_hi_nomask(%p, %v, %d, %g) : (!llvm.ptr<1>, i64, i64, !llvm.ptr<1>) -> i64
  llvm.return
}
