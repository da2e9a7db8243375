// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SHA-256 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104), by which processes prove to each other that they know a secret.
#pragma once
#include <string>
#include <string_view>

namespace heddle {

/// 32 bytes.
std::string sha256(std::string_view bytes);
/// 32 bytes. The key may have any length.
std::string hmacSha256(std::string_view key, std::string_view bytes);
/// Takes as long for equal texts as for different ones of the same length.
bool equalInConstantTime(std::string_view a, std::string_view b);

} // namespace heddle
