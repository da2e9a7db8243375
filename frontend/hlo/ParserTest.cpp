// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the grammar allows: optional pieces, names, layouts, attributes in any order, constants.
#include "frontend/hlo/TestModule.h"
#include "support/File.h"
#include "support/TestPaths.h"

using namespace heddle;
using namespace heddle::hlo;

static std::string literalOf(const std::string &constant) {
  return rootOf(parseBody("ROOT c = " + constant)).literal;
}

template <typename T>
static std::string bytesOf(std::vector<T> values) {
  return {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T)};
}

TEST(HloParser, names_with_and_without_sigils_are_the_same) {
  Module module = parseBody("%p = f32[2] parameter(0)\n ROOT n.1-x_2 = f32[2] negate(p)");
  EXPECT_EQ(rootOf(module).name, "n.1-x_2");
  EXPECT_EQ(rootOf(module).operands, std::vector<int>{0});
  module = parseBody("p = f32[2] parameter(0)\n ROOT %n = f32[2] negate(%p)");
  EXPECT_EQ(rootOf(module).operands, std::vector<int>{0});
}

TEST(HloParser, headers_roots_and_entry_are_optional) {
  const char *plain = "HloModule m\nf { p = f32[] parameter(0) n = f32[] negate(p) }\n"
                      "g { p = f32[] parameter(0) c = f32[] call(p), to_apply=f }";
  const char *full = "HloModule m\n%f (p: f32[]) -> f32[] { %p = f32[] parameter(0) ROOT %n = f32[] negate(%p) }\n"
                     "ENTRY %g (p: f32[]) -> f32[]{ %p = f32[] parameter(0) ROOT %c = f32[] call(%p), to_apply=%f }";
  EXPECT_EQ(printModule(parseModule(plain, "t.hlo")), printModule(parseModule(full, "t.hlo")));
  Module first = parseModule("HloModule m\nENTRY f { p = f32[] parameter(0) }\ng { p = f32[] parameter(0) }", "t.hlo");
  EXPECT_EQ(first.entryComputation().name, "f");
}

TEST(HloParser, operand_shapes_and_spaces_are_free) {
  Module module = parseBody("p=f32[2]parameter(0)\nROOT s = f32[2]add(f32[2]{0} p , f32[2] %p)");
  EXPECT_EQ(rootOf(module).operands, (std::vector<int>{0, 0}));
  EXPECT_EQ(module.entryComputation().instructions[0].users, std::vector<int>{1});
}

TEST(HloParser, comments_stand_anywhere) {
  Module module = parseBody("// a line\np = f32[2] /* shape */ parameter(0)\n"
                            "ROOT t = (f32[2], /*index=1*/f32[2]) tuple(p, /*index=1*/p) // end");
  EXPECT_EQ(rootOf(module).shape.elements.size(), 2u);
}

TEST(HloParser, shapes_are_inferred_where_operands_decide) {
  Module module = parseBody("p = (f32[2], s32[]) parameter(0)\na = get-tuple-element(p), index=0\nb = exponential(a)\n"
                            "c = compare(a, b), direction=NE\nd = transpose(b), dimensions={0}\n"
                            "ROOT t = tuple(c, d, (s32[]) tuple(s32[] constant(1)))");
  EXPECT_EQ(formatShape(rootOf(module).shape), "(pred[2], f32[2], (s32[]))");
}

TEST(HloParser, operands_defined_in_place_come_before_their_user) {
  Module module = parseBody("x = f32[2] parameter(0)\n"
                            "ROOT c = f32[2] clamp(f32[] constant(-1), x, f32[] negate(f32[] constant(-1)))");
  EXPECT_EQ(rootOf(module).index, 4);
  EXPECT_EQ(module.entryComputation().instructions[2].name, "constant.in-place.1");
  EXPECT_EQ(rootOf(module).operands, (std::vector<int>{1, 0, 3}));
}

