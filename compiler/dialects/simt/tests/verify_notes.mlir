// RUN: heddle-opt %s -split-input-file -verify-diagnostics
// Rules of SimtNotes.cpp: attributes of this dialect on other operations.

// expected-error @+1 {{has `simt.target` 4 : i32: it is the name of a chip, of a module}}
module attributes {simt.target = 4 : i32} {
  tt.func @s26_target() {
    tt.return
  }
}

// -----

// expected-error @+1 {{has `simt.warps` 3 : i64: it is the warps of a block, an i64 that is a power of two, of a module}}
module attributes {simt.warps = 3 : i64} {
  tt.func @s26(%x: i32) {
    tt.return
  }
}

// -----

// expected-error @+1 {{has `simt.resident_blocks` 0 : i64, which is no number of blocks: it is an i64 of 1 or more}}
tt.func @s27(%x: i32) attributes {simt.resident_blocks = 0 : i64} {
  tt.return
}

// -----

tt.func @s27_place(%x: i32) {
  // expected-error @+1 {{has `simt.resident_blocks`, which is a function's}}
  %y = arith.addi %x, %x {simt.resident_blocks = 2 : i64} : i32
  tt.return
}

// -----

tt.func @s28(%x: tensor<8xi32>) {
  // expected-error @+1 {{has `simt.contiguous` 3, which is no power of two}}
  %y = tt.reshape %x {simt.contiguous = 3 : i64} : tensor<8xi32> -> tensor<8xi32>
  tt.return
}

// -----

tt.func @s87(%x: i32) {
  // expected-error @+1 {{has `simt.defers_second` unit: it is of `scf.for`, without a value}}
  %y = arith.addi %x, %x {simt.defers_second} : i32
  tt.return
}

// -----

tt.func @s87_deferred(%x: i32) {
  // expected-error @+1 {{has `simt.deferred` unit: it is of `scf.for`, without a value}}
  %y = arith.addi %x, %x {simt.deferred} : i32
  tt.return
}

// -----

tt.func @unknown(%x: tensor<8xi32>) {
  // expected-error @+1 {{has no attribute `simt.vector`}}
  %y = arith.addi %x, %x {simt.vector = 2 : i64} : tensor<8xi32>
  tt.return
}

// -----

tt.func @s28_place(%x: tensor<8xi32>) {
  // expected-error @+1 {{has `simt.span` 2 : i64: it is an integer, of `tt.reshape`}}
  %y = arith.addi %x, %x {simt.span = 2 : i64} : tensor<8xi32>
  tt.return
}
