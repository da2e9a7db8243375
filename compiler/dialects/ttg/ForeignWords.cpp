// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Advice on what is of other chips. Each part names a word as the parser's messages quote it.
#include "compiler/dialects/ttg/ForeignWords.h"
#include "llvm/ADT/ArrayRef.h"

using namespace heddle::triton;
using llvm::StringLiteral;
using llvm::StringRef;

namespace {

/// A part of the message, how the word at its place begins (or `none`), and the advice.
struct Advice {
  StringLiteral part, word, text;
};

constexpr StringLiteral none = "";

constexpr StringLiteral nvidia =
    "`ttng` is of NVIDIA's chips: on gfx942 and gfx950 `cdna3.mfma` multiplies, `async_copy` of `cdna4` copies to "
    "shared memory, and `gl.barrier()` is the barrier of a block";

constexpr Advice onAmd[] = {
    {"'ttng.", none, nvidia},         // of an operation
    {"dialect 'ttng'", none, nvidia}, // of an attribute or a type
    {"'ttg.warp_specialize'", none,
     "on gfx942 and gfx950 all warps execute one program: overlap its parts by `gl.amd.warp_pipeline_stage`"},
    {"`nvidia_mma`", none, "the layout is of NVIDIA's chips: use `gl.amd.AMDMFMALayout`"},
    {"`nvmma_shared`", none,
     "the layout is of NVIDIA's chips: use `gl.SwizzledSharedLayout` or `gl.PaddedSharedLayout`"},
    {"`amd_wmma`", none, "the layout is of AMD's RDNA and gfx1250: use `gl.amd.AMDMFMALayout`"},
    {"`partitioned_shared`", none,
     "the layout is of gfx1250: use `gl.SwizzledSharedLayout` or `gl.PaddedSharedLayout`"},
};

constexpr StringLiteral blackwell =
    "tensor memory and its matmuls are of NVIDIA's Blackwell: on sm_90 `warpgroup_mma` of `hopper` multiplies, with "
    "results in registers";
constexpr StringLiteral clusters = "clusters of blocks are not compiled: give `num_ctas` 1";
constexpr StringLiteral madeByKernel =
    "tensor descriptors that a kernel makes are not compiled: make the descriptor on the host, "
    "`TensorDescriptor.from_tensor`, and pass it as an argument";
constexpr StringLiteral operationOfAmd =
    "the operation is of AMD's chips: on sm_90 `gl.load` and `gl.store`, `async_copy` of `ampere` and `tma` of "
    "`hopper` access memory";
constexpr StringLiteral layoutOfAmd =
    "the layout is of AMD's chips: use `gl.NVMMADistributedLayout`, or in shared memory `gl.NVMMASharedLayout`";

constexpr Advice onSm90[] = {
    {"'ttng.tc_gen5", none, blackwell},
    {"'ttng.tmem", none, blackwell},
    {"dialect 'ttng'", "tensor_memory", blackwell},
    {"'ttng.clc", none,
     "launch control of clusters is of NVIDIA's Blackwell: on sm_90 a persistent kernel counts its tiles itself"},
    {"'ttng.async_tma_gather'", none,
     "gathers of rows by bulk copies are of NVIDIA's Blackwell: on sm_90 load by pointers, `gl.load`, or copy row by "
     "row"},
    {"'ttng.async_tma_scatter'", none,
     "scatters of rows by bulk copies are of NVIDIA's Blackwell: on sm_90 store by pointers, `gl.store`, or copy row "
     "by row"},
    {"dialect 'ttng'", "tensordesc_im2col",
     "im2col descriptors are not compiled: load by pointers, or copy tiles of `TensorDescriptor.from_tensor`"},
    {"'ttng.tensormap_", none, madeByKernel},
    {"'ttng.reinterpret_tensor_descriptor'", none, madeByKernel},
    {"'ttg.global_scratch_alloc'", none, madeByKernel},
    {"'ttng.cluster_", none, clusters},
    {"'ttng.async_shared_store'", none, clusters},
    {"'ttng.fence_mbarrier_init_release_cluster'", none, clusters},
    {"dialect 'ttng'", "cache_policy",
     "of cache policies those of `cache_modifier` and `eviction_policy` are read: leave NVIDIA's own out"},
    {"custom op 'ttng.", none, "of `ttng` the operations that sm_90 has are read: docs/ttgir-reference.md lists them"},
    {"dialect 'ttng'", none, "of `ttng` the operations that sm_90 has are read: docs/ttgir-reference.md lists them"},
    {"'amdg.", none, operationOfAmd},
    {"'rocdl.", none, operationOfAmd},
    {"`amd_wmma`", none, layoutOfAmd},
    {"`amd_mfma`", none, layoutOfAmd},
    {"`amd_rotating_shared`", none, layoutOfAmd},
    {"`partitioned_shared`", none, layoutOfAmd},
};

} // namespace

StringRef gpu::adviceOnForeignWord(bool isAmd, StringRef message, StringRef word) {
  for (const Advice &advice : isAmd ? llvm::ArrayRef(onAmd) : llvm::ArrayRef(onSm90))
    if (message.contains(advice.part) && word.starts_with(advice.word))
      return advice.text;
  return {};
}

StringRef gpu::adviceOnDescriptor(bool isAmd) {
  if (!isAmd)
    return madeByKernel;
  return "tensor descriptors are for bulk copies, which gfx942 and gfx950 do not have: pass the pointer, sizes and "
         "strides, and load by pointers";
}
