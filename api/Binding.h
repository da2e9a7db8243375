// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values by name become what a kernel is launched with: what packages, code objects and modules have in common, with
// the same words for what is refused. How a value is given (by an option of the command, say) is not known here.
#pragma once
#include "api/Heddle.h"
#include <fmt/format.h>
#include <optional>

namespace heddle {

/// Throws ArgumentError `argument `x` is given twice: `1` and `2`` when a name occurs twice; `what` is `argument` or
/// `buffer`.
void checkRepeated(const std::vector<NamedValue> &values, const char *what);

/// That a buffer which is no argument was given by a name of the kernel's argument `argument`.
ArgumentError notAnOwnName(const std::string &buffer, const std::string &argument, const std::string &kernel);

/// That a kernel has no argument `name`. `known` are their names, `notes` say more of them.
ArgumentError noArgument(const std::string &kernel, const std::string &name, const std::vector<std::string> &known,
                         std::vector<std::string> notes);

/// That these arguments have no value; `notes` say which there are.
ArgumentError missingArguments(const std::string &kernel, const std::vector<std::string> &names,
                               std::vector<std::string> notes);

/// That there is no buffer `name`. `known` are their names, `reason` says who asked; it may be empty.
ArgumentError noBuffer(const std::string &name, const std::vector<std::string> &known, const std::string &reason = "");

/// Does something for an argument, which errors then name.
template <typename Action>
auto within(const std::string &argument, Action action, const char *what = "argument") {
  try {
    return action();
  } catch (const Error &error) {
    std::string message = fmt::format("{} `{}`: {}", what, argument, error.what());
    if (error.kind == ErrorClass::Input)
      throw ArgumentError(message, error.notes);
    throw Error(error.kind, message, error.notes);
  }
}

/// A buffer as its value says it.
struct BoundBuffer {
  Array array; ///< no bytes when they are all zero, or addresses
  uint64_t sizeBytes = 0;
  std::vector<std::string> pointers; ///< names of the buffers whose addresses it holds
};

/// What `spec`, which is no scalar, makes. The elements of a file are of the type `wanted`, if its own may be used for
/// that, else of the file's own.
BoundBuffer makeBuffer(const std::string &name, const BufferSpec &spec, std::optional<ElementType> wanted = {});

/// The buffer of a pointer argument. Throws ArgumentError for elements of another type than it points to.
BoundBuffer bindBuffer(const PackageArgument &argument, const BufferSpec &spec);

/// Whether bytes of type `given` may be used where `wanted` is expected: the same type, or integers of one size.
bool sameStorage(ElementType given, ElementType wanted);

/// The forms that a buffer's value has everywhere.
inline constexpr const char *formsOfBuffers =
    "a buffer is `@file.npy`, `f32[64,128]` (zeros), `rand:f32[64,128]:SEED` or `ptrs:A,B`";

} // namespace heddle
