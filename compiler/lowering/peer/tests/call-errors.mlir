// RUN: heddle-opt %s -heddle-implement-peer-calls=target=nvptx -split-input-file -verify-diagnostics
// RUN: %fails1 heddle-opt %s -heddle-implement-peer-calls=target=riscv -split-input-file 2>&1 | FileCheck %s
// Every field of a name is read, none is guessed.
// CHECK: unknown target 'riscv': it is host, nvptx or amdgpu

llvm.func @__heddle_exchange() -> i32
llvm.func @kind() {
  // expected-error @+1 {{invalid extern function name '__heddle_exchange': after '__heddle_' comes gettid, clock, hold, releasefence, atomicwrite or atomicspinwait}}
  llvm.call @__heddle_exchange() : () -> i32
  llvm.return
}
// -----
llvm.func @__heddle_atomicwrite_i32_relaxed_system(!llvm.ptr<1>, i32) -> i32
llvm.func @too_few(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @+1 {{invalid extern function name '__heddle_atomicwrite_i32_relaxed_system': atomicwrite has 4 fields, not 3}}
  llvm.call @__heddle_atomicwrite_i32_relaxed_system(%p, %v) : (!llvm.ptr<1>, i32) -> i32
  llvm.return
}
// -----
llvm.func @__heddle_hold(i32) -> i64
llvm.func @held(%v: i32) {
  // expected-error @+1 {{argument 'value' of '__heddle_hold' cannot have type 'i32'}}
  llvm.call @__heddle_hold(%v) : (i32) -> i64
  llvm.return
}
// -----
llvm.func @__heddle_gettid_x() -> i32
llvm.func @too_many() {
  // expected-error @+1 {{invalid extern function name '__heddle_gettid_x': gettid has 0 fields, not 1}}
  llvm.call @__heddle_gettid_x() : () -> i32
  llvm.return
}
// -----
llvm.func @__heddle_atomicwrite_i16_relaxed_system_nomask(!llvm.ptr<1>, i16) -> i16
llvm.func @width(%p: !llvm.ptr<1>, %v: i16) {
  // expected-error @+1 {{unknown width 'i16' in '__heddle_atomicwrite_i16_relaxed_system_nomask': it is i32 or i64}}
  llvm.call @__heddle_atomicwrite_i16_relaxed_system_nomask(%p, %v) : (!llvm.ptr<1>, i16) -> i16
  llvm.return
}
// -----
llvm.func @__heddle_atomicwrite_i32_seqcst_system_nomask(!llvm.ptr<1>, i32) -> i32
llvm.func @semantic(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @+1 {{unknown memory semantic 'seqcst' in '__heddle_atomicwrite_i32_seqcst_system_nomask': it is relaxed, acquire, release or acqrel}}
  llvm.call @__heddle_atomicwrite_i32_seqcst_system_nomask(%p, %v) : (!llvm.ptr<1>, i32) -> i32
  llvm.return
}
// -----
llvm.func @__heddle_atomicwrite_i32_acquire_system_nomask(!llvm.ptr<1>, i32) -> i32
llvm.func @unsupported_write(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @+1 {{unsupported memory semantic 'acquire' in '__heddle_atomicwrite_i32_acquire_system_nomask': atomicwrite is relaxed or release}}
  llvm.call @__heddle_atomicwrite_i32_acquire_system_nomask(%p, %v) : (!llvm.ptr<1>, i32) -> i32
  llvm.return
}
// -----
llvm.func @__heddle_atomicspinwait_i32_acqrel_system_eq_nomask(!llvm.ptr<1>, i32, i64, !llvm.ptr<1>) -> i32
llvm.func @unsupported_wait(%p: !llvm.ptr<1>, %v: i32, %d: i64) {
  // expected-error @+1 {{unsupported memory semantic 'acqrel' in '__heddle_atomicspinwait_i32_acqrel_system_eq_nomask': atomicspinwait is relaxed or acquire}}
  llvm.call @__heddle_atomicspinwait_i32_acqrel_system_eq_nomask(%p, %v, %d, %p) : (!llvm.ptr<1>, i32, i64, !llvm.ptr<1>) -> i32
  llvm.return
}
// -----
// A scope is one field, wherever its letters occur.
llvm.func @__heddle_atomicwrite_i32_relaxed_gpus_nomask(!llvm.ptr<1>, i32) -> i32
llvm.func @scope(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @+1 {{unknown memory sync scope 'gpus' in '__heddle_atomicwrite_i32_relaxed_gpus_nomask': it is system, gpu or cta}}
  llvm.call @__heddle_atomicwrite_i32_relaxed_gpus_nomask(%p, %v) : (!llvm.ptr<1>, i32) -> i32
  llvm.return
}
// -----
llvm.func @__heddle_atomicspinwait_i32_relaxed_system_ne_nomask(!llvm.ptr<1>, i32, i64, !llvm.ptr<1>) -> i32
llvm.func @comparator(%p: !llvm.ptr<1>, %v: i32, %d: i64) {
  // expected-error @+1 {{unknown comparator 'ne' in '__heddle_atomicspinwait_i32_relaxed_system_ne_nomask': it is eq, lt, le, gt, ge or hi}}
  llvm.call @__heddle_atomicspinwait_i32_relaxed_system_ne_nomask(%p, %v, %d, %p) : (!llvm.ptr<1>, i32, i64, !llvm.ptr<1>) -> i32
  llvm.return
}
// -----
llvm.func @__heddle_atomicspinwait_i32_relaxed_system_hi_nomask(!llvm.ptr<1>, i32, i64, !llvm.ptr<1>) -> i32
llvm.func @half(%p: !llvm.ptr<1>, %v: i32, %d: i64) {
  // expected-error @+1 {{comparator 'hi' in '__heddle_atomicspinwait_i32_relaxed_system_hi_nomask' compares the high halves of i64, not of i32}}
  llvm.call @__heddle_atomicspinwait_i32_relaxed_system_hi_nomask(%p, %v, %d, %p) : (!llvm.ptr<1>, i32, i64, !llvm.ptr<1>) -> i32
  llvm.return
}
// -----
llvm.func @__heddle_atomicwrite_i32_relaxed_system_masked(!llvm.ptr<1>, i32) -> i32
llvm.func @maskness(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @+1 {{unknown mask 'masked' in '__heddle_atomicwrite_i32_relaxed_system_masked': it is mask or nomask}}
  llvm.call @__heddle_atomicwrite_i32_relaxed_system_masked(%p, %v) : (!llvm.ptr<1>, i32) -> i32
  llvm.return
}
// -----
llvm.func @__heddle_atomicwrite_i32_relaxed_system_mask(!llvm.ptr<1>, i32) -> i32
llvm.func @count(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @+1 {{'__heddle_atomicwrite_i32_relaxed_system_mask' expects 3 arguments, not 2}}
  llvm.call @__heddle_atomicwrite_i32_relaxed_system_mask(%p, %v) : (!llvm.ptr<1>, i32) -> i32
  llvm.return
}
// -----
llvm.func @__heddle_atomicspinwait_i64_relaxed_system_eq_nomask(!llvm.ptr<1>, i64) -> i64
llvm.func @unbounded(%p: !llvm.ptr<1>, %v: i64) {
  // expected-error @+1 {{'__heddle_atomicspinwait_i64_relaxed_system_eq_nomask' expects 4 arguments, not 2}}
  llvm.call @__heddle_atomicspinwait_i64_relaxed_system_eq_nomask(%p, %v) : (!llvm.ptr<1>, i64) -> i64
  llvm.return
}
// -----
llvm.func @__heddle_atomicwrite_i64_relaxed_system_nomask(!llvm.ptr<1>, i32) -> i64
llvm.func @type(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @+1 {{argument 'value' of '__heddle_atomicwrite_i64_relaxed_system_nomask' cannot have type 'i32'}}
  llvm.call @__heddle_atomicwrite_i64_relaxed_system_nomask(%p, %v) : (!llvm.ptr<1>, i32) -> i64
  llvm.return
}
// -----
llvm.func @__heddle_clock() -> i32
llvm.func @result() {
  // expected-error @+1 {{'__heddle_clock' results in i64, not in 'i32'}}
  llvm.call @__heddle_clock() : () -> i32
  llvm.return
}
// -----
llvm.func @__heddle_clock()
llvm.func @no_result() {
  // expected-error @+1 {{'__heddle_clock' results in i64, not in nothing}}
  llvm.call @__heddle_clock() : () -> ()
  llvm.return
}
// -----
// expected-error @+1 {{'__heddle_clock' is no function whose address can be taken}}
llvm.func @__heddle_clock() -> i64
llvm.func @address() -> !llvm.ptr {
  %0 = llvm.mlir.addressof @__heddle_clock : !llvm.ptr
  llvm.return %0 : !llvm.ptr
}
