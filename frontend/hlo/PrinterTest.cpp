// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every sample of tests/hlo is read, and printed text is read as the same module again.
#include "frontend/hlo/TestModule.h"
#include "support/File.h"
#include "support/TestPaths.h"
#include <filesystem>
#include <fmt/ranges.h>

using namespace heddle;
using namespace heddle::hlo;

namespace {

std::vector<std::filesystem::path> samples() {
  std::vector<std::filesystem::path> paths;
  for (const auto &entry : std::filesystem::directory_iterator(sourcePath("tests/hlo")))
    if (entry.path().extension() == ".hlo")
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// Every typed attribute, as text.
std::string attributesOf(const Instruction &instruction) {
  const DotDimensions &dot = instruction.dot;
  std::string text = fmt::format("{} {} {} {} {} {} {}", instruction.parameterNumber, instruction.tupleIndex,
                                 instruction.iotaDimension, instruction.calledComputation, instruction.condition,
                                 instruction.body, instruction.fusionKind);
  for (const auto *list :
       {&instruction.dimensions, &instruction.dynamicSliceSizes, &instruction.slice.starts, &instruction.slice.limits,
        &instruction.slice.strides, &dot.lhsBatch, &dot.rhsBatch, &dot.lhsContracting, &dot.rhsContracting})
    text += fmt::format(" {{{}}}", fmt::join(*list, ","));
  for (const PaddedDimension &padding : instruction.padding)
    text += fmt::format(" {}_{}_{}", padding.low, padding.high, padding.interior);
  text += fmt::format(" {} {}", compareDirectionName(instruction.direction), instruction.totalOrder);
  for (const CarriedAttribute &attribute : instruction.carried)
    text += fmt::format(" {}={}", attribute.name, attribute.text);
  return text;
}

void expectSameInstruction(const Instruction &first, const Instruction &second) {
  EXPECT_EQ(first.name, second.name);
  EXPECT_EQ(first.opcode, second.opcode) << first.name;
  EXPECT_EQ(formatShape(first.shape), formatShape(second.shape)) << first.name;
  EXPECT_EQ(first.operands, second.operands) << first.name;
  EXPECT_EQ(first.users, second.users) << first.name;
  EXPECT_EQ(first.literal, second.literal) << first.name;
  EXPECT_EQ(attributesOf(first), attributesOf(second)) << first.name;
  ASSERT_EQ(first.collective.has_value(), second.collective.has_value());
  if (!first.collective)
    return;
  EXPECT_EQ(first.collective->replicaGroups.groups, second.collective->replicaGroups.groups) << first.name;
  EXPECT_EQ(first.collective->channelId, second.collective->channelId) << first.name;
  EXPECT_EQ(first.collective->useGlobalDeviceIds, second.collective->useGlobalDeviceIds) << first.name;
  EXPECT_EQ(first.collective->constrainLayout, second.collective->constrainLayout) << first.name;
  EXPECT_EQ(first.collective->sourceTargetPairs, second.collective->sourceTargetPairs) << first.name;
  EXPECT_EQ(first.collective->reduction, second.collective->reduction) << first.name;
}

void expectSameModule(const Module &first, const Module &second) {
  EXPECT_EQ(first.entry, second.entry);
  EXPECT_EQ(first.deviceCount(), second.deviceCount());
  ASSERT_EQ(first.computations.size(), second.computations.size());
  for (size_t i = 0; i < first.computations.size(); ++i) {
    const Computation &left = first.computations[i], &right = second.computations[i];
    EXPECT_EQ(left.root, right.root);
    EXPECT_EQ(left.parameters, right.parameters);
    ASSERT_EQ(left.instructions.size(), right.instructions.size());
    for (size_t k = 0; k < left.instructions.size(); ++k)
      expectSameInstruction(left.instructions[k], right.instructions[k]);
  }
}

void expectRoundTrip(const std::string &text) {
  Module module = parseModule(text, "first");
  std::string printed = printModule(module);
  Module again = parseModule(printed, "second");
  expectSameModule(module, again);
  EXPECT_EQ(printModule(again), printed);
}

} // namespace

TEST(HloPrinter, samples_survive_a_round_trip) {
  ASSERT_GE(samples().size(), 12u);
  for (const auto &path : samples()) {
    SCOPED_TRACE(path.filename());
    std::string text = readFile(path);
    expectRoundTrip(text);
    EXPECT_TRUE(parseModule(text, path.filename()).warnings.empty());
  }
}

TEST(HloPrinter, attributes_survive_a_round_trip) {
  expectRoundTrip(
      moduleText(
          "p = f32[4,6]{0,1:T(2)S(1)} parameter(0), sharding={replicated}\n"
          "s = slice(p), slice={[0:4:2], [1:3]}\nz = f32[] constant(-0)\n"
          "d = pad(s, z), padding=1_-1_0x0_2_1, metadata={op_name=\"a\"}\n"
          "i = s64[4,6] iota(), iota_dimension=1\nn = s32[] constant(3)\n"
          "y = dynamic-slice(p, n, n), dynamic_slice_sizes={2,2}\n"
          "u = dynamic-update-slice(p, y, n, n)\n"
          "p2 = f32[6,4] parameter(1)\n"
          "m = dot(p, p2), lhs_batch_dims={0}, rhs_batch_dims={1}, lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
          "c = compare(u, u), direction=GE, type=TOTALORDER\n"
          "r = (f32[4]) fusion(m), kind=kInput, calls=w\n"
          "g = f32[4,6] all-gather(p), dimensions={0}, channel_id=4, replica_groups=[1,1]<=[1], "
          "use_global_device_ids=true, constrain_layout=true\n"
          "v = reverse(p), dimensions={0,1}\nx = concatenate(p, v), dimensions={1}\n"
          "k = token[] after-all()\no = opt-barrier(k)")
          .insert(moduleText("").find("ENTRY"), "w { q = f32[4] parameter(0) ROOT t = tuple(q) }\n"));
}

TEST(HloPrinter, constants_of_every_type_survive_a_round_trip) {
  for (DType type : allDTypes()) {
    std::string value = isComplex(type) ? "(1.5, -inf)" : type == DType::S1 ? "-1" : "1";
    std::string body = fmt::format("c = {}[1,2] constant({{{{{}, {}}}}})", dtypeName(type), value, value);
    SCOPED_TRACE(body);
    expectRoundTrip(moduleText(body));
  }
  expectRoundTrip(moduleText("c = f32[6] constant({nan, -nan, inf, 1e-45, 3.4028235e38, 0.1})"));
  expectRoundTrip(moduleText("c = f64[3] constant({5e-324, 1.7976931348623157e308, 0.1})"));
  expectRoundTrip(moduleText("c = s64[2] constant({-9223372036854775808, 9223372036854775807})"));
}

TEST(HloPrinter, every_code_of_the_small_formats_survives_a_round_trip) {
  for (DType type : {DType::F8E4M3, DType::F8E4M3FN, DType::F8E4M3FNUZ, DType::F8E4M3B11FNUZ, DType::F8E5M2,
                     DType::F8E5M2FNUZ, DType::F8E3M4, DType::F8E8M0FNU, DType::F4E2M1FN, DType::F16, DType::BF16}) {
    Module module = parseBody(fmt::format("c = {}[] constant(1)", dtypeName(type)));
    Instruction &constant = module.computations.back().instructions[0];
    for (int code = 0; code < 1 << std::min(bitWidth(type), 8); ++code) {
      constant.literal.back() = char(code);
      std::string printed = printModule(module);
      Module again = parseModule(printed, "again");
      bool nan = printed.find("nan") != std::string::npos;
      EXPECT_TRUE(nan ? printModule(again) == printed : rootOf(again).literal == constant.literal) << printed;
    }
  }
}
