// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matrix instructions against the plain product. The fragments are laid out here element by element, as the PTX ISA
// lists them: where element i of a thread's operand comes from.
#include "tests/reference/SoftFloat.h"
#include "tests/thread_interpreter/Program.h"
#include "tests/thread_interpreter/TestKernel.h"
#include <bit>
#include <cmath>
#include <functional>
#include <map>

using namespace heddle::threads;
namespace reference = heddle::reference;

namespace {

struct Element {
  unsigned row, column;
};

/// Operands of 16, 8 or 32 bits an element have the maps of the ISA's sections for .f16, .s8 and .tf32.
Element placeA(unsigned bits, unsigned lane, unsigned i) {
  unsigned group = lane / 4, inGroup = lane % 4;
  switch (bits) {
  case 16:
    return {(i / 2) % 2 == 0 ? group : group + 8, inGroup * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
  case 8:
    return {(i / 4) % 2 == 0 ? group : group + 8, inGroup * 4 + (i & 3) + (i >= 8 ? 16 : 0)};
  default:
    return {i == 0 || i == 2 ? group : group + 8, i < 2 ? inGroup : inGroup + 4};
  }
}
Element placeB(unsigned bits, unsigned lane, unsigned i) {
  unsigned group = lane / 4, inGroup = lane % 4;
  switch (bits) {
  case 16:
    return {inGroup * 2 + (i & 1) + (i >= 2 ? 8 : 0), group};
  case 8:
    return {inGroup * 4 + (i & 3) + (i >= 4 ? 16 : 0), group};
  default:
    return {i == 0 ? inGroup : inGroup + 4, group};
  }
}
Element placeC(unsigned lane, unsigned i) {
  return {i < 2 ? lane / 4 : lane / 4 + 8, lane % 4 * 2 + (i & 1)};
}

struct Shape {
  const char *name;
  unsigned k, bits;
  const char *operandType; ///< of a register
  const char *sumType;
  std::function<double(uint32_t)> a, b; ///< the value of an element's bits
};

double half(uint32_t bits) {
  return reference::decode(reference::formatF16, bits);
}
double bfloat(uint32_t bits) {
  return reference::decode(reference::formatBF16, bits);
}
double tf32(uint32_t bits) {
  return std::bit_cast<float>(bits);
}
double e4m3(uint32_t bits) {
  return reference::decode(reference::formatE4M3FN, bits);
}
double e5m2(uint32_t bits) {
  return reference::decode(reference::formatE5M2, bits);
}
double s8(uint32_t bits) {
  return int8_t(bits);
}
double u8(uint32_t bits) {
  return uint8_t(bits);
}

/// The bits of small integers, which every format has, so that every sum is exact.
std::map<int, uint32_t> encodings(const Shape &shape, const std::function<double(uint32_t)> &decode) {
  std::map<int, uint32_t> table;
  for (int value = -8; shape.bits == 32 && value < 8; ++value)
    table[value] = std::bit_cast<uint32_t>(float(value));
  for (uint32_t bits = 0; shape.bits < 32 && bits < 1u << shape.bits; ++bits)
    if (double value = decode(bits); std::fabs(value) <= 8 && value == int(value))
      table[int(value)] = bits;
  return table;
}

std::string kernelText(const Shape &shape, unsigned registersA, unsigned registersB) {
  std::string type = shape.operandType, sum = shape.sumType,
              result = "{ " + sum + ", " + sum + ", " + sum + ", " + sum + " }";
  std::string types, arguments, loads;
  unsigned count = registersA + registersB + 4;
  for (unsigned i = 0; i < count; ++i) {
    std::string n = std::to_string(i), element = i < registersA + registersB ? type : sum;
    loads += "  %p" + n + " = getelementptr [" + std::to_string(count) +
             " x i32], ptr addrspace(1) %in, i32 %tid, i32 " + n + "\n  %v" + n + " = load " + element +
             ", ptr addrspace(1) %p" + n + ", align 4\n";
    types += (i ? ", " : "") + element;
    arguments += (i ? ", " : "") + element + " %v" + n;
  }
  std::string stores;
  for (unsigned i = 0; i < 4; ++i) {
    std::string n = std::to_string(i);
    stores += "  %d" + n + " = extractvalue " + result + " %d, " + n + "\n  %q" + n +
              " = getelementptr [4 x i32], ptr addrspace(1) %out, i32 %tid, i32 " + n + "\n  store " + sum + " %d" + n +
              ", ptr addrspace(1) %q" + n + "\n";
  }
  std::string name = std::string("@llvm.nvvm.mma.") + shape.name;
  return "declare " + result + " " + name + "(" + types + ")\n" +
         "define ptx_kernel void @kernel(ptr addrspace(1) %in, ptr addrspace(1) %out) {\n"
         "  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n" +
         loads + "  %d = call " + result + " " + name + "(" + arguments + ")\n" + stores + "  ret void\n}";
}

void check(const Shape &shape) {
  SCOPED_TRACE(shape.name);
  unsigned packed = 32 / shape.bits, registersA = 16 * shape.k / 32 / packed, registersB = 8 * shape.k / 32 / packed;
  bool isUnsignedA = shape.a(255) == 255, isUnsignedB = shape.b(255) == 255, isInteger = shape.sumType[0] == 'i';
  auto valueA = [&](Element e) { return int(e.row * 5 + e.column * 3) % 8 - (isUnsignedA ? 0 : 3); };
  auto valueB = [&](Element e) { return int(e.row * 7 + e.column) % 8 - (isUnsignedB ? 0 : 4); };
  std::map<int, uint32_t> smallA = encodings(shape, shape.a), smallB = encodings(shape, shape.b);
  auto valueC = [&](Element e) { return int(e.row * 8 + e.column); };
  auto bitsC = [&](int value) { return isInteger ? uint32_t(value) : std::bit_cast<uint32_t>(float(value)); };

  unsigned count = registersA + registersB + 4;
  std::vector<uint32_t> in(32 * count), out(128);
  for (unsigned lane = 0; lane < 32; ++lane) {
    uint32_t *registers = &in[lane * count];
    for (unsigned i = 0; i < registersA * packed; ++i)
      registers[i / packed] |= smallA.at(valueA(placeA(shape.bits, lane, i))) << i % packed * (shape.bits % 32);
    for (unsigned i = 0; i < registersB * packed; ++i)
      registers[registersA + i / packed] |= smallB.at(valueB(placeB(shape.bits, lane, i)))
                                            << i % packed * (shape.bits % 32);
    for (unsigned i = 0; i < 4; ++i)
      registers[registersA + registersB + i] = bitsC(valueC(placeC(lane, i)));
  }
  TestKernel kernel(kernelText(shape, registersA, registersB));
  Report report = kernel.run(1, 32, {kernel.buffer(in), kernel.buffer(out)});
  ASSERT_TRUE(report.clean()) << report.text();
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 4; ++i) {
      Element place = placeC(lane, i);
      int sum = valueC(place);
      for (unsigned k = 0; k < shape.k; ++k)
        sum += valueA({place.row, k}) * valueB({k, place.column});
      ASSERT_EQ(out[lane * 4 + i], bitsC(sum)) << "lane " << lane << ", element " << i;
    }
}

} // namespace

