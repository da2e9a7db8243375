// RUN: heddle-opt %s -heddle-peer-to-calls -verify-diagnostics
// What has no call of its own must have been expanded.
tt.func @unexpanded(%g: !tt.ptr<i64>) {
  // expected-error @+1 {{'peer.rank' op must be expanded first, by 'heddle-expand-peer'}}
  %0 = peer.rank %g : i32
  tt.return
}
