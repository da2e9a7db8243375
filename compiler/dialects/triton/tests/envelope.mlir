// RUN: python3 %S/round_trip.py %s
// What surrounds operations: blocks, loops, constants, attributes that Heddle does not know.
module {
  tt.func public @envelope(%x: !tt.ptr<f32> {other.unknown = "kept", tt.divisibility = 16 : i32, tt.pointer_range = 32 : i32}, %n: i32 {tt.constancy = 1 : i32, tt.contiguity = 1 : i32, tt.divisibility = 16 : i32}, %d: !tt.tensordesc<tensor<16xsi32>> {tt.nv_tma_desc = 1 : i32}) attributes {noinline = false, other.unknown = 3 : i64} {
    %true = arith.constant true
    %c0 = arith.constant 0 : i64
    %c8 = arith.constant 8 : i64
    %t = arith.constant dense<0.000000e+00> : tensor<64xf32>
    llvm.intr.assume %true : i1
    %l = scf.for %i = %c0 to %c8 step %c8 iter_args(%a = %t) -> (tensor<64xf32>)  : i64 {
      %s = arith.addf %a, %a : tensor<64xf32>
      scf.yield %s : tensor<64xf32>
    } {tt.disallow_acc_multi_buffer, tt.flatten, tt.loop_unroll_factor = 2 : i32, tt.num_stages = 3 : i32, tt.warp_specialize}
    %p = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %r:2 = scf.for %i = %n to %n step %n iter_args(%a = %p, %b = %n) -> (tensor<64x!tt.ptr<f32>>, i32)  : i32 {
      scf.yield %a, %b : tensor<64x!tt.ptr<f32>>, i32
    }
    %m = arith.muli %r#1, %n {tt.constancy = dense<1> : tensor<1xi32>, tt.divisibility = dense<16> : tensor<1xi32>} : i32
    %c = arith.cmpi eq, %m, %n : i32
    cf.cond_br %c, ^bb1, ^bb2(%n : i32)
  ^bb1:  // pred: ^bb0
    scf.while : () -> () {
      scf.condition(%c)
    } do {
      scf.yield
    } attributes {tt.num_stages = 1 : i32, unknown}
    %u = ub.poison : i32
    cf.br ^bb2(%u : i32)
  ^bb2(%v: i32):  // 2 preds: ^bb0, ^bb1
    %w = scf.if %c -> (i32) {
      scf.yield %v : i32
    } else {
      scf.yield %n : i32
    } {some.unknown = [1, 2]}
    tt.return
  }
}
