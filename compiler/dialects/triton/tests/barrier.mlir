// RUN: heddle-opt %s -split-input-file -verify-diagnostics
// The barrier of Triton 3.7 names memory by words.
tt.func @words() {
  ttg.barrier local|global_read
  "ttg.barrier"() <{addrSpace = 31 : i32}> : () -> ()
  tt.return
}
// -----
tt.func @unknown_word() {
  // expected-error @+1 {{'shared' is no memory that a barrier knows: none, local, global_read, global_write, tensor_read, tensor_write or all}}
  ttg.barrier local|shared
  tt.return
}
// -----
tt.func @unknown_bit() {
  // expected-error @+1 {{Invalid attribute `addrSpace` in property conversion: 32 : i32}}
  "ttg.barrier"() <{addrSpace = 32 : i32}> : () -> ()
  tt.return
}
