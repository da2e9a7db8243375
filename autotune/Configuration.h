// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A choice of options and tile parameters of a kernel by name, and its text, which is what the database holds.
#pragma once
#include <map>
#include <string>

namespace heddle::autotune {

/// Without a name it is the kernel's own choice, its default.
using Configuration = std::map<std::string, std::string>;

/// `block_k=64,method=strips`, by name; `default` for none.
std::string textOf(const Configuration &configuration);
/// Throws Error{Input} for what is no such text.
Configuration parseConfiguration(const std::string &text);

} // namespace heddle::autotune
