// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which accesses become buffer instructions, and that these reach the very place that the 64-bit address names: the
// code before and after is evaluated for lanes of blocks far behind 2 GB.
#include "chips/Chip.h"
#include "compiler/emit/CodeGenerator.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Support/SourceMgr.h"
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace heddle;

namespace {

/// A kernel that loads from `%p` where `%bit` is set; `body` defines both of `%t` (thread), `%b` (block), the
/// arguments.
std::string kernelOf(const std::string &body) {
  return R"(
@heddle_zeros = internal addrspace(1) global [4 x i32] zeroinitializer, align 16
define amdgpu_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %y, i32 %n, i32 %m, i64 %w) #0 {
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %b = call i32 @llvm.amdgcn.workgroup.id.x()
)" + body +
         R"(
  %q = select i1 %bit, ptr addrspace(1) %p, ptr addrspace(1) @heddle_zeros
  %v = load i32, ptr addrspace(1) %q, align 4
  store volatile i32 %v, ptr addrspace(1) %y, align 4
  ret void
}
attributes #0 = { "amdgpu-flat-work-group-size"="256,256" }
)";
}

/// Values of integers and pointers in one lane.
class Lane {
public:
  void set(const llvm::Value *value, uint64_t number) { known[value] = number; }

  uint64_t operator()(const llvm::Value *value) {
    unsigned bits = value->getType()->isIntegerTy() ? value->getType()->getIntegerBitWidth() : 64;
    uint64_t mask = bits < 64 ? (uint64_t(1) << bits) - 1 : ~uint64_t(0);
    if (auto *number = llvm::dyn_cast<llvm::ConstantInt>(value))
      return number->getZExtValue();
    if (auto found = known.find(value); found != known.end())
      return found->second & mask;
    uint64_t result = compute(llvm::cast<llvm::Instruction>(value)) & mask;
    known[value] = result;
    return result;
  }

private:
  static int64_t extended(uint64_t value, const llvm::Value *of) {
    unsigned bits = of->getType()->getIntegerBitWidth();
    return int64_t(value << (64 - bits)) >> (64 - bits);
  }

  uint64_t addressOf(const llvm::GetElementPtrInst *step) {
    const llvm::DataLayout &layout = step->getDataLayout();
    EXPECT_EQ(step->getNumIndices(), 1u);
    const llvm::Value *index = step->getOperand(1);
    uint64_t size = layout.getTypeAllocSize(step->getSourceElementType());
    return (*this)(step->getPointerOperand()) + uint64_t(extended((*this)(index), index)) * size;
  }

  uint64_t compute(const llvm::Instruction *i) {
    if (auto *step = llvm::dyn_cast<llvm::GetElementPtrInst>(i))
      return addressOf(step);
    const llvm::Value *first = i->getOperand(0);
    uint64_t x = (*this)(first);
    if (auto *choice = llvm::dyn_cast<llvm::SelectInst>(i))
      return (*this)(x ? choice->getTrueValue() : choice->getFalseValue());
    if (llvm::isa<llvm::ZExtInst, llvm::TruncInst>(i))
      return x;
    if (llvm::isa<llvm::SExtInst>(i))
      return uint64_t(extended(x, first));
    uint64_t y = (*this)(i->getOperand(1));
    switch (i->getOpcode()) {
    case llvm::Instruction::Add:
      return x + y;
    case llvm::Instruction::Sub:
      return x - y;
    case llvm::Instruction::Mul:
      return x * y;
    case llvm::Instruction::Shl:
      return x << y;
    case llvm::Instruction::LShr:
      return x >> y;
    case llvm::Instruction::AShr:
      return uint64_t(extended(x, first) >> y);
    case llvm::Instruction::And:
      return x & y;
    case llvm::Instruction::Or:
      return x | y;
    case llvm::Instruction::Xor:
      return x ^ y;
    case llvm::Instruction::ICmp:
      return llvm::ICmpInst::compare(llvm::APInt(64, uint64_t(extended(x, first)), true),
                                     llvm::APInt(64, uint64_t(extended(y, first)), true),
                                     llvm::cast<llvm::ICmpInst>(i)->getPredicate());
    default:
      ADD_FAILURE() << "the test does not know " << i->getOpcodeName();
      return 0;
    }
  }

