// RUN: python3 %S/round_trip.py %s
// The grid, elementwise helpers, external code, debugging, calls, barriers.
tt.func private @"mod.<helper>__fp32__"(f32) -> f32 attributes {noinline = true}
tt.func private @two() -> (i32, i32) attributes {noinline = true} {
  %0 = tt.get_program_id x : i32
  %1 = tt.get_num_programs z : i32
  tt.return %0, %1 : i32, i32
}
tt.func @elementwise(%x: f32, %t: tensor<64xf32>, %n: i32, %u: tensor<64xi64>, %b: tensor<64xi1>, %c: i1, %q: tensor<64xi8>) {
  %0 = tt.get_program_id y : i32
  %1 = tt.get_num_programs x : i32
  %2 = tt.bitcast %t : tensor<64xf32> -> tensor<64xi32>
  %3 = tt.fp_to_fp %t, rounding = rtne : tensor<64xf32> -> tensor<64xf8E4M3FN>
  %4 = tt.fp_to_fp %x, rounding = rtz : f32 -> bf16
  %5 = tt.fp_to_fp %3 : tensor<64xf8E4M3FN> -> tensor<64xf16>
  %6 = tt.clampf %t, %t, %t, propagateNan = none : tensor<64xf32>
  %7 = tt.clampf %x, %x, %x, propagateNan = all : f32
  %8 = tt.precise_sqrt %t : tensor<64xf32>
  %9 = tt.precise_divf %x, %x : f32
  %10 = tt.mulhiui %u, %u : tensor<64xi64>
  %11 = tt.extern_elementwise %t, %t {libname = "", libpath = "", pure = true, symbol = "__nv_powf"} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %12 = tt.extern_elementwise %x {libname = "libdevice", libpath = "a/b", pure = false, symbol = "__ocml_exp_f32"} : (f32) -> f32
  %13:2 = tt.elementwise_inline_asm "mov.b32 $0, $2;" {constraints = "=r,=r,r", packed_element = 4 : i32, pure = true} %q : tensor<64xi8> -> tensor<64xi8>, tensor<64xi8>
  %14 = tt.elementwise_inline_asm "mov.u32 $0, %clock;" {constraints = "=r", packed_element = 1 : i32, pure = false} -> i32
  tt.print " x: " {hex = false, isSigned = array<i32: 1, 0>} : %n, %t : i32, tensor<64xf32>
  tt.print "here" {hex = true, isSigned = array<i32>}
  tt.assert %b, "all \22inside\22" : tensor<64xi1>
  tt.assert %c, "" : i1
  %15 = tt.call @"mod.<helper>__fp32__"(%x) : (f32) -> f32
  %16:2 = tt.call @two() : () -> (i32, i32)
  %17 = tt.approx_divf %t, %t : tensor<64xf32>
  %18 = tt.approx_divf %x, %x : f32
  tt.grid_dependency_wait
  tt.grid_dependency_launch_dependents
  gpu.barrier
  ttg.barrier all
  ttg.barrier none
  ttg.barrier local
  ttg.barrier local|global_read|global_write
  ttg.barrier tensor_read|tensor_write
  tt.return
}
