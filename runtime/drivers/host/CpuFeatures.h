// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which CPU features this machine has, asked by LLVM's names.
#pragma once
#include <set>
#include <string>
#include <vector>

namespace heddle {

/// The flags of /proc/cpuinfo's first processor; empty when it cannot be read.
const std::set<std::string> &cpuFlags();

/// Those of the LLVM feature names (`avx512vl`, `sse4.2`, `lzcnt`) that this machine is known to lack. A name without a
/// flag of its own (a tuning, say) is not reported, nor is anything when the machine's flags are unknown.
std::vector<std::string> missingCpuFeatures(const std::vector<std::string> &features);

} // namespace heddle
