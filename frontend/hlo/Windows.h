// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The windows of reduce-window, select-and-scatter and convolution (ReadWindows.cpp, ReadConvolution.cpp).
#pragma once
#include "frontend/hlo/ParseInstruction.h"

namespace heddle::hlo {

/// Of one dimension; `low` and `high` are elements of the initial value, dilations the distances of elements.
struct WindowDimension {
  int64_t size = 1, stride = 1, low = 0, high = 0, baseDilation = 1, dilation = 1;
  bool reversed = false, always = false; ///< always: active also where the window is one element
  int64_t results = 0;

  int64_t reach() const { return (size - 1) * dilation + 1; }
  bool isActive() const { return always || size > 1 || stride > 1; }
};

/// `{size=1x3 stride=1x2 pad=0_0x1_1 lhs_dilate=.. rhs_dilate=..}`. Throws Error{Input} without a location.
std::vector<WindowDimension> parseWindow(const std::string &text, size_t rank);

} // namespace heddle::hlo