TEST(HloParser, layouts_and_their_extras) {
  Module module =
      parseBody("p = ((s4[2,3]{0,1:E(4)}, f32[2,3]{1,0:T(8,128)(2,1)}), u32[]{:S(2)}, f32[]{}) parameter(0)");
  const Shape &shape = rootOf(module).shape;
  EXPECT_EQ(formatShape(shape), "((s4[2,3]{0,1:E(4)}, f32[2,3]{1,0:T(8,128)(2,1)}), u32[]{:S(2)}, f32[]{})");
  EXPECT_EQ(shape.elements[0].elements[0].minorToMajor(), (std::vector<int64_t>{0, 1}));
  EXPECT_FALSE(shape.elements[0].elements[0].hasDefaultLayout());
  EXPECT_EQ(shape.elements[1].memorySpace(), 2);
  EXPECT_EQ(Shape::array(DType::F32, {2, 3}).minorToMajor(), (std::vector<int64_t>{1, 0}));
}

TEST(HloParser, copies_in_halves_dependencies_and_sizes) {
  std::string p = "p = f32[4,5] parameter(0)\n";
  Module module = parseBody(p + "s = (f32[4,5], f32[4,5], u32[]) copy-start(p)\nROOT d = f32[4,5] copy-done(s)");
  EXPECT_EQ(rootOf(module).opcode, Opcode::Copy);
  EXPECT_EQ(rootOf(parseBody(p + "t = token[] after-all()\nROOT d = f32[4,5] add-dependency(p, t)")).operands,
            (std::vector<int>{0}));
  Module size = parseBody(p + "ROOT d = s32[] get-dimension-size(p), dimensions={1}");
  EXPECT_EQ(formatShape(rootOf(size).shape), "s32[]");
  EXPECT_EQ(
      refusal(p + "ROOT d = s32[] get-dimension-size(p), dimensions={2}"),
      "t.hlo:8:6: 'get-dimension-size' takes an array and one of its dimensions, got 1 operands and 1 dimensions");
  EXPECT_EQ(refusal(p + "ROOT d = f32[4,5] add-dependency(p)"), "t.hlo:8:6: 'add-dependency' takes 2 operands, got 1");
}

TEST(HloParser, every_element_type_has_its_name) {
  for (DType type : allDTypes()) {
    Module module = parseBody(fmt::format("p = {}[3] parameter(0)", dtypeName(type)));
    EXPECT_EQ(rootOf(module).shape.type, type);
  }
  EXPECT_TRUE(rootOf(parseBody("t = token[] after-all()")).shape.isToken());
}

TEST(HloParser, attributes_in_any_order_and_companions_as_text) {
  Module module =
      parseBody("p = f32[4] parameter(0), sharding={replicated}\n"
                "ROOT r = f32[4] all-reduce(p), metadata={op_name=\"a}b\\\"]\" source_line=3}, to_apply=add, "
                "backend_config={\"x\":[1,2]}, channel_id=3, mode=flexible, replica_groups={{1,0}}",
                2);
  const Instruction &root = rootOf(module);
  ASSERT_EQ(root.carried.size(), 3u);
  EXPECT_EQ(root.carried[0].text, "{op_name=\"a}b\\\"]\" source_line=3}");
  EXPECT_EQ(root.collective->channelId, 3);
  EXPECT_EQ(root.collective->replicaGroups.groups, (std::vector<std::vector<int64_t>>{{1, 0}}));
  EXPECT_EQ(root.collective->reduction, ReductionKind::Add);
  EXPECT_TRUE(module.warnings.empty());
}

TEST(HloParser, unknown_attributes_are_skipped_with_a_warning) {
  Module module = parseBody("p = f32[4] parameter(0), novel={a=\"}\",b=(1,[2])}, other=x\nROOT n = negate(p), index=3");
  ASSERT_EQ(module.warnings.size(), 3u);
  EXPECT_EQ(module.warnings[0], "t.hlo:7:26: attribute 'novel' of 'parameter' is not known and was skipped");
  EXPECT_CONTAINS(module.warnings[2], "attribute 'index' of 'negate'");
}

