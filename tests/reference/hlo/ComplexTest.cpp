// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations on complex arrays, as the parser reads them, against std::complex, and transforms against their sums. The
// parts of a complex argument are two arrays: modules here make it of them, and take the result apart.
#include "tests/reference/hlo/TestSupport.h"
#include <complex>
#include <functional>

using namespace heddle::hlo;
using namespace heddle::hlo::reference;

namespace {

using Complex = std::complex<double>;
using Complexes = std::vector<Complex>;

Complexes some(size_t count, double scale = 1) {
  Complexes numbers;
  for (size_t i = 0; i < count; ++i) // all quadrants and both axes
    numbers.push_back(
        scale * Complex(std::remainder(0.7 * double(i) + 0.2, 2.3), i % 5 ? std::remainder(1.1 * double(i), 3.1) : 0));
  return numbers;
}

Numbers partOf(const Complexes &numbers, bool isImaginary) {
  Numbers part;
  for (const Complex &number : numbers)
    part.push_back(isImaginary ? number.imag() : number.real());
  return part;
}

/// Of z and w, complex f64 arrays of this shape, the real and imaginary parts of what `text` makes under the name r.
Complexes made(const std::string &shape, const std::string &text, const Complexes &z, const Complexes &w = {}) {
  std::string module;
  const char *names[] = {"zr", "zi", "wr", "wi"};
  for (int i = 0; i < (w.empty() ? 2 : 4); ++i)
    module += std::string(names[i]) + " = f64" + shape + " parameter(" + std::to_string(i) + ")\n";
  module += "z = complex(zr, zi)\n" + std::string(w.empty() ? "" : "w = complex(wr, wi)\n") + text;
  std::vector<Numbers> arguments = {partOf(z, false), partOf(z, true)};
  if (!w.empty())
    arguments.insert(arguments.end(), {partOf(w, false), partOf(w, true)});
  Numbers real = compute(module + "\nROOT p = real(r)", arguments),
          imaginary = compute(module + "\nROOT p = imag(r)", arguments);
  Complexes result;
  for (size_t i = 0; i < real.size(); ++i)
    result.emplace_back(real[i], imaginary[i]);
  return result;
}

void expectNear(const Complexes &got, const Complexes &wanted, const std::string &what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_LE(std::abs(got[i] - wanted[i]), 1e-12 * (1 + std::abs(wanted[i])))
        << what << " " << i << ": " << got[i] << ", not " << wanted[i];
}

/// Element k of the sum over j of z[j] * exp(-+2 pi i jk / n).
Complexes transformOf(const Complexes &z, double sign) {
  Complexes sums;
  auto n = double(z.size());
  for (size_t k = 0; k < z.size(); ++k) {
    sums.emplace_back();
    for (size_t j = 0; j < z.size(); ++j)
      sums[k] += z[j] * std::polar(1.0, sign * 2 * M_PI * std::fmod(double(j * k), n) / n);
  }
  return sums;
}

} // namespace

TEST(HloComplex, one_operand) {
  const Complexes z = some(15);
  const std::pair<const char *, std::function<Complex(Complex)>> all[] = {
      {"negate", [](Complex z) { return -z; }},
      {"copy", [](Complex z) { return z; }},
      {"exponential", [](Complex z) { return std::exp(z); }},
      {"exponential-minus-one", [](Complex z) { return std::exp(z) - 1.0; }},
      {"log", [](Complex z) { return std::log(z); }},
      {"log-plus-one", [](Complex z) { return std::log(1.0 + z); }},
      {"sqrt", [](Complex z) { return std::sqrt(z); }},
      {"rsqrt", [](Complex z) { return 1.0 / std::sqrt(z); }},
      {"cbrt", [](Complex z) { return std::pow(z, 1.0 / 3); }},
      {"logistic", [](Complex z) { return 1.0 / (1.0 + std::exp(-z)); }},
      {"sine", [](Complex z) { return std::sin(z); }},
      {"cosine", [](Complex z) { return std::cos(z); }},
      {"tan", [](Complex z) { return std::tan(z); }},
      {"tanh", [](Complex z) { return std::tanh(z); }},
      {"sign", [](Complex z) { return z / std::abs(z); }},
  };
  for (const auto &[name, function] : all) {
    Complexes wanted;
    for (const Complex &number : z)
      wanted.push_back(function(number));
    expectNear(made("[15]", "r = " + std::string(name) + "(z)", z), wanted, name);
  }
}

