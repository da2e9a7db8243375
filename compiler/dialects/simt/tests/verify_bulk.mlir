// RUN: heddle-opt %s -split-input-file -verify-diagnostics
// Rules S79 to S82 and S86 of bulk copies, S83 to S85 of partitions; S77 and S78 of what one thread counts.

// expected-error @+1 {{bulk copies move blocks of 1 to 5 axes of elements of 8, 16, 32 or 64 bits, swizzled over 0, 32, 64 or 128 bytes, not 8x64 of 'f16' over 16}}
tt.func private @s79(!simt.tensor_map<8x64xf16, swizzle = 16>)

// -----

// expected-error @+1 {{swizzled over 0, 32, 64 or 128 bytes, not 1x1x1x1x1x64 of 'f16' over 0}}
tt.func private @s79_axes(!simt.tensor_map<1x1x1x1x1x64xf16, swizzle = 0>)

// -----

// expected-error @+1 {{not 6x64 of 'f16' over 0}}
tt.func private @s79_sizes(!simt.tensor_map<6x64xf16, swizzle = 0>)

// -----

// expected-error @+1 {{not 8x64 of 'i1' over 0}}
tt.func private @s79_element(!simt.tensor_map<8x64xi1, swizzle = 0>)

// -----

// expected-error @+1 {{rows of 64 bytes: a bulk copy has rows of 128 or more}}
tt.func private @s79_rows(!simt.tensor_map<8x32xf16, swizzle = 128>)

// -----

// expected-error @+1 {{rows of 8 bytes: a bulk copy has rows of 16 or more}}
tt.func private @s79_least(!simt.tensor_map<8x4xf16, swizzle = 0>)

// -----

tt.func @s80(%x: !tt.ptr<f16>, %n: i32, %s: i64) {
  // expected-error @+1 {{has 1 sizes and 2 strides for a block of 2 axes}}
  %0 = simt.tensor_map %x[%n] strides [%s, %s] : !tt.ptr<f16> -> !simt.tensor_map<8x64xf16, swizzle = 0>
  tt.return
}

// -----

tt.func @s81(%m: !simt.tensor_map<8x64xf16, swizzle = 0>, %i: i32) {
  %t = simt.alloc : !simt.shared<1 * 8x64xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0]]>
  %b = simt.alloc : !simt.shared<1 * 1xi64, offset = []>
  // expected-error @+1 {{'simt.bulk_load' op copies between '!simt.tensor_map<8x64xf16, swizzle = 0>' at 1 coordinates and}}
  simt.bulk_load %m[%i] to %t, %b : !simt.tensor_map<8x64xf16, swizzle = 0>, !simt.shared<1 * 8x64xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0]]>, !simt.shared<1 * 1xi64, offset = []>
  tt.return
}

// -----

tt.func @s81_shape(%m: !simt.tensor_map<8x32xf16, swizzle = 0>, %i: i32) {
  %t = simt.alloc : !simt.shared<1 * 8x64xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0]]>
  %b = simt.alloc : !simt.shared<1 * 1xi64, offset = []>
  // expected-error @+1 {{'simt.bulk_store' op copies between '!simt.tensor_map<8x32xf16, swizzle = 0>' at 2 coordinates and}}
  simt.bulk_store %t to %m[%i, %i] : !simt.shared<1 * 8x64xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0]]>, !simt.tensor_map<8x32xf16, swizzle = 0>
  tt.return
}

// -----

tt.func @s81_ring(%m: !simt.tensor_map<8x64xf16, swizzle = 0>, %i: i32) {
  %t = simt.alloc : !simt.shared<2 * 8x64xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0]]>
  // expected-error @+1 {{'simt.bulk_store' op copies between}}
  simt.bulk_store %t to %m[%i, %i] : !simt.shared<2 * 8x64xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0]]>, !simt.tensor_map<8x64xf16, swizzle = 0>
  tt.return
}

// -----

tt.func @s86(%m: !simt.tensor_map<8x32xf16, swizzle = 0>, %i: i32) {
  %t = simt.alloc : !simt.shared<1 * 8x64xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0]]>
  %p = simt.subslice %t[0, 32] : !simt.shared<1 * 8x64xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0]]> -> !simt.shared<1 * 8x32xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0]], of = [8, 64]>
  // expected-error @+1 {{'simt.bulk_store' op copies a part of a tile whose rows do not follow each other in shared memory}}
  simt.bulk_store %p to %m[%i, %i] : !simt.shared<1 * 8x32xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0]], of = [8, 64]>, !simt.tensor_map<8x32xf16, swizzle = 0>
  tt.return
}

// -----

