// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Structures that kernels take by value, described in JSON: which field lies where and what it holds. The form is
// documented in docs/simulator-code-objects.md, "Structures by value".
#pragma once
#include "binary/AmdCodeObject.h"
#include "support/ElementType.h"
#include <optional>
#include <string>
#include <vector>

namespace heddle {

/// A number or an address: fields of fields and elements of arrays are fields of their own.
struct LayoutField {
  std::string name; ///< `scale`, `inner.scale`, `peers[3]`
  uint64_t offset = 0, sizeBytes = 0;
  std::optional<ElementType> type;  ///< none: an address
  std::optional<std::string> value; ///< as an argument takes it; none: it is to be given
};

struct ArgumentLayout {
  std::vector<LayoutField> fields; ///< by offset
  uint64_t sizeBytes = 0;          ///< where the last one ends, or what the description says
  bool saysSize = false;
};

/// Whether a value is a structure: `struct:FILE` or `{...}`.
bool isLayout(const std::string &value);

/// `devices` is how many elements `addr:NAME@all` has. Throws Error{Input} for what is no such description, with the
/// field's name.
ArgumentLayout parseLayout(const std::string &value, unsigned devices);

/// Whether an argument or a field of this name only fills a gap: `pad`, `_pad1`, `padding`. It is 0 unless given.
bool isFillerName(const std::string &name);
inline bool isFiller(const AmdArgument &argument) {
  return argument.valueKind == "by_value" && isFillerName(argument.name);
}

} // namespace heddle