TEST(Matrix, EachShapeIsThePlainProduct) {
  const Shape shapes[] = {
      {"m16n8k16.row.col.f32.f32", 16, 16, "<2 x half>", "float", half, half},
      {"m16n8k8.row.col.f32.f32", 8, 16, "<2 x half>", "float", half, half},
      {"m16n8k16.row.col.bf16", 16, 16, "i32", "float", bfloat, bfloat},
      {"m16n8k8.row.col.bf16", 8, 16, "i32", "float", bfloat, bfloat},
      {"m16n8k8.row.col.tf32", 8, 32, "i32", "float", tf32, tf32},
      {"m16n8k32.row.col.f32.e4m3.e4m3.f32", 32, 8, "i32", "float", e4m3, e4m3},
      {"m16n8k32.row.col.f32.e4m3.e5m2.f32", 32, 8, "i32", "float", e4m3, e5m2},
      {"m16n8k32.row.col.f32.e5m2.e4m3.f32", 32, 8, "i32", "float", e5m2, e4m3},
      {"m16n8k32.row.col.f32.e5m2.e5m2.f32", 32, 8, "i32", "float", e5m2, e5m2},
      {"m16n8k16.row.col.s8", 16, 8, "i32", "i32", s8, s8},
      {"m16n8k32.row.col.s8", 32, 8, "i32", "i32", s8, s8},
      {"m16n8k32.row.col.s8.u8", 32, 8, "i32", "i32", s8, u8},
      {"m16n8k32.row.col.u8.s8", 32, 8, "i32", "i32", u8, s8},
      {"m16n8k32.row.col.u8", 32, 8, "i32", "i32", u8, u8},
  };
  for (const Shape &shape : shapes)
    check(shape);
}

