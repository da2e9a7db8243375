// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// HLO modules on host devices against the plain evaluator: the samples of tests/hlo, and each operation by itself.
#include "program/Program.h"
#include "frontend/hlo/Parser.h"
#include "support/File.h"
#include "support/TestError.h"
#include "support/TestPaths.h"
#include "tests/multi_device/TestDevices.h"
#include "tests/reference/hlo/Evaluator.h"
#include <cmath>
#include <filesystem>
#include <random>
#include <regex>

using namespace heddle;
using namespace heddle::program;
namespace reference = heddle::hlo::reference;

namespace {

void appendLeaves(const reference::Value &value, std::vector<ArrayBytes> &leaves) {
  if (value.shape.isArray())
    leaves.push_back({value.shape, std::string(value.bytes.begin(), value.bytes.end())});
  for (const reference::Value &element : value.elements)
    appendLeaves(element, leaves);
}

reference::Value randomValue(const hlo::Shape &shape, std::mt19937_64 &random) {
  if (shape.isTuple()) {
    std::vector<reference::Value> elements;
    for (const hlo::Shape &element : shape.elements)
      elements.push_back(randomValue(element, random));
    return reference::tupleOf(elements);
  }
  reference::Value value = reference::zeros(shape);
  for (int64_t i = 0; i < shape.elementCount(); ++i) {
    double number = double(int64_t(random() % 2001) - 1000) / 256.0;
    if (shape.type == hlo::DType::Pred)
      number = double(random() & 1);
    else if (hlo::isInteger(shape.type))
      number = double(random() % 100);
    reference::storeNumber(shape.type, number, value.at(i));
  }
  return value;
}

/// What two results may differ by: integers not at all, floats by roundings of sums and by the errors of functions.
double toleranceOf(hlo::DType type) {
  switch (type) {
  case hlo::DType::F64:
    return 1e-11;
  case hlo::DType::F32:
    return 2e-5;
  case hlo::DType::F16:
    return 4e-3;
  case hlo::DType::BF16:
    return 3e-2;
  default:
    return hlo::isFloating(type) ? 0.3 : 0;
  }
}

std::string compare(const ArrayBytes &seen, const ArrayBytes &expected) {
  if (!seen.shape.sameAs(expected.shape))
    return "shape " + hlo::formatShape(seen.shape) + ", expected " + hlo::formatShape(expected.shape);
  hlo::DType type = seen.shape.type;
  size_t size = size_t(hlo::elementSizeBytes(type));
  for (size_t i = 0; i < seen.bytes.size(); i += size) {
    double x = reference::loadNumber(type, reinterpret_cast<const uint8_t *>(seen.bytes.data() + i));
    double y = reference::loadNumber(type, reinterpret_cast<const uint8_t *>(expected.bytes.data() + i));
    if (x == y || (std::isnan(x) && std::isnan(y)))
      continue;
    if (!(std::abs(x - y) <= toleranceOf(type) * std::max(1.0, std::abs(y))))
      return "element " + std::to_string(i / size) + ": " + std::to_string(x) + ", expected " + std::to_string(y);
  }
  return "";
}

void check(const std::string &text, const std::string &name, const ProgramOptions &options = {}, uint64_t seed = 1) {
  hlo::Module module = hlo::parseModule(text, name);
  if (!heddle::testing::hasDevices(module.deviceCount()))
    return;
  std::vector<std::shared_ptr<Device>> devices = heddle::testing::openFirstDevices(module.deviceCount());
  Program program(module, devices, options);
  for (int call = 0; call < 2; ++call) {
    std::mt19937_64 random(seed + uint64_t(call));
    std::vector<std::vector<reference::Value>> inputs(devices.size());
    std::vector<std::vector<ArrayBytes>> arrays(devices.size());
    for (size_t device = 0; device < devices.size(); ++device)
      for (size_t i = 0; i < module.entryComputation().parameters.size(); ++i) {
        inputs[device].push_back(randomValue(module.entryComputation().parameter(i).shape, random));
        appendLeaves(inputs[device].back(), arrays[device]);
      }
    std::vector<reference::Value> expected = reference::evaluate(module, inputs);
    std::vector<std::vector<ArrayBytes>> seen = program.run(arrays);
    for (size_t device = 0; device < devices.size(); ++device) {
      std::vector<ArrayBytes> leaves;
      appendLeaves(expected[device], leaves);
      ASSERT_EQ(seen[device].size(), leaves.size()) << name;
      for (size_t i = 0; i < leaves.size(); ++i)
        EXPECT_EQ(compare(seen[device][i], leaves[i]), "") << name << ", device " << device << ", result " << i;
    }
  }
}

TEST(Program, Samples) {
  for (const auto &entry : std::filesystem::directory_iterator(sourcePath("tests/hlo")))
    if (entry.path().extension() == ".hlo")
      for (bool fuse : {true, false}) {
        ProgramOptions options;
        options.partition.fuseCollectives = fuse;
        SCOPED_TRACE(fuse ? "fused" : "not fused");
        std::string text = readFile(entry.path().string());
        for (size_t at; (at = text.find("s4[")) != std::string::npos;) // no device computes with 4 bits
          text.replace(at, 3, "s8[");
        check(text, entry.path().filename().string(), options);
      }
}

TEST(Program, DirectAlgorithmsAreLeftToThePlans) {
  ProgramOptions options;
  options.algorithm = "two_shot_direct";
  check(readFile(sourcePath("tests/hlo/all_reduce_rms_norm.hlo")), "all_reduce_rms_norm.hlo", options);
}

// Of a size from which on plans are direct, as whole parts and as rows of parts.
TEST(Program, LargeCollectivesOfWhatIsStored) {
  check(R"(HloModule large, replica_count=3
sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }
ENTRY main { x = f32[6,6000] parameter(0)
  y = f32[6,2000] parameter(1)
  rows = f32[18,2000] all-gather(y), replica_groups={}, dimensions={0}
  columns = f32[6,6000] all-gather(y), replica_groups={}, dimensions={1}
  upper = f32[2,6000] reduce-scatter(x), replica_groups={}, dimensions={0}, to_apply=sum
  left = f32[6,2000] reduce-scatter(x), replica_groups={}, dimensions={1}, to_apply=sum
  down = f32[6,6000] all-to-all(x), replica_groups={}, dimensions={0}
  across = f32[6,6000] all-to-all(x), replica_groups={}, dimensions={1}
  ROOT all = (f32[18,2000], f32[6,6000], f32[2,6000], f32[6,2000], f32[6,6000], f32[6,6000])
    tuple(rows, columns, upper, left, down, across) })",
        "large.hlo");
}

