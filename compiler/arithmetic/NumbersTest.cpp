// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs the scalar forms on this machine (the vector ones run in tests/numerics) and compares them with LLVM's APFloat
// and APInt and the C library, on edges and random bit patterns.
#include "compiler/arithmetic/Numbers.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APSInt.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/ThreadSafeModule.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using heddle::arithmetic::isNarrowFloat;
using heddle::arithmetic::Numbers;
using llvm::APFloat;
using llvm::APInt;

namespace {

/// One function: what it takes, gives and computes, and the bits of the right result for the bits of its operands.
struct Case {
  std::string name;
  std::vector<Type> operands;
  Type result;
  std::function<Value(Numbers, ImplicitLocOpBuilder &, ValueRange)> emit;
  std::function<APInt(const std::vector<APInt> &)> expect;
};

unsigned widthOf(Type type) {
  return type.getIntOrFloatBitWidth();
}

const llvm::fltSemantics &semanticsOf(Type type) {
  return cast<FloatType>(type).getFloatSemantics();
}

/// The code of the number of `real` that is nearest to `value`.
uint64_t nearest(FloatType real, double value) {
  APFloat number(value);
  bool lost;
  number.convert(real.getFloatSemantics(), APFloat::rmNearestTiesToEven, &lost);
  return number.bitcastToAPInt().getZExtValue();
}

/// Codes of `real` at and beside what a conversion may get wrong, and of everyday numbers.
std::vector<uint64_t> realPatterns(FloatType real, std::mt19937_64 &random) {
  std::vector<uint64_t> values;
  for (double edge :
       {0.0,    1.0,    0.5,   448.0,  464.0,   465.0,   57344.0, 61440.0, 65504.0,  65520.0,  0x1p31,   0x1p32,
        0x1p63, 0x1p64, 1e300, 0x1p-9, 0x1p-10, 0x1p-17, 0x1p-24, 0x1p-25, 0x1p-133, 0x1p-149, HUGE_VAL, double(NAN)})
    for (int step = -1; step <= 1; ++step) {
      values.push_back(nearest(real, edge) + step);
      values.push_back(nearest(real, -edge) + step);
    }
  std::uniform_real_distribution<double> everyday(-1000, 1000);
  for (int index = 0; index < 200; ++index)
    values.push_back(nearest(real, everyday(random)));
  return values;
}

/// Bits for a value of `type`: all of up to 8, else edges and random ones.
std::vector<uint64_t> patterns(Type type, std::mt19937_64 &random) {
  unsigned width = widthOf(type);
  std::vector<uint64_t> values;
  if (width <= 8) {
    for (uint64_t value = 0; value < (1u << width); ++value)
      values.push_back(value);
    return values;
  }
  if (auto real = dyn_cast<FloatType>(type))
    values = realPatterns(real, random);
  uint64_t top = uint64_t(1) << (width - 1);
  uint64_t halfway = (top >> 1) + (top >> 9); // as an integer, between two numbers of bf16
  for (uint64_t edge : {uint64_t(0), top, top >> 1, uint64_t(width), halfway})
    for (int step = -2; step <= 2; ++step)
      values.push_back(edge + step);
  for (int index = 0; index < 200; ++index)
    values.push_back(random());
  for (uint64_t &value : values)
    value &= ~uint64_t(0) >> (64 - width);
  for (int index = 0; index < 200; ++index) // of all magnitudes
    values.push_back(random() >> (64 - width) >> (random() % width));
  return values;
}

/// The format's code of `value`, rounded once, with the saturation of fp8 that docs/host.md promises.
APInt encode(APFloat value, Type to, bool towardZero = false) {
  const llvm::fltSemantics &semantics = semanticsOf(to);
  bool lost, isNegative = value.isNegative(), isNan = value.isNaN();
  value.convert(semantics, towardZero ? APFloat::rmTowardZero : APFloat::rmNearestTiesToEven, &lost);
  if (widthOf(to) == 8 && !isNan && !value.isFinite())
    value = APFloat::getLargest(semantics, isNegative);
  return value.bitcastToAPInt();
}

APFloat decode(const APInt &bits, Type from) {
  return APFloat(semanticsOf(from), bits);
}

/// All cases compiled into one module, then each one run.
class NumbersTest : public testing::Test {
protected:
  NumbersTest() : context(registry()), builder(UnknownLoc::get(&context), &context) {
    context.loadAllAvailableDialects();
    i1 = builder.getI1Type(), i8 = builder.getI8Type(), i16 = builder.getI16Type(), i32 = builder.getI32Type();
    i64 = builder.getI64Type(), f32 = builder.getF32Type(), f64 = builder.getF64Type();
    narrow = {builder.getF16Type(),
              builder.getBF16Type(),
              builder.getType<Float8E4M3FNType>(),
              builder.getType<Float8E5M2Type>(),
              builder.getType<Float8E4M3FNUZType>(),
              builder.getType<Float8E5M2FNUZType>()};
    module = ModuleOp::create(builder.getLoc());
  }
  static DialectRegistry registry() {
    DialectRegistry registry;
    registry.insert<arith::ArithDialect, LLVM::LLVMDialect, math::MathDialect, scf::SCFDialect>();
    registerAllToLLVMIRTranslations(registry);
    return registry;
  }

