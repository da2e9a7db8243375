// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Library kernels with typed arguments, for C++ programs: make a call for a device and an array type, then launch it on
// addresses, any number of times. Each throws as Prepared. Results are allocated by the caller, as plan() says.
#pragma once
#include "kernels/Prepared.h"
#include "runtime/Launch.h"

namespace heddle::kernels {

/// Choices of all FP8 quantisation; docs/kernels.md, "Scales and values".
struct QuantiseOptions {
  std::optional<ElementType> dtype = std::nullopt; ///< none: f8E4M3FNUZ for gfx942, else f8E4M3FN
  bool powersOfTwo = false, ignoresNaN = false;
  std::map<std::string, int64_t> tiles = {}; ///< tile parameters that are not left to the library
};

enum class AmaxMethod { Auto, Atomic, Reduction, Cooperative }; ///< Auto, Cooperative: of expert weights alone
enum class Blocks { Row128, Column128, Square128 };
enum class MxMode { Floor, RoundUp };

/// A call that reads `x`, and writes `q` and `scales`.
class QuantiseCall {
public:
  static QuantiseCall rowwise2d(std::shared_ptr<Device> device, const ArrayType &x,
                                const QuantiseOptions &options = {});
  static QuantiseCall colwise3d(std::shared_ptr<Device> device, const ArrayType &x,
                                const QuantiseOptions &options = {});
  static QuantiseCall rowwise3d(std::shared_ptr<Device> device, const ArrayType &x, AmaxMethod method,
                                const QuantiseOptions &options = {});
  static QuantiseCall blockwise(std::shared_ptr<Device> device, const ArrayType &x, Blocks blocks,
                                const QuantiseOptions &options = {});
  /// `alongColumns`: blocks of 32 rows, and transposed results.
  static QuantiseCall mxfp8(std::shared_ptr<Device> device, const ArrayType &x, bool alongColumns, MxMode mode,
                            ElementType dtype = ElementType::F8E4M3FN);

  const Plan &plan() const { return prepared.plan(); }
  void launch(Stream &stream, DeviceAddress x, DeviceAddress q, DeviceAddress scales) const {
    prepared.launch(stream, {{"x", x.value}, {"q", q.value}, {"scales", scales.value}});
  }

private:
  QuantiseCall(Prepared prepared) : prepared(std::move(prepared)) {}
  Prepared prepared;
};

/// A call that reads `x` and the ends of its groups, an i32 or i64 array, and writes `q` and `scales`.
class JaggedCall {
public:
  static JaggedCall rowwise(std::shared_ptr<Device> device, const ArrayType &x, const ArrayType &offs,
                            const QuantiseOptions &options = {});
  static JaggedCall colwise(std::shared_ptr<Device> device, const ArrayType &x, const ArrayType &offs,
                            const QuantiseOptions &options = {});

  const Plan &plan() const { return prepared.plan(); }
  void launch(Stream &stream, DeviceAddress x, DeviceAddress offs, DeviceAddress q, DeviceAddress scales) const {
    prepared.launch(stream, {{"x", x.value}, {"offs", offs.value}, {"q", q.value}, {"scales", scales.value}});
  }

private:
  JaggedCall(Prepared prepared) : prepared(std::move(prepared)) {}
  Prepared prepared;
};

/// A call that reads `x` and writes its largest magnitude, one f32.
class AmaxCall {
public:
  AmaxCall(std::shared_ptr<Device> device, const ArrayType &x, AmaxMethod method = AmaxMethod::Atomic,
           bool ignoresNaN = false);

  void launch(Stream &stream, DeviceAddress x, DeviceAddress amax) const {
    prepared.launch(stream, {{"x", x.value}, {"amax", amax.value}});
  }

private:
  Prepared prepared;
};

} // namespace heddle::kernels
