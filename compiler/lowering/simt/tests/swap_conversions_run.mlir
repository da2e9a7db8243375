// Conversions that swap lanes of two registers, of elements of 1 to 64 bits: registers 0 and 2 swap with lane bits 5 and 4
// in a cycle, so that elements of 8 and 16 bits share a word by registers 1 and 3. Each tile is its own indices before
// and after. No memory on gfx950; on gfx942, which swaps nothing, the same by LDS.
// RUN: heddle compile %s --target gfx950 --from simplify-layouts -o %t.950.hpkg
// RUN: heddle inspect %t.950.hpkg --asm | FileCheck --check-prefix=SWAPS %s
// RUN: heddle run %t.950.hpkg --device sim:gfx950 --grid 1 --arg out=i64[2048] --arg bad=i32[1] --out bad=- | FileCheck %s
// RUN: heddle check %t.950.hpkg --grid 1 --arg out=i64[2048] --arg bad=zeros:i32[1]
// RUN: sed 's/gfx950/gfx942/' %s > %t.942.mlir
// RUN: heddle compile %t.942.mlir --target gfx942 --from simplify-layouts -o %t.942.hpkg
// RUN: heddle inspect %t.942.hpkg --asm | FileCheck --check-prefix=MEMORY %s
// RUN: heddle run %t.942.hpkg --device sim:gfx942 --grid 1 --arg out=i64[2048] --arg bad=i32[1] --out bad=- | FileCheck %s
// CHECK: bad: i32[1]
// CHECK-NEXT: {{^}}0{{$}}
// SWAPS-NOT: ds_write
// SWAPS: v_permlane{{16|32}}_swap_b32
// SWAPS-NOT: ds_write
// MEMORY: ds_write
#a = #simt.linear<register = [[64], [128], [256], [512]], lane = [[1], [2], [4], [8], [16], [32]], warp = [[1024]], shape = [2048]>
#b = #simt.linear<register = [[16], [128], [32], [512]], lane = [[1], [2], [4], [8], [256], [64]], warp = [[1024]], shape = [2048]>
module attributes {simt.target = "gfx950", simt.warps = 2 : i64} {
  tt.func public @swaps(%out: !tt.ptr<i64>, %bad: !tt.ptr<i32>) {
    %one = arith.constant dense<1> : tensor<2048xi32, #b>
    %three = arith.constant dense<3> : tensor<2048xi32, #a>
    %three_b = arith.constant dense<3> : tensor<2048xi32, #b>
    %zeros = arith.constant dense<0> : tensor<2048xi32, #a>
    %zeros_b = arith.constant dense<0> : tensor<2048xi32, #b>
    %from = tt.make_range {start = 0 : i32, end = 2048 : i32} : tensor<2048xi32, #a>
    %to = tt.make_range {start = 0 : i32, end = 2048 : i32} : tensor<2048xi32, #b>
    %base = tt.splat %bad : !tt.ptr<i32> -> tensor<2048x!tt.ptr<i32>, #b>

    %byte_a = arith.trunci %from : tensor<2048xi32, #a> to tensor<2048xi8, #a>
    %byte_b = arith.trunci %to : tensor<2048xi32, #b> to tensor<2048xi8, #b>
    %byte_got = simt.convert_layout %byte_a : tensor<2048xi8, #a> -> tensor<2048xi8, #b>
    %byte_wrong = arith.cmpi ne, %byte_got, %byte_b : tensor<2048xi8, #b>
    simt.atomic_rmw or, relaxed, gpu, %base, %one if %byte_wrong : tensor<2048x!tt.ptr<i32>, #b>

    %half_a = arith.trunci %from : tensor<2048xi32, #a> to tensor<2048xi16, #a>
    %half_b = arith.trunci %to : tensor<2048xi32, #b> to tensor<2048xi16, #b>
    %half_got = simt.convert_layout %half_a : tensor<2048xi16, #a> -> tensor<2048xi16, #b>
    %half_wrong = arith.cmpi ne, %half_got, %half_b : tensor<2048xi16, #b>
    simt.atomic_rmw or, relaxed, gpu, %base, %one if %half_wrong : tensor<2048x!tt.ptr<i32>, #b>

    %single_a = arith.sitofp %from : tensor<2048xi32, #a> to tensor<2048xf32, #a>
    %single_b = arith.sitofp %to : tensor<2048xi32, #b> to tensor<2048xf32, #b>
    %single_got = simt.convert_layout %single_a : tensor<2048xf32, #a> -> tensor<2048xf32, #b>
    %single_wrong = arith.cmpf une, %single_got, %single_b : tensor<2048xf32, #b>
    simt.atomic_rmw or, relaxed, gpu, %base, %one if %single_wrong : tensor<2048x!tt.ptr<i32>, #b>

    %long_a = arith.extsi %from : tensor<2048xi32, #a> to tensor<2048xi64, #a>
    %long_b = arith.extsi %to : tensor<2048xi32, #b> to tensor<2048xi64, #b>
    %long_got = simt.convert_layout %long_a : tensor<2048xi64, #a> -> tensor<2048xi64, #b>
    %long_wrong = arith.cmpi ne, %long_got, %long_b : tensor<2048xi64, #b>
    simt.atomic_rmw or, relaxed, gpu, %base, %one if %long_wrong : tensor<2048x!tt.ptr<i32>, #b>

    %low = arith.andi %from, %three : tensor<2048xi32, #a>
    %bit_a = arith.cmpi ne, %low, %zeros : tensor<2048xi32, #a>
    %low_b = arith.andi %to, %three_b : tensor<2048xi32, #b>
    %bit_b = arith.cmpi ne, %low_b, %zeros_b : tensor<2048xi32, #b>
    %bit_got = simt.convert_layout %bit_a : tensor<2048xi1, #a> -> tensor<2048xi1, #b>
    %bit_wrong = arith.xori %bit_got, %bit_b : tensor<2048xi1, #b>
    simt.atomic_rmw or, relaxed, gpu, %base, %one if %bit_wrong : tensor<2048x!tt.ptr<i32>, #b>

    %out_a = tt.splat %out : !tt.ptr<i64> -> tensor<2048x!tt.ptr<i64>, #a>
    %places_a = tt.addptr %out_a, %from : tensor<2048x!tt.ptr<i64>, #a>, tensor<2048xi32, #a>
    %places_got = simt.convert_layout %places_a : tensor<2048x!tt.ptr<i64>, #a> -> tensor<2048x!tt.ptr<i64>, #b>
    %out_b = tt.splat %out : !tt.ptr<i64> -> tensor<2048x!tt.ptr<i64>, #b>
    %places_b = tt.addptr %out_b, %to : tensor<2048x!tt.ptr<i64>, #b>, tensor<2048xi32, #b>
    %got = tt.ptr_to_int %places_got : tensor<2048x!tt.ptr<i64>, #b> -> tensor<2048xi64, #b>
    %want = tt.ptr_to_int %places_b : tensor<2048x!tt.ptr<i64>, #b> -> tensor<2048xi64, #b>
    %place_wrong = arith.cmpi ne, %got, %want : tensor<2048xi64, #b>
    simt.atomic_rmw or, relaxed, gpu, %base, %one if %place_wrong : tensor<2048x!tt.ptr<i32>, #b>
    tt.return
  }
}