// Thread T writes its two elements of row T / 4; ldmatrix gives them back, and transposed the column's.
static std::string loadMatrix(const std::string &transposed) {
  std::string name = "@llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4" + transposed + ".b16";
  return R"(
@tile = internal addrspace(3) global [4 x [8 x [8 x i16]]] undef, align 16
declare { i32, i32, i32, i32 } )" +
         name + R"(.p3(ptr addrspace(3))
define ptx_kernel void @kernel(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %from = getelementptr <8 x i16>, ptr addrspace(1) %in, i32 %tid
  %row = load <8 x i16>, ptr addrspace(1) %from, align 16
  %p = getelementptr [8 x i16], ptr addrspace(3) @tile, i32 %tid
  store <8 x i16> %row, ptr addrspace(3) %p, align 16
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %all = call { i32, i32, i32, i32 } )" +
         name + R"(.p3(ptr addrspace(3) %p)
  %to = getelementptr { i32, i32, i32, i32 }, ptr addrspace(1) %out, i32 %tid
  store { i32, i32, i32, i32 } %all, ptr addrspace(1) %to, align 4
  ret void
})";
}

TEST(Matrix, LoadMatrix) {
  std::vector<uint16_t> in(256), out(256);
  for (unsigned i = 0; i < 256; ++i)
    in[i] = i;
  for (bool transposed : {false, true}) {
    TestKernel kernel(loadMatrix(transposed ? ".trans" : ""));
    Report report = kernel.run(1, 32, {kernel.buffer(in), kernel.buffer(out)});
    ASSERT_TRUE(report.clean()) << report.text();
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned matrix = 0; matrix < 4; ++matrix)
        for (unsigned i = 0; i < 2; ++i) {
          unsigned row = lane / 4, column = 2 * (lane % 4) + i;
          EXPECT_EQ(out[lane * 8 + matrix * 2 + i], matrix * 64 + (transposed ? column * 8 + row : row * 8 + column));
        }
  }
}

// 64 x 16 ones times 16 x 8 ones, rows of 32 bytes: `products` times, a group each. Then thread T writes two bytes of
// the first operand, after a barrier: after the wait that leaves `pending` groups, or before it.
// The last product adds its accumulators where `adds`, a value of the kernel, is not 0; empty: always.
static std::string multiplyGroup(bool waitsFirst, int products = 1, int pending = 0, const std::string &adds = "") {
  std::string last = std::to_string(products - 1);
  auto waitFor = [&](const std::string &name, int left) {
    return "\n  %" + name + R"( = call { float, float, float, float } asm sideeffect "wgmma.wait_group.sync.aligned )" +
           std::to_string(left) + R"(;", "=f,=f,=f,=f,0,1,2,3,~{memory}"(float %d)" + last + "_0, float %d" + last +
           "_1, float %d" + last + "_2, float %d" + last + "_3)";
  };
  std::string touch = R"(
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %byte = mul i32 %tid, 2
  %q = getelementptr i8, ptr addrspace(3) @tile, i32 %byte
  store i16 0, ptr addrspace(3) %q, align 2)";
  std::string text = R"(
@tile = internal addrspace(3) global [2560 x i8] undef, align 1024
declare void @llvm.nvvm.wgmma.fence.sync.aligned()
declare void @llvm.nvvm.wgmma.commit_group.sync.aligned()
define ptx_kernel void @kernel(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %mine = mul i32 %tid, 16
  %p = getelementptr i8, ptr addrspace(3) @tile, i32 %mine)";
  for (int step = 0; step < 5; ++step) {
    std::string n = std::to_string(step);
    text += "\n  %p" + n + " = getelementptr i8, ptr addrspace(3) %p, i32 " + std::to_string(512 * step) +
            "\n  store <8 x i16> splat (i16 15360), ptr addrspace(3) %p" + n + ", align 16";
  }
  text += R"(
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  call void @llvm.nvvm.wgmma.fence.sync.aligned())";
  for (int product = 0; product < products; ++product) {
    bool chooses = !adds.empty() && product + 1 == products;
    std::string n = std::to_string(product), before = std::to_string(product - 1);
    std::string sums = product ? "float %d" + before + "_0, float %d" + before + "_1, float %d" + before +
                                     "_2, float %d" + before + "_3"
                               : "float 0.0, float 1.0, float 2.0, float 3.0";
    text +=
        "\n  %d" + n + R"( = call { float, float, float, float } asm sideeffect "{ .reg .pred p; )" +
        (chooses ? "setp.ne.u32 p, $10, 0" : "setp.eq.u32 p, 0, 0") +
        R"(; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$0, $1, $2, $3}, $8, $9, p, 1, 1, 0, 0; }", "=f,=f,=f,=f,0,1,2,3,l,l)" +
        (chooses ? ",r" : "") + R"(,~{memory}"()" + sums + R"(, i64 -4611685949707911168, i64 -4611685949707911040)" +
        (chooses ? ", i32 " + adds : "") + R"()
  call void @llvm.nvvm.wgmma.commit_group.sync.aligned())";
    for (int i = 0; i < 4; ++i)
      text += "\n  %d" + n + "_" + std::to_string(i) + " = extractvalue { float, float, float, float } %d" + n + ", " +
              std::to_string(i);
  }
  std::string wait = waitFor("done", pending);
  text += waitsFirst ? wait + touch : touch + wait;
  if (pending)
    text += waitFor("all", 0);
  return text + R"(
  %to = getelementptr { float, float, float, float }, ptr addrspace(1) %out, i32 %tid
  store { float, float, float, float } %done, ptr addrspace(1) %to, align 4
  ret void
})";
}