TEST(HloParser, module_attributes_and_source_tables) {
  Module module = parseModule("HloModule jit_f, is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias) }, "
                              "replica_count=2, num_partitions=3\n\nFileNames\n1 \"a.py\"\n\nStackFrames\n"
                              "1 {file_location_id=1 parent_frame_id=1}\n\nENTRY e { p = f32[] parameter(0) }, "
                              "execution_thread=\"main\"\n",
                              "t.hlo");
  EXPECT_EQ(module.name, "jit_f");
  EXPECT_EQ(module.deviceCount(), 6);
  ASSERT_EQ(module.carried.size(), 2u);
  EXPECT_EQ(module.carried[1].text, "{ {0}: (0, {}, may-alias) }");
}

TEST(HloParser, options_fill_in_missing_counts) {
  ParseOptions options{4, 2};
  EXPECT_EQ(parseModule("HloModule m\ne { p = f32[] parameter(0) }", "t.hlo", options).deviceCount(), 8);
  EXPECT_EQ(parseModule("HloModule m, replica_count=3\ne { p = f32[] parameter(0) }", "t.hlo", options).deviceCount(),
            6);
}

TEST(HloParser, constants_of_all_kinds) {
  EXPECT_EQ(literalOf("s32[] constant(-7)"), bytesOf<int32_t>({-7}));
  EXPECT_EQ(literalOf("f32[2,2] constant({ {1, 2.5}, { -inf, 1e+3 } })"),
            bytesOf<float>({1, 2.5f, -std::numeric_limits<float>::infinity(), 1000}));
  EXPECT_EQ(literalOf("pred[3] constant({true, 0, false})"), std::string("\1\0\0", 3));
  EXPECT_EQ(literalOf("u64[] constant(18446744073709551615)"), bytesOf<uint64_t>({~uint64_t(0)}));
  EXPECT_EQ(literalOf("bf16[] constant(1.5)"), bytesOf<uint16_t>({0x3fc0}));
  EXPECT_EQ(literalOf("f16[] constant(nan)"), bytesOf<uint16_t>({0x7e00}));
  Module pair = parseBody("ROOT c = c64[] constant((1, -2))"); // its parts
  EXPECT_EQ(pair.entryComputation().operand(rootOf(pair), 0).literal, bytesOf<float>({1}));
  EXPECT_EQ(pair.entryComputation().operand(rootOf(pair), 1).literal, bytesOf<float>({-2}));
  EXPECT_EQ(literalOf("f32[2,0] constant({{}, {}})"), "");
  EXPECT_EQ(literalOf("f32[0,5] constant({})"), "");
  EXPECT_EQ(literalOf("s4[2] constant({-8, 7})"), "\xf8\x07");
}

TEST(HloParser, constants_of_small_floating_formats) {
  EXPECT_EQ(literalOf("f8e4m3fn[3] constant({448, -0.0, nan})"), std::string("\x7e\x80\x7f"));
  EXPECT_EQ(literalOf("f8e4m3fn[4] constant({17, 19, -17, 464})"), std::string("\x58\x5a\xd8\x7e")) << "ties to even";
  EXPECT_EQ(literalOf("f8e5m2[2] constant({inf, 1})"), std::string("\x7c\x3c"));
  EXPECT_EQ(literalOf("f8e4m3[1] constant({-inf})"), std::string("\xf8"));
  EXPECT_EQ(literalOf("f8e4m3fnuz[1] constant({nan})"), std::string("\x80"));
  EXPECT_EQ(literalOf("f8e4m3b11fnuz[1] constant({1})"), std::string("\x58"));
  EXPECT_EQ(literalOf("f8e5m2fnuz[1] constant({1})"), std::string("\x40"));
  EXPECT_EQ(literalOf("f8e3m4[1] constant({1})"), std::string("\x30"));
  EXPECT_EQ(literalOf("f8e8m0fnu[2] constant({1, 4})"), std::string("\x7f\x81"));
  EXPECT_EQ(literalOf("f4e2m1fn[2] constant({6, -0.5})"), std::string("\x07\x09"));
}

