// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where tests find files of the checkout and of the build. Known to one object only, so that ccache can give the others
// to another checkout.
#pragma once
#include <string>

namespace heddle {

/// `relative` to the root of the sources, or to that of the build.
std::string sourcePath(const std::string &relative);
std::string buildPath(const std::string &relative);

} // namespace heddle
