// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls of LAPACK whose factors are known: Householder's reflections, eigenvalues, singular values, three diagonals.
#include "tests/reference/hlo/TestSupport.h"
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::hlo;
using namespace heddle::hlo::reference;

namespace {

/// Element `element` of what the call of one matrix in f64 makes.
Numbers callOf(const std::string &target, const std::string &shape, const std::string &results, int element,
               const Numbers &matrix, const std::string &config = "") {
  return compute(fmt::format("p = f64{} parameter(0)\nt = {} custom-call(p), custom_call_target=\"{}\", "
                             "backend_config={{{}}}\nROOT r = get-tuple-element(t), index={}",
                             shape, results, target, config, element),
                 {matrix});
}

void expectNear(const Numbers &actual, const Numbers &expected, const std::string &what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (size_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], 1e-14) << what << "[" << i << "]";
}

/// a b of n x n matrices.
Numbers multiply(const Numbers &a, const Numbers &b, size_t n) {
  Numbers made(n * n);
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < n; ++j)
      for (size_t k = 0; k < n; ++k)
        made[i * n + j] += a[i * n + k] * b[k * n + j];
  return made;
}

} // namespace

TEST(HloLinearAlgebra, reflections_have_the_signs_of_lapack) {
  auto qr = [](int element) {
    return callOf("lapack_dgeqrf_ffi", "[3,2]", "(f64[3,2], f64[2])", element, {3, 1, 0, 2, 4, 3});
  };
  // The first column has the norm 5; v = (1, 0, 4/8), tau = 8/5.
  // It leaves (2, 1) of the second, of the norm sqrt(5).
  double norm = std::sqrt(5);
  expectNear(qr(0), {-5, -3, 0, -norm, 0.5, 1 / (2 + norm)}, "R and reflectors");
  expectNear(qr(1), {1.6, 1 + 2 / norm}, "tau");
}

TEST(HloLinearAlgebra, a_column_without_anything_below) {
  expectSame(callOf("lapack_dgeqrf_ffi", "[2,2]", "(f64[2,2], f64[2])", 1, {3, 1, 0, 2}), {0, 0}, "tau");
  expectSame(callOf("lapack_dgeqrf_ffi", "[2,2]", "(f64[2,2], f64[2])", 0, {3, 1, 0, 2}), {3, 1, 0, 2}, "R");
}

TEST(HloLinearAlgebra, reflectors_make_q) {
  Numbers q = compute("p = f64[2,1] parameter(0)\nt = f64[1] parameter(1)\n"
                      "ROOT q = f64[2,1] custom-call(p, t), custom_call_target=\"lapack_dorgqr_ffi\"",
                      {{-5, 0.5}, {1.6}});
  expectNear(q, {-0.6, -0.8}, "q");
}

TEST(HloLinearAlgebra, eigenvalues_ascend) {
  std::string results = "(f64[2,3,3], f64[2,3], s32[2])";
  Numbers matrices = {2, 9, 9, -1, 2, 9, 0, -1, 2, /**/ 5, 9, 9, 0, 1, 9, 0, 0, 3}; // the lower triangle is read
  auto of = [&](int element) {
    return callOf("lapack_dsyevd_ffi", "[2,3,3]", results, element, matrices, "mode = 86 : ui8, uplo = 76 : ui8");
  };
  expectNear(of(1), {2 - std::sqrt(2), 2, 2 + std::sqrt(2), 1, 3, 5}, "values");
  expectSame(of(2), {0, 0}, "status");
  Numbers both = of(0), v(both.begin(), both.begin() + 9), transposed(9);
  for (size_t i = 0; i < 9; ++i)
    transposed[i % 3 * 3 + i / 3] = v[i];
  expectNear(multiply(transposed, v, 3), {1, 0, 0, 0, 1, 0, 0, 0, 1}, "v' v");
  Numbers product = multiply(multiply(transposed, {2, -1, 0, -1, 2, -1, 0, -1, 2}, 3), v, 3);
  expectNear(product, {2 - std::sqrt(2), 0, 0, 0, 2, 0, 0, 0, 2 + std::sqrt(2)}, "v' a v");
}

TEST(HloLinearAlgebra, eigenvalues_of_complex_matrices) {
  Numbers values = compute("r = f64[2,2] parameter(0)\ni = f64[2,2] parameter(1)\nc = c128[2,2] complex(r, i)\n"
                           "t = (c128[2,2], f64[2], s32[]) custom-call(c), custom_call_target=\"lapack_zheevd_ffi\", "
                           "backend_config={mode = 86 : ui8, uplo = 76 : ui8}\nROOT w = get-tuple-element(t), index=1",
                           {{1, 0, 0, 1}, {0, 0, 2, 0}});
  expectNear(values, {-1, 3}, "values");
}

