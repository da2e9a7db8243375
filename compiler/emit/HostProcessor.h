// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which x86-64 processor host code is made for: its LLVM name, the features the code may use, the vector width.
#pragma once
#include <string>
#include <vector>

namespace heddle {

struct HostProcessor {
  std::string name;                  ///< LLVM's name: `znver4`, `x86-64-v3`
  std::vector<std::string> features; ///< what the code may use, LLVM names, sorted
  std::string featureString;         ///< the same and what it may not use, as LLVM's back end takes them
  int vectorBits = 128;              ///< width of a vector register: 512, 256 or 128
};

/// `native` is this machine's processor; other names are LLVM's. Throws Error{Input} for an unknown name (with the
/// closest known one) or one without AVX2, FMA and F16C, Error{Environment} when this machine lacks them.
HostProcessor resolveHostProcessor(const std::string &request);

/// The names that resolveHostProcessor takes beside `native`.
std::vector<std::string> hostProcessorNames();

/// What LLVM calls itself: `22.1.8`.
std::string llvmVersion();

} // namespace heddle
