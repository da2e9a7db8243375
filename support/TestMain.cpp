// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The main function of GoogleTest programs. Their heap is that of `heddle`.
#include "support/TestMain.h"
#include "support/Heap.h"

int main(int argc, char **argv) {
  heddle::reserveHeap();
  testing::InitGoogleTest(&argc, argv);
  return heddle::runSelectedTests();
}
