// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whole files in and out, with errors that name the path and the system's reason.
#pragma once
#include <string>
#include <string_view>

namespace heddle {

/// The file's bytes. Throws Error{Environment} `cannot read `PATH`: REASON`.
std::string readFile(const std::string &path);

/// Replaces the file in one step: a reader sees the old bytes or the new ones. What is no regular file (`/dev/stdout`,
/// a pipe) is written directly; a symbolic link keeps pointing at the file that is replaced.
/// Throws Error{Environment} `cannot write `PATH`: REASON`; the old file is then untouched.
void writeFileAtomically(const std::string &path, std::string_view bytes);

/// Throws what writeFileAtomically would throw for a folder that is missing or not ours to write; writes nothing.
void checkWritable(const std::string &path);

} // namespace heddle