  std::map<const llvm::Value *, uint64_t> known;
};

/// What one lane of a launch has.
struct Inputs {
  uint64_t thread, block, n, m, w;
};

class Compiled {
public:
  explicit Compiled(const std::string &text, bool optimised = false) {
    llvm::SMDiagnostic error;
    module = llvm::parseAssemblyString(text, error, context);
    if (!module)
      throw std::runtime_error(error.getMessage().str() + "\n" + text);
    auto generator = CodeGenerator::forAmd(gfx942Chip, 2);
    generator->prepare(*module);
    if (optimised)
      generator->optimize(*module);
    before = llvm::parseAssemblyString(printModule(*module), error, context);
    generator->useBuffers(*module);
  }

  const llvm::IntrinsicInst *bufferLoad() const {
    for (const llvm::Instruction &i : llvm::instructions(*module->getFunction("k")))
      if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&i))
        if (call->getIntrinsicID() == llvm::Intrinsic::amdgcn_raw_ptr_buffer_load)
          return call;
    return nullptr;
  }

  std::string text() const { return printModule(*module); }

  /// Compares the place that the buffer's load reads with that of the load it was.
  void check(const Inputs &inputs) const {
    const llvm::IntrinsicInst *load = bufferLoad();
    Lane then = laneOf(*before, inputs), now = laneOf(*module, inputs);
    const auto *old = oldLoad();
    uint64_t address = then(old->getPointerOperand());
    auto *buffer = llvm::cast<llvm::IntrinsicInst>(load->getArgOperand(0));
    uint64_t offset = now(load->getArgOperand(1)), size = now(buffer->getArgOperand(2));
    ASSERT_EQ(now(load->getArgOperand(2)), 0u) << "an offset of the wave would be outside the check of bounds";
    ASSERT_LE(size, uint64_t(1) << 31);
    if (address == zeros) {
      EXPECT_GE(offset, size);
      return;
    }
    EXPECT_LE(offset + 4, size);
    EXPECT_EQ(now(buffer->getArgOperand(0)) + offset, address);
  }

private:
  static constexpr uint64_t zeros = 0x123450;

  const llvm::LoadInst *oldLoad() const {
    for (const llvm::Instruction &i : llvm::instructions(*before->getFunction("k")))
      if (auto *load = llvm::dyn_cast<llvm::LoadInst>(&i))
        return load;
    return nullptr;
  }

  static Lane laneOf(const llvm::Module &module, const Inputs &inputs) {
    Lane lane;
    const llvm::Function *kernel = module.getFunction("k");
    uint64_t arguments[] = {uint64_t(7) << 40, uint64_t(9) << 40, inputs.n, inputs.m, inputs.w};
    for (const llvm::Argument &argument : kernel->args())
      lane.set(&argument, arguments[argument.getArgNo()]);
    if (const llvm::GlobalVariable *variable = module.getGlobalVariable("heddle_zeros", true))
      lane.set(variable, zeros);
    for (const llvm::Instruction &i : llvm::instructions(*kernel))
      if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&i)) {
        if (call->getIntrinsicID() == llvm::Intrinsic::amdgcn_workitem_id_x)
          lane.set(call, inputs.thread);
        if (call->getIntrinsicID() == llvm::Intrinsic::amdgcn_workgroup_id_x)
          lane.set(call, inputs.block);
      }
    return lane;
  }

  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module, before;
};

constexpr const char *mask = "  %bit = icmp slt i32 %t, %n\n";
constexpr const char *last = "  %i = sext i32 %o to i64\n  %p = getelementptr i32, ptr addrspace(1) %x, i64 %i\n";

std::vector<Inputs> someInputs() {
  std::vector<Inputs> all;
  for (uint64_t thread : {0, 1, 63, 64, 255})
    for (uint64_t block : {0u, 1u, 524287u, 524288u, 2097151u, 4194303u, 0x7fffffffu, 0x80000000u, 0xffffffffu})
      for (uint64_t n : {0u, 100u, 0x7fffffffu})
        for (uint64_t m : {0u, 1000u, 0x7fffffffu, 0xfffffff0u})
          all.push_back({thread, block, n, m, (block << 20) + m});
  return all;
}

