// RUN: heddle-opt %s -split-input-file -verify-diagnostics
// Rules F1 to F5: kernels, returns, calls; F6 is in tests/cli/compile-errors.test.

// expected-error @+1 {{'f1' is a kernel and returns 1 values; a kernel returns none}}
tt.func public @f1(%x: i32) -> i32 {
  tt.return %x : i32
}
// -----
// expected-error @+1 {{argument 0 of kernel 'f2' has type 'tensor<4xi32>', but a launch passes numbers, pointers and descriptors only}}
tt.func public @f2(%x: tensor<4xi32>) {
  tt.return
}
// -----
tt.func @f3_count(%x: i32) -> i32 {
  // expected-error @+1 {{has 2 results, but 'f3_count' has 1}}
  tt.return %x, %x : i32, i32
}
// -----
tt.func @f3_type(%x: i64) -> i32 {
  // expected-error @+1 {{result 0 has type 'i64', but 'f3_type' declares 'i32'}}
  tt.return %x : i64
}
// -----
tt.func @f4(%x: i32) {
  // expected-error @+1 {{calls 'g', but there is no such function}}
  tt.call @g(%x) : (i32) -> ()
  tt.return
}
// -----
tt.func private @g(i32) -> i32
tt.func @f5_argument(%x: i64) {
  // expected-error @+1 {{argument 0 has type 'i64', but 'g' declares 'i32'}}
  %0 = tt.call @g(%x) : (i64) -> i32
  tt.return
}
// -----
tt.func private @g(i32) -> i32
tt.func @f5_result(%x: i32) {
  // expected-error @+1 {{has 0 results, but 'g' has 1}}
  tt.call @g(%x) : (i32) -> ()
  tt.return
}
