// RUN: python3 %S/round_trip.py %s
// Constants of every width, those that decimal digits cannot give in hexadecimal.
tt.func @constants() {
  %0 = arith.constant dense<0xFF800000> : tensor<4xf32>
  %1 = arith.constant dense<0xFC00> : tensor<4xf16>
  %2 = arith.constant dense<0xFF80> : tensor<4xbf16>
  %3 = arith.constant dense<0xFFF0000000000000> : tensor<4xf64>
  %4 = arith.constant 0x7FC00000 : f32
  %5 = arith.constant 0x7E00 : f16
  %6 = arith.constant 0x7FC0 : bf16
  %7 = arith.constant 0x7FF8000000000000 : f64
  %8 = arith.constant dense<9.99999996E-13> : tensor<4xf32>
  %9 = arith.constant 1.44269502 : f32
  %10 = arith.constant dense<4.480000e+02> : tensor<4xf8E4M3FN>
  %11 = arith.constant dense<5.734400e+04> : tensor<4xf8E5M2>
  %12 = arith.constant dense<2.400000e+02> : tensor<4xf8E4M3FNUZ>
  %13 = arith.constant -1.000000e+00 : f8E5M2FNUZ
  %14 = arith.constant 0x7F : f8E4M3FN
  %15 = arith.constant dense<[0, 1, -1, 9223372036854775807]> : tensor<4xi64>
  %16 = arith.constant dense<[true, false]> : tensor<2xi1>
  %17 = arith.constant dense<-8> : tensor<4xi4>
  %18 = arith.constant false
  %19 = ub.poison : tensor<4x!tt.ptr<f32>>
  tt.return
}
