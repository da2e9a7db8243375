// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One kernel for each pair of a type and an operation, as the body of an LLVM function that computes `%r` from `%x`,
// `%y` and `%z`. The same text is compiled for an AMD chip and for the host.
#pragma once
#include <string>
#include <vector>

namespace heddle::simulator {

/// A scalar or a vector of LLVM's, by name and size.
struct KernelType {
  std::string name;    ///< `<2 x half>`
  std::string element; ///< `half`
  unsigned elementBits = 32, count = 1;
  bool isFloat() const { return element[0] != 'i'; }
  unsigned sizeBytes() const { return elementBits / 8 * count; }
};

/// `half`, 2 gives `<2 x half>`.
KernelType kernelType(const std::string &element, unsigned count = 1);

/// What the values of an input may be; beyond it the operation leaves its result open.
enum class Inputs {
  Any,      ///< every bit pattern, edges first; no signalling NaN
  Small,    ///< whole and broken numbers of small magnitude, of both signs
  Positive, ///< numbers above 0, and of moderate size
  Exponent, ///< integers from -20 to 20
};

struct GeneratedKernel {
  std::string name;
  KernelType input, result; ///< %x and %y are of `input`, and so is %z unless `third` says otherwise
  KernelType third;
  std::string body; ///< lines that define %r of type `result`
  Inputs inputs = Inputs::Any, thirdInputs = Inputs::Any;
  double tolerance = 0; ///< relative to the result or, below it, to `unit`; 0: the same bits
  double unit = 0x1p-6;
};

/// All of them, in a fixed order.
std::vector<GeneratedKernel> generateKernels();

} // namespace heddle::simulator