  /// Narrow formats travel as integers.
  Type carrier(Type type) { return isNarrowFloat(type) ? builder.getIntegerType(widthOf(type)) : type; }
  static std::string nameOf(Type type) {
    std::string name;
    llvm::raw_string_ostream(name) << type;
    return name;
  }

  void add(Case test) {
    for (Type type : test.operands)
      test.name += "_" + nameOf(type);
    test.name += "_" + nameOf(test.result);
    builder.setInsertionPointToEnd(module->getBody());
    Type pointer = LLVM::LLVMPointerType::get(&context);
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(&context), {pointer, pointer});
    auto function = LLVM::LLVMFuncOp::create(builder, test.name, type);
    Block *entry = function.addEntryBlock(builder);
    builder.setInsertionPointToStart(entry);
    SmallVector<Value> values;
    for (auto [number, operand] : llvm::enumerate(test.operands)) {
      Value at = LLVM::GEPOp::create(builder, pointer, i64, entry->getArgument(0), LLVM::GEPArg(number));
      values.push_back(LLVM::LoadOp::create(builder, carrier(operand), at));
    }
    Value result = test.emit(Numbers(builder), builder, values);
    EXPECT_EQ(result.getType(), carrier(test.result)) << test.name;
    LLVM::StoreOp::create(builder, result, entry->getArgument(1));
    LLVM::ReturnOp::create(builder, ValueRange{});
    cases.push_back(std::move(test));
  }

  void runAll() {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    PassManager passes(&context);
    passes.addPass(createSCFToControlFlowPass());
    passes.addPass(createConvertMathToLLVMPass());
    passes.addPass(createArithToLLVMConversionPass());
    passes.addPass(createConvertControlFlowToLLVMPass());
    ASSERT_TRUE(succeeded(passes.run(*module)));
    auto llvmContext = std::make_unique<llvm::LLVMContext>();
    std::unique_ptr<llvm::Module> translated = translateModuleToLLVMIR(*module, *llvmContext);
    auto machine = llvm::cantFail(llvm::orc::JITTargetMachineBuilder::detectHost());
    auto jit = llvm::cantFail(llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(machine).create());
    translated->setDataLayout(jit->getDataLayout());
    translated->setTargetTriple(jit->getTargetTriple());
    llvm::cantFail(jit->addIRModule(llvm::orc::ThreadSafeModule(std::move(translated), std::move(llvmContext))));
    for (const Case &test : cases)
      run(test, llvm::cantFail(jit->lookup(test.name)).toPtr<void (*)(const uint64_t *, uint64_t *)>());
  }

