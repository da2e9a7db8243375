// A box has at most 256 elements along an axis, and lies densely in shared memory. Of rows of 512 elements without a swizzle
// it has half a row: four rows are eight copies, 512 bytes apart.
// RUN: heddle compile %s --from simplify-layouts -o %t.hpkg && heddle inspect %t.hpkg | FileCheck --check-prefix=BOX %s
// RUN: heddle compile %s --from simplify-layouts --to asm | FileCheck %s
// BOX: tensor map {{ *}}of x: f16, a box of 1 x 256
// CHECK-COUNT-8: cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes
// CHECK-NOT: cp.async.bulk.tensor
module attributes {simt.target = "sm_90", simt.warps = 4 : i64} {
  tt.func public @boxes(%x: !tt.ptr<f16>, %rows: i32, %columns: i32, %row: i64, %column: i64) {
    %map = simt.tensor_map %x[%rows, %columns] strides [%row, %column] : !tt.ptr<f16> -> !simt.tensor_map<4x512xf16, swizzle = 0>
    %tile = simt.alloc : !simt.shared<1 * 4x512xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64], [0, 128], [0, 256], [1, 0], [2, 0]]>
    %object = simt.alloc : !simt.shared<1 * 1xi64, offset = []>
    %zero = arith.constant 0 : i32
    simt.init_arrivals %object, 1 : !simt.shared<1 * 1xi64, offset = []>
    simt.expect_bytes %object[%zero] bytes 4096 : !simt.shared<1 * 1xi64, offset = []>
    simt.bulk_load %map[%zero, %zero] to %tile, %object : !simt.tensor_map<4x512xf16, swizzle = 0>, !simt.shared<1 * 4x512xf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64], [0, 128], [0, 256], [1, 0], [2, 0]]>, !simt.shared<1 * 1xi64, offset = []>
    simt.wait_arrivals %object[%zero] parity %zero : !simt.shared<1 * 1xi64, offset = []>
    tt.return
  }
}
