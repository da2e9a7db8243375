// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program: one verb, and the exit code of what went wrong.
#include "api/Heddle.h"
#include "support/Heap.h"
#include "tools/Output.h"
#include "tools/Program.h"
#include "tools/Ranks.h"
#include <csignal>
#include <new>

int main(int count, char **words) {
  heddle::reserveHeap();
  std::signal(SIGPIPE, SIG_IGN); // a closed pipe is seen where it is written
  try {
    heddle::useSimulatedDevices();
    heddle::rememberProgram({words, words + count});
    return heddle::runCommandLine({words, words + count});
  } catch (const heddle::Error &error) {
    heddle::printError(error);
    return int(error.kind);
  } catch (const std::bad_alloc &) {
    heddle::printError(heddle::environmentError("out of memory"));
    return int(heddle::ErrorClass::Environment);
  } catch (const std::exception &error) {
    heddle::printError(heddle::internalError(error.what()));
    return int(heddle::ErrorClass::Internal);
  }
}
