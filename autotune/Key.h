// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a measurement is valid for. A key is complete: each declared part has a value, and there is no other part, so
// that a result is never used for another kernel, chip, type or size than it was measured for without that being said.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace heddle::autotune {

/// The declared parts, by name.
struct KeyPart {
  const char *name;
  const char *sentence;
  /// Whether a result is of use where this part differs. The difference is then said (Lookup.h).
  bool mayDiffer;
};
const std::vector<KeyPart> &keyParts();

class Key {
public:
  /// Throws Error{Input} for a part that is not declared (with the closest), one that is missing, and an empty one.
  explicit Key(std::map<std::string, std::string> parts);

  const std::string &operator[](const std::string &part) const { return parts.at(part); }
  const std::map<std::string, std::string> &all() const { return parts; }
  /// 12 hexadecimal digits, by which commands name a key.
  std::string id() const;
  bool operator==(const Key &other) const = default;

private:
  std::map<std::string, std::string> parts;
};

/// The numbers of a part such as `extents`: `E=16,K=5120`. Throws Error{Input} for another text.
std::map<std::string, long long> numbersOf(const std::string &part);

} // namespace heddle::autotune
