// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a launch has to say when it is over: the lines of tt.print and the error of a failed tt.assert. The texts are
// the same on every device.
#pragma once
#include "binary/LaunchRecord.h"
#include "binary/Package.h"
#include "support/Error.h"
#include <array>

namespace heddle {

/// `kernels.py:9:30: `, or the kernel's name where the source is not known.
std::string placeText(const Package &package, int32_t site);
/// A number that the package does not have gives an empty site.
const PackageSite &siteOf(const Package &package, int32_t site);
std::string programNote(const std::array<int32_t, 3> &program);
Error assertionError(const Package &package, int32_t site, const std::array<int32_t, 3> &program, int64_t element);

/// Hands the lines of a launch on a GPU over `grid` to the sink, in the order of the programs, with a line that says
/// how many were dropped. `record` is `launchRecordBytes` bytes of host memory, aligned to 8. Throws the error of the
/// first program whose assertion failed.
void reportLaunch(const Package &package, const std::array<int64_t, 3> &grid, const void *record);

} // namespace heddle
