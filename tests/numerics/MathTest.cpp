// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Math functions through the whole compiler, against the C library in long double. The bounds are those that the pages
// promise; the expansions' own tests look closer.
#include "tests/numerics/Bounds.h"
#include "tests/numerics/PlainFloat.h"
#include "tests/numerics/Support.h"

using namespace heddle::numerics;

namespace {

struct Function {
  std::string name;
  long double (*plain)(long double);
  double low, high;        ///< range of most samples
  double ulpsF32, ulpsF64; ///< largest error
};

void PrintTo(const Function &function, std::ostream *stream) {
  *stream << function.name;
}

const std::vector<Function> functions{
    {"exp", std::exp, -100, 90, 1, 1},
    {"exp2", std::exp2, -150, 130, 1, 1},
    {"log", std::log, 0, 1000, 1, 1},
    {"log2", std::log2, 0, 1000, 1, 1},
    {"sin", std::sin, -1e6, 1e6, 1, 1},
    {"cos", std::cos, -1e6, 1e6, 1, 1},
    {"tanh", std::tanh, -10, 10, 1.5, 1.5},
    {"erf", std::erf, -6, 6, 1.5, 1.5},
    {"rsqrt", [](long double x) { return 1 / std::sqrt(x); }, 0, 1000, 1.5, 1.5},
};

class Math : public testing::TestWithParam<Function> {};
INSTANTIATE_TEST_SUITE_P(Functions, Math, testing::ValuesIn(functions),
                         [](const auto &info) { return info.param.name; });

} // namespace

// Distance in units of the last place of `exact` in T.
template <typename T>
static double ulpsBetween(T actual, long double exact) {
  if (std::isnan(exact) || std::isnan(actual))
    return std::isnan(exact) && std::isnan(actual) ? 0 : INFINITY;
  T rounded = T(exact);
  if (std::isinf(rounded) || std::isinf(actual))
    return actual == rounded || std::fabs(actual) == std::numeric_limits<T>::max() ? 0 : INFINITY;
  T size = std::max(std::fabs(rounded), std::numeric_limits<T>::min());
  long double unit = (long double)(std::nextafter(size, T(INFINITY))) - size;
  return double(std::fabs((long double)(actual)-exact) / unit);
}

// Of a function that computes in f32: zero, where a number below the smallest normal one would be exact.
static bool isFlushed(const Function &function, double actual, long double exact) {
  return function.name == "exp2" && boundsOfDevice().exp2Flushes && actual == 0 && !std::signbit(actual) &&
         exact <= std::numeric_limits<float>::min();
}

template <typename T>
static void measure(const Function &function, double bound) {
  std::string type = sizeof(T) == 4 ? "f32" : "f64";
  std::vector<T> x = randomValues<T>(20000, 8,
                                     {T(0), T(-0.0), T(1), T(-1), T(INFINITY), T(-INFINITY), T(NAN),
                                      std::numeric_limits<T>::denorm_min(), std::numeric_limits<T>::min(),
                                      std::numeric_limits<T>::max()});
  RandomBits random(9);
  while (x.size() < 60000)
    x.push_back(T(function.low + (function.high - function.low) * (double(random.next() >> 11) * 0x1p-53)));
  auto actual = mapOnDevice<T>({type, type}, "  %r = math." + function.name + " %a : @" + type, x);
  double worst = 0, perUnit = 0;
  if (sizeof(T) == 4 && function.name == "exp")
    bound = boundsOfDevice().exp, perUnit = boundsOfDevice().expPerUnit;
  if (sizeof(T) == 4 && function.name == "exp2")
    bound = boundsOfDevice().exp2;
  if (sizeof(T) == 4 && function.name == "erf")
    bound = boundsOfDevice().erf;
  if (sizeof(T) == 4 && function.name == "tanh")
    bound = boundsOfDevice().tanh;
  if (sizeof(T) == 4 && function.name == "rsqrt")
    bound = boundsOfDevice().reciprocalRoot;
  size_t at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double error = ulpsBetween(actual[i], function.plain(x[i]));
    if (sizeof(T) == 4 && isFlushed(function, double(actual[i]), function.plain(x[i])))
      error = 0;
    if (std::isfinite(x[i]))
      error -= perUnit * std::fabs(double(x[i]));
    if (error > worst)
      worst = error, at = i;
  }
  testing::Test::RecordProperty("ulps_" + type, std::to_string(worst));
  EXPECT_LE(worst, bound) << function.name << " " << type << " at " << show(x[at]) << " gives " << show(actual[at])
                          << ", expected " << show(double(function.plain(x[at])));
}

TEST_P(Math, f32) {
  measure<float>(GetParam(), GetParam().ulpsF32);
}
TEST_P(Math, f64) {
  measure<double>(GetParam(), GetParam().ulpsF64);
}

TEST_P(Math, every_16_bit_pattern) {
  // Computed in f32 and rounded: within one step of the exact result.
  for (const PlainFormat &format : {plainF16, plainBF16}) {
    std::vector<uint16_t> codes;
    for (uint32_t code = 0; code < 65536; ++code)
      codes.push_back(uint16_t(code));
    auto actual = mapOnDevice<uint16_t>({format.name, format.name},
                                        "  %r = math." + GetParam().name + " %a : @" + format.name, codes);
    size_t wrong = 0;
    for (uint32_t code = 0; code < 65536; ++code) {
      double exact = double(GetParam().plain(format.valueOf(code)));
      uint32_t nearest = format.nearest(exact, false);
      bool same = actual[code] == nearest || (format.isNan(actual[code]) && format.isNan(nearest)) ||
                  (!std::isnan(exact) && std::abs(int(actual[code]) - int(nearest)) <= 1) ||
                  isFlushed(GetParam(), format.valueOf(actual[code]), exact);
      if (!same && wrong++ == 0)
        ADD_FAILURE() << GetParam().name << " " << format.name << " of " << show(format.valueOf(code)) << " gives "
                      << show(format.valueOf(actual[code])) << ", expected " << show(exact);
    }
    EXPECT_EQ(wrong, 0u);
  }
}
