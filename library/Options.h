// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The `key=value` options of the C interface.
#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace heddle {

/// What takes a value, by key.
using OptionTable = std::map<std::string, std::function<void(const std::string &value)>>;

/// Gives each option's value to its key. Throws Error{Input} for a string that is no `key=value`, and for an unknown
/// key, with the closest one and all keys in notes.
void readOptions(const char *const *options, size_t count, const OptionTable &table);

/// Values. They throw Error{Input} with the key and the value.
int integerOption(const std::string &key, const std::string &value, int least, int most);
/// `true`, `1`, `on`, `auto`; `false`, `0`, `off`. `others`: words of the option that the message adds.
bool truthOption(const std::string &key, const std::string &value, const char *others = "");

/// Strings of an array of the caller's. Throws Error{Input} where one is null, or the array is and `count` is not 0.
std::vector<std::string> readStrings(const char *const *strings, size_t count, const char *parameter);

} // namespace heddle
