// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Atomics while many program instances run at once, on threads that really run side by side.
#include "tests/numerics/PlainFloat.h"
#include "tests/numerics/Support.h"
#include <regex>

using namespace heddle::numerics;
using namespace heddle::reference;

static constexpr int instances = 400;

class Atomics : public testing::TestWithParam<std::string> {
protected:
  std::vector<Argument> run(const std::string &parameters, const std::string &body, std::vector<Argument> arguments,
                            Grid grid) {
    makeExecutor(GetParam())->run(kernelText(parameters, body), grid, arguments);
    return arguments;
  }
  int32_t count() const { return GetParam() == "reference" ? 40 : hasFewPrograms(GetParam()) ? 100 : instances; }
};
INSTANTIATE_TEST_SUITE_P(Executors, Atomics, testing::ValuesIn(executorsUnderTest({"reference"})),
                         [](const auto &info) { return testNameOf(info.param); });

// Every instance applies `kind` with the values of a tile of 64, to 64 elements that all share.
template <typename T>
static std::string rmwBody(const std::string &kind, const std::string &type, const std::string &order) {
  std::string pointers = "tensor<64x!tt.ptr<" + type + ">>", values = "tensor<64x" + type + ">";
  return R"(
  %pid = tt.get_program_id x : i32
  %c64 = arith.constant 64 : i32
  %base = arith.muli %pid, %c64 : i32
  %i = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %bases = tt.splat %base : i32 -> tensor<64xi32>
  %at = arith.addi %bases, %i : tensor<64xi32>
  %xs = tt.splat %x : !tt.ptr<)" +
         type + "> -> " + pointers + "\n  %xp = tt.addptr %xs, %at : " + pointers +
         ", tensor<64xi32>\n  %v = tt.load %xp : " + pointers + "\n  %os = tt.splat %o : !tt.ptr<" + type + "> -> " +
         pointers + "\n  %op = tt.addptr %os, %i : " + pointers +
         ", tensor<64xi32>\n  %true = arith.constant dense<true> : tensor<64xi1>\n" + "  %old = tt.atomic_rmw " + kind +
         ", " + order + ", gpu, %op, %v, %true : (" + pointers + ", " + values + ", tensor<64xi1>) -> " + values;
}

template <typename T>
static void checkRmw(Executor &executor, int32_t count, const std::string &kind, const std::string &type,
                     const std::function<T(T, T)> &plain, const std::vector<T> &x, T start) {
  for (std::string order : {"relaxed", "acq_rel"}) {
    std::vector<Argument> arguments{bufferOf(x), bufferOf(std::vector<T>(64, start))};
    executor.run(kernelText("%x: !tt.ptr<" + type + ">, %o: !tt.ptr<" + type + ">", rmwBody<T>(kind, type, order)),
                 {count, 1, 1}, arguments);
    std::vector<T> expected(64, start);
    for (int64_t i = 0; i < count * 64; ++i)
      expected[i % 64] = plain(expected[i % 64], x[i]);
    ASSERT_EQ(valuesOf<T>(arguments[1]), expected) << kind << " " << type << " " << order;
  }
}

template <typename T>
static void checkIntegers(Executor &executor, int32_t count, const std::string &type) {
  using U = std::make_unsigned_t<T>;
  auto x = randomValues<T>(count * 64, 1);
  checkRmw<T>(executor, count, "add", type, [](T a, T b) { return T(U(a) + U(b)); }, x, 5);
  checkRmw<T>(
      executor, count, "and", type, [](T a, T b) { return T(a & (b | T(1))); },
      [&] {
        auto odd = x;
        for (T &value : odd)
          value |= 1;
        return odd;
      }(),
      -1);
  checkRmw<T>(executor, count, "or", type, [](T a, T b) { return T(a | b); }, x, 0);
  checkRmw<T>(executor, count, "xor", type, [](T a, T b) { return T(a ^ b); }, x, 3);
  checkRmw<T>(executor, count, "max", type, [](T a, T b) { return std::max(a, b); }, x, 0);
  checkRmw<T>(executor, count, "min", type, [](T a, T b) { return std::min(a, b); }, x, 0);
  checkRmw<T>(executor, count, "umax", type, [](T a, T b) { return T(std::max(U(a), U(b))); }, x, 0);
  checkRmw<T>(executor, count, "umin", type, [](T a, T b) { return T(std::min(U(a), U(b))); }, x, -1);
}