void expectBuffer(const std::string &body) {
  for (bool optimised : {false, true}) {
    Compiled code(kernelOf(mask + body), optimised);
    ASSERT_TRUE(code.bufferLoad()) << code.text();
    EXPECT_EQ(code.text().find("heddle_zeros"), std::string::npos);
    for (const Inputs &inputs : someInputs())
      code.check(inputs);
  }
}

void expectWholeAddress(const std::string &body) {
  for (bool optimised : {false, true}) {
    Compiled code(kernelOf(mask + body), optimised);
    EXPECT_FALSE(code.bufferLoad()) << code.text();
    EXPECT_NE(code.text().find("load i32, ptr addrspace(1)"), std::string::npos) << code.text();
    EXPECT_EQ(code.text().find("heddle_zeros"), std::string::npos) << "the mask is a branch";
  }
}

TEST(BufferAccesses, LanesOfABlockOfAPowerOfTwo) {
  expectBuffer(std::string("  %s = shl i32 %b, 10\n  %o = add i32 %s, %t\n") + last);
}

TEST(BufferAccesses, RowsOfAPowerOfTwoMayWrapAround) {
  expectBuffer(std::string("  %s = shl i32 %b, 8\n  %r = or disjoint i32 %s, %t\n  %o = shl i32 %r, 6\n") + last);
}

TEST(BufferAccesses, RowsInNumbersOf64Bits) {
  expectBuffer("  %l = zext i32 %b to i64\n  %s = mul i64 %l, %w\n  %z = zext i32 %t to i64\n  %i = add i64 %s, %z\n"
               "  %p = getelementptr i32, ptr addrspace(1) %x, i64 %i\n");
}

TEST(BufferAccesses, WhatLiesBeforeTheWavesPlaceMovesTheBuffer) {
  expectBuffer("  %z = zext i32 %t to i64\n  %d = sub i64 %w, %z\n  %i = add i64 %d, -3\n"
               "  %p = getelementptr i32, ptr addrspace(1) %x, i64 %i\n");
}

TEST(BufferAccesses, MasksOfTheWaveEmptyTheBuffer) {
  Compiled code(kernelOf("  %of = icmp slt i32 %b, %m\n  %at = icmp slt i32 %t, %n\n  %bit = and i1 %of, %at\n"
                         "  %z = zext i32 %t to i64\n  %p = getelementptr i32, ptr addrspace(1) %x, i64 %z\n"));
  ASSERT_TRUE(code.bufferLoad());
  auto *buffer = llvm::cast<llvm::IntrinsicInst>(code.bufferLoad()->getArgOperand(0));
  EXPECT_TRUE(llvm::isa<llvm::SelectInst>(buffer->getArgOperand(2))) << code.text();
  for (const Inputs &inputs : someInputs())
    code.check(inputs);
}

TEST(BufferAccesses, ASumThatWrapsBetweenLanesIsNotOne) {
  expectWholeAddress(std::string("  %s = mul i32 %b, 1000\n  %o = add i32 %s, %t\n") + last);
}

TEST(BufferAccesses, ARowTimesAStrideHasNoBounds) {
  expectWholeAddress(std::string("  %o = mul i32 %t, %m\n") + last);
}

TEST(BufferAccesses, LanesMoreThan2GbApart) {
  expectWholeAddress("  %z = zext i32 %t to i64\n  %s = shl i64 %z, 24\n"
                     "  %p = getelementptr i8, ptr addrspace(1) %x, i64 %s\n");
  expectBuffer("  %z = zext i32 %t to i64\n  %s = shl i64 %z, 23\n"
               "  %p = getelementptr i8, ptr addrspace(1) %x, i64 %s\n");
}

TEST(BufferAccesses, APointerOfEachLane) {
  expectWholeAddress("  %c = icmp slt i32 %t, 7\n  %s = select i1 %c, ptr addrspace(1) %x, ptr addrspace(1) %y\n"
                     "  %p = getelementptr i32, ptr addrspace(1) %s, i32 %t\n");
}

TEST(BufferAccesses, AnIndexFromMemory) {
  expectWholeAddress(
      "  %a = getelementptr i32, ptr addrspace(1) %y, i32 %t\n  %j = load volatile i32, ptr addrspace(1) %a\n"
      "  %i = zext i32 %j to i64\n  %p = getelementptr i32, ptr addrspace(1) %x, i64 %i\n");
}

