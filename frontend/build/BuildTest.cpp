// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The text that the builder emits, and the faults that show only when a kernel is built. What the functions compute is
// tested in tests/builder, what the C++ compiler refuses in RefusedTest.cpp.
#include "frontend/build/Build.h"
#include "support/TestError.h"

using namespace heddle;
using namespace heddle::build;

template <class F>
static std::string textOf(F body) {
  return kernel("k", {"x", "n"}, body).text(false);
}

//===-- Text -----------------------------------------------------------------------------------------------------===//

TEST(Text, names_and_hints_of_arguments) {
  Program program = kernel("scale", {aligned("x"), Argument("n").divisibleBy(4), "factor", "flags"},
                           [](Pointer<f16> x, Scalar<i64> n, Scalar<f32> factor, Pointer<i8> flags) {});
  EXPECT_EQ(program.name(), "scale");
  EXPECT_CONTAINS(program.text(false), "tt.func public @scale(%x: !tt.ptr<f16> {tt.divisibility = 16 : i32}, "
                                       "%n: i64 {tt.divisibility = 4 : i32}, %factor: f32, %flags: !tt.ptr<i8>) "
                                       "attributes {noinline = false}");
}

TEST(Text, operations_name_their_line) {
  int line = 0;
  std::string text = kernel("k", {"x", "n"}, [&](Pointer<f32> x, Scalar<i32> n) {
                       line = __LINE__ + 1;
                       auto i = n * 8 + range<8>();
                       store(x + i, load(x + i, i == n) * 2.0f);
                     }).text();
  auto at = [&](int number) { return "BuildTest.cpp\":" + std::to_string(number) + ":"; };
  EXPECT_CONTAINS(text, at(line));
  EXPECT_CONTAINS(text, at(line + 1));
  EXPECT_EQ(text.find(at(line + 2)), std::string::npos);
  EXPECT_CONTAINS(text, "loc(\"x\"(");
}

TEST(Text, a_literal_takes_the_type_of_its_tile) {
  EXPECT_CONTAINS(textOf([](Pointer<bf16> x, Scalar<i32> n) { store(x, load(x) * 2); }), "2.000000e+00 : bf16");
  EXPECT_CONTAINS(textOf([](Pointer<u8> x, Scalar<i32> n) { store(x, 255); }), "-1 : i8");
  EXPECT_CONTAINS(textOf([](Pointer<i64> x, Scalar<i32> n) { store(x + range<4>(), 7); }), "dense<7> : tensor<4xi64>");
}

TEST(Text, memory) {
  std::string text = textOf([](Pointer<f32> x, Scalar<i32> n) {
    auto p = x + range<8>();
    store(p, load(p, n > 0, 1.5, {.cache = Cache::Global, .isVolatile = true}), true, {.eviction = Eviction::Last});
  });
  EXPECT_CONTAINS(text, "cacheModifier = cg {isVolatile = true}");
  EXPECT_CONTAINS(text, "evictionPolicy = evict_last");
}

TEST(Text, atomics_name_order_and_scope) {
  std::string text = textOf([](Pointer<i32> x, Scalar<i32> n) {
    atomicAdd(x, n);
    atomicMax(x, n, Order::Relaxed, Scope::System);
    atomicExchange(pointerCast<u32>(x), 1, Order::Release, Scope::Program);
    atomicCompareAndSwap(x, 0, n, Order::Acquire);
  });
  EXPECT_CONTAINS(text, "tt.atomic_rmw add, acq_rel, gpu, %x, %n, %true");
  EXPECT_CONTAINS(text, "tt.atomic_rmw max, relaxed, sys");
  EXPECT_CONTAINS(text, "tt.atomic_rmw exch, release, cta");
  EXPECT_CONTAINS(text, "tt.atomic_cas acquire, gpu");
}

