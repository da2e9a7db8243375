// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels that say AMD instructions by LLVM's intrinsics, which the host does not have: lanes of a wave, small floats,
// matrix products. Compiled by LLVM, run in the simulator, compared with loops.
#include "KernelPair.h"
#include "simulator/Simulator.h"
#include "simulator/numbers/Conversions.h"
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>

namespace heddle::simulator {
namespace {

constexpr unsigned lanes = 64;

/// A kernel of one wave: `body` has the lane's number in %id and its place in the buffers in %i.
std::string waveKernel(const std::string &declarations, const std::string &body) {
  return declarations + R"(
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @kernel(ptr addrspace(1) %in, ptr addrspace(1) %more, ptr addrspace(1) %out) #0 {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %i = zext i32 %id to i64
)" + body +
         "  ret void\n}\nattributes #0 = { \"amdgpu-flat-work-group-size\"=\"64,64\" }\n";
}

std::string storeTo(const std::string &type, const std::string &value, unsigned row) {
  return fmt::format("  %at{0} = add i64 %i, {1}\n  %to{0} = getelementptr {2}, ptr addrspace(1) %out, i64 %at{0}\n"
                     "  store {2} {3}, ptr addrspace(1) %to{0}\n",
                     row, row * lanes, type, value);
}

template <typename T, typename Out>
std::vector<Out> runWave(const std::string &text, const std::string &chip, const std::vector<T> &in,
                         const std::vector<T> &more, size_t count) {
  Simulator simulator(parseAmdCodeObject(compileModule(text, chip), "kernel"));
  auto upload = [&](const std::vector<T> &values, const char *name) {
    uint64_t address = simulator.allocate(std::max<size_t>(values.size(), 1) * sizeof(T), name);
    if (!values.empty())
      std::memcpy(simulator.bytes(address).data(), values.data(), values.size() * sizeof(T));
    return address;
  };
  uint64_t addresses[] = {upload(in, "in"), upload(more, "more"), simulator.allocate(count * sizeof(Out), "out")};
  Geometry geometry;
  geometry.items = {lanes, 1, 1};
  for (Policy policy : {Policy::Earliest, Policy::Latest}) {
    SimulationOptions options;
    options.policy = policy;
    for (Check check :
         {Check::RegisterWait, Check::Uninitialised, Check::Bounds, Check::Misaligned, Check::MisalignedSlow})
      options.checks.add(check);
    simulator.setUninitialised(addresses[2]);
    SimulationReport report =
        simulator.run(simulator.object().kernel("kernel"), geometry,
                      std::string(reinterpret_cast<const char *>(addresses), sizeof addresses), options);
    if (report.error)
      throw *report.error;
    for (const Finding &finding : report.findings)
      ADD_FAILURE() << finding.text();
    EXPECT_EQ(simulator.system.home.countUnwritten(addresses[2], count * sizeof(Out)), 0u);
  }
  std::vector<Out> result(count);
  std::memcpy(result.data(), simulator.bytes(addresses[2]).data(), count * sizeof(Out));
  return result;
}

class OnChip : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Chips, OnChip, testing::Values("gfx942", "gfx950"),
                         [](const auto &info) { return std::string(info.param); });

TEST_P(OnChip, MovesBetweenLanes) {
  std::string text = waveKernel(R"(
declare i32 @llvm.amdgcn.update.dpp.i32(i32, i32, i32, i32, i32, i1)
declare i32 @llvm.amdgcn.ds.bpermute(i32, i32)
declare i32 @llvm.amdgcn.ds.swizzle(i32, i32)
declare i32 @llvm.amdgcn.readlane.i32(i32, i32)
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)
declare i64 @llvm.amdgcn.ballot.i64(i1)
declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32)
declare i32 @llvm.amdgcn.mbcnt.hi(i32, i32)
)",
                                R"(
  %from = getelementptr i32, ptr addrspace(1) %in, i64 %i
  %v = load i32, ptr addrspace(1) %from
  %shifted = call i32 @llvm.amdgcn.update.dpp.i32(i32 7, i32 %v, i32 273, i32 15, i32 15, i1 false)
  %address = shl i32 %id, 3
  %permuted = call i32 @llvm.amdgcn.ds.bpermute(i32 %address, i32 %v)
  %swapped = call i32 @llvm.amdgcn.ds.swizzle(i32 %v, i32 1055)
  %fifth = call i32 @llvm.amdgcn.readlane.i32(i32 %v, i32 5)
  %first = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %v)
  %both = add i32 %fifth, %first
  %odd = and i32 %v, 1
  %isOdd = icmp ne i32 %odd, 0
  %ballot = call i64 @llvm.amdgcn.ballot.i64(i1 %isOdd)
  %low = trunc i64 %ballot to i32
  %upper = lshr i64 %ballot, 32
  %high = trunc i64 %upper to i32
  %partial = call i32 @llvm.amdgcn.mbcnt.lo(i32 %low, i32 0)
  %below = call i32 @llvm.amdgcn.mbcnt.hi(i32 %high, i32 %partial)
)" + storeTo("i32", "%shifted", 0) + storeTo("i32", "%permuted", 1) +
                                    storeTo("i32", "%swapped", 2) + storeTo("i32", "%both", 3) +
                                    storeTo("i32", "%below", 4));
  std::mt19937 random(1);
  std::vector<uint32_t> in(lanes);
  for (uint32_t &value : in)
    value = uint32_t(random());
  auto out = runWave<uint32_t, uint32_t>(text, GetParam(), in, {}, 5 * lanes);
  uint32_t below = 0;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    EXPECT_EQ(out[lane], lane % 16 ? in[lane - 1] : 7);
    EXPECT_EQ(out[lanes + lane], in[2 * lane % lanes]);
    EXPECT_EQ(out[2 * lanes + lane], in[lane ^ 1]);
    EXPECT_EQ(out[3 * lanes + lane], in[5] + in[0]);
    EXPECT_EQ(out[4 * lanes + lane], below);
    below += in[lane] & 1;
  }
}