TEST(Matrix, GroupProductReadsUntilItsWait) {
  std::vector<float> out(128);
  TestKernel right(multiplyGroup(true)), wrong(multiplyGroup(false));
  Report report = right.run(1, 32, {right.buffer(out)});
  EXPECT_TRUE(report.clean()) << report.text();
  for (unsigned i = 0; i < 128; ++i)
    EXPECT_EQ(out[i], float(16 + i % 4));
  EXPECT_TRUE(wrong.run(1, 32, {wrong.buffer(out)}).has(FindingKind::SharedRace));
}

// What is pending still reads: a wait that leaves one group is enough for the operands of the group before only.
TEST(Matrix, PendingGroupProductsStillRead) {
  std::vector<float> out(128);
  TestKernel both(multiplyGroup(true, 2, 0)), first(multiplyGroup(true, 2, 1)), none(multiplyGroup(true, 1, 1));
  Report report = both.run(1, 32, {both.buffer(out)});
  EXPECT_TRUE(report.clean()) << report.text();
  for (unsigned i = 0; i < 128; ++i)
    EXPECT_EQ(out[i], float(32 + i % 4));
  EXPECT_TRUE(
      first.run(1, 32, {first.buffer(out)}).has(FindingKind::SharedRace)); // the last group reads the same bytes
  EXPECT_TRUE(none.run(1, 32, {none.buffer(out)}).has(FindingKind::SharedRace));
}

TEST(Matrix, GroupProductsMayLeaveOutTheirAccumulators) {
  std::vector<float> out(128);
  for (const char *adds : {"0", "1", "7", "%tid"}) {
    TestKernel kernel(multiplyGroup(true, 2, 0, adds));
    Report report = kernel.run(1, 32, {kernel.buffer(out)});
    if (*adds == '%') {
      EXPECT_NE(report.error.find("whether the accumulators are added differs between threads"), std::string::npos);
      continue;
    }
    EXPECT_TRUE(report.clean()) << report.text();
    for (unsigned i = 0; i < 128; ++i)
      EXPECT_EQ(out[i], *adds == '0' ? 16 : float(32 + i % 4)) << adds;
  }
}

// PTX ISA, "Matrix Shape": of floats all multiples of 8 columns, of integers 8, 24 and the multiples of 16.
TEST(Matrix, GroupProductsHaveTheColumnsOfTheTable) {
  auto isKnown = [](unsigned n, const std::string &types, const std::string &tail) {
    std::string list = "$0";
    for (unsigned i = 1; i < n / 2; ++i)
      list += ", $" + std::to_string(i);
    std::string count = std::to_string(n);
    auto find = [&](const std::string &predicate) {
      return findGroupMatrixOp("{ .reg .pred p; " + predicate + "; wgmma.mma_async.sync.aligned.m64n" + count + types +
                               " {" + list + "}, $" + count + ", $" + std::to_string(n + 1) + ", p" + tail + "; }");
    };
    Handler adds = find("setp.eq.u32 p, 0, 0"), chooses = find("setp.ne.u32 p, $" + std::to_string(n + 2) + ", 0");
    EXPECT_EQ(adds != nullptr, chooses != nullptr);
    return adds;
  };
  for (unsigned n = 8; n <= 256; n += 8) {
    EXPECT_TRUE(isKnown(n, "k32.f32.e4m3.e4m3", ", 1, 1")) << n;
    EXPECT_EQ(bool(isKnown(n, "k32.s32.s8.s8", "")), n % 16 == 0 || n == 8 || n == 24) << n;
  }
}