TEST_P(Atomics, integers_under_contention) {
  auto executor = makeExecutor(GetParam());
  checkIntegers<int32_t>(*executor, count(), "i32");
  checkIntegers<int64_t>(*executor, count(), "i64");
  checkIntegers<int16_t>(*executor, count(), "i16");
  checkIntegers<int8_t>(*executor, count(), "i8");
}

// Small multiples of a power of two: every order of sums is exact.
TEST_P(Atomics, float_sums_under_contention) {
  auto executor = makeExecutor(GetParam());
  RandomBits random(2);
  std::vector<float> singles;
  std::vector<double> doubles;
  for (int32_t i = 0; i < count() * 64; ++i)
    singles.push_back(float(int(random.next() % 64) - 32)), doubles.push_back(singles.back() / 1024);
  checkRmw<float>(*executor, count(), "fadd", "f32", [](float a, float b) { return a + b; }, singles, 0.5f);
  checkRmw<double>(*executor, count(), "fadd", "f64", [](double a, double b) { return a + b; }, doubles, 0.5);
  for (const PlainFormat &format : {plainF16, plainBF16}) {
    std::vector<uint16_t> codes; // +1 and -1 in turn: sums stay where bf16 is exact
    for (int32_t i = 0; i < count() * 64; ++i)
      codes.push_back(uint16_t(format.nearest(i / 64 % 3 ? 1 : -2, false)));
    checkRmw<uint16_t>(
        *executor, 40, "fadd", format.name,
        [&](uint16_t a, uint16_t b) { return uint16_t(format.nearest(format.valueOf(a) + format.valueOf(b), false)); },
        codes, uint16_t(format.nearest(7, false)));
  }
}

// Contiguous elements, by one mask for each sixteen: which are updated together, and which is which. Old values and
// sums with every special value at either place; what lies beside the mask stays.
TEST(AtomicPairs, neighbouring_halves_are_added_as_alone) {
  const int32_t count = 2000;
  for (const PlainFormat &format : {plainF16, plainBF16}) {
    uint16_t negativeZero = uint16_t(format.signBit()), one = uint16_t(format.nearest(1, false)),
             largest = uint16_t(format.largestCode()), infinity = uint16_t(largest + 1);
    std::vector<uint16_t> special = {0, negativeZero, 1, uint16_t(negativeZero | 1), one, largest, infinity};
    auto [first, second] = allPairs(special);
    auto x = randomValues<uint16_t>(2048, 1, first), start = randomValues<uint16_t>(2048, 2, second);
    for (size_t i = 0; i < x.size(); ++i) { // NaN has many codes
      if (format.isNan(x[i]) || (std::isinf(format.valueOf(x[i])) && std::isinf(format.valueOf(start[i]))))
        x[i] = one;
      if (format.isNan(start[i]))
        start[i] = largest;
    }
    std::string parameters;
    for (std::string name : {"x", "o", "old"})
      parameters += "%" + name + ": !tt.ptr<" + format.name + "> {tt.divisibility = 16 : i32}, ";
    std::string tile = "tensor<2048x" + format.name + ">", pointers = "tensor<2048x!tt.ptr<" + format.name + ">>";
    std::string body = "  %i = tt.make_range {end = 2048 : i32, start = 0 : i32} : tensor<2048xi32>\n"
                       "  %bound = tt.splat %n : i32 -> tensor<2048xi32>\n"
                       "  %m = arith.cmpi slt, %i, %bound : tensor<2048xi32>\n";
    for (std::string name : {"x", "o", "old"})
      body += "  %" + name + "s = tt.splat %" + name + " : !tt.ptr<" + format.name + "> -> " + pointers + "\n  %" +
              name + "p = tt.addptr %" + name + "s, %i : " + pointers + ", tensor<2048xi32>\n";
    body += "  %v = tt.load %xp : " + pointers + "\n  %before = tt.atomic_rmw fadd, acq_rel, gpu, %op, %v, %m : (" +
            pointers + ", " + tile + ", tensor<2048xi1>) -> " + tile + "\n  tt.store %oldp, %before, %m : " + pointers +
            "\n";
    expectAsReference(parameters + "%n: i32 {tt.divisibility = 16 : i32}", body,
                      {bufferOf(x), bufferOf(start), zeros<uint16_t>(2048), scalarI32(count)});
  }
}

