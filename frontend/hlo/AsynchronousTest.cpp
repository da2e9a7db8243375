// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Synchronous, dedicated and generic asynchronous forms give the same instruction.
#include "frontend/hlo/TestModule.h"

using namespace heddle;
using namespace heddle::hlo;

namespace {

/// The text of the root's module after `from`, with the flag cleared and names made equal.
std::string canonical(const std::string &body, const std::string &wrapped = "") {
  std::string text = moduleText(body, 2);
  Module module = parseModule(text.insert(text.find("ENTRY"), wrapped), "t.hlo");
  Computation &entry = module.computations[size_t(module.entry)];
  entry.instructions[1].name = "x";
  entry.instructions[1].carried.clear();
  std::string printed = printModule(module);
  return printed.substr(printed.find("ENTRY"));
}

bool asynchronous(const std::string &body) {
  return parseBody(body, 2).entryComputation().instructions[1].asynchronous;
}

const std::string p = "p = f32[4] parameter(0)\n";

} // namespace

TEST(HloAsynchronous, all_reduce) {
  std::string plain = p + "x = f32[4] all-reduce(p), to_apply=add, channel_id=2",
              attributes = ", to_apply=add, channel_id=2\n";
  std::string dedicated = p + "s = f32[4] all-reduce-start(p)" + attributes + "d = f32[4] all-reduce-done(f32[4] s)";
  EXPECT_EQ(canonical(dedicated), canonical(plain));
  EXPECT_TRUE(asynchronous(dedicated));
  EXPECT_FALSE(asynchronous(plain));
}

TEST(HloAsynchronous, all_gather) {
  std::string plain = p + "x = f32[8] all-gather(p), dimensions={0}";
  EXPECT_EQ(canonical(p + "s = (f32[4], f32[8]) all-gather-start(p), dimensions={0}\nd = all-gather-done(s)"),
            canonical(plain));
}

TEST(HloAsynchronous, variadic_all_gather) {
  std::string plain = p + "x = (f32[8], f32[8]) all-gather(p, p), dimensions={0}";
  EXPECT_EQ(canonical(p + "s = ((f32[4], f32[4]), (f32[8], f32[8])) all-gather-start(p, p), dimensions={0}\n"
                          "d = (f32[8], f32[8]) all-gather-done(s)"),
            canonical(plain));
}

TEST(HloAsynchronous, permute_with_contexts) {
  std::string plain = p + "x = f32[4] collective-permute(p), source_target_pairs={{0,1}}";
  EXPECT_EQ(canonical(p +
                      "s = (f32[4], f32[4], u32[], u32[]) collective-permute-start(p), source_target_pairs={{0,1}}\n"
                      "d = f32[4] collective-permute-done(s)"),
            canonical(plain));
}

TEST(HloAsynchronous, generic_forms) {
  std::string plain = p + "x = f32[2] reduce-scatter(p), dimensions={0}, to_apply=add, replica_groups={{1,0}}";
  std::string wrapped = "%wrapped (q: f32[4]) -> f32[2] { q = f32[4] parameter(0) ROOT r = f32[2] reduce-scatter(q), "
                        "dimensions={0}, to_apply=add, replica_groups={{1,0}} }\n";
  std::string start = p + "s = ((f32[4]), f32[2], u32[]) async-start(p), calls=wrapped, async_execution_thread=\"t\"\n";
  EXPECT_EQ(canonical(start + "d = f32[2] async-done(s)", wrapped), canonical(plain));
  EXPECT_EQ(canonical(start + "u = ((f32[4]), f32[2], u32[]) async-update(s)\nv = async-update(u)\n"
                              "d = f32[2] async-done(((f32[4]), f32[2], u32[]) v), calls=wrapped",
                      wrapped),
            canonical(plain));
  EXPECT_EQ(canonical(p + "s = ((f32[4]), f32[2]) reduce-scatter-start(p), dimensions={0}, to_apply=add, "
                          "replica_groups={{1,0}}\nd = f32[2] reduce-scatter-done(s)"),
            canonical(plain));
  EXPECT_EQ(canonical(p + "s = ((f32[4]), f32[2]) reduce-scatter-start(p), dimensions={0}, to_apply=add, "
                          "replica_groups={{1,0}}\nu = ((f32[4]), f32[2]) reduce-scatter-update(s)\n"
                          "d = f32[2] reduce-scatter-done(u)"),
            canonical(plain));
}

TEST(HloAsynchronous, wrapped_parameters_in_another_order) {
  std::string text =
      moduleText("p = f32[2] parameter(0)\nq = f32[3] parameter(1)\n"
                 "s = ((f32[2], f32[3]), (f32[3], f32[2])) async-start(p, q), calls=w\nd = async-done(s)");
  text.insert(text.find("ENTRY"), "w { b = f32[3] parameter(1) a = f32[2] parameter(0) "
                                  "ROOT r = (f32[3], f32[2]) all-reduce(b, a), to_apply=add }\n");
  Module module = parseModule(text, "t.hlo");
  EXPECT_EQ(rootOf(module).opcode, Opcode::AllReduce);
  EXPECT_EQ(rootOf(module).operands, (std::vector<int>{1, 0}));
  EXPECT_TRUE(rootOf(module).asynchronous);
}

TEST(HloAsynchronous, several_collectives_stay_a_call) {
  std::string text = moduleText("p = f32[2] parameter(0)\ns = ((f32[2]), (f32[2], f32[2])) async-start(p), calls=w\n"
                                "d = (f32[2], f32[2]) async-done(s)\nROOT g = get-tuple-element(d), index=1");
  text.insert(text.find("ENTRY"), "w { a = f32[2] parameter(0) x = f32[2] all-reduce(a), to_apply=add "
                                  "y = f32[2] all-reduce(a), to_apply=max ROOT r = (f32[2], f32[2]) tuple(x, y) }\n");
  Module module = parseModule(text, "t.hlo");
  const Instruction &call = module.entryComputation().operand(rootOf(module), 0);
  EXPECT_EQ(call.opcode, Opcode::Call);
  EXPECT_EQ(call.name, "s");
  EXPECT_TRUE(call.asynchronous);
}
