// RUN: heddle-opt %s --heddle-inline-calls --split-input-file --verify-diagnostics

tt.func public @kernel(%n: i32) {
  tt.call @a(%n) : (i32) -> ()
  tt.return
}
tt.func private @a(%n: i32) {
  tt.call @b(%n) : (i32) -> ()
  tt.return
}
tt.func private @b(%n: i32) {
  // expected-error @+1 {{recursive call: `a` calls `b` calls `a`}}
  tt.call @a(%n) : (i32) -> ()
  tt.return
}

// -----

tt.func public @kernel(%n: i32) {
  // expected-error @+1 {{call of `elsewhere`, which has no body in this module}}
  tt.call @elsewhere(%n) : (i32) -> ()
  tt.return
}
tt.func private @elsewhere(i32)
