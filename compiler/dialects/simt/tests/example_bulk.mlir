// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// Bulk copies of tensors, and the barrier objects at which their bytes arrive.
!tile = !simt.shared<1 * 8x64xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0]]>
!objects = !simt.shared<1 * 1xi64, offset = []>

// CHECK-LABEL: tt.func @bulk
tt.func @bulk(%x: !tt.ptr<f16>, %rows: i32, %columns: i32, %s: i64, %one: i64, %row: i32, %bit: i1) {
  %zero = arith.constant 0 : i32
  %tile = simt.alloc : !tile
  // CHECK: simt.alloc common 3 : !simt.shared<1 * 1xi64
  %full = simt.alloc common 3 : !objects
  // CHECK: simt.tensor_map %{{.*}}[%{{.*}}, %{{.*}}] strides[%{{.*}}, %{{.*}}] : !tt.ptr<f16> -> !simt.tensor_map<8x64xf16, swizzle = 0>
  %map = simt.tensor_map %x[%rows, %columns] strides [%s, %one] : !tt.ptr<f16> -> !simt.tensor_map<8x64xf16, swizzle = 0>
  simt.init_arrivals %full, 1 : !objects
  simt.barrier
  // CHECK: simt.expect_bytes %{{.*}}[%{{.*}}] bytes 1024 : !simt.shared<1 * 1xi64
  simt.expect_bytes %full[%zero] bytes 1024 : !objects
  // CHECK: simt.bulk_load %{{.*}}[%{{.*}}, %{{.*}}] to %{{.*}}, %{{.*}} : !simt.tensor_map<8x64xf16, swizzle = 0>, !simt.shared<1 * 8x64xf16, {{.*}}>, !simt.shared<1 * 1xi64, offset = []>
  simt.bulk_load %map[%row, %zero] to %tile, %full : !simt.tensor_map<8x64xf16, swizzle = 0>, !tile, !objects
  // CHECK: simt.wait_arrivals %{{.*}}[%{{.*}}] parity %{{.*}} : !simt.shared<1 * 1xi64
  simt.wait_arrivals %full[%zero] parity %zero : !objects
  // CHECK: simt.expect_bytes %{{.*}}[%{{.*}}] bytes 1024 if %{{.*}} : !simt.shared<1 * 1xi64
  simt.expect_bytes %full[%zero] bytes 1024 if %bit : !objects
  // CHECK: simt.bulk_load %{{.*}}[%{{.*}}, %{{.*}}] to %{{.*}}, %{{.*}} if %{{.*}} : !simt.tensor_map
  simt.bulk_load %map[%row, %zero] to %tile, %full if %bit : !simt.tensor_map<8x64xf16, swizzle = 0>, !tile, !objects
  // CHECK: simt.wait_arrivals %{{.*}}[%{{.*}}] parity %{{.*}} if %{{.*}} : !simt.shared<1 * 1xi64
  simt.wait_arrivals %full[%zero] parity %zero if %bit : !objects
  // CHECK: simt.fence_async
  simt.fence_async
  simt.barrier
  // CHECK: simt.bulk_store %{{.*}} to %{{.*}}[%{{.*}}, %{{.*}}] : !simt.shared<1 * 8x64xf16, {{.*}}>, !simt.tensor_map<8x64xf16, swizzle = 0>
  simt.bulk_store %tile to %map[%row, %zero] : !tile, !simt.tensor_map<8x64xf16, swizzle = 0>
  // CHECK: simt.bulk_store add, %{{.*}} to %{{.*}}[%{{.*}}, %{{.*}}] :
  simt.bulk_store add, %tile to %map[%row, %zero] : !tile, !simt.tensor_map<8x64xf16, swizzle = 0>
  // CHECK: simt.bulk_wait 1 reads
  simt.bulk_wait 1 reads
  // CHECK: simt.bulk_wait 0{{$}}
  simt.bulk_wait 0
  // CHECK: simt.arrive_once %{{.*}}[%{{.*}}] count 1 : !simt.shared<1 * 1xi64
  simt.arrive_once %full[%zero] count 1 : !objects
  // CHECK: simt.arrive_once %{{.*}}[%{{.*}}] count 2 if %{{.*}} : !simt.shared<1 * 1xi64
  simt.arrive_once %full[%zero] count 2 if %bit : !objects
  // CHECK: simt.arrive %{{.*}}[%{{.*}}] copies increments : !simt.shared<1 * 1xi64
  simt.arrive %full[%zero] copies increments : !objects
  // CHECK: simt.end_arrivals %{{.*}} : !simt.shared<1 * 1xi64
  simt.end_arrivals %full : !objects
  tt.return
}