TEST(HloLinearAlgebra, eigenvalues_whose_inverses_overflow) {
  auto of = [&](int element) {
    return callOf("lapack_dsyevd_ffi", "[2,2]", "(f64[2,2], f64[2], s32[])", element, {8e-309, 4e-309, 4e-309, 8e-309});
  };
  Numbers values = of(1);
  expectNear({values[0] / 4e-309, values[1] / 4e-309}, {1, 3}, "values");
  expectSame(of(2), {0}, "status");
}

TEST(HloLinearAlgebra, the_status_of_matrices_that_are_not_finite) {
  double none = std::nan(""), infinite = INFINITY;
  expectSame(callOf("lapack_dsyevd_ffi", "[4,2,2]", "(f64[4,2,2], f64[4,2], s32[4])", 2,
                    {1, none, none, 1, /**/ 1, 2, 2, 1, /**/ 1, infinite, infinite, 1, /**/ infinite, 0, 0, 1}),
             {1, 0, 1, 1}, "of eigenvalues");
  expectSame(callOf("lapack_dsyevd_ffi", "[2,1,1]", "(f64[2,1,1], f64[2,1], s32[2])", 2, {none, 3}), {1, 0}, "of one");
  expectSame(callOf("lapack_dgesdd_ffi", "[2,2,2]", "(f64[2,2,2], f64[2,2], f64[2,2,2], f64[2,2,2], s32[2])", 4,
                    {1, none, 0, 1, /**/ 1, 2, 2, 1}),
             {1, 0}, "of singular values");
}

TEST(HloLinearAlgebra, singular_values_descend) {
  std::string results = "(f64[3,2], f64[2], f64[3,3], f64[2,2], s32[])";
  auto of = [&](int element, const Numbers &matrix) {
    return callOf("lapack_dgesdd_ffi", "[3,2]", results, element, matrix, "mode = 65 : ui8");
  };
  expectNear(of(1, {3, 0, 0, 0, 0, 4}), {4, 3}, "values");
  expectNear(of(1, {1, 2, 2, 4, 2, 4}), {std::sqrt(45), 0}, "of rank 1");
  Numbers u = of(2, {1, 2, 2, 4, 2, 4}), transposed(9);
  for (size_t i = 0; i < 9; ++i)
    transposed[i % 3 * 3 + i / 3] = u[i];
  expectNear(multiply(transposed, u, 3), {1, 0, 0, 0, 1, 0, 0, 0, 1}, "u' u, also where values are 0");
  expectSame(of(1, {0, 0, 0, 0, 0, 0}), {0, 0}, "of zeros");
}

TEST(HloLinearAlgebra, values_without_vectors_of_one_row) {
  Numbers values = callOf("lapack_dgesdd_ffi", "[1,2]", "(f64[1,2], f64[1], f64[1,1], f64[2,2], s32[])", 1, {3, 4},
                          "mode = 78 : ui8"); // the vectors have the sizes of all, and are not used
  expectNear(values, {5}, "values");
}

TEST(HloLinearAlgebra, three_diagonals_with_pivots) {
  // Rows (0 2 0), (3 0 1), (0 1 1) of x = (1, 2, 3), where the first pivot is 0.
  Numbers x =
      compute("a = f64[3] parameter(0)\nb = f64[3] parameter(1)\nc = f64[3] parameter(2)\nd = f64[3,1] parameter(3)\n"
              "t = (f64[3], f64[3], f64[3], f64[3,1], s32[]) custom-call(a, b, c, d), "
              "custom_call_target=\"lapack_dgtsv_ffi\"\nROOT x = get-tuple-element(t), index=3",
              {{7, 3, 1}, {0, 0, 1}, {2, 1, 7}, {4, 6, 5}});
  expectNear(x, {1, 2, 3}, "x");
}

TEST(HloLinearAlgebra, matrices_of_no_elements) {
  EXPECT_TRUE(callOf("lapack_dsyevd_ffi", "[0,0]", "(f64[0,0], f64[0], s32[])", 0, {}).empty());
  EXPECT_TRUE(callOf("lapack_dsyevd_ffi", "[0,2,2]", "(f64[0,2,2], f64[0,2], s32[0])", 0, {}).empty());
  std::string results = "(f64[2,0], f64[0], f64[2,2], f64[0,0], s32[])";
  expectSame(callOf("lapack_dgesdd_ffi", "[2,0]", results, 2, {}, "mode = 65 : ui8"), {1, 0, 0, 1}, "u of no columns");
}
