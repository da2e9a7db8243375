// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// heddle-opt: runs passes on IR text, for pass tests.
#include "compiler/pipeline/Registry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  heddle::registerInputDialects(registry);
  heddle::registerPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Heddle's pass driver\n", registry));
}
