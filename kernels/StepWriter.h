// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One launch of a plan, written down: the arguments of the kernel with the values of this call, and its body.
#pragma once
#include "frontend/build/TypedKernel.h"
#include "kernels/Plan.h"
#include <map>

namespace heddle::kernels {

/// A distance in elements: 1 is known to the compiler, others are arguments of the kernel.
using Stride = std::optional<build::Scalar<build::i64>>;

/// `pointer` (or a tile of pointers) moved by `index` steps of a stride.
template <class P, class I>
auto advance(const P &pointer, const I &index, const Stride &stride) {
  using Wide = decltype(pointer + build::cast<build::i64>(index));
  return stride ? Wide(pointer + build::cast<build::i64>(index) * *stride) : Wide(pointer + index);
}

class StepWriter {
public:
  explicit StepWriter(std::string name) { step.name = std::move(name); }

  /// A pointer to the first element of a buffer of the plan, aligned to `alignment` bytes.
  void buffer(const std::string &name, ElementType type, int alignment = 16) {
    arguments.push_back({build::Argument(name).divisibleBy(alignment), type, true});
    step.arguments.push_back({name, 0});
  }
  /// An i32, or an i64. Whether it is a multiple of 16 is built into the code, since accesses depend on it.
  void count(const std::string &name, int64_t value) { scalar(name, ElementType::I32, value); }
  void wide(const std::string &name, int64_t value) { scalar(name, ElementType::I64, value); }
  /// A stride of that name in the body; whether it is 1 is built into the code.
  void stride(const std::string &name, int64_t value) {
    strides[name] = value != 1;
    if (value != 1)
      wide(name, value);
  }
  /// Inside the body.
  Stride strideOf(const build::TypedArguments &values, const std::string &name) const {
    return strides.at(name) ? Stride(values.scalar<build::i64>(name)) : std::nullopt;
  }

  Step finish(std::array<int64_t, 3> grid, int64_t warps,
              const std::function<void(const build::TypedArguments &)> &body) {
    step.grid = grid;
    step.warps = int(warps);
    step.text = build::typedKernel(step.name, arguments, body).text();
    return std::move(step);
  }

private:
  void scalar(const std::string &name, ElementType type, int64_t value) {
    arguments.push_back({build::Argument(name).divisibleBy(value % 16 == 0 ? 16 : 1), type, false});
    step.arguments.push_back({"", value});
  }

  Step step;
  std::vector<build::TypedArgument> arguments;
  std::map<std::string, bool> strides;
};

inline Step fillStep(const std::string &buffer, uint8_t byte) {
  Step step;
  step.fills = buffer;
  step.byte = byte;
  return step;
}

//===-- Elements whose type is a value ---------------------------------------------------------------------------===//

/// The elements that a library kernel reads as numbers.
template <class F>
void withNumber(ElementType type, F function) {
  using namespace build;
  withType<f32, f16, bf16>(type, function);
}
template <class F>
void withFp8(ElementType type, F function) {
  using namespace build;
  withType<f8E4M3FN, f8E5M2, f8E4M3FNUZ, f8E5M2FNUZ>(type, function);
}

/// As f32, the elements at `address(pointer)`, a tile of pointers of these sizes; 0 where the mask is false.
template <int64_t... sizes, class A, class M>
build::Tile<build::f32, sizes...> loadNumbers(const build::TypedPointer &pointer, A address, const M &mask,
                                              build::Access access = {}) {
  std::optional<build::Tile<build::f32, sizes...>> result;
  withNumber(pointer.type, [&]<class E>() {
    auto where = address(pointer.as<E>());
    if constexpr (std::is_same_v<M, build::Absent>)
      result = build::cast<build::f32>(build::load(where, mask, build::Absent(), access));
    else
      result = build::cast<build::f32>(build::load(where, mask, 0, access));
  });
  return *result;
}

//===-- Tile parameters as template arguments --------------------------------------------------------------------===//

template <int64_t... values>
struct Choices {
  static std::vector<int64_t> list() { return {values...}; }
};

/// Calls `function.operator()<v>()` for the one of the choices that is `value`.
template <int64_t... values, class F>
void choose(Choices<values...>, int64_t value, F function) {
  ((value == values ? function.template operator()<values>() : void()), ...);
}

inline int64_t blocksFor(int64_t extent, int64_t size) {
  return (extent + size - 1) / size;
}

} // namespace heddle::kernels