tt.func @s81_element(%m: !simt.tensor_map<8x64xbf16, swizzle = 0>, %i: i32) {
  %t = simt.alloc : !simt.shared<1 * 8x64xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0]]>
  %b = simt.alloc : !simt.shared<1 * 1xi64, offset = []>
  // expected-error @+1 {{'simt.bulk_store' op copies between}}
  simt.bulk_store %t to %m[%i, %i] : !simt.shared<1 * 8x64xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0]]>, !simt.tensor_map<8x64xbf16, swizzle = 0>
  tt.return
}

// -----

tt.func @s82() {
  // expected-error @+1 {{leaves -1 stores in flight}}
  simt.bulk_wait -1
  tt.return
}

// -----

tt.func @s83(%x: i32) {
  // expected-error @+1 {{starts 'loads', which is no `tt.func` with `simt.first_warp` and the arguments of 's83'}}
  simt.start_partitions [@loads]
  simt.join_partitions
  tt.return
}
tt.func private @loads(%x: i32) {
  tt.return
}

// -----

tt.func @s83_arguments(%x: i32) {
  // expected-error @+1 {{starts 'loads', which is no `tt.func` with `simt.first_warp` and the arguments of 's83_arguments'}}
  simt.start_partitions [@loads]
  simt.join_partitions
  tt.return
}
tt.func private @loads() attributes {simt.first_warp = 4 : i64, simt.warps = 1 : i64} {
  tt.return
}

// -----

tt.func @s83_missing() {
  // expected-error @+1 {{starts 'elsewhere', which is no `tt.func`}}
  simt.start_partitions [@elsewhere]
  simt.join_partitions
  tt.return
}

// -----

tt.func @s84(%x: i32, %bit: i1) {
  // expected-error @+1 {{is not followed by 'simt.join_partitions' in its block}}
  simt.start_partitions [@loads]
  scf.if %bit {
    simt.join_partitions
  }
  tt.return
}
tt.func private @loads(%x: i32, %bit: i1) attributes {simt.first_warp = 4 : i64, simt.warps = 1 : i64} {
  tt.return
}

// -----

// expected-error @+1 {{has `simt.warps` 3 : i64: a partition has 1, 2, 4, 8 or 16 warps}}
tt.func private @s85() attributes {simt.first_warp = 4 : i64, simt.warps = 3 : i64} {
  tt.return
}

// -----

// expected-error @+1 {{has `simt.first_warp` 0 : i64: the first warp of a partition is 1 to 31}}
tt.func private @s85_first() attributes {simt.first_warp = 0 : i64, simt.warps = 1 : i64} {
  tt.return
}

// -----

// expected-error @+1 {{has `simt.registers` 512 : i64: a thread has 1 to 256 registers}}
tt.func private @s85_registers() attributes {simt.first_warp = 4 : i64, simt.registers = 512 : i64, simt.warps = 1 : i64} {
  tt.return
}

// -----

tt.func @s77_once(%i: i32) {
  %0 = simt.alloc : !simt.shared<2 * 1xi32, offset = []>
  // expected-error @+1 {{'simt.arrive_once' op takes a ring of one i64 a stage, not '!simt.shared<2 * 1xi32, offset = []>'}}
  simt.arrive_once %0[%i] count 1 : !simt.shared<2 * 1xi32, offset = []>
  tt.return
}

// -----

tt.func @s77_bytes(%i: i32) {
  %0 = simt.alloc : !simt.shared<2 * 1xi32, offset = []>
  // expected-error @+1 {{'simt.expect_bytes' op takes a ring of one i64 a stage}}
  simt.expect_bytes %0[%i] bytes 16 : !simt.shared<2 * 1xi32, offset = []>
  tt.return
}

// -----

tt.func @s77_end() {
  %0 = simt.alloc : !simt.shared<2 * 1xi32, offset = []>
  // expected-error @+1 {{'simt.end_arrivals' op takes a ring of one i64 a stage}}
  simt.end_arrivals %0 : !simt.shared<2 * 1xi32, offset = []>
  tt.return
}

// -----

tt.func @s78_once(%i: i32) {
  %0 = simt.alloc : !simt.shared<1 * 1xi64, offset = []>
  // expected-error @+1 {{counts 0: there are 1 to 1048575}}
  simt.arrive_once %0[%i] count 0 : !simt.shared<1 * 1xi64, offset = []>
  tt.return
}

// -----

tt.func @s78_bytes(%i: i32) {
  %0 = simt.alloc : !simt.shared<1 * 1xi64, offset = []>
  // expected-error @+1 {{counts 1048576: there are 1 to 1048575}}
  simt.expect_bytes %0[%i] bytes 1048576 : !simt.shared<1 * 1xi64, offset = []>
  tt.return
}