TEST(BufferAccesses, VolatileAndAtomicLoadsStayInBranches) {
  for (std::string load : {"load volatile i32", "load atomic i32"}) {
    std::string text = kernelOf(mask + std::string("  %p = getelementptr i32, ptr addrspace(1) %x, i32 %t\n"));
    text.replace(text.find("load i32"), 8, load);
    if (load == "load atomic i32")
      text.replace(text.find("%q, align 4"), 2, "%q monotonic");
    Compiled code(text);
    EXPECT_FALSE(code.bufferLoad());
    EXPECT_NE(code.text().find(load), std::string::npos) << code.text();
    EXPECT_NE(code.text().find("br i1 %bit"), std::string::npos) << code.text();
    EXPECT_EQ(code.text().find("heddle_zeros"), std::string::npos) << code.text();
  }
}

/// Sums, products and shifts of anything, as programs write them and as nobody would.
class RandomAddresses {
public:
  explicit RandomAddresses(unsigned seed) : random(seed) {}

  std::string body() {
    text = "  %bit = icmp slt i32 %t, %n\n";
    names = 0;
    std::string index = wide(3);
    return text + "  %p = getelementptr " + (below(2) ? "i8" : "i32") + ", ptr addrspace(1) %x, i64 " + index + "\n";
  }

private:
  unsigned below(unsigned limit) { return random() % limit; }

  std::string define(const std::string &what) {
    std::string name = "%g" + std::to_string(names++);
    text += "  " + name + " = " + what + "\n";
    return name;
  }

  std::string number(unsigned bits) {
    const int64_t numbers[] = {0, 1, -1, 4, 64, 255, 256, 1000, -1024, 4096, 1 << 20, 1 << 30};
    int64_t chosen = numbers[below(12)];
    return bits == 32 ? std::to_string(int32_t(chosen)) : std::to_string(chosen);
  }

  std::string operation(const std::string &type, const std::string &x, const std::string &y) {
    switch (below(7)) {
    case 6:
      return define("or " + type + " " + x + ", " + y);
    case 0:
      return define("sub " + type + " " + x + ", " + y);
    case 1:
      return define("mul " + type + " " + x + ", " + y);
    case 2:
    case 3:
      return define("shl " + type + " " + x + ", " + std::to_string(below(13)));
    default:
      return define("add " + type + " " + x + ", " + y);
    }
  }

  std::string narrow(int depth) {
    const char *leaves[] = {"%t", "%b", "%m", "%t", "%b"};
    if (depth == 0)
      return below(4) ? leaves[below(5)] : number(32);
    if (below(6) == 0)
      return define((below(2) ? "and i32 " : "lshr i32 ") + narrow(depth - 1) + ", " + std::to_string(below(31)));
    std::string x = narrow(depth - 1), y = below(2) ? narrow(depth - 1) : number(32);
    return operation("i32", x, y);
  }

  std::string wide(int depth) {
    switch (depth == 0 ? 0 : below(4)) {
    case 0:
      return define((below(3) ? "sext i32 " : "zext i32 ") + narrow(1 + int(below(3))) + " to i64");
    case 1:
      return below(3) ? define("add i64 " + wide(depth - 1) + ", %w") : number(64);
    default:
      std::string x = wide(depth - 1), y = below(2) ? wide(depth - 1) : number(64);
      return operation("i64", x, y);
    }
  }

  std::mt19937 random;
  std::string text;
  unsigned names = 0;
};

TEST(BufferAccesses, EveryBufferReachesThePlaceOfTheAddress) {
  int buffers = 0;
  for (unsigned seed = 0; seed < 400 && !::testing::Test::HasFailure(); ++seed) {
    std::string body = RandomAddresses(seed).body();
    SCOPED_TRACE(body);
    Compiled code(kernelOf(body), seed % 2);
    if (!code.bufferLoad())
      continue;
    ++buffers;
    for (const Inputs &inputs : someInputs())
      code.check(inputs);
  }
  EXPECT_GE(buffers, 60) << "too few expressions say anything";
}

} // namespace
