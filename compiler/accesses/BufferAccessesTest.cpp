// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which accesses become buffer instructions, and that these reach the very place that the 64-bit address names: the
// code before and after is evaluated for lanes of blocks far beyond 2 GB.
#include "compiler/accesses/BufferAccesses.h"
#include "chips/AmdBuffer.h"
#include "chips/Chip.h"
#include "compiler/emit/CodeGenerator.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/VectorUtils.h"
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

/// A kernel with a masked load from `%p` where `%bit` is set; `body` defines both of `%t` (thread), `%b` (block), the
/// arguments.
std::string kernelOf(const std::string &body) {
  return R"(
define amdgpu_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %y, i32 %n, i32 %m, i64 %w) #0 {
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %b = call i32 @llvm.amdgcn.workgroup.id.x()
)" + body +
         R"(
  %mask = insertelement <1 x i1> poison, i1 %bit, i64 0
  %one = call <1 x i32> @llvm.masked.load.v1i32.p1(ptr addrspace(1) align 4 %p, <1 x i1> %mask, <1 x i32> zeroinitializer)
  %v = extractelement <1 x i32> %one, i64 0
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
    generator->run(*module, "the choice of memory accesses", addBufferAccesses);
  }

  const llvm::IntrinsicInst *bufferLoad() const {
    for (const llvm::Instruction &i : llvm::instructions(*module->getFunction("k")))
      if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&i))
        if (call->getIntrinsicID() == llvm::Intrinsic::amdgcn_raw_ptr_buffer_load)
          return call;
    return nullptr;
  }

  std::string text() const { return printModule(*module); }

  /// What the load reads, in bytes from the first argument on.
  uint64_t distance(const Inputs &inputs) const {
    Lane lane = laneOf(*before, inputs);
    return lane(oldLoad()->getArgOperand(0)) - lane(before->getFunction("k")->getArg(0));
  }

  /// Compares the place that the buffer's load reads with that of the load it was.
  void check(const Inputs &inputs) const {
    const llvm::IntrinsicInst *load = bufferLoad();
    Lane then = laneOf(*before, inputs), now = laneOf(*module, inputs);
    const auto *old = oldLoad();
    uint64_t address = then(old->getArgOperand(0));
    auto *buffer = llvm::cast<llvm::IntrinsicInst>(load->getArgOperand(0));
    uint64_t offset = now(load->getArgOperand(1)), size = now(buffer->getArgOperand(2));
    ASSERT_EQ(now(load->getArgOperand(2)), 0u) << "an offset of the wave would be outside the check of bounds";
    ASSERT_LE(size, uint64_t(1) << 31);
    if (!then(llvm::findScalarElement(old->getArgOperand(1), 0))) {
      EXPECT_GE(offset, size);
      return;
    }
    EXPECT_LE(offset + 4, size);
    EXPECT_EQ(now(buffer->getArgOperand(0)) + offset, address);
  }

private:
  const llvm::IntrinsicInst *oldLoad() const {
    for (const llvm::Instruction &i : llvm::instructions(*before->getFunction("k")))
      if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
          call && call->getIntrinsicID() == llvm::Intrinsic::masked_load)
        return call;
    return nullptr;
  }

  static Lane laneOf(const llvm::Module &module, const Inputs &inputs) {
    Lane lane;
    const llvm::Function *kernel = module.getFunction("k");
    uint64_t arguments[] = {uint64_t(7) << 40, uint64_t(9) << 40, inputs.n, inputs.m, inputs.w};
    for (const llvm::Argument &argument : kernel->args())
      lane.set(&argument, arguments[argument.getArgNo()]);
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
    EXPECT_EQ(code.text().find("call <1 x i32> @llvm.masked"), std::string::npos) << code.text();
    for (const Inputs &inputs : someInputs())
      code.check(inputs);
  }
}