TEST(HloComplex, absolute_value_neither_overflows_nor_vanishes) {
  auto absolute = [](Complex number) {
    return compute("a = f64[] parameter(0)\nb = f64[] parameter(1)\nz = complex(a, b)\nROOT r = abs(z)",
                   {{number.real()}, {number.imag()}})[0];
  };
  EXPECT_EQ(absolute({3, -4}), 5);
  EXPECT_EQ(absolute({3e300, 4e300}), 5e300);
  EXPECT_EQ(absolute({0, 0}), 0);
  EXPECT_EQ(absolute({-1e-300, 1e-320}), 1e-300);
  EXPECT_EQ(absolute({infinity, infinity}), infinity);
}

TEST(HloComplex, two_operands) {
  const Complexes z = some(15), w = some(15, -1.7);
  const std::pair<const char *, std::function<Complex(Complex, Complex)>> all[] = {
      {"add", [](Complex z, Complex w) { return z + w; }},
      {"subtract", [](Complex z, Complex w) { return z - w; }},
      {"multiply", [](Complex z, Complex w) { return z * w; }},
      {"divide", [](Complex z, Complex w) { return z / w; }},
      {"power", [](Complex z, Complex w) { return std::pow(z, w); }},
  };
  for (const auto &[name, function] : all) {
    Complexes wanted;
    for (size_t i = 0; i < z.size(); ++i)
      wanted.push_back(function(z[i], w[i]));
    expectNear(made("[15]", "r = " + std::string(name) + "(z, w)", z, w), wanted, name);
  }
  expectNear(made("[2]", "r = divide(z, w)", {{1e200, 1}, {1, 2}}, {{1e200, 1e-200}, {0, 3e-200}}),
             {1.0, Complex(2, -1) / 3e-200}, "without overflow of the square");
}

TEST(HloComplex, beside_cuts_and_infinities) {
  auto one = [](const std::string &text, Complex z) { return made("[1]", "r = " + text, {z})[0]; };
  EXPECT_EQ(one("sqrt(z)", {-1, -0.0}), Complex(0, -1));
  EXPECT_EQ(one("sqrt(z)", {-1, 0.0}), Complex(0, 1));
  EXPECT_EQ(one("sqrt(z)", {2, -infinity}), Complex(infinity, -infinity));
  EXPECT_LT(std::abs(one("logistic(z)", {-1000, 1})), 1e-300);
  EXPECT_EQ(one("logistic(z)", {1000, 1}), Complex(1, 0));
  const double large = 1.5e308;
  expectNear({one("sqrt(z)", {large, large}) / 1e154}, {std::sqrt(Complex(1.5, 1.5))}, "sqrt without overflow");
  EXPECT_EQ(one("sine(z)", {0, infinity}), Complex(0, infinity));
  EXPECT_EQ(one("cosine(z)", {0, -infinity}), Complex(infinity, 0));
  EXPECT_EQ(one("tanh(z)", {-infinity, infinity}), Complex(-1, 0));
  EXPECT_EQ(one("exponential(z)", {infinity, 0}), Complex(infinity, 0));
  auto two = [](const std::string &text, Complex z, Complex w) { return made("[1]", "r = " + text, {z}, {w})[0]; };
  EXPECT_EQ(two("divide(z, w)", {1, 0}, {infinity, infinity}), Complex(0, 0));
  EXPECT_EQ(two("divide(z, w)", {1, 0}, {NAN, infinity}), Complex(0, 0));
  EXPECT_EQ(two("divide(z, w)", {infinity, -infinity}, {2, 0}), Complex(infinity, -infinity));
  EXPECT_EQ(two("divide(z, w)", {infinity, NAN}, {1, -1}), Complex(infinity, infinity));
  EXPECT_EQ(two("power(z, w)", {0, 0}, {0, 0}), Complex(1, 0));
  EXPECT_EQ(two("power(z, w)", {NAN, infinity}, {0, 0}), Complex(1, 0));
  EXPECT_EQ(two("power(z, w)", {0, 0}, {2, 0}), Complex(0, 0));
  Complex pole = two("power(z, w)", {0, 0}, {-1, 0});
  EXPECT_FALSE(std::isfinite(pole.real()));
}