TEST(Text, loops_carry_their_hints) {
  std::string text = textOf([](Pointer<i32> x, Scalar<i32> n) {
    forRange(0, n, 2, [&](Scalar<i32> k) { store(x + k, k); }, {.stages = 3, .unroll = 2});
  });
  EXPECT_CONTAINS(text, "scf.for");
  EXPECT_CONTAINS(text, "tt.loop_unroll_factor = 2 : i32, tt.num_stages = 3 : i32");
}

TEST(Text, dot_names_its_precision) {
  auto product = [](Precision precision) {
    return textOf([=](Pointer<f32> x, Scalar<i32> n) {
      auto a = load(x + reshape<16, 16>(range<256>()));
      store(x + reshape<16, 16>(range<256>()), dot(a, a, precision));
    });
  };
  EXPECT_CONTAINS(product(Precision::TF32), "inputPrecision = tf32 :");
  EXPECT_EQ(product(Precision::IEEE).find("inputPrecision"), std::string::npos);
}

TEST(Text, print_and_assert) {
  std::string text = textOf([](Pointer<u32> x, Scalar<i32> n) {
    print(" values: ", load(x), n);
    assertThat(n < 8, "n is small");
    debugBarrier();
  });
  EXPECT_CONTAINS(text, "tt.print \" values: \" {hex = false, isSigned = array<i32: 0, 1>}");
  EXPECT_CONTAINS(text, "\"n is small\" : i1");
  EXPECT_CONTAINS(text, "gpu.barrier");
}

TEST(Text, kernels_are_templates_and_independent) {
  auto make = []<int64_t size>() {
    return kernel("k", {"x"}, [](Pointer<f32> x) { store(x + range<size>(), 0); }).text(false);
  };
  EXPECT_CONTAINS(make.operator()<64>(), "tensor<64x!tt.ptr<f32>>");
  EXPECT_CONTAINS(make.operator()<128>(), "tensor<128x!tt.ptr<f32>>");
}

TEST(Text, hints) {
  auto body = [](Pointer<i32> x, Scalar<i32> n) {
    assume(n > 0);
    auto i = multipleOf<16, 4>(contiguous<1, 4>(column(range<4>()) * n + row(range<4>())));
    store(x + i, multipleOf<8>(n * 8));
  };
  std::string text = textOf(body);
  EXPECT_CONTAINS(text, "llvm.intr.assume");
  EXPECT_CONTAINS(text,
                  "tt.contiguity = dense<[1, 4]> : tensor<2xi32>, tt.divisibility = dense<[16, 4]> : tensor<2xi32>");
  EXPECT_CONTAINS(text, "{tt.divisibility = dense<8> : tensor<1xi32>}");
  EXPECT_CONTAINS(messageOf([] { textOf([](Pointer<i32> x, Scalar<i32> n) { multipleOf<8>(n); }); }),
                  "divisibleBy(16)");
}

TEST(Text, the_loops_of_the_guide) {
  std::string text = textOf([](Pointer<i32> x, Scalar<i32> n) {
    auto total = forRange(0, n, 64, zeros<i32, 64>(), [&](Scalar<i32> first, auto total) {
      return total + load(x + first + range<64>(), first + range<64>() < n, 0);
    });
    auto one = full<i32>(1);
    auto sign = when(n < 0, [&] { return -one; }, [&] { return one; });
    auto root = whileLoop(n, [&](auto g) { return g * g > n; }, [&](auto g) { return g - 1; });
    spinWhile([&] { return atomicCompareAndSwap(x, 0, 1, Order::Acquire) == 1; });
    store(x, sum(total) + sign + root);
  });
  for (const char *part : {"scf.for", "arith.select", "scf.while", "scf.condition", "tt.atomic_cas"})
    EXPECT_CONTAINS(text, part);
}

//===-- Faults ---------------------------------------------------------------------------------------------------===//

TEST(Faults, an_operation_outside_of_a_kernel) {
  std::string message = messageOf([] { range<8>(); });
  EXPECT_CONTAINS(message, "BuildTest.cpp:");
  EXPECT_CONTAINS(message, "a tile operation stands outside of kernel()");
}

