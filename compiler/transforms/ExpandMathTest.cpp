// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs every expansion of heddle-expand-math on this machine, as vectors and as scalars, over a dense sample of bit
// patterns, and measures its largest error against the C library in a wider type.
#include "compiler/transforms/Passes.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/ThreadSafeModule.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;

namespace {

constexpr int lanes = 16;

/// The host function `void f(const T *in, T *out, int64_t vectors)`, for one math operation.
template <typename T>
class Compiled {
public:
  Compiled(const std::string &operation, bool scalar) {
    static const bool initialized = (llvm::InitializeNativeTarget(), llvm::InitializeNativeTargetAsmPrinter(), true);
    (void)initialized;
    DialectRegistry registry;
    registry.insert<arith::ArithDialect, LLVM::LLVMDialect, mlir::math::MathDialect, scf::SCFDialect,
                    vector::VectorDialect>();
    registerAllToLLVMIRTranslations(registry);
    MLIRContext context(registry);
    std::string element = sizeof(T) == 8 ? "f64" : "f32", bytes = std::to_string(sizeof(T) * (scalar ? 1 : lanes));
    std::string type = scalar ? element : "vector<" + std::to_string(lanes) + "x" + element + ">";
    std::string text = "llvm.func @f(%in: !llvm.ptr, %out: !llvm.ptr, %n: i64) {\n"
                       "  %c0 = arith.constant 0 : i64\n  %c1 = arith.constant 1 : i64\n"
                       "  %bytes = arith.constant " +
                       bytes +
                       " : i64\n"
                       "  scf.for %i = %c0 to %n step %c1 : i64 {\n"
                       "    %at = arith.muli %i, %bytes : i64\n"
                       "    %p = llvm.getelementptr %in[%at] : (!llvm.ptr, i64) -> !llvm.ptr, i8\n"
                       "    %q = llvm.getelementptr %out[%at] : (!llvm.ptr, i64) -> !llvm.ptr, i8\n"
                       "    %x = llvm.load %p {alignment = 4 : i64} : !llvm.ptr -> " +
                       type +
                       "\n"
                       "    %y = math." +
                       operation + " %x : " + type +
                       "\n"
                       "    llvm.store %y, %q {alignment = 4 : i64} : " +
                       type +
                       ", !llvm.ptr\n"
                       "  }\n  llvm.return\n}\n";
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    if (!module)
      return;
    PassManager passes(&context);
    passes.addPass(heddle::createExpandMathPass());
    passes.addPass(createCSEPass());
    passes.addPass(createSCFToControlFlowPass());
    passes.addPass(createConvertVectorToLLVMPass());
    passes.addPass(createConvertMathToLLVMPass());
    passes.addPass(createArithToLLVMConversionPass());
    passes.addPass(createConvertControlFlowToLLVMPass());
    passes.addPass(createReconcileUnrealizedCastsPass());
    if (failed(passes.run(*module)))
      return;
    auto llvmContext = std::make_unique<llvm::LLVMContext>();
    std::unique_ptr<llvm::Module> translated = translateModuleToLLVMIR(*module, *llvmContext);
    for (llvm::Function &called : *translated)
      if (called.isDeclaration() && !called.isIntrinsic())
        ADD_FAILURE() << operation << " calls " << called.getName().str();
    auto machine = llvm::cantFail(llvm::orc::JITTargetMachineBuilder::detectHost());
    jit = llvm::cantFail(llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(machine).create());
    translated->setDataLayout(jit->getDataLayout());
    translated->setTargetTriple(jit->getTargetTriple());
    llvm::cantFail(jit->addIRModule(llvm::orc::ThreadSafeModule(std::move(translated), std::move(llvmContext))));
    entry = llvm::cantFail(jit->lookup("f")).toPtr<void (*)(const T *, T *, int64_t)>();
    step = scalar ? 1 : lanes;
  }

