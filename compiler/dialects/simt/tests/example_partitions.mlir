// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// Further warps of the block execute functions of their own: warps 4 to 7 one, warp 8 another.

// CHECK-LABEL: tt.func @kernel
tt.func @kernel(%x: !tt.ptr<f32>) {
  // CHECK: simt.start_partitions [@loads, @stores]
  simt.start_partitions [@loads, @stores]
  // CHECK-NEXT: simt.join_partitions
  simt.join_partitions
  tt.return
}
// CHECK: tt.func private @loads(%{{.*}}: !tt.ptr<f32>) attributes {simt.first_warp = 4 : i64, simt.registers = 24 : i64, simt.warps = 4 : i64}
tt.func private @loads(%x: !tt.ptr<f32>) attributes {simt.first_warp = 4 : i64, simt.registers = 24 : i64, simt.warps = 4 : i64} {
  tt.return
}
// CHECK: tt.func private @stores(%{{.*}}: !tt.ptr<f32>) attributes {simt.first_warp = 8 : i64, simt.warps = 1 : i64}
tt.func private @stores(%x: !tt.ptr<f32>) attributes {simt.first_warp = 8 : i64, simt.warps = 1 : i64} {
  tt.return
}