  void run(const Case &test, void (*entry)(const uint64_t *, uint64_t *)) {
    std::mt19937_64 random(7);
    std::vector<std::vector<uint64_t>> inputs;
    for (Type type : test.operands)
      inputs.push_back(patterns(type, random));
    // Every pair of the first two operands, each with some third one.
    size_t rest = inputs.size() > 1 ? inputs[1].size() : 1;
    for (uint64_t first : inputs[0])
      for (size_t index = 0; index < rest; ++index) {
        std::vector<uint64_t> in{first};
        if (inputs.size() > 1)
          in.push_back(inputs[1][index]);
        for (size_t number = 2; number < inputs.size(); ++number)
          in.push_back(inputs[number][random() % inputs[number].size()]);
        std::vector<APInt> bits;
        for (auto [value, type] : llvm::zip(in, test.operands))
          bits.push_back(APInt(widthOf(type), value));
        uint64_t out = 0;
        entry(in.data(), &out);
        APInt found(widthOf(test.result), out, false, true), expected = test.expect(bits);
        auto real = dyn_cast<FloatType>(test.result);
        bool bothNan = real && decode(found, real).isNaN() && decode(expected, real).isNaN();
        ASSERT_TRUE(found == expected || bothNan)
            << test.name << "(" << std::hex << in[0] << ", " << (in.size() > 1 ? in[1] : 0) << ", "
            << (in.size() > 2 ? in[2] : 0) << ") = " << out << ", expected " << expected.getZExtValue();
      }
  }

  MLIRContext context;
  ImplicitLocOpBuilder builder;
  OwningOpRef<ModuleOp> module;
  Type i1, i8, i16, i32, i64, f32, f64;
  std::vector<Type> narrow;
  std::vector<Case> cases;
};

/// The result of `method` for an operation of the class `Op`, which only tells the kind.
template <typename Op>
auto withKind(Value (Numbers::*method)(Operation *, Value, Value)) {
  return [method](Numbers numbers, ImplicitLocOpBuilder &builder, ValueRange in) {
    Op kind = Op::create(builder, in[0], in[1]);
    Value result = (numbers.*method)(kind, in[0], in[1]);
    kind.erase();
    return result;
  };
}

TEST_F(NumbersTest, Integers) {
  using Operands = const std::vector<APInt> &;
  auto ones = [](Operands in) { return APInt::getAllOnes(in[0].getBitWidth()); };
  for (Type type : {i1, i8, i16, i32, i64}) {
    auto binary = [&](const char *name, auto emit, auto expect) { add({name, {type, type}, type, emit, expect}); };
    binary("divsi", withKind<arith::DivSIOp>(&Numbers::divide),
           [=](Operands in) { return in[1].isZero() ? ones(in) : in[0].sdiv(in[1]); });
    binary("divui", withKind<arith::DivUIOp>(&Numbers::divide),
           [=](Operands in) { return in[1].isZero() ? ones(in) : in[0].udiv(in[1]); });
    binary("remsi", withKind<arith::RemSIOp>(&Numbers::divide),
           [](Operands in) { return in[1].isZero() ? in[0] : in[0].srem(in[1]); });
    binary("remui", withKind<arith::RemUIOp>(&Numbers::divide),
           [](Operands in) { return in[1].isZero() ? in[0] : in[0].urem(in[1]); });
    binary("shli", withKind<arith::ShLIOp>(&Numbers::shift), [](Operands in) { return in[0].shl(in[1]); });
    binary("shrsi", withKind<arith::ShRSIOp>(&Numbers::shift), [](Operands in) { return in[0].ashr(in[1]); });
    binary("shrui", withKind<arith::ShRUIOp>(&Numbers::shift), [](Operands in) { return in[0].lshr(in[1]); });
    auto high = [](Numbers numbers, ImplicitLocOpBuilder &, ValueRange in) {
      return numbers.multiplyHigh(in[0], in[1]);
    };
    binary("mulhiui", high, [](Operands in) { return llvm::APIntOps::mulhu(in[0], in[1]); });
  }
  module->walk([](arith::DivFOp) { ADD_FAILURE() << "a scalar division needs no floating point"; });
  runAll();
}

TEST_F(NumbersTest, Formats) {
  for (Type to : narrow) {
    add({"widen",
         {to},
         f32,
         [=](Numbers numbers, ImplicitLocOpBuilder &, ValueRange in) { return numbers.widen(in[0], to); },
         [=, this](const std::vector<APInt> &in) { return encode(decode(in[0], to), f32); }});
    for (Type from : {f32, f64})
      for (bool towardZero : {false, true})
        add({towardZero ? "narrowTowardZero" : "narrow",
             {from},
             to,
             [=](Numbers numbers, ImplicitLocOpBuilder &, ValueRange in) {
               return numbers.narrow(in[0], to, towardZero);
             },
             [=](const std::vector<APInt> &in) { return encode(decode(in[0], from), to, towardZero); }});
    for (Type from : narrow)
      add({"convert",
           {from},
           to,
           [=](Numbers numbers, ImplicitLocOpBuilder &, ValueRange in) {
             return numbers.convertFloat(in[0], from, to);
           },
           [=](const std::vector<APInt> &in) { return from == to ? in[0] : encode(decode(in[0], from), to); }});
  }
  for (bool towardZero : {false, true})
    add({towardZero ? "convertTowardZero" : "convert",
         {f64},
         f32,
         [=, this](Numbers numbers, ImplicitLocOpBuilder &, ValueRange in) {
           return numbers.convertFloat(in[0], f64, f32, towardZero);
         },
         [=, this](const std::vector<APInt> &in) { return encode(decode(in[0], f64), f32, towardZero); }});
  runAll();
}

