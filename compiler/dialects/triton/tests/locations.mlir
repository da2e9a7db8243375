// RUN: python3 %S/round_trip.py %s
// RUN: heddle-opt %s --mlir-print-debuginfo --mlir-use-nameloc-as-prefix | FileCheck %s
// Location aliases stand before and after the module, in every kind; names of values come from them.
// CHECK: loc("k.py":3:0)
// CHECK: tt.func public @located(%out: !tt.ptr<f32> loc("out"(#{{.*}})), %n: i32 loc(
// CHECK: %sum = arith.addi %n, %n : i32
// CHECK: ^bb0(%a: i32 loc({{.*}}), %{{.*}}: i32 loc(callsite(
#loc = loc("k.py":3:0)
#loc1 = loc(unknown)
#loc7 = loc("out"(#loc))
#loc8 = loc(fused["k.py":4:1, "k.py":4:9])
#loc9 = loc(callsite(#loc1 at #loc8))
#loop_licm = #llvm.loop_licm<disable = true>
#loop_annotation = #llvm.loop_annotation<licm = #loop_licm>
module {
  tt.func public @located(%out: !tt.ptr<f32> loc("out"(#loc)), %n: i32 loc("n"(#loc))) attributes {noinline = false} {
    %sum = arith.addi %n, %n : i32 loc(#loc10)
    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32> loc(#loc8)
    %m = "tt.reduce"(%r) <{axis = 0 : i32}> ({
    ^bb0(%a: i32 loc("a"(#loc9)), %b: i32 loc(callsite(#loc1 at #loc8))):
      tt.reduce.return %a : i32 loc(#loc9)
    }) : (tensor<64xi32>) -> i32 loc(#loc11)
    scf.for %i = %n to %sum step %m  : i32 {
    } {llvm.loop_annotation = #loop_annotation, tt.num_stages = 2 : i32} loc(#loc11)
    tt.return loc(#loc12)
  } loc(#loc)
} loc(#loc)
#loc13 = loc("dir/k.py":4:12)
#loc12 = loc(fused<"tag">["k.py":5:1])
#loc10 = loc("sum"(#loc13))
#loc11 = loc(callsite(#loc12 at #loc13))