TEST_P(OnChip, QuantisesToSmallFloats) {
  std::string text = waveKernel("declare i32 @llvm.amdgcn.cvt.pk.fp8.f32(float, float, i32, i1)\n"
                                "declare i32 @llvm.amdgcn.cvt.pk.bf8.f32(float, float, i32, i1)\n",
                                R"(
  %from = getelementptr <4 x float>, ptr addrspace(1) %in, i64 %i
  %v = load <4 x float>, ptr addrspace(1) %from
  %a = extractelement <4 x float> %v, i64 0
  %b = extractelement <4 x float> %v, i64 1
  %c = extractelement <4 x float> %v, i64 2
  %d = extractelement <4 x float> %v, i64 3
  %low = call i32 @llvm.amdgcn.cvt.pk.fp8.f32(float %a, float %b, i32 poison, i1 false)
  %all = call i32 @llvm.amdgcn.cvt.pk.fp8.f32(float %c, float %d, i32 %low, i1 true)
  %lowB = call i32 @llvm.amdgcn.cvt.pk.bf8.f32(float %a, float %b, i32 poison, i1 false)
  %allB = call i32 @llvm.amdgcn.cvt.pk.bf8.f32(float %c, float %d, i32 %lowB, i1 true)
)" + storeTo("i32", "%all", 0) + storeTo("i32", "%allB", 1));
  std::mt19937 random(2);
  std::normal_distribution<float> values(0, 30);
  std::vector<float> in(4 * lanes);
  for (float &value : in)
    value = values(random);
  auto out = runWave<float, uint8_t>(text, GetParam(), in, {}, 8 * lanes);
  bool ocp = std::string(GetParam()) == "gfx950";
  for (unsigned index = 0; index < 4 * lanes; ++index) {
    EXPECT_EQ(out[index], encodeFloat(ocp ? fp8Ocp : fp8Fnuz, in[index])) << in[index];
    EXPECT_EQ(out[4 * lanes + index], encodeFloat(ocp ? bf8Ocp : bf8Fnuz, in[index])) << in[index];
  }
}

/// C = A B of 32 x 64 by 64 x 32 in bf16, one wave: eight products of 32x32x8.
TEST_P(OnChip, MultipliesMatrices) {
  std::string body = "  %row = and i64 %i, 31\n  %part = lshr i64 %i, 5\n  %kp = shl i64 %part, 2\n"
                     "  %ra = shl i64 %row, 6\n";
  for (unsigned step = 0; step < 8; ++step) { // A by rows, B by columns: four along k lie side by side in both
    body += fmt::format("  %k{0} = add i64 %kp, {1}\n  %o{0} = add i64 %ra, %k{0}\n", step, 8 * step);
    for (const char *name : {"in", "more"})
      body += fmt::format("  %p{1}{0} = getelementptr bfloat, ptr addrspace(1) %{1}, i64 %o{0}\n"
                          "  %{1}{0} = load <4 x i16>, ptr addrspace(1) %p{1}{0}\n",
                          step, name);
    std::string sum = step ? fmt::format("%d{}", step - 1) : "zeroinitializer";
    body += fmt::format("  %d{0} = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x8bf16.1k(<4 x i16> %in{0}, "
                        "<4 x i16> %more{0}, <16 x float> {1}, i32 0, i32 0, i32 0)\n",
                        step, sum);
  }
  for (unsigned item = 0; item < 16; ++item)
    body += fmt::format("  %e{0} = extractelement <16 x float> %d7, i64 {0}\n", item) +
            storeTo("float", fmt::format("%e{}", item), item);
  std::string text = waveKernel("declare <16 x float> @llvm.amdgcn.mfma.f32.32x32x8bf16.1k(<4 x i16>, <4 x i16>, "
                                "<16 x float>, i32, i32, i32)\n",
                                body);
  std::mt19937 random(3);
  std::vector<uint16_t> a(32 * 64), b(32 * 64);
  for (std::vector<uint16_t> *matrix : {&a, &b})
    for (uint16_t &value : *matrix)
      value = toBf16(float(int(random() % 9) - 4));
  auto out = runWave<uint16_t, float>(text, GetParam(), a, b, 16 * lanes);
  for (unsigned item = 0; item < 16; ++item)
    for (unsigned lane = 0; lane < lanes; ++lane) {
      unsigned row = 8 * (item / 4) + 4 * (lane / 32) + item % 4, column = lane % 32;
      float expected = 0;
      for (unsigned k = 0; k < 64; ++k)
        expected += fromBf16(a[row * 64 + k]) * fromBf16(b[column * 64 + k]);
      ASSERT_EQ(out[item * lanes + lane], expected) << row << ", " << column;
    }
}