  std::vector<T> operator()(std::vector<T> in) const {
    size_t count = in.size();
    in.resize((count + lanes - 1) / lanes * lanes);
    std::vector<T> out(in.size());
    if (entry)
      entry(in.data(), out.data(), in.size() / step);
    else
      ADD_FAILURE() << "not compiled";
    out.resize(count);
    return out;
  }

private:
  std::unique_ptr<llvm::orc::LLJIT> jit;
  void (*entry)(const T *, T *, int64_t) = nullptr;
  int step = 1;
};

template <typename T>
using BitsOf = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
template <typename T>
using Wide = std::conditional_t<sizeof(T) == 8, long double, double>;

/// Bit patterns distributed over all exponents and both signs, the numbers next to special values, and multiples of
/// pi/2.
template <typename T>
std::vector<T> samples(size_t count) {
  std::mt19937_64 random(7);
  std::vector<T> values;
  for (size_t index = 0; index < count; ++index)
    values.push_back(std::bit_cast<T>(BitsOf<T>(random())));
  std::uniform_real_distribution<double> inner(-2, 2), middle(-100, 100), outer(-1000, 1000), wide(-1e5, 1e5);
  for (size_t index = 0; index < count / 4; ++index)
    for (auto *range : {&inner, &middle, &outer, &wide})
      values.push_back(T((*range)(random)));
  for (double value : {0.0,        1.0,     0.5,     2.0,       0.875,    0.5625,
                       4.0,        6.0,     M_SQRT2, M_SQRT1_2, 88.72283, 709.782712893384,
                       128.0,      1024.0,  103.97,  149.5,     745.133,  1074.5,
                       0x1p30,     0x1p56,  0x1p88,  0x1p120,   0x1p-126, 0x1p-1022,
                       16367173.0, 0x1.0p24})
    for (double signedValue : {value, -value}) {
      T step = T(signedValue);
      values.push_back(step);
      for (int neighbour = 0; neighbour < 8; ++neighbour)
        values.push_back(step = std::nextafter(step, T(INFINITY)));
    }
  for (int multiple = 1; multiple < 200000; multiple += 7)
    values.push_back(T(multiple * M_PI_2));
  values.push_back(T(6381956970095103.0 * 0x1p797)); // the f64 nearest, relatively, to a multiple of pi/2
  for (T special :
       {T(INFINITY), T(-INFINITY), T(NAN), std::numeric_limits<T>::max(), std::numeric_limits<T>::denorm_min()})
    values.push_back(special);
  return values;
}

/// Distance of `value` from `exact`, in units in the last place of T at `exact`.
template <typename T>
double ulps(T value, Wide<T> exact) {
  if (std::isnan(exact) || std::isnan(value))
    return std::isnan(exact) && std::isnan(value) ? 0 : INFINITY;
  T rounded = T(exact);
  if (std::isinf(rounded) || std::isinf(value) || rounded == 0) {
    if (value == rounded && std::signbit(value) == std::signbit(rounded))
      return 0;
    // One step next to the overflow bound or to zero counts as one.
    return value == std::nextafter(rounded, T(0)) || value == std::numeric_limits<T>::denorm_min() ? 1 : INFINITY;
  }
  int exponent = std::max(std::ilogb(rounded), std::numeric_limits<T>::min_exponent - 1);
  Wide<T> unit = std::ldexp(Wide<T>(1), exponent - (std::numeric_limits<T>::digits - 1));
  return double(std::fabs(Wide<T>(value) - exact) / unit);
}

template <typename T>
struct Worst {
  double error = 0;
  T at = 0, got = 0;
};

template <typename T, typename Reference, typename Accept>
Worst<T> worstError(const Compiled<T> &function, const std::vector<T> &in, Reference reference, Accept accept) {
  std::vector<T> out = function(in);
  Worst<T> worst;
  for (size_t index = 0; index < in.size(); ++index) {
    if (!accept(in[index]))
      continue;
    double error = ulps(out[index], reference(Wide<T>(in[index])));
    if (error > worst.error)
      worst = {error, in[index], out[index]};
  }
  return worst;
}

template <typename T, typename Reference>
void check(const std::string &operation, Reference reference, double bound, double narrowTo = INFINITY) {
  std::vector<T> in = samples<T>(sizeof(T) == 8 ? 1 << 18 : 1 << 20);
  for (bool scalar : {false, true}) {
    Compiled<T> function(operation, scalar);
    Worst<T> worst =
        worstError<T>(function, in, reference, [&](T x) { return !(std::fabs(x) > narrowTo) || std::isinf(x); });
    std::printf("%s f%d %s: %.3f ulp at %a (%.9g), got %a\n", operation.c_str(), int(8 * sizeof(T)),
                scalar ? "scalar" : "vector", worst.error, double(worst.at), double(worst.at), double(worst.got));
    EXPECT_LE(worst.error, bound) << operation << (scalar ? " scalar" : " vector");
    if (!scalar)
      in.resize(in.size() / 4); // the same arithmetic: enough to see that it is
  }
}

#define UNARY(name) [](auto x) { return std::name(x); }
auto rsqrt = [](auto x) { return 1 / std::sqrt(x); };

TEST(ExpandMath, exp) {
  check<float>("exp", UNARY(exp), 1.1);
  check<double>("exp", UNARY(exp), 1.1);
}
TEST(ExpandMath, exp2) {
  check<float>("exp2", UNARY(exp2), 1.1);
  check<double>("exp2", UNARY(exp2), 1.1);
}
TEST(ExpandMath, log) {
  check<float>("log", UNARY(log), 1.1);
  check<double>("log", UNARY(log), 1.1);
}
TEST(ExpandMath, log2) {
  check<float>("log2", UNARY(log2), 2);
  check<double>("log2", UNARY(log2), 1.1);
}
TEST(ExpandMath, sin) {
  check<float>("sin", UNARY(sin), 0.6);
  check<double>("sin", UNARY(sin), 1.1);
}
TEST(ExpandMath, cos) {
  check<float>("cos", UNARY(cos), 0.6);
  check<double>("cos", UNARY(cos), 1.1);
}
TEST(ExpandMath, erf) {
  check<float>("erf", UNARY(erf), 1.5);
  check<double>("erf", UNARY(erf), 2);
}
TEST(ExpandMath, tanh) {
  check<float>("tanh", UNARY(tanh), 2);
  check<double>("tanh", UNARY(tanh), 2);
}
TEST(ExpandMath, rsqrt) {
  check<float>("rsqrt", rsqrt, 1.5);
  check<double>("rsqrt", rsqrt, 1.5);
}

TEST(ExpandMath, exp2IsExactAtIntegers) {
  std::vector<float> in;
  std::vector<double> wide;
  for (int n = -1074; n <= 1023; ++n) {
    wide.push_back(n);
    if (n >= -149 && n <= 127)
      in.push_back(float(n));
  }
  std::vector<float> out = Compiled<float>("exp2", false)(in);
  std::vector<double> wideOut = Compiled<double>("exp2", false)(wide);
  for (size_t index = 0; index < in.size(); ++index)
    EXPECT_EQ(out[index], std::ldexp(1.0f, int(in[index])));
  for (size_t index = 0; index < wide.size(); ++index)
    EXPECT_EQ(wideOut[index], std::ldexp(1.0, int(wide[index])));
}

} // namespace
