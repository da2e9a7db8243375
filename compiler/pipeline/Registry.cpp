// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Registers the dialects of inputs and every pass, for heddle-opt.
#include "compiler/pipeline/Registry.h"
#include "compiler/dialects/peer/Peer.h"
#include "compiler/dialects/simt/Simt.h"
#include "compiler/dialects/triton/Triton.h"
#include "compiler/dialects/ttg/TritonGpu.h"
#include "compiler/lowering/peer/Passes.h"
#include "compiler/pipeline/PhasePasses.h"
#include "compiler/transforms/Passes.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void heddle::registerInputDialects(DialectRegistry &registry) {
  registry.insert<triton::TritonDialect, arith::ArithDialect, cf::ControlFlowDialect, gpu::GPUDialect,
                  LLVM::LLVMDialect, math::MathDialect, memref::MemRefDialect, NVVM::NVVMDialect, ROCDL::ROCDLDialect,
                  scf::SCFDialect, ub::UBDialect, vector::VectorDialect>();
  registry.insert<heddle::triton::gpu::TritonGpuDialect, heddle::triton::amdg::AmdGpuDialect,
                  heddle::triton::nvgpu::NvidiaGpuDialect, heddle::triton::gluon::GluonDialect, peer::PeerDialect,
                  simt::SimtDialect>();
}

void heddle::registerPasses() {
  registerTransformsPasses();
  registerHeddleTransformsPasses();
  registerHeddlePeerLoweringPasses();
  registerPass([] { return createSCFToControlFlowPass(); });
  registerPhasePasses();
}
