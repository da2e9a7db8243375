// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The main function of GoogleTest programs.
#include "support/TestMain.h"

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  return heddle::runSelectedTests();
}
