// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The only file that includes xxHash; inlined, so that nothing links its library.
#include "support/Hash.h"
#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

namespace heddle {

uint64_t hashBytes(std::string_view bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::string hashHex(std::string_view bytes) {
  return fmt::format("{:016x}", hashBytes(bytes));
}

} // namespace heddle