/// One instruction on a module of its own: `body` ends in ROOT and reads p0, p1, p2 of these shapes.
void checkBody(const std::string &body, const std::vector<std::string> &parameters) {
  std::string text =
      "HloModule m\n\nadd { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n"
      "largest { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] maximum(a, b) }\n"
      "both { v = f32[] parameter(0)\n i = s32[] parameter(1)\n w = f32[] parameter(2)\n j = s32[] "
      "parameter(3)\n g = pred[] compare(v, w), direction=GE\n x = f32[] select(g, v, w)\n y = s32[] "
      "select(g, i, j)\n ROOT t = (f32[], s32[]) tuple(x, y) }\n"
      "below { v = f32[] parameter(0)\n w = f32[] parameter(1)\n i = s32[] parameter(2)\n j = s32[] "
      "parameter(3)\n ROOT g = pred[] compare(v, w), direction=LT }\n\nENTRY main {\n";
  for (size_t i = 0; i < parameters.size(); ++i)
    text += "p" + std::to_string(i) + " = " + parameters[i] + " parameter(" + std::to_string(i) + ")\n";
  check(text + body + "\n}\n", body);
}

TEST(Program, UnaryFloatingOperations) {
  for (const char *type : {"f32", "f64", "bf16", "f16"})
    for (const char *name : {"abs",
                             "negate",
                             "sign",
                             "floor",
                             "ceil",
                             "round-nearest-afz",
                             "round-nearest-even",
                             "exponential",
                             "exponential-minus-one",
                             "logistic",
                             "tanh",
                             "sine",
                             "cosine",
                             "cbrt",
                             "erf",
                             "copy",
                             "log",
                             "log-plus-one",
                             "sqrt",
                             "rsqrt",
                             "tan"}) {
      std::string shape = std::string(type) + "[37]";
      checkBody("ROOT r = " + shape + " " + name + "(p0)", {shape});
    }
  checkBody("ROOT r = pred[37] is-finite(p0)", {"f32[37]"});
}