TEST(Faults, a_value_of_another_kernel) {
  std::optional<Scalar<i32>> kept;
  kernel("first", {"n"}, [&](Scalar<i32> n) { kept = n + 1; });
  EXPECT_CONTAINS(messageOf([&] { *kept + 1; }), "outside of kernel()");
  EXPECT_CONTAINS(messageOf([&] { kernel("second", {"n"}, [&](Scalar<i32> n) { n + *kept; }); }),
                  "a value of another kernel");
}

TEST(Faults, kernels_do_not_nest) {
  auto inner = [] { kernel("inner", {"n"}, [](Scalar<i32>) {}); };
  EXPECT_CONTAINS(messageOf([&] { kernel("outer", {"n"}, [&](Scalar<i32>) { inner(); }); }), "inside of a kernel");
  inner(); // and the failed one is gone
}

TEST(Faults, an_exception_of_the_body_leaves_nothing_behind) {
  auto build = [](bool fails) {
    return textOf([=](Pointer<i32> x, Scalar<i32> n) {
      forRange(0, n, 1, [&](Scalar<i32> k) {
        when(k < n, [&] {
          store(x + k, n);
          if (fails)
            throw std::runtime_error("mine");
        });
      });
    });
  };
  EXPECT_THROW(build(true), std::runtime_error);
  EXPECT_CONTAINS(build(false), "scf.for");
}

TEST(Faults, names_of_arguments) {
  auto with = [](std::vector<Argument> names) {
    return messageOf([&] { kernel("k", std::span<const Argument>(names), [](Pointer<f32>, Scalar<f32>) {}); });
  };
  EXPECT_CONTAINS(with({"x"}), "the kernel's function has 2 parameters, but 1 argument names are given");
  EXPECT_CONTAINS(with({"x", "x"}), "two arguments are called `x`");
  EXPECT_CONTAINS(with({"x", "2y"}), "`2y` is no name for an argument");
  EXPECT_CONTAINS(with({"x", Argument("y").divisibleBy(4)}), "floats have no divisibility");
  EXPECT_CONTAINS(with({Argument("x").divisibleBy(0), "y"}), "cannot be divisible by 0");
  EXPECT_CONTAINS(messageOf([] { kernel("my kernel", {"n"}, [](Scalar<i32>) {}); }),
                  "`my kernel` is no name for a kernel");
}

TEST(Faults, a_value_of_a_loop_after_the_loop) {
  int line = 0;
  Error error = errorOf([&] {
    kernel("k", {"x", "n"}, [&](Pointer<i32> x, Scalar<i32> n) {
      Scalar<i32> last = n;
      forRange(0, n, 1, [&](Scalar<i32> k) { last = k + n; });
      line = __LINE__ + 1;
      store(x, last);
    });
  });
  EXPECT_EQ(error.kind, ErrorClass::Input);
  EXPECT_CONTAINS(error.what(), "BuildTest.cpp:" + std::to_string(line) + ":");
  ASSERT_EQ(error.notes.size(), 1u);
  EXPECT_CONTAINS(error.notes[0], "carry it out as its result");
}

TEST(Faults, values_out_of_range) {
  EXPECT_CONTAINS(messageOf([] { textOf([](Pointer<i8> x, Scalar<i32> n) { store(x, 300); }); }),
                  "300 does not fit i8");
  EXPECT_CONTAINS(messageOf([] { textOf([](Pointer<u8> x, Scalar<i32> n) { store(x, 256u); }); }),
                  "256 does not fit ui8");
  EXPECT_CONTAINS(messageOf([] { textOf([](Pointer<i32> x, Scalar<i32> n) { store(x, programId(3)); }); }),
                  "the grid has no axis 3");
  EXPECT_CONTAINS(
      messageOf([] { textOf([](Pointer<i32> x, Scalar<i32> n) { forRange(0, n, 0, [](Scalar<i32>) {}); }); }),
      "the step of the loop is 0");
}
