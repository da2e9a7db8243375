// Copies straight to LDS move what loads read: into plain, padded and swizzled memory, of masked elements zeros or what was
// there. Each kernel writes its tile of LDS to `out` and what a load reads to `want`.
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: heddle compile %s --kernel zeros --target gfx950 --from place-shared-memory -o plain.hpkg
// RUN: heddle run plain.hpkg --device sim:gfx950 --grid 1 --arg x=rand:f32[1024]:7 --arg out=f32[1024] --arg want=f32[1024] --arg n=776 --out out=out.npy --out want=want.npy --out want=- | FileCheck --check-prefix=ZEROS %s
// RUN: cmp out.npy want.npy
// ZEROS: want: f32[1024]
// ZEROS-NEXT: {{^}}-0.{{.*}} -0.20602478 0 0 0 0 {{[01 ]*$}}

// Padding after each 256 elements, which a warp writes.
// RUN: sed '/^!tile/s/>$/, pad = [256:4]>/' %s > padded.mlir
// RUN: heddle compile padded.mlir --kernel zeros --target gfx950 --from place-shared-memory -o padded.hpkg
// RUN: heddle run padded.hpkg --device sim:gfx950 --grid 1 --arg x=rand:f32[1024]:7 --arg out=f32[1024] --arg want=f32[1024] --arg n=776 --out out=out.npy --out want=want.npy
// RUN: cmp out.npy want.npy

// Lanes write for each other in swizzled memory.
// RUN: sed '/^!tile/s/\[64\], \[128\]/[68], [136]/' %s > swizzled.mlir
// RUN: heddle compile swizzled.mlir --kernel zeros --target gfx950 --from place-shared-memory --to asm | FileCheck --check-prefix=LANES %s
// LANES: ds_bpermute
// LANES: buffer_load_dwordx4 {{.*}} lds
// RUN: heddle compile swizzled.mlir --kernel zeros --target gfx950 --from place-shared-memory -o swizzled.hpkg
// RUN: heddle run swizzled.hpkg --device sim:gfx950 --grid 1 --arg x=rand:f32[1024]:7 --arg out=f32[1024] --arg want=f32[1024] --arg n=776 --out out=out.npy --out want=want.npy
// RUN: cmp out.npy want.npy
// RUN: heddle compile swizzled.mlir --kernel kept --target gfx950 --from place-shared-memory -o kept.hpkg
// RUN: heddle run kept.hpkg --device sim:gfx950 --grid 1 --arg x=rand:f32[1024]:7 --arg out=f32[1024] --arg want=f32[1024] --arg n=776 --out out=out.npy --out want=want.npy --out want=- | FileCheck --check-prefix=KEPT %s
// RUN: cmp out.npy want.npy
// KEPT: want: f32[1024]
// KEPT-NEXT: {{^}}-0.{{.*}} -0.20602478 1 1 1 1 {{[01 ]*$}}
// RUN: heddle compile swizzled.mlir --kernel pointers --target gfx950 --from place-shared-memory -o pointers.hpkg
// RUN: heddle run pointers.hpkg --device sim:gfx950 --grid 1 --arg x=rand:f32[1024]:7 --arg out=f32[1024] --arg want=f32[1024] --arg n=776 --out out=out.npy --out want=want.npy
// RUN: cmp out.npy want.npy