// Where a chip updates whole words only, in buffers that end inside one.
TEST_P(Atomics, small_values_reach_the_last_byte_of_a_buffer) {
  struct Type {
    std::string name, kind, one;
    uint16_t code;
    int32_t bytes;
  };
  for (const Type &type : {Type{"i8", "add", "1", 1, 1}, Type{"i16", "add", "1", 1, 2},
                           Type{"f16", "fadd", "1.0", 0x3c00, 2}, Type{"bf16", "fadd", "1.0", 0x3f80, 2}})
    for (int32_t count : {1, 2, 3, 4, 5}) {
      std::string tile = "tensor<8x" + type.name + ">", pointers = "tensor<8x!tt.ptr<" + type.name + ">>";
      auto result = run("%o: !tt.ptr<" + type.name + "> {tt.divisibility = 16 : i32}, %n: i32",
                        "  %i = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>\n"
                        "  %bound = tt.splat %n : i32 -> tensor<8xi32>\n"
                        "  %m = arith.cmpi slt, %i, %bound : tensor<8xi32>\n"
                        "  %os = tt.splat %o : !tt.ptr<" +
                            type.name + "> -> " + pointers + "\n  %op = tt.addptr %os, %i : " + pointers +
                            ", tensor<8xi32>\n  %v = arith.constant dense<" + type.one + "> : " + tile +
                            "\n  %old = tt.atomic_rmw " + type.kind + ", relaxed, gpu, %op, %v, %m : (" + pointers +
                            ", " + tile + ", tensor<8xi1>) -> " + tile,
                        {zeros<uint8_t>(count * type.bytes), scalarI32(count)}, {1, 1, 1});
      std::vector<uint8_t> expected;
      for (int32_t byte = 0; byte < count * type.bytes; ++byte)
        expected.push_back(uint8_t(type.code >> (8 * (byte % type.bytes))));
      EXPECT_EQ(valuesOf<uint8_t>(result[0]), expected) << type.name << " " << count;
    }
}

TEST_P(Atomics, masked_lanes_change_nothing_and_old_values_differ) {
  // Each instance takes a ticket with every even lane from one counter: all tickets are distinct.
  auto result = run("%counter: !tt.ptr<i32>, %taken: !tt.ptr<i32>", R"(
  %c1 = arith.constant dense<1> : tensor<32xi32>
  %c0 = arith.constant dense<0> : tensor<32xi32>
  %i = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
  %bit = arith.andi %i, %c1 : tensor<32xi32>
  %even = arith.cmpi eq, %bit, %c0 : tensor<32xi32>
  %cs = tt.splat %counter : !tt.ptr<i32> -> tensor<32x!tt.ptr<i32>>
  %ticket = tt.atomic_rmw add, relaxed, gpu, %cs, %c1, %even : (tensor<32x!tt.ptr<i32>>, tensor<32xi32>, tensor<32xi1>) -> tensor<32xi32>
  %ts = tt.splat %taken : !tt.ptr<i32> -> tensor<32x!tt.ptr<i32>>
  %tp = tt.addptr %ts, %ticket : tensor<32x!tt.ptr<i32>>, tensor<32xi32>
  tt.store %tp, %c1, %even : tensor<32x!tt.ptr<i32>>)",
                    {zeros<int32_t>(1), zeros<int32_t>(count() * 16)}, {count()});
  EXPECT_EQ(valuesOf<int32_t>(result[0])[0], count() * 16);
  EXPECT_EQ(valuesOf<int32_t>(result[1]), std::vector<int32_t>(count() * 16, 1));
}

