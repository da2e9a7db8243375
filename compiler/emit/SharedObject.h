// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A relocatable object to a shared object, with LLD in this process.
#pragma once
#include <string>
#include <vector>

namespace heddle {

/// The bytes of the shared object. LLD works on files: they live in a private folder under TMPDIR, /dev/shm or /tmp
/// until the function returns. Throws Error{Environment} when no such folder can be made or written, Error{Internal}
/// when LLD refuses the object or when it needs a symbol other than memcpy, memmove and memset.
std::string linkSharedObject(const std::string &object);
/// The same for an object of an AMD chip, whose code may need no symbol at all and keeps its names.
std::string linkCodeObject(const std::string &object);

/// The names that `object` (relocatable or shared) leaves undefined.
std::vector<std::string> undefinedSymbols(const std::string &object);

} // namespace heddle