/// The softmax of one row of 64: maximum and sum by DPP and moves between halves.
TEST_P(OnChip, SoftmaxOfAWave) {
  std::string body = "  %from = getelementptr float, ptr addrspace(1) %in, i64 %i\n"
                     "  %x0 = load float, ptr addrspace(1) %from\n";
  // A value and that of the lane whose number differs in bit `step`, combined.
  auto exchange = [&](const char *name, unsigned step, const char *combine) {
    body += fmt::format("  %{0}i{1} = bitcast float %{0}{1} to i32\n  %{0}l{1} = xor i32 %id, {2}\n"
                        "  %{0}a{1} = shl i32 %{0}l{1}, 2\n"
                        "  %{0}p{1} = call i32 @llvm.amdgcn.ds.bpermute(i32 %{0}a{1}, i32 %{0}i{1})\n"
                        "  %{0}f{1} = bitcast i32 %{0}p{1} to float\n  %{0}{3} = ",
                        name, step, 1u << step, step + 1) +
            fmt::format(fmt::runtime(combine), fmt::format("%{}{}", name, step), fmt::format("%{}f{}", name, step));
  };
  for (unsigned step = 0; step < 6; ++step)
    exchange("x", step, "call float @llvm.maxnum.f32(float {}, float {})\n");
  body += "  %shifted = fsub float %x0, %x6\n  %scaled = fmul float %shifted, 0x3FF7154760000000\n"
          "  %s0 = call float @llvm.amdgcn.exp2.f32(float %scaled)\n";
  for (unsigned step = 0; step < 6; ++step)
    exchange("s", step, "fadd float {}, {}\n");
  body += "  %r = fdiv float %s0, %s6\n" + storeTo("float", "%r", 0);
  std::string text = waveKernel("declare i32 @llvm.amdgcn.ds.bpermute(i32, i32)\n"
                                "declare float @llvm.maxnum.f32(float, float)\n"
                                "declare float @llvm.amdgcn.exp2.f32(float)\n",
                                body);
  std::vector<float> in(lanes);
  for (unsigned lane = 0; lane < lanes; ++lane)
    in[lane] = std::sin(float(lane)) * 10;
  auto out = runWave<float, float>(text, GetParam(), in, {}, lanes);
  double sum = 0;
  for (float value : in)
    sum += std::exp(double(value));
  for (unsigned lane = 0; lane < lanes; ++lane)
    EXPECT_NEAR(out[lane], std::exp(double(in[lane])) / sum, 1e-6);
}

TEST(IntrinsicKernels, SwapsOfRows) { // gfx950 alone
  std::string text = waveKernel("declare {i32, i32} @llvm.amdgcn.permlane32.swap(i32, i32, i1, i1)\n"
                                "declare {i32, i32} @llvm.amdgcn.permlane16.swap(i32, i32, i1, i1)\n",
                                R"(
  %other = add i32 %id, 1000
  %pair = call {i32, i32} @llvm.amdgcn.permlane32.swap(i32 %id, i32 %other, i1 false, i1 false)
  %a = extractvalue {i32, i32} %pair, 0
  %rows = call {i32, i32} @llvm.amdgcn.permlane16.swap(i32 %id, i32 %other, i1 false, i1 false)
  %b = extractvalue {i32, i32} %rows, 1
)" + storeTo("i32", "%a", 0) + storeTo("i32", "%b", 1));
  auto out = runWave<uint32_t, uint32_t>(text, "gfx950", {}, {}, 2 * lanes);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    EXPECT_EQ(out[lane], lane < 32 ? lane : 1000 + lane - 32);
    EXPECT_EQ(out[lanes + lane], lane & 16 ? 1000 + lane : lane + 16);
  }
}

} // namespace
} // namespace heddle::simulator