TEST_P(Atomics, exchange_passes_every_value_on) {
  // Each instance puts its number and adds what it got: only the last one put is missing from the sum.
  auto result = run("%slot: !tt.ptr<i32>, %sum: !tt.ptr<i32>", R"(
  %c1 = arith.constant 1 : i32
  %pid = tt.get_program_id x : i32
  %number = arith.addi %pid, %c1 : i32
  %true = arith.constant true
  %got = tt.atomic_rmw exch, acq_rel, gpu, %slot, %number, %true : (!tt.ptr<i32>, i32, i1) -> i32
  %old = tt.atomic_rmw add, relaxed, gpu, %sum, %got, %true : (!tt.ptr<i32>, i32, i1) -> i32)",
                    {zeros<int32_t>(1), zeros<int32_t>(1)}, {count()});
  EXPECT_EQ(valuesOf<int32_t>(result[0])[0] + valuesOf<int32_t>(result[1])[0], count() * (count() + 1) / 2);
}

TEST_P(Atomics, compare_and_swap_loop_adds) {
  for (std::string type : {"i32", "i64"}) {
    auto result = run("%p: !tt.ptr<" + type + ">",
                      std::regex_replace(std::string(R"(
  %c1 = arith.constant 1 : T
  %start = tt.load %p : !tt.ptr<T>
  %end = scf.while (%seen = %start) : (T) -> T {
    %next = arith.addi %seen, %c1 : T
    %old = tt.atomic_cas acq_rel, gpu, %p, %seen, %next : (!tt.ptr<T>, T, T) -> T
    %again = arith.cmpi ne, %old, %seen : T
    scf.condition(%again) %old : T
  } do {
  ^bb0(%seen: T):
    scf.yield %seen : T
  })"),
                                         std::regex("\\bT\\b"), type),
                      {zeros<int64_t>(1)}, {count()});
    EXPECT_EQ(valuesOf<int64_t>(result[0])[0], count()) << type;
  }
}

// A barrier that every instance enters: adds one and spins until `goal` have come.
static std::string barrier(const std::string &name, const std::string &goal) {
  return "  %" + name +
         "_old = tt.atomic_rmw add, acq_rel, gpu, %arrived, %c1, %true : (!tt.ptr<i32>, i32, i1) -> i32\n" +
         "  scf.while : () -> () {\n    %seen = tt.atomic_rmw add, acquire, gpu, %arrived, %c0, %true : (!tt.ptr<i32>, "
         "i32, i1) -> i32\n" +
         "    %wait = arith.cmpi slt, %seen, " + goal +
         " : i32\n    scf.condition(%wait)\n  } do {\n    scf.yield\n  }\n";
}

TEST(CooperativeLaunch, every_instance_passes_two_spin_barriers) {
  constexpr int32_t count = 24;
  auto executor = makeExecutor(heddle::testDevice() + "_cooperative");
  // Writes its number, meets the others, reads its neighbour's, meets again, and writes what it read.
  std::string text = kernelText("%arrived: !tt.ptr<i32>, %x: !tt.ptr<i32>", R"(
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %pid = tt.get_program_id x : i32
  %n = tt.get_num_programs x : i32
  %both = arith.muli %n, %c2 : i32
  %mine = tt.addptr %x, %pid : !tt.ptr<i32>, i32
  %next0 = arith.addi %pid, %c1 : i32
  %next = arith.remsi %next0, %n : i32
  %theirs = tt.addptr %x, %next : !tt.ptr<i32>, i32
  tt.store %mine, %pid : !tt.ptr<i32>
)" + barrier("first", "%n") + "  %v = tt.load %theirs : !tt.ptr<i32>\n" + barrier("second", "%both") +
                                                                                "  tt.store %mine, %v : !tt.ptr<i32>");
  for (int repeat = 0; repeat < 10; ++repeat) {
    std::vector<Argument> arguments{zeros<int32_t>(1), zeros<int32_t>(count)};
    executor->run(text, {count}, arguments);
    std::vector<int32_t> expected;
    for (int32_t i = 0; i < count; ++i)
      expected.push_back((i + 1) % count);
    EXPECT_EQ(valuesOf<int32_t>(arguments[1]), expected);
    EXPECT_EQ(valuesOf<int32_t>(arguments[0])[0], 2 * count);
  }
}