TEST(HloParser, typed_attributes_arrive) {
  Module module = parseBody("p = f32[8,4] parameter(0)\ns = slice(p), slice={[0:8:2], [1:3]}\n"
                            "ROOT d = pad(s, f32[] constant(0)), padding=1_-1x0_2_1");
  const Instruction &slice = module.entryComputation().instructions[1];
  EXPECT_EQ(slice.slice.starts, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(slice.slice.limits, (std::vector<int64_t>{8, 3}));
  EXPECT_EQ(slice.slice.strides, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(formatShape(rootOf(module).shape), "f32[4,5]");
  EXPECT_EQ(rootOf(module).padding[1].interior, 1);
  EXPECT_EQ(rootOf(module).padding[0].high, -1);
  EXPECT_EQ(rootOf(module).location.line, 9);
  EXPECT_EQ(rootOf(module).location.column, 6);
}

TEST(HloParser, reductions_are_recognised) {
  auto kindOf = [](const std::string &type, const std::string &root) {
    std::string text = fmt::format(
        "HloModule m\nf {{ a = {0}[] parameter(0) b = {0}[] parameter(1) ROOT r = {0}[] {1} }}", type, root);
    return reductionKindOf(parseModule(text, "t.hlo").computation(0));
  };
  EXPECT_EQ(kindOf("f32", "add(b, a)"), ReductionKind::Add);
  EXPECT_EQ(kindOf("f32", "multiply(a, b)"), ReductionKind::Multiply);
  EXPECT_EQ(kindOf("s8", "minimum(a, b)"), ReductionKind::Minimum);
  EXPECT_EQ(kindOf("s8", "maximum(a, b)"), ReductionKind::Maximum);
  EXPECT_EQ(kindOf("u32", "and(a, b)"), ReductionKind::And);
  EXPECT_EQ(kindOf("u32", "or(a, b)"), ReductionKind::Or);
  for (const char *opcode : {"multiply(a, b)", "minimum(a, b)", "and(a, b)"})
    EXPECT_EQ(kindOf("pred", opcode), ReductionKind::And);
  for (const char *opcode : {"add(a, b)", "maximum(a, b)", "or(a, b)"})
    EXPECT_EQ(kindOf("pred", opcode), ReductionKind::Or);
  EXPECT_EQ(kindOf("u32", "xor(a, b)"), std::nullopt);
  EXPECT_EQ(kindOf("f32", "add(a, a)"), std::nullopt);
  EXPECT_EQ(kindOf("f32", "add(a, f32[] add(a, b))"), std::nullopt);
}

TEST(HloParser, lookups) {
  Module module = parseBody("p = f32[8] parameter(0)\nROOT n = negate(p)");
  const Computation &entry = module.entryComputation();
  EXPECT_EQ(entry.find("n")->index, 1);
  EXPECT_EQ(entry.find("m"), nullptr);
  EXPECT_EQ(&entry.operand(*entry.find("n"), 0), &entry.parameter(0));
}

TEST(HloParser, the_page_names_every_opcode) {
  std::string page = readFile(sourcePath("docs/hlo.md"));
  for (Opcode opcode : allOpcodes())
    EXPECT_CONTAINS(page.substr(0, page.find("## Refused")), fmt::format("`{}`", opcodeName(opcode)));
}

TEST(HloParser, devices_decide_the_replicas_that_the_header_leaves_open) {
  auto replicas = [](const std::string &attributes) {
    ParseOptions options;
    options.deviceCount = 4;
    return parseModule("HloModule m" + attributes + "\nENTRY e { ROOT r = u32[] replica-id() }", "m.hlo", options)
        .replicaCount;
  };
  EXPECT_EQ(replicas(""), 4);
  EXPECT_EQ(replicas(", num_partitions=2"), 2);
  EXPECT_EQ(replicas(", num_partitions=4"), 1);
  EXPECT_EQ(replicas(", num_partitions=3"), 1);
  EXPECT_EQ(replicas(", replica_count=2"), 2);
}
