// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The one hash of the project, XXH3 with 64 bits: checksums of packages and names of cached things. Not for secrets.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace heddle {

/// XXH3-64 of the bytes, the same on every machine.
uint64_t hashBytes(std::string_view bytes);

/// hashBytes as 16 lower-case hexadecimal digits.
std::string hashHex(std::string_view bytes);

} // namespace heddle