TEST(HloComplex, movement_and_contractions) {
  const Complexes z = some(6), w = some(6, 2);
  expectNear(made("[2,3]", "r = c128[3,2] transpose(z), dimensions={1,0}", z), {z[0], z[3], z[1], z[4], z[2], z[5]},
             "transpose");
  expectNear(made("[6]", "v = c128[] constant((7, -8))\nr = c128[7] pad(z, v), padding=1_0", z),
             {{7, -8}, z[0], z[1], z[2], z[3], z[4], z[5]}, "pad");
  expectNear(
      made("[2,3]",
           "t = c128[3,2] reshape(w)\nr = c128[2,2] dot(z, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}", z,
           w),
      {z[0] * w[0] + z[1] * w[2] + z[2] * w[4], z[0] * w[1] + z[1] * w[3] + z[2] * w[5],
       z[3] * w[0] + z[4] * w[2] + z[5] * w[4], z[3] * w[1] + z[4] * w[3] + z[5] * w[5]},
      "dot");
  expectNear(made("[6]", "b = compare(z, w), direction=NE\nr = select(b, z, w)", z, w), z, "select");
}

TEST(HloComplex, reductions) {
  Module module =
      parseModule("HloModule m\nproduct { a = c128[] parameter(0)\nb = c128[] parameter(1)\nROOT c = multiply(a, b) }\n"
                  "ENTRY e { x = f64[2,3] parameter(0)\ny = f64[2,3] parameter(1)\nz = complex(x, y)\n"
                  "one = c128[] constant((1, 0))\nr = c128[2] reduce(z, one), dimensions={1}, to_apply=product\n"
                  "p = real(r)\nq = imag(r)\nROOT t = tuple(p, q) }",
                  "t.hlo");
  const Complexes z = some(6);
  std::vector<Value> arguments = {fromNumbers(Shape::array(DType::F64, {2, 3}), partOf(z, false)),
                                  fromNumbers(Shape::array(DType::F64, {2, 3}), partOf(z, true))};
  Value result = evaluate(module, {arguments})[0];
  Numbers real = numbersOf(result.elements[0]), imaginary = numbersOf(result.elements[1]);
  expectNear({{real[0], imaginary[0]}, {real[1], imaginary[1]}}, {z[0] * z[1] * z[2], z[3] * z[4] * z[5]}, "reduce");
}

TEST(HloComplex, transforms_of_any_length) {
  for (size_t n : {1, 2, 3, 8, 12, 31, 37, 64, 66, 74, 96}) {
    std::string length = std::to_string(n), shape = "[" + length + "]", half = std::to_string(n / 2 + 1);
    const Complexes z = some(n);
    auto fft = [&](const std::string &result, const std::string &operand, const std::string &type) {
      return "r = " + result + " fft(" + operand + "), fft_type=" + type + ", fft_length={" + length + "}";
    };
    Complexes forward = transformOf(z, -1), backward = transformOf(z, 1);
    for (Complex &number : backward)
      number /= double(n);
    expectNear(made(shape, fft("c128" + shape, "z", "FFT"), z), forward, "FFT " + length);
    expectNear(made(shape, fft("c128" + shape, "z", "IFFT"), z), backward, "IFFT " + length);
    Complexes real;
    for (const Complex &number : z)
      real.emplace_back(number.real(), 0);
    Complexes wanted = transformOf(real, -1);
    wanted.resize(n / 2 + 1);
    expectNear(made(shape, fft("c128[" + half + "]", "zr", "RFFT"), z), wanted, "RFFT " + length);
  }
}

TEST(HloComplex, the_inverse_of_a_real_transform) {
  for (int64_t n : {1, 2, 7, 12}) {
    std::string length = std::to_string(n), shape = "[2," + length + "]";
    Numbers x = partOf(some(size_t(2 * n)), false);
    Numbers back = compute("x = f64" + shape + " parameter(0)\nt = c128[2," + std::to_string(n / 2 + 1) +
                               "] fft(x), fft_type=RFFT, fft_length={" + length + "}\nROOT y = f64" + shape +
                               " fft(t), fft_type=IRFFT, fft_length={" + length + "}",
                           {x});
    for (size_t i = 0; i < x.size(); ++i)
      EXPECT_NEAR(back[i], x[i], 1e-12) << n;
  }
}
