// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The secret that the processes of a group share, and random bytes. A secret is never part of a message to people.
#pragma once
#include <string>

namespace heddle {

/// Of the file that HEDDLE_SECRET_FILE names, which must be this user's and closed to all others (mode 0600 or 0400),
/// or else the value of HEDDLE_SECRET; empty when neither is set. White space at the end does not count. Throws
/// Error{Environment} for a file that others may read and one that cannot be read, Error{Input} for a secret of less
/// than 16 or more than 4096 bytes.
std::string readSecret();

std::string randomBytes(size_t count);
std::string hexText(const std::string &bytes);

} // namespace heddle
