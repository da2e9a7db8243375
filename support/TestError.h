// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For tests: run something that must fail, and look at its error.
#pragma once
#include "support/Error.h"
#include <gtest/gtest.h>

namespace heddle {

/// The heddle::Error that `action` throws; a test failure and a made-up error when it throws none.
template <typename Action>
Error errorOf(Action action) {
  try {
    action();
  } catch (const Error &error) {
    return error;
  }
  ADD_FAILURE() << "no error was thrown";
  return internalError("no error was thrown");
}

/// The message of that error, notes after newlines.
template <typename Action>
std::string messageOf(Action action) {
  Error error = errorOf(action);
  std::string text = error.what();
  for (const std::string &note : error.notes)
    text += "\n" + note;
  return text;
}

} // namespace heddle

#define EXPECT_CONTAINS(text, part)                                                                                    \
  EXPECT_NE(std::string(text).find(part), std::string::npos) << "text: " << (text) << "\nlacks: " << (part)
