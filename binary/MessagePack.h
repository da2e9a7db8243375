// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MessagePack, in which AMD code objects describe their kernels, as JSON values. (The JSON library's own reader
// recurses as deep as its input says.)
#pragma once
#include <nlohmann/json.hpp>
#include <string_view>

namespace heddle {

/// The one value in `bytes`; binary data becomes a string, keys of maps must be strings. Throws Error{Input} saying
/// what is wrong and at which byte: cut short, nested deeper than 32 values, of an extension type, followed by more
/// bytes.
nlohmann::json parseMessagePack(std::string_view bytes);

} // namespace heddle