TEST_F(NumbersTest, BetweenIntegersAndFloats) {
  std::vector<Type> reals = narrow;
  reals.insert(reals.end(), {f32, f64});
  for (Type real : reals)
    for (Type integer : {i1, i8, i16, i32, i64})
      for (bool isSigned : {false, true}) {
        if (integer == i1 && isSigned)
          continue;
        add({isSigned ? "sitofp" : "uitofp",
             {integer},
             real,
             [=](Numbers numbers, ImplicitLocOpBuilder &, ValueRange in) {
               return numbers.intToFloat(in[0], real, isSigned);
             },
             [=](const std::vector<APInt> &in) {
               APFloat exact(APFloat::IEEEquad()); // holds every integer of 64 bits
               exact.convertFromAPInt(in[0], isSigned, APFloat::rmNearestTiesToEven);
               return encode(exact, real);
             }});
        add({isSigned ? "fptosi" : "fptoui",
             {real},
             integer,
             [=](Numbers numbers, ImplicitLocOpBuilder &, ValueRange in) {
               return numbers.floatToInt(in[0], real, integer, isSigned);
             },
             [=](const std::vector<APInt> &in) {
               llvm::APSInt result(std::max(widthOf(integer), 32u), !isSigned);
               bool exact;
               decode(in[0], real).convertToInteger(result, APFloat::rmTowardZero, &exact);
               return result.trunc(widthOf(integer));
             }});
      }
  runAll();
}

TEST_F(NumbersTest, Floats) {
  using Operands = const std::vector<APInt> &;
  for (Type type : {f32, f64}) {
    add({"remf",
         {type, type},
         f64,
         [](Numbers numbers, ImplicitLocOpBuilder &, ValueRange in) { return numbers.remainder(in[0], in[1]); },
         [](Operands in) {
           auto number = [](const APInt &bits) {
             return bits.getBitWidth() == 64 ? bits.bitsToDouble() : double(bits.bitsToFloat());
           };
           return APInt::doubleToBits(std::fmod(number(in[0]), number(in[1])));
         }});
    for (bool largest : {false, true})
      add({largest ? "maxnumf" : "minnumf",
           {type, type},
           type,
           [=](Numbers numbers, ImplicitLocOpBuilder &, ValueRange in) {
             return numbers.extremum(largest, in[0], in[1]);
           },
           [=](Operands in) {
             APFloat x = decode(in[0], type), y = decode(in[1], type);
             return (largest ? maximumnum(x, y) : minimumnum(x, y)).bitcastToAPInt();
           }});
    add({"copysign",
         {type, type},
         type,
         [](Numbers numbers, ImplicitLocOpBuilder &, ValueRange in) { return numbers.copySign(in[0], in[1]); },
         [=](Operands in) { return APFloat::copySign(decode(in[0], type), decode(in[1], type)).bitcastToAPInt(); }});
  }
  for (Type type : {narrow[0], narrow[1]})
    add({"fma",
         {type, type, type},
         type,
         [=](Numbers numbers, ImplicitLocOpBuilder &, ValueRange in) {
           Value x = numbers.widen(in[0], type), y = numbers.widen(in[1], type), z = numbers.widen(in[2], type);
           return numbers.narrow(numbers.fusedToOdd(x, y, z), type);
         },
         [=](Operands in) {
           APFloat result = decode(in[0], type);
           result.fusedMultiplyAdd(decode(in[1], type), decode(in[2], type), APFloat::rmNearestTiesToEven);
           return result.bitcastToAPInt();
         }});
  runAll();
}

} // namespace
