// RUN: python3 %S/round_trip.py %s
// Block pointers of older text, and tensor descriptors.
tt.func @block_pointers(%p: !tt.ptr<f16>, %n: i64, %i: i32) {
  %0 = tt.make_tensor_ptr %p, [%n, %n], [%n, %n], [%i, %i] {order = array<i32: 1, 0>} : <tensor<16x32xf16>>
  %1 = tt.advance %0, [%i, %i] : <tensor<16x32xf16>>
  %2 = tt.load %1 : !tt.ptr<tensor<16x32xf16>>
  %3 = tt.load %1 {boundaryCheck = array<i32: 0, 1>, padding = 1 : i32} : !tt.ptr<tensor<16x32xf16>>
  %4 = tt.load %1 evictionPolicy = evict_last {boundaryCheck = array<i32: 1>, padding = 2 : i32} : !tt.ptr<tensor<16x32xf16>>
  tt.store %1, %2 {boundaryCheck = array<i32: 0>} : !tt.ptr<tensor<16x32xf16>>
  tt.return
}
tt.func @descriptors(%p: !tt.ptr<f16>, %n: i32, %s: i64, %q: !tt.ptr<i32>) {
  %0 = tt.make_tensor_descriptor %p, [%n, %n], [%s, %s] : <f16>, <tensor<64x32xf16>>
  %1 = tt.make_tensor_descriptor %p, [%n, %n, %n], [%s, %s, %s] {padding = 2 : i32} : <f16>, <tensor<1x16x32xf16>>
  %2 = tt.descriptor_load %0[%n, %n] : !tt.tensordesc<tensor<64x32xf16>> -> tensor<64x32xf16>
  %3 = tt.descriptor_load %1[%n, %n, %n] cacheModifier = cg evictionPolicy = evict_first : !tt.tensordesc<tensor<1x16x32xf16>> -> tensor<16x32xf16>
  tt.descriptor_store %0[%n, %n], %2 : !tt.tensordesc<tensor<64x32xf16>>, tensor<64x32xf16>
  tt.descriptor_reduce add, %0[%n, %n], %2 : !tt.tensordesc<tensor<64x32xf16>>, tensor<64x32xf16>
  tt.descriptor_reduce min, %0[%n, %n], %2 : !tt.tensordesc<tensor<64x32xf16>>, tensor<64x32xf16>
  tt.descriptor_reduce max, %0[%n, %n], %2 : !tt.tensordesc<tensor<64x32xf16>>, tensor<64x32xf16>
  %4 = tt.make_tensor_descriptor %q, [%n], [%s] : <i32>, <tensor<32xui32>>
  %5 = tt.descriptor_load %4[%n] : !tt.tensordesc<tensor<32xui32>> -> tensor<32xi32>
  tt.descriptor_reduce inc, %4[%n], %5 : !tt.tensordesc<tensor<32xui32>>, tensor<32xi32>
  tt.descriptor_reduce dec, %4[%n], %5 : !tt.tensordesc<tensor<32xui32>>, tensor<32xi32>
  tt.descriptor_reduce and, %4[%n], %5 : !tt.tensordesc<tensor<32xui32>>, tensor<32xi32>
  tt.descriptor_reduce or, %4[%n], %5 : !tt.tensordesc<tensor<32xui32>>, tensor<32xi32>
  tt.descriptor_reduce xor, %4[%n], %5 : !tt.tensordesc<tensor<32xui32>>, tensor<32xi32>
  tt.return
}
tt.func @rows(%d: !tt.tensordesc<tensor<1x128xf32>>, %r: tensor<32xi32>, %s: tensor<32xi16>, %y: i32) {
  %0 = tt.descriptor_gather %d[%r, %y] : (!tt.tensordesc<tensor<1x128xf32>>, tensor<32xi32>, i32) -> tensor<32x128xf32>
  tt.descriptor_scatter %d[%s, %y], %0 : !tt.tensordesc<tensor<1x128xf32>>, tensor<32xi16>, i32, tensor<32x128xf32>
  tt.return
}
