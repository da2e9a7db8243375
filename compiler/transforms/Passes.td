// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes on the tile level that every target shares, and the expansion of math functions that the host needs.
#ifndef HEDDLE_TRANSFORMS_PASSES
#define HEDDLE_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def LoopCarriedOffsetsPass : Pass<"heddle-loop-carried-offsets"> {
  let summary = "carry a scalar offset through a loop instead of a tile that moves as a whole";
  let description = [{
    A tile of pointers or integers that a loop moves by the same amount in every element is its value before the loop
    plus one scalar. The loop then carries the scalar; the tile is formed from it where it is used, so that no tile of
    addresses has to be kept from one iteration to the next. Increments that differ between elements are left alone.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::heddle::triton::TritonDialect"];
}

def OrderControlFlowPass : Pass<"heddle-order-control-flow"> {
  let summary = "blocks in an order in which values are made before they are used; maps without branches between blocks";
  let description = [{
    Lowerings walk the blocks of a function once. Text may name a block before those that dominate it, and blocks that
    nothing reaches. The region of `tt.map_elementwise` is written where there is no function to branch in, so that its
    branches become `scf` operations.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect", "::mlir::scf::SCFDialect",
                           "::mlir::ub::UBDialect", "::heddle::triton::TritonDialect"];
}

def KeepPipelineLoopsPass : Pass<"heddle-keep-pipeline-loops"> {
  let summary = "hides how often loops with the stages of a warp pipeline iterate, or shows it again";
  let description = [{
    Canonicalisation inlines a loop of one constant iteration. Then it is not known any more which of the code around it are
    stages, so that the loop is kept: between this pass and the same one with `restore` its upper bound is no constant. A
    stage without effects, as an empty one, is kept too: it has a hint to schedulers in it meanwhile.
  }];
  let options = [Option<"restore", "restore", "bool", "false", "show the bounds again">];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::heddle::triton::amdg::AmdGpuDialect"];
}

def ExpandMathPass : Pass<"heddle-expand-math"> {
  let summary = "expand exp, exp2, log, log2, sin, cos, erf, tanh and rsqrt into arithmetic on whole vectors";
  let description = [{
    Works on scalars and vectors of f16, bf16, f32 and f64; tiles are left until they have become vectors. The results
    use no library call: fused multiply-add, comparisons, selects and integer arithmetic on the bits. The largest
    errors, in units in the last place, are asserted by ExpandMathTest. NaN, infinities, zeros and denormals are right.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def CarryRemaindersPass : Pass<"heddle-carry-remainders"> {
  let summary = "count the remainder of a loop's counter by a constant from iteration to iteration";
  let description = [{
    Of (k + c) mod m, as the slot of a ring is numbered, the next one is one addition, a comparison and a select away. The
    bounds from which k counts, its step, c and m are small constants. Where k + c may be negative as a signed number,
    only those are counted that nothing but `simt` operations use, as slots.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def LoopsToBranchesPass : Pass<"heddle-loops-to-branches"> {
  let summary = "turn structured loops and conditionals into branches, with the test of a loop at its end";
  let description = [{
    As MLIR's `convert-scf-to-cf`, but an `scf.for` with constant bounds that runs at least once tests its counter at
    the end of the body, the form that LLVM's loop passes want. Other loops test at the start.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect"];
}

def ExpandBlockPointersPass : Pass<"heddle-expand-block-pointers"> {
  let summary = "replace block pointers by tiles of pointers with masks";
  let description = [{
    Text of Triton before 3.7 has pointers to blocks: `tt.make_tensor_ptr`, `tt.advance`, and loads and stores with
    `boundaryCheck` and `padding`. Such a value becomes base, shape, strides and offsets, also through loops and
    branches; an access forms the pointers of its elements and a mask for the checked dimensions. Elements outside read
    as zero or NaN; without `padding`, where Triton leaves them undefined, as zero.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::mlir::ub::UBDialect",
                           "::heddle::triton::TritonDialect"];
}

def ExpandDescriptorsPass : Pass<"heddle-expand-descriptors"> {
  let summary = "replace tensor descriptors by tiles of pointers with masks";
  let description = [{
    A descriptor made by `tt.make_tensor_descriptor` becomes base, shape and strides, also through loops and branches.
    Loads and gathers read zero or NaN outside the tensor, stores and scatters drop what lies outside, reductions become
    relaxed atomics. A descriptor that is an argument of the kernel becomes its base pointer, with the sizes (i32) and
    strides (i64) that are the arguments after it; without those it is refused.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::mlir::ub::UBDialect",
                           "::heddle::triton::TritonDialect"];
}

def ExpandDotScaledPass : Pass<"heddle-expand-dot-scaled"> {
  let summary = "replace block-scaled matrix products by products of bf16 or f32 tiles";
  let description = [{
    The elements of `tt.dot_scaled` (e2m1, e4m3, e5m2, bf16, fp16) and their scales (E8M0, or e4m3) are converted to
    f32, multiplied, and given to a `tt.dot` without reduced precision. With `as-bf16` the tiles of that `tt.dot` are of
    bf16, which has no number below 2^-133; f16 is the sum of two tiles, and so two matmuls. With `keep-blocks` those are left that matrix
    instructions with scales multiply: e4m3, e5m2 and e2m1 packed along K, with scales of E8M0 or none, into f32, whose
    tiles are multiples of 16x16x128 or of 32x32x64.
  }];
  let options = [Option<"keepBlocks", "keep-blocks", "bool", "false", "leave what instructions with scales multiply">,
                 Option<"asBf16", "as-bf16", "bool", "false", "multiply tiles of bf16, for matrix instructions">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::heddle::triton::TritonDialect"];
}

def SplitDotsPass : Pass<"heddle-split-dots"> {
  let summary = "replace matmuls of f32 by several matmuls of fewer bits, where their precision says so";
  let description = [{
    With `as-tf32` a `tt.dot` of `tf32x3` becomes three of `tf32`: each operand is the sum of 11 bits and the rest, and
    the product of both rests is left out. With `bf16-parts` of 2 one of `bf16x3` becomes three of bf16, and with 3 one
    of `bf16x6` six, of parts of 8 bits. Others are left, and are computed in f32.
  }];
  let options = [Option<"asTf32", "as-tf32", "bool", "false", "split tf32x3">,
                 Option<"bf16Parts", "bf16-parts", "int", "1", "the most tiles of bf16 of an operand">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::heddle::triton::TritonDialect"];
}

def DeviceLibraryPass : Pass<"heddle-device-library"> {
  let summary = "replace functions of the vendors' device libraries by math operations";
  let description = [{
    `tt.extern_elementwise` of a function of CUDA's libdevice (`__nv_expf`) or of ROCm's ocml (`__ocml_exp_f32`) becomes the operation
    of the `math` dialect, or a formula of some; `fast_` and `native_` functions too. In f32 formulas are computed in f64, so that
    they are within one unit in the last place; in f64 `pow` and `exp10` lose up to 10 bits where the result is far from 1.
    Functions that are not in the table are left, and refused later by name.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def PtxInstructionsPass : Pass<"heddle-ptx-instructions"> {
  let summary = "replace PTX of f32 arithmetic by operations, for targets that do not execute PTX";
  let description = [{
    `tt.elementwise_inline_asm` whose text is a straight line of instructions such as `tanh.approx.f32 $0, $1;` on f32 becomes the
    operations of `arith` and `math`. Approximations become the functions, and `.ftz` does not flush subnormal numbers. A text with
    any other instruction, with labels, predicates or packs of several elements is left, and refused later.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def WidenScansPass : Pass<"heddle-widen-scans"> {
  let summary = "form prefix sums and products of f16 and bf16 in f32";
  let description = [{
    A `tt.scan` over f16 or bf16 whose region has only sums, differences and products would round after each of them. Here it
    combines f32, and its results are rounded once: then their error does not depend on the order, which is the target's.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::heddle::triton::TritonDialect"];
}

def ExpandPeerPass : Pass<"heddle-expand-peer"> {
  let summary = "replace barriers, packets, addresses and reports of the peer dialect by tile operations and atomics";
  let description = [{
    What remains of the `peer` dialect is `atomic_write`, `atomic_spin_wait`, `thread_id`, `clock` and `release_fence`.
    A block barrier is a release store to a slot of every other rank and an acquire wait for one slot of each, between
    two barriers of the block itself.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::heddle::triton::TritonDialect",
                           "::heddle::triton::gpu::TritonGpuDialect", "::heddle::peer::PeerDialect"];
}

def InlineCallsPass : Pass<"heddle-inline-calls", "::mlir::ModuleOp"> {
  let summary = "copy every called function into its caller and drop the private ones";
  let description = [{
    Triton calls only functions that were marked `noinline`. Copies keep their location within the helper, followed by the
    location of the call. Recursion is refused.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect", "::mlir::scf::SCFDialect",
                           "::mlir::ub::UBDialect", "::heddle::triton::TritonDialect"];
}

#endif
