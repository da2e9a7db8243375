// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stepping through a simulated kernel with commands on standard input.
#pragma once
#include "api/Simulate.h"

namespace heddle {

/// Thrown by the console when the user has seen enough.
struct StepQuit {};

class StepConsole {
public:
  /// Shows where the wave is and obeys commands until one goes on. The end of the input goes on to the end.
  void stop(const SimulatedStop &stop);

private:
  bool obey(const SimulatedStop &stop, const std::string &command);

  uint64_t left = 0; ///< instructions before the next stop
};

} // namespace heddle
