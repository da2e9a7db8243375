// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The five problems as functions on tensors, of which IREE makes a kernel each.
func.func @vector_add(%x: tensor<1500xf32>, %y: tensor<1500xf32>) -> tensor<1500xf32> {
  %e = tensor.empty() : tensor<1500xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x, %y : tensor<1500xf32>, tensor<1500xf32>) outs(%e : tensor<1500xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<1500xf32>
  return %r : tensor<1500xf32>
}
func.func @row_softmax(%x: tensor<6x200xf32>) -> tensor<6x200xf32> {
  %e = tensor.empty() : tensor<6x200xf32>
  %r = linalg.softmax dimension(1) ins(%x : tensor<6x200xf32>) outs(%e : tensor<6x200xf32>) -> tensor<6x200xf32>
  return %r : tensor<6x200xf32>
}
func.func @matmul(%a: tensor<128x96xf16>, %b: tensor<96x64xf16>) -> tensor<128x64xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x64xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<128x64xf32>) -> tensor<128x64xf32>
  %r = linalg.matmul ins(%a, %b : tensor<128x96xf16>, tensor<96x64xf16>) outs(%f : tensor<128x64xf32>) -> tensor<128x64xf32>
  return %r : tensor<128x64xf32>
}
func.func @transpose(%x: tensor<96x64xf32>) -> tensor<64x96xf32> {
  %e = tensor.empty() : tensor<64x96xf32>
  %r = linalg.transpose ins(%x : tensor<96x64xf32>) outs(%e : tensor<64x96xf32>) permutation = [1, 0]
  return %r : tensor<64x96xf32>
}
func.func @histogram(%x: tensor<2000xi32>) -> tensor<64xi32> {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<64xi32>
  %f = linalg.fill ins(%z : i32) outs(%e : tensor<64xi32>) -> tensor<64xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(b, i) -> (i)>, affine_map<(b, i) -> (b)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<2000xi32>) outs(%f : tensor<64xi32>) {
  ^bb0(%v: i32, %o: i32):
    %bin = linalg.index 0 : index
    %want = arith.index_cast %bin : index to i32
    %same = arith.cmpi eq, %v, %want : i32
    %one = arith.extui %same : i1 to i32
    %s = arith.addi %o, %one : i32
    linalg.yield %s : i32
  } -> tensor<64xi32>
  return %r : tensor<64xi32>
}