TEST(Program, BinaryFloatingOperations) {
  for (const char *type : {"f32", "f64", "bf16"})
    for (const char *name :
         {"add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "power", "atan2"}) {
      std::string shape = std::string(type) + "[5,7]";
      checkBody("ROOT r = " + shape + " " + name + "(p0, p1)", {shape, shape});
    }
}

TEST(Program, FloatingScalars) {
  for (const char *type : {"f32", "f64", "bf16", "f16"}) {
    std::string shape = std::string(type) + "[]", body, results;
    auto add = [&](const std::string &name, const std::string &operands) {
      std::string result = "r" + std::to_string(results.size());
      body += result + " = " + shape + " " + name + "(" + operands + ")\n";
      results += (results.empty() ? "" : ", ") + result;
    };
    for (const char *name : {"divide", "remainder", "maximum", "power", "atan2"})
      add(name, "p0, p1");
    for (const char *name : {"sign", "round-nearest-even", "exponential-minus-one", "logistic", "tanh", "sine", "cbrt",
                             "erf", "log-plus-one", "sqrt", "tan"})
      add(name, "p0");
    checkBody(body + "ROOT t = tuple(" + results + ")", {shape, shape});
  }
}

TEST(Program, IntegerOperations) {
  for (const char *type : {"s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64"}) {
    std::string shape = std::string(type) + "[40]";
    for (const char *name : {"add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "and", "or",
                             "xor", "shift-left", "shift-right-arithmetic", "shift-right-logical", "power"})
      checkBody("ROOT r = " + shape + " " + name + "(p0, p1)", {shape, shape});
    for (const char *name : {"not", "negate", "sign", "abs", "popcnt", "count-leading-zeros"})
      if (type[0] == 's' ||
          (std::string(name) != "sign" && std::string(name) != "abs" && std::string(name) != "negate"))
        checkBody("ROOT r = " + shape + " " + name + "(p0)", {shape});
  }
  for (const char *name : {"and", "or", "xor"})
    checkBody(std::string("ROOT r = pred[40] ") + name + "(p0, p1)", {"pred[40]", "pred[40]"});
  checkBody("ROOT r = pred[40] not(p0)", {"pred[40]"});
}

TEST(Program, Conversions) {
  const char *types[] = {
      "pred", "s8",  "s32",      "s64",    "u8",         "u32",        "f16",    "bf16",
      "f32",  "f64", "f8e4m3fn", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz", "f8e3m4", "s4"}; // the others in SpecialValues
  for (const char *from : types) {
    std::string body, results;
    for (const char *to : types) {
      body += std::string(to) + "_ = " + to + "[33] convert(p0)\n";
      results += std::string(results.empty() ? "" : ", ") + to + "_";
    }
    checkBody(body + "ROOT t = tuple(" + results + ")", {std::string(from) + "[33]"});
  }
  checkBody("a = u32[8] bitcast-convert(p0)\nb = f32[8] bitcast-convert(a)\nROOT t = tuple(a, b)", {"f32[8]"});
  checkBody("a = u8[8,4] bitcast-convert(p0)\nROOT b = f32[8] bitcast-convert(a)", {"f32[8]"});
  checkBody("a = s4[4,4] bitcast-convert(p0)\nROOT b = f4e2m1fn[4,4] bitcast-convert(a)", {"s16[4]"});
  checkBody("a = u4[6,2] bitcast-convert(p0)\nROOT b = f8e3m4[6] bitcast-convert(a)", {"f8e8m0fnu[6]"});
  checkBody("a = s16[4] bitcast-convert(p0)\nROOT b = f64[] bitcast-convert(a)", {"f64[]"});
  checkBody("a = u8[8,4] bitcast-convert(p0)\nROOT r = s8[4,8] bitcast-convert(p1)", {"f32[8]", "s64[4]"});
}

// Each operation rounds once to the format; what moves elements keeps their bits.
TEST(Program, NarrowTypes) {
  for (const char *type : {"f8e4m3", "f8e4m3b11fnuz", "f8e3m4", "f8e8m0fnu", "f4e2m1fn", "s4", "u4"}) {
    std::string matrix = std::string(type) + "[6,5]", row = std::string(type) + "[5]";
    checkBody("a = add(p0, p1)\nm = multiply(p0, p1)\nx = maximum(a, m)\nl = pred[6,5] compare(p0, p1), direction=LT\n"
              "s = select(l, x, p1)\nt = " +
                  std::string(type) + "[5,6] transpose(s), dimensions={1,0}\nROOT r = tuple(t, a)",
              {matrix, matrix});
    checkBody("a = s32[] constant(2)\nb = s32[] constant(1)\nROOT r = " + std::string(type) +
                  "[3,3] dynamic-slice(p0, a, b), dynamic_slice_sizes={3,3}",
              {matrix});
    checkBody("ROOT r = " + std::string(type) + "[5] constant({1, 1, 2, 4, 1})", {});
  }
  checkBody("ROOT r = s4[6,3] dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}", {"s4[6,5]", "s4[5,3]"});
}

TEST(Program, Comparisons) {
  for (const char *type : {"f32", "s32", "u8", "pred", "bf16"})
    for (const char *direction : {"EQ", "NE", "LT", "LE", "GT", "GE"}) {
      std::string shape = std::string(type) + "[50]";
      checkBody("ROOT r = pred[50] compare(p0, p1), direction=" + std::string(direction), {shape, shape});
    }
  checkBody("ROOT r = pred[50] compare(p0, p1), direction=LT, type=TOTALORDER", {"f32[50]", "f32[50]"});
  checkBody("c = pred[9] compare(p0, p1), direction=GT\nROOT r = f32[9] select(c, p0, p1)", {"f32[9]", "f32[9]"});
  checkBody("ROOT r = f32[9] select(p0, p1, p2)", {"pred[]", "f32[9]", "f32[9]"});
  checkBody("l = f32[] constant(-1)\nh = f32[] constant(1.5)\nROOT r = f32[9] clamp(l, p0, h)", {"f32[9]"});
}

TEST(Program, Movement) {
  checkBody("ROOT r = f32[4,3,5] broadcast(p0), dimensions={1}", {"f32[3]"});
  checkBody("ROOT r = f32[6,4] reshape(p0)", {"f32[2,3,4]"});
  checkBody("ROOT r = f32[5,2,3] transpose(p0), dimensions={2,0,1}", {"f32[2,3,5]"});
  checkBody("ROOT r = f32[2,2] slice(p0), slice={[1:5:2], [2:4]}", {"f32[6,5]"});
  checkBody("ROOT r = f32[3,8] concatenate(p0, p1, p2), dimensions={1}", {"f32[3,2]", "f32[3,5]", "f32[3,1]"});
  checkBody("z = f32[] constant(7)\nROOT r = f32[8,6] pad(p0, z), padding=1_2_1x0_-1", {"f32[3,7]"});
  checkBody("ROOT r = f32[4,5] reverse(p0), dimensions={0,1}", {"f32[4,5]"});
  checkBody("ROOT r = s32[4,5] iota(), iota_dimension=1", {});
  checkBody("ROOT r = f32[2,3] dynamic-slice(p0, p1, p2), dynamic_slice_sizes={2,3}", {"f32[6,7]", "s32[]", "s32[]"});
  checkBody("ROOT r = f32[6,7] dynamic-update-slice(p0, p1, p2, p2)", {"f32[6,7]", "f32[2,3]", "s32[]"});
  checkBody("ROOT r = f32[4,5] gather(p0, p1), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
            "index_vector_dim=1, slice_sizes={1,5}",
            {"f32[6,5]", "s32[4]"});
  checkBody("ROOT r = f32[2,4,3] gather(p0, p1), offset_dims={0,2}, start_index_map={1,0}, index_vector_dim=0, "
            "slice_sizes={2,3}",
            {"f32[6,5]", "u8[2,4]"});
  checkBody("i = s64[3,2,1] reshape(p1)\nROOT r = f32[3,2] gather(p0, i), offset_dims={}, collapsed_slice_dims={1}, "
            "operand_batching_dims={0}, start_indices_batching_dims={0}, start_index_map={1}, index_vector_dim=2, "
            "slice_sizes={1,1}",
            {"f32[3,7]", "s64[6]"});
  checkBody("ROOT r = f32[3] gather(p0, p1), offset_dims={0}, start_index_map={0}, index_vector_dim=0, slice_sizes={3}",
            {"f32[7]", "s32[]"});
  checkBody(
      "s = f32[] constant(2)\nm = f32[6] reduce(p0, s), dimensions={1}, to_apply=add\nROOT r = f32[4] gather(m, p1), "
      "offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}",
      {"f32[6,5]", "s32[4]"});
  checkBody(
      "z = f32[] constant(0)\nROOT r = f32[3,7] reduce-window(p0, z), window={size=1x7 pad=0_0x6_0}, to_apply=add",
      {"f32[3,7]"});
  checkBody("z = f32[] constant(0)\nROOT r = f32[3,2,5] reduce-window(p0, z), window={size=2x1x3 stride=2x1x1 "
            "pad=1_0x0_0x1_1 rhs_dilate=1x1x1}, to_apply=add",
            {"f32[5,2,5]"});
  checkBody("ROOT r = f32[2,3,5,4] convolution(p0, p1), window={size=3x2 stride=2x1 pad=1_1x1_0 rhs_dilate=1x2}, "
            "dim_labels=b01f_01io->b01f, feature_group_count=2",
            {"f32[2,5,6,6]", "f32[3,2,3,4]"});
  checkBody("ROOT r = f32[4,3]{1,0} bitcast(p0)", {"f32[3,4]{0,1}"});
  checkBody("t = f32[6,2] transpose(p0), dimensions={1,0}\nu = f32[12] reshape(t)\nROOT r = f32[12] add(u, u)",
            {"f32[2,6]"});
}

TEST(Program, SortsAndRunningReductions) {
  checkBody("t = (f32[3,300], s32[3,300]) sort(p0, p1), dimensions={1}, to_apply=below\nROOT r = s32[3,300] "
            "get-tuple-element(t), index=1",
            {"f32[3,300]", "s32[3,300]"});
  checkBody("t = (f32[2,3], s32[2,3]) topk(p0), k=3, largest=true\nROOT r = s32[2,3] get-tuple-element(t), index=1",
            {"f32[2,700]"});
  checkBody("z = f32[] constant(0)\nROOT r = f32[70,3] reduce-window(p0, z), window={size=70x1 pad=0_69x0_0}, "
            "to_apply=add",
            {"f32[70,3]"});
}

TEST(Program, BitcastsToOtherTypes) {
  checkBody("ROOT r = s32[4] bitcast(p0)", {"f32[4]"});
  checkBody("ROOT r = s32[] bitcast(p0)", {"f32[1,1]"});
  checkBody("ROOT r = s32[4,3]{1,0} bitcast(p0)", {"f32[3,4]{0,1}"});
  checkBody("ROOT r = u8[8] bitcast(p0)", {"pred[8]"});
  checkBody("ROOT r = u16[2,12]{0,1} bitcast(p0)", {"f32[3,4]{0,1}"});
  checkBody("ROOT r = s32[2,4] bitcast(p0)", {"u16[4,4]{0,1}"});
  checkBody("ROOT r = s64[] bitcast(p0)", {"u8[8]"});
  checkBody("ROOT r = u8[0,7] bitcast(p0)", {"f64[0]"});
  check("HloModule m, replica_count=2\n\nadd { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] "
        "add(a, b) }\n\nENTRY e {\n x = f32[9] parameter(0)\n s = f32[9] all-reduce(x), to_apply=add\n ROOT r = "
        "s32[3,3] bitcast(s)\n}\n",
        "reduced.hlo");
}

/// Computations of which each calls the one before so many times.
std::string chainOfCalls(int length, int calls) {
  std::string text = "HloModule m\nf0 { p = f32[] parameter(0)\n ROOT a = f32[] add(p, p) }\n";
  for (int i = 1; i <= length; ++i) {
    text += "f" + std::to_string(i) + " { a0 = f32[] parameter(0)\n";
    for (int call = 1; call <= calls; ++call)
      text += std::string(call == calls ? " ROOT " : " ") + "a" + std::to_string(call) + " = f32[] call(a" +
              std::to_string(call - 1) + "), to_apply=f" + std::to_string(i - 1) + "\n";
    text += "}\n";
  }
  return text + "ENTRY e { p = f32[] parameter(0)\n ROOT r = f32[] call(p), to_apply=f" + std::to_string(length) +
         "\n}\n";
}

TEST(Program, CallsThatCannotBeWrittenOut) {
  auto refusal = [](int length, int calls) {
    return messageOf(
        [&] { Program(hlo::parseModule(chainOfCalls(length, calls), "m.hlo"), heddle::testing::openFirstDevices(1)); });
  };
  EXPECT_CONTAINS(refusal(40, 2), "is instruction 1048577 of the module with its calls written out; 1048576 are the");
  EXPECT_CONTAINS(refusal(100000, 1), "is called through 1001 computations; 1000 are the most");
  check(chainOfCalls(3, 3), "small.hlo");
}

TEST(Program, Contractions) {
  checkBody("z = f32[] constant(0)\nROOT r = f32[4] reduce(p0, z), dimensions={1}, to_apply=add", {"f32[4,33]"});
  checkBody("z = f32[] constant(-inf)\nROOT r = f32[33] reduce(p0, z), dimensions={0}, to_apply=largest",
            {"f32[4,33]"});
  checkBody("z = f32[] constant(0)\nROOT r = f32[] reduce(p0, z), dimensions={0,1}, to_apply=add", {"f32[4,33]"});
  checkBody("z = f32[] constant(-inf)\nn = s32[] constant(0)\ni = s32[4,9] iota(), iota_dimension=1\nROOT r = (f32[4], "
            "s32[4]) reduce(p0, i, z, n), dimensions={1}, to_apply=both",
            {"f32[4,9]"});
  // In row-major order, whatever the order of the dimensions: of equal values the first one wins.
  checkBody("z = f32[] constant(-inf)\nn = s32[] constant(0)\nf = f32[4,9] floor(p0)\ni = s32[36] iota(), "
            "iota_dimension=0\nj = s32[4,9] reshape(i)\nROOT r = (f32[], s32[]) reduce(f, j, z, n), "
            "dimensions={1,0}, to_apply=both",
            {"f32[4,9]"});
  checkBody("ROOT r = f32[5,6] dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
            {"f32[5,16]", "f32[16,6]"});
  checkBody("ROOT r = f32[3,5,6] dot(p0, p1), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
            "rhs_contracting_dims={2}",
            {"f32[3,5,8]", "f32[3,6,8]"});
  checkBody("ROOT r = s32[5,6] dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
            {"s32[5,4]", "s32[4,6]"});
  checkBody("ROOT r = f32[] dot(p0, p1), lhs_contracting_dims={0}, rhs_contracting_dims={0}", {"f32[9]", "f32[9]"});
}

TEST(Program, EmptyAndScalarArrays) {
  checkBody("ROOT r = f32[0,3] add(p0, p0)", {"f32[0,3]"});
  checkBody("z = f32[] constant(2)\nROOT r = f32[3] reduce(p0, z), dimensions={0}, to_apply=add", {"f32[0,3]"});
  checkBody("ROOT r = f32[] add(p0, p0)", {"f32[]"});
  checkBody("ROOT r = f32[2,3] concatenate(p0, p1), dimensions={0}", {"f32[0,3]", "f32[2,3]"});
  checkBody("c = f32[6,0] concatenate(p0, p0), dimensions={0}\nROOT r = f32[6,2] dot(c, p1), "
            "lhs_contracting_dims={1}, rhs_contracting_dims={0}",
            {"f32[3,0]", "f32[0,2]"});
}

TEST(Program, CodeBehindACollectiveOfAScalar) {
  check("HloModule m, replica_count=2\n\nadd { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] "
        "add(a, b) }\n\nENTRY e {\n x = f32[] parameter(0)\n s = f32[] all-reduce(x), to_apply=add\n r = f32[] "
        "reshape(s)\n ROOT m = f32[] maximum(r, x)\n}\n",
        "scalar.hlo");
}

/// What device 0 makes of `text`, whose arrays are too large for the evaluator: the bytes of its only result.
std::string resultOf(const std::string &text, const std::vector<ArrayBytes> &inputs) {
  Program program(hlo::parseModule(text, "large.hlo"), heddle::testing::openFirstDevices(1));
  return program.run({inputs})[0][0].bytes;
}

template <class T>
std::string bytesOf(const std::vector<T> &values) {
  return std::string(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T));
}

template <class T>
ArrayBytes arrayOf(hlo::DType type, const std::vector<int64_t> &dimensions, const std::vector<T> &values) {
  return {hlo::Shape::array(type, dimensions), bytesOf(values)};
}

// One element that all share is read like any other only where the array has it: here it lies 2 GB further on.
TEST(Program, ASharedElementOutsideAnArrayIsNotRead) {
  const std::vector<float> few = {1, 2, 3, 4};
  std::string head = "HloModule m\nENTRY e {\n p = f32[4] parameter(0)\n i = s32[] parameter(1)\n"
                     " z = f32[] constant(7)\n",
              tail = " s = f32[1] dynamic-slice(w, i), dynamic_slice_sizes={1}\n r = f32[] reshape(s)\n"
                     " ROOT b = f32[5] broadcast(r), dimensions={}\n}\n";
  std::vector<std::string> wide = {
      " w = f32[536870916] pad(p, z), padding=0_536870912\n", " w = f32[536870916] pad(p, z), padding=536870912_0\n",
      " y = f32[536870912] broadcast(z), dimensions={}\n w = f32[536870916] concatenate(y, p), dimensions={0}\n",
      " y = f32[536870912] broadcast(z), dimensions={}\n w = f32[536870916] concatenate(p, y), dimensions={0}\n",
      " y = f32[536870916] broadcast(z), dimensions={}\n n = s32[] constant(0)\n"
      " w = f32[536870916] dynamic-update-slice(y, p, n)\n"};
  std::vector<bool> isFirst = {true, false, false, true, true};
  for (size_t form = 0; form < wide.size(); ++form)
    for (int at : {0, 3, 536870911, 536870912, 536870915}) {
      SCOPED_TRACE(wide[form] + "at " + std::to_string(at));
      int first = isFirst[form] ? 0 : 536870912;
      bool inside = at >= first && at < first + 4;
      float wanted = inside ? few[size_t(at - first)] : 7;
      EXPECT_EQ(resultOf(head + wide[form] + tail,
                         {arrayOf(hlo::DType::F32, {4}, few), arrayOf<int32_t>(hlo::DType::S32, {}, {at})}),
                bytesOf(std::vector<float>(5, wanted)));
    }
}

// Paddings may be far larger than the arrays on both sides of them.
TEST(Program, PaddingBeyond32Bits) {
  checkBody("z = f32[] constant(7)\nROOT r = f32[4] pad(p0, z), padding=-4294967296_4294967296", {"f32[4]"});
  checkBody("z = f32[] constant(7)\nROOT r = f32[4] pad(p0, z), padding=4294967296_-4294967296", {"f32[4]"});
  checkBody("z = f32[] constant(7)\nROOT r = f32[4] pad(p0, z), padding=1_2_4294967295", {"f32[1]"});
  checkBody("z = f32[] constant(7)\nROOT r = f32[2] pad(p0, z), padding=1_-4294967296_4294967295", {"f32[2]"});
  checkBody("z = f32[] constant(7)\nROOT r = f32[3] pad(p0, z), padding=-4294967295_0_4294967296", {"f32[2]"});
}

TEST(Program, StartsOfSlicesBeyondTheirTypesMiddle) {
  for (const char *type : {"u64", "u32", "u16", "u8", "s8", "s16"}) {
    hlo::DType element = *hlo::findDType(type);
    std::string text = "HloModule m\nENTRY e {\n p = f32[6] parameter(0)\n i = " + std::string(type) +
                       "[] parameter(1)\n ROOT s = f32[2] dynamic-slice(p, i), dynamic_slice_sizes={2}\n}\n";
    ArrayBytes start{hlo::Shape::array(element, {}), std::string(size_t(hlo::elementSizeBytes(element)), '\xFF')};
    bool isSigned = type[0] == 's'; // all ones: -1 or the largest there is
    EXPECT_EQ(resultOf(text, {arrayOf<float>(hlo::DType::F32, {6}, {0, 1, 2, 3, 4, 5}), start}),
              bytesOf(isSigned ? std::vector<float>{0, 1} : std::vector<float>{4, 5}))
        << type;
  }
}

// A double has not all numbers from 2^53 on.
TEST(Program, PositionsBeyondTheIntegersOfADouble) {
  EXPECT_EQ(resultOf("HloModule m\nENTRY e {\n i = s64[36028797018963968] iota(), iota_dimension=0\n"
                     " ROOT s = s64[2] slice(i), slice={[9007199254740993:9007199254740995]}\n}\n",
                     {}),
            bytesOf(std::vector<int64_t>{9007199254740993, 9007199254740994}));
}

// What a collective of a scalar leaves is a tile of one element; the other operands are scalars.
TEST(Program, EveryOperationBehindACollectiveOfAScalar) {
  auto behind = [](const std::string &type, const std::vector<const char *> &binary,
                   const std::vector<const char *> &unary, const std::string &other) {
    std::string text = "HloModule m, replica_count=2\n\nadd { a = T parameter(0)\n b = T parameter(1)\n ROOT c = T "
                       "add(a, b) }\n\nENTRY e {\n x = T parameter(0)\n y = T parameter(1)\n q = pred[] compare(x, "
                       "y), direction=LT\n s = T all-reduce(x), to_apply=add\n l = T clamp(x, s, y)\n "
                       "h = T clamp(s, y, x)\n t = pred[] compare(y, s), direction=GE\n n = T select(t, x, s)\n m = T "
                       "select(q, s, y)\n";
    std::string results = "l, h, t, n, m", shapes = "T, T, pred[], T, T";
    for (const char *name : binary)
      for (const char *operands : {"s, y", "y, s"}) {
        std::string result = std::string("r.") + operands[0] + "." + name;
        text += " " + result + " = T " + name + "(" + operands + ")\n";
        results += ", " + result, shapes += ", T";
      }
    for (const char *name : unary) {
      text += std::string(" r.") + name + " = T " + name + "(s)\n";
      results += std::string(", r.") + name, shapes += ", T";
    }
    text += " o = " + other + "\n ROOT all = (" + shapes + ", " + other.substr(0, other.find(' ')) + ") tuple(" +
            results + ", o)\n}\n";
    check(std::regex_replace(text, std::regex("\\bT\\b"), type), type);
  };
  for (const char *type : {"f32[]", "f64[]", "bf16[]"})
    behind(type, {"power", "atan2", "maximum", "divide", "remainder", "subtract"},
           {"sign", "round-nearest-afz", "exponential-minus-one", "logistic", "cbrt", "tan", "erf"},
           "pred[] is-finite(s)");
  for (const char *type : {"s32[]", "u8[]", "s64[]"})
    behind(type, {"power", "maximum", "divide", "remainder", "shift-left", "shift-right-arithmetic", "xor"},
           {"not", "negate", "popcnt", "count-leading-zeros", "sign"}, "f32[] convert(s)");
}

// The inputs may go as soon as the error is there: nothing reads them any more.
TEST(Program, AFailedRunLeavesNothingBehind) {
  const char *text = R"(HloModule uneven, replica_count=2
add { a = f32[262144] parameter(0)
  ROOT c = f32[262144] add(a, a) }
sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }
body { i = (u32[], f32[262144]) parameter(0)
  n = u32[] get-tuple-element(i), index=0
  x = f32[262144] get-tuple-element(i), index=1
  y = f32[262144] all-reduce(x), replica_groups={}, to_apply=sum
  one = u32[] constant(1)
  m = u32[] add(n, one)
  ROOT t = (u32[], f32[262144]) tuple(m, y) }
condition { i = (u32[], f32[262144]) parameter(0)
  n = u32[] get-tuple-element(i), index=0
  four = u32[] constant(4)
  ROOT c = pred[] compare(n, four), direction=LT }
ENTRY main { x = f32[262144] parameter(0)
  me = u32[] replica-id()
  four = u32[] constant(4)
  start = u32[] multiply(me, four)
  s = (u32[], f32[262144]) tuple(start, x)
  w = (u32[], f32[262144]) while(s), condition=condition, body=body
  ROOT r = f32[262144] get-tuple-element(w), index=1 })";
  if (!heddle::testing::hasDevices(2))
    GTEST_SKIP() << "there is one device";
  Program program(hlo::parseModule(text, "uneven.hlo"), heddle::testing::openFirstDevices(2));
  for (int call = 0; call < 3; ++call) {
    ArrayBytes array{hlo::Shape::array(hlo::DType::F32, {262144}), std::string(4 * 262144, '\1')};
    std::vector<std::vector<ArrayBytes>> inputs = {{array}, {array}};
    EXPECT_CONTAINS(messageOf([&] { program.run(inputs); }), "is reached by 1 of the 2 devices of its group {0,1}");
  }
}

