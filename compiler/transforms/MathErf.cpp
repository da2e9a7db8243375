// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// erf. Coefficients: interpolation at Chebyshev nodes with 60 digits, rounded to the type.
#include "compiler/transforms/MathEmitter.h"

using namespace mlir;

namespace heddle::math {

// erf(x) / x - 1 over x^2 in [0, 0.875^2]: f32 of degree 6 (0.15 ulp), f64 of degree 12 (0.11 ulp).
static constexpr double smallSingle[] = {0.128379166,   -0.376126349,   0.112837352,   -0.0268617067,
                                         0.00520704873, -0.00082145707, 8.69036885e-05};
static constexpr double smallFull[] = {0.12837916709551259,    -0.37612638903183754,    0.11283791670955111,
                                       -0.026866170645127092,  0.0052239776253799495,   -0.00085483270179058889,
                                       0.00012055332664402735, -1.4925638169259221e-05, 1.6461793314658049e-06,
                                       -1.636001974888772e-07, 1.4735405934568758e-08,  -1.1712641683192752e-09,
                                       6.6277861350714229e-11};

// log(erfc(x)) + x^2 over x - center: f32 on [0.875, 4], center 2.4375, degree 9 (0.08 ulp of erf); f64 on [0.875, 6],
// center 3.4375, degree 26 (0.25 ulp). The square has been taken out because the rest is small and nearly straight.
static constexpr double largeSingle[] = {-1.53455091,    -0.359823436,    0.0581941307,   -0.0114163384,
                                         0.00230107573,  -0.000450661842, 8.34193706e-05, -1.39152908e-05,
                                         1.60759021e-06, -3.53326293e-08};
static constexpr double largeFull[] = {
    -1.845675017726619,      -0.27031755929408613,    0.034247598495222464,    -0.0054499550552048323,
    0.00092118063865679234,  -0.00015676989410178774, 2.6153792068139042e-05,  -4.1939949319057649e-06,
    6.3271068056523005e-07,  -8.6815092896692017e-08, 1.0055683718476301e-08,  -7.4611689125616393e-10,
    -5.3176025976612358e-11, 3.9595742730450152e-11,  -1.1319772560513332e-11, 2.4826972878248957e-12,
    -4.6521396491146469e-13, 7.8383147139967689e-14,  -1.0794464637300513e-14, 4.4059420312716188e-16,
    1.4421598145210164e-16,  1.8334825820707701e-17,  -2.2407452006380486e-18, -6.9560750144109212e-18,
    1.672643435269483e-18,   2.5977164654213967e-20,  -2.6316800991998395e-20};

// Near 0 erf x = x + x q(x^2); further out 1 - e^(g(x) - x^2), which is 1 from the upper bound on.
Value expandErf(const Emitter &emit, Value x) {
  auto choose = [&](ArrayRef<double> single, ArrayRef<double> full) { return emit.isDouble ? full : single; };
  Value a = emit.abs(x);
  Value small = emit.fma(a, emit.polynomial(emit.mul(a, a), choose(smallSingle, smallFull)), a);
  Value bounded = emit.atMost(a, emit.isDouble ? 6 : 4);
  Value g = emit.polynomial(emit.sub(bounded, emit.either(2.4375, 3.4375)), choose(largeSingle, largeFull));
  Value exponent = emit.fma(emit.neg(bounded), bounded, g);
  Value large = emit.sub(emit.number(1), expandExp(emit, exponent));
  return emit.copySign(emit.select(emit.less(a, emit.number(0.875)), small, large), x);
}

} // namespace heddle::math
