// RUN: python3 %S/round_trip.py %s
// Reductions, scans and elementwise regions, as Triton 3.6 prints them.
tt.func @regions(%x: tensor<64x32xf32>, %i: tensor<64x32xi32>) {
  %0:2 = "tt.reduce"(%x, %i) <{axis = 1 : i32}> ({
  ^bb0(%a: f32, %ai: i32, %b: f32, %bi: i32):
    %c = arith.cmpf ogt, %a, %b : f32
    %v = arith.select %c, %a, %b : f32
    %vi = arith.select %c, %ai, %bi : i32
    tt.reduce.return %v, %vi : f32, i32
  }) : (tensor<64x32xf32>, tensor<64x32xi32>) -> (tensor<64xf32>, tensor<64xi32>)
  %1 = "tt.reduce"(%0#0) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %v = arith.maxnumf %a, %b : f32
    tt.reduce.return %v : f32
  }) : (tensor<64xf32>) -> f32
  %2 = "tt.scan"(%x) <{axis = 1 : i32, reverse = false}> ({
  ^bb0(%a: f32, %b: f32):
    %v = arith.addf %a, %b : f32
    tt.scan.return %v : f32
  }) : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %3:2 = "tt.scan"(%x, %i) <{axis = 0 : i32, reverse = true}> ({
  ^bb0(%a: f32, %ai: i32, %b: f32, %bi: i32):
    tt.scan.return %a, %bi : f32, i32
  }) {kept = "yes"} : (tensor<64x32xf32>, tensor<64x32xi32>) -> (tensor<64x32xf32>, tensor<64x32xi32>)
  %4 = "tt.map_elementwise"(%x, %i) <{pack = 2 : i32}> ({
  ^bb0(%a: f32, %b: f32, %ai: i32, %bi: i32):
    %c = arith.cmpi slt, %ai, %bi : i32
    cf.cond_br %c, ^bb1, ^bb2
  ^bb1:
    tt.map_elementwise.return %a, %b : f32, f32
  ^bb2:
    tt.map_elementwise.return %b, %a : f32, f32
  }) : (tensor<64x32xf32>, tensor<64x32xi32>) -> tensor<64x32xf32>
  tt.return
}