void expectWholeAddress(const std::string &body) {
  for (bool optimised : {false, true}) {
    Compiled code(kernelOf(mask + body), optimised);
    EXPECT_FALSE(code.bufferLoad()) << code.text();
    EXPECT_NE(code.text().find("load i32, ptr addrspace(1)"), std::string::npos) << code.text();
    EXPECT_NE(code.text().find("br i1 %bit"), std::string::npos) << "the mask is a branch: " << code.text();
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

/// The first argument of the kernel has the attribute.
std::string withinBuffer(std::string text) {
  const std::string before = "ptr addrspace(1) %x";
  return text.insert(text.find(before) + before.size() - 2, std::string("\"") + buffer::within + "\" ");
}

TEST(BufferAccesses, AnArgumentWithinABufferTakesAnyOffset) {
  int read = 0;
  for (const char *sum : {"  %s = mul i32 %b, 1000\n  %o = add i32 %s, %t\n", "  %o = mul i32 %t, %m\n"})
    for (bool optimised : {false, true}) {
      Compiled code(withinBuffer(kernelOf(mask + std::string(sum) + last)), optimised);
      ASSERT_TRUE(code.bufferLoad()) << code.text();
      for (const Inputs &inputs : someInputs())
        if (code.distance(inputs) <= uint64_t(buffer::bytes) - 16) {
          code.check(inputs);
          ++read;
        }
    }
  EXPECT_GE(read, 100);
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

// What a masked load gives elsewhere is an operand of it, as is what a masked store stores.
TEST(BufferAccesses, WhatIsReadElsewhereIsChosenAfterTheBuffer) {
  std::string text = kernelOf(mask + std::string("  %p = getelementptr i32, ptr addrspace(1) %x, i32 %t\n"));
  text.replace(text.find("<1 x i32> zeroinitializer"), 25, "<1 x i32> splat (i32 7)");
  Compiled code(text);
  ASSERT_TRUE(code.bufferLoad());
  EXPECT_NE(code.text().find(", i32 7\n"), std::string::npos) << code.text();
}

// The bit of a mask that is no vector made of one is taken out of it, and lanes may differ in it.
TEST(BufferAccesses, AMaskFromAPhi) {
  std::string text = kernelOf(mask + std::string("  %p = getelementptr i32, ptr addrspace(1) %x, i32 %t\n"
                                                 "  %y1 = icmp eq i32 %n, 3\n  br i1 %y1, label %a, label %c\n"
                                                 "a:\n  br label %c\nc:\n"));
  text.replace(text.find("insertelement <1 x i1> poison, i1 %bit, i64 0"), 45,
               "phi <1 x i1> [ %bits, %0 ], [ zeroinitializer, %a ]");
  text.insert(text.find("  %y1"), "  %bits = insertelement <1 x i1> poison, i1 %bit, i64 0\n");
  Compiled code(text);
  ASSERT_TRUE(code.bufferLoad()) << code.text();
  EXPECT_TRUE(llvm::isa<llvm::SelectInst>(code.bufferLoad()->getArgOperand(1))) << code.text();
}

/// Stores `values` under the mask `%bit` to `%p`, `%q`, ..., each of which `body` defines.
std::string storesOf(const std::string &body, const std::vector<std::string> &values) {
  std::string text = kernelOf(mask + body);
  size_t from = text.find("  %mask ="), to = text.find("  ret void");
  std::string stores = "  %mask = insertelement <1 x i1> poison, i1 %bit, i64 0\n";
  for (size_t i = 0; i < values.size(); ++i) {
    std::string name = "%s" + std::to_string(i);
    stores += "  " + name + " = insertelement <1 x i32> poison, i32 " + values[i] + ", i64 0\n" +
              "  call void @llvm.masked.store.v1i32.p1(<1 x i32> " + name + ", ptr addrspace(1) align 4 %" +
              char('p' + i) + ", <1 x i1> %mask)\n";
  }
  text.replace(from, to - from, stores);
  return "@lds = internal addrspace(3) global [256 x i32] poison\n" + text;
}

constexpr const char *near = "  %p = getelementptr i32, ptr addrspace(1) %x, i32 %t\n";

size_t count(const std::string &text, const std::string &what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    ++found;
  return found;
}

TEST(BufferAccesses, AStoreIsABufferInstruction) {
  Compiled code(storesOf(near, {"%t"}));
  EXPECT_EQ(count(code.text(), "call void @llvm.amdgcn.raw.ptr.buffer.store"), 1u) << code.text();
  EXPECT_EQ(count(code.text(), "br i1"), 0u) << code.text();
}

TEST(BufferAccesses, WavesJumpOverReadsOfLdsForAStore) {
  std::string read = "  %a = getelementptr i32, ptr addrspace(3) @lds, i32 %t\n  %r = load i32, ptr addrspace(3) %a\n";
  Compiled code(storesOf(near + read, {"%r"}));
  EXPECT_EQ(count(code.text(), "br i1 %bit"), 1u) << code.text();
  EXPECT_EQ(count(code.text(), "buffer.store"), 0u) << code.text();
  std::string again = "  %b2 = getelementptr i32, ptr addrspace(1) %y, i32 %t\n  store i32 %r, ptr addrspace(1) %b2\n";
  EXPECT_EQ(count(Compiled(storesOf(near + read + again, {"%r"})).text(), "br i1"), 0u) << "others need it too";
}

TEST(BufferAccesses, StoresOfOneMaskShareItsBranch) {
  std::string far = "  %o = mul i32 %t, %m\n  %q = getelementptr i32, ptr addrspace(1) %x, i32 %o\n";
  Compiled code(storesOf(near + far, {"%t", "%b"}));
  EXPECT_EQ(count(code.text(), "br i1 %bit"), 1u) << code.text();
  EXPECT_EQ(count(code.text(), "store i32"), 2u) << code.text();
}

TEST(BufferAccesses, VolatileAndAtomicLoadsStay) {
  for (std::string load : {"load volatile i32", "load atomic i32"}) {
    std::string text = kernelOf(mask + std::string("  %p = getelementptr i32, ptr addrspace(1) %x, i32 %t\n"));
    size_t from = text.find("  %mask ="), to = text.find("  store volatile");
    bool isAtomic = load == "load atomic i32";
    text.replace(from, to - from,
                 "  %v = " + load + ", ptr addrspace(1) %p" + (isAtomic ? " monotonic" : "") + ", align 4\n");
    Compiled code(text);
    EXPECT_FALSE(code.bufferLoad());
    EXPECT_NE(code.text().find(load), std::string::npos) << code.text();
  }
}

/// Sums, products and shifts of anything, as programs write them and as no program would.
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
