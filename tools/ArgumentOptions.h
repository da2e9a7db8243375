// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The API names arguments and buffers, and does not know by which options the command takes them: a note says that.
#pragma once
#include "api/Heddle.h"

namespace heddle {

inline constexpr const char *kernelArgumentOptions =
    "`--arg NAME=VALUE` gives an argument, `--buffer NAME=VALUE` a buffer beside them";
inline constexpr const char *simulatedArgumentOptions = "`--arg NAME=VALUE` gives an argument, `--kernarg VALUE` the "
                                                        "whole argument segment, `--buffer NAME=VALUE` a buffer "
                                                        "beside them";
inline constexpr const char *moduleArgumentOptions = "`--arg NAME=VALUE` gives a parameter, NAME@RANK that of one rank";

/// Does something; arguments that it refuses are an error with the note `options`.
template <typename Action>
auto namingOptions(const char *options, Action action) {
  try {
    return action();
  } catch (ArgumentError &error) {
    error.notes.push_back(options);
    throw;
  }
}

} // namespace heddle