#l = #simt.linear<register = [[1], [2]], lane = [[4], [8], [16], [32], [64], [128]], warp = [[256], [512]], shape = [1024]>
!tile = !simt.shared<1 * 1024xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256], [512]]>
module attributes {simt.target = "gfx950", simt.warps = 4 : i64} {
  tt.func public @zeros(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>, %want: !tt.ptr<f32>, %n: i32) {
    %o = tt.make_range {start = 0 : i32, end = 1024 : i32} : tensor<1024xi32, #l>
    %ns = tt.splat %n : i32 -> tensor<1024xi32, #l>
    %mask = arith.cmpi slt, %o, %ns : tensor<1024xi32, #l>
    %one = arith.constant dense<1.0> : tensor<1024xf32, #l>
    %none = arith.constant dense<0.0> : tensor<1024xf32, #l>
    %m = simt.alloc at 0 : !tile
    simt.store_shared %one, %m : tensor<1024xf32, #l>, !tile
    simt.async_buffer_copy %x[%o] to %m if %mask : tensor<1024xi1, #l> by 4 : !tt.ptr<f32>, tensor<1024xi32, #l>, !tile
    simt.async_commit
    simt.async_wait 0
    %y = simt.load_shared %m : !tile -> tensor<1024xf32, #l>
    %z = simt.buffer_load %x[%o] if %mask : tensor<1024xi1, #l> else %none : tensor<1024xf32, #l> by 4 : !tt.ptr<f32>, tensor<1024xi32, #l> -> tensor<1024xf32, #l>
    simt.buffer_store %y, %out[%o] by 4 : tensor<1024xf32, #l>, !tt.ptr<f32>, tensor<1024xi32, #l>
    simt.buffer_store %z, %want[%o] by 4 : tensor<1024xf32, #l>, !tt.ptr<f32>, tensor<1024xi32, #l>
    tt.return
  }
  tt.func public @kept(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>, %want: !tt.ptr<f32>, %n: i32) {
    %o = tt.make_range {start = 0 : i32, end = 1024 : i32} : tensor<1024xi32, #l>
    %ns = tt.splat %n : i32 -> tensor<1024xi32, #l>
    %mask = arith.cmpi slt, %o, %ns : tensor<1024xi32, #l>
    %one = arith.constant dense<1.0> : tensor<1024xf32, #l>
    %none = arith.constant dense<1.0> : tensor<1024xf32, #l>
    %m = simt.alloc at 0 : !tile
    simt.store_shared %one, %m : tensor<1024xf32, #l>, !tile
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>, #l>
    %p = tt.addptr %xs, %o : tensor<1024x!tt.ptr<f32>, #l>, tensor<1024xi32, #l>
    simt.async_copy %p to %m if %mask : tensor<1024xi1, #l> keeps by 4 : tensor<1024x!tt.ptr<f32>, #l>, !tile
    simt.async_commit
    simt.async_wait 0
    %y = simt.load_shared %m : !tile -> tensor<1024xf32, #l>
    %z = simt.buffer_load %x[%o] if %mask : tensor<1024xi1, #l> else %none : tensor<1024xf32, #l> by 4 : !tt.ptr<f32>, tensor<1024xi32, #l> -> tensor<1024xf32, #l>
    simt.buffer_store %y, %out[%o] by 4 : tensor<1024xf32, #l>, !tt.ptr<f32>, tensor<1024xi32, #l>
    simt.buffer_store %z, %want[%o] by 4 : tensor<1024xf32, #l>, !tt.ptr<f32>, tensor<1024xi32, #l>
    tt.return
  }
  tt.func public @pointers(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>, %want: !tt.ptr<f32>, %n: i32) {
    %o = tt.make_range {start = 0 : i32, end = 1024 : i32} : tensor<1024xi32, #l>
    %ns = tt.splat %n : i32 -> tensor<1024xi32, #l>
    %mask = arith.cmpi slt, %o, %ns : tensor<1024xi32, #l>
    %one = arith.constant dense<1.0> : tensor<1024xf32, #l>
    %none = arith.constant dense<0.0> : tensor<1024xf32, #l>
    %m = simt.alloc at 0 : !tile
    simt.store_shared %one, %m : tensor<1024xf32, #l>, !tile
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>, #l>
    %p = tt.addptr %xs, %o : tensor<1024x!tt.ptr<f32>, #l>, tensor<1024xi32, #l>
    simt.async_copy %p to %m if %mask : tensor<1024xi1, #l> by 4 : tensor<1024x!tt.ptr<f32>, #l>, !tile
    simt.async_commit
    simt.async_wait 0
    %y = simt.load_shared %m : !tile -> tensor<1024xf32, #l>
    %z = simt.buffer_load %x[%o] if %mask : tensor<1024xi1, #l> else %none : tensor<1024xf32, #l> by 4 : !tt.ptr<f32>, tensor<1024xi32, #l> -> tensor<1024xf32, #l>
    simt.buffer_store %y, %out[%o] by 4 : tensor<1024xf32, #l>, !tt.ptr<f32>, tensor<1024xi32, #l>
    simt.buffer_store %z, %want[%o] by 4 : tensor<1024xf32, #l>, !tt.ptr<f32>, tensor<1024xi32, #l>
    tt.return
  }
}
