// RUN: heddle-opt %s -split-input-file -verify-diagnostics
// Rules H1 to H3: the hints of the front end.

// expected-error @+1 {{hint 'tt.divisibility' is "16", neither an i32 nor a list of i32}}
tt.func @h1_type(%x: i32 {tt.divisibility = "16"}) {
  tt.return
}
// -----
tt.func @h1_positive(%x: i32) {
  // expected-error @+1 {{hint 'tt.contiguity' is 0, but hints are positive}}
  %0 = arith.addi %x, %x {tt.contiguity = dense<0> : tensor<1xi32>} : i32
  tt.return
}
// -----
tt.func @h2_one_per_dimension(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{hint 'tt.constancy' has 1 values for a result of type 'tensor<4x8xi32>', which needs 2}}
  %0 = arith.addi %x, %x {tt.constancy = dense<4> : tensor<1xi32>} : tensor<4x8xi32>
  tt.return
}
// -----
tt.func @h3_count(%n: i32) {
  // expected-error @+1 {{hint 'tt.num_stages' is -1 : i32, not an i32 of at least 0}}
  scf.for %i = %n to %n step %n : i32 {
  } {tt.num_stages = -1 : i32}
  tt.return
}