TEST(Program, NumberOfDevices) {
  hlo::Module module =
      hlo::parseModule("HloModule m, replica_count=2\nENTRY e { ROOT r = u32[] replica-id() }", "m.hlo");
  EXPECT_CONTAINS(messageOf([&] { Program(module, heddle::testing::openFirstDevices(1)); }),
                  "is for 2 devices (2 replicas of 1 partitions), 1 are given");
  EXPECT_CONTAINS(messageOf([&] { Program(module, std::vector<std::shared_ptr<Device>>()); }),
                  "is for 2 devices (2 replicas of 1 partitions), 0 are given");
}

TEST(Program, GroupsThatAreTooLarge) {
  std::vector<std::shared_ptr<Device>> nine;
  for (int i = 0; i < 9; ++i)
    nine.push_back(heddle::testing::openFirstDevices(1)[0]);
  auto refusal = [&](const std::string &collective) {
    return messageOf([&] {
      Program(hlo::parseModule("HloModule m, replica_count=9\nENTRY e { p = f32[4] parameter(0)\n ROOT r = f32[4] " +
                                   collective + " }",
                               "m.hlo"),
              nine);
    });
  };
  EXPECT_CONTAINS(refusal("collective-broadcast(p), replica_groups={}"),
                  "m.hlo:3:7: `r` has a group of 9 devices; collectives have at most 8");
  EXPECT_CONTAINS(refusal("collective-permute(p), source_target_pairs={{0,1}}"), "collectives have at most 8");
}

} // namespace
