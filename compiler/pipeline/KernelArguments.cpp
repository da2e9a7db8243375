// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads names, types and divisibility from the arguments of the kernel's function.
#include "compiler/pipeline/KernelArguments.h"
#include "compiler/dialects/triton/Triton.h"

using namespace mlir;
using namespace heddle::triton;

namespace heddle {

std::vector<PackageArgument> describeArguments(ModuleOp module) {
  int count = 0;
  FuncOp function = findKernel(module, count);
  std::vector<PackageArgument> arguments;
  for (auto [number, argument] : llvm::enumerate(function.getArguments())) {
    Type named = argument.getType();
    PackageArgument described;
    auto name = dyn_cast<NameLoc>(argument.getLoc());
    described.name = name ? name.getName().str() : "arg" + std::to_string(number);
    if (auto pointer = dyn_cast<PointerType>(named)) {
      described.pointer = true;
      named = pointer.getPointeeType();
    }
    llvm::raw_string_ostream stream(described.type);
    if (auto pointer = dyn_cast<PointerType>(named))
      stream << "ptr<" << pointer.getPointeeType() << ">";
    else
      stream << named;
    if (auto divisibility = function.getArgAttrOfType<IntegerAttr>(unsigned(number), "tt.divisibility"))
      described.divisibility = divisibility.getInt();
    arguments.push_back(described);
  }
  return arguments;
}

std::vector<unsigned> smallArguments(ModuleOp module) {
  constexpr int64_t bits = 32;
  int count = 0;
  FuncOp function = findKernel(module, count);
  std::vector<unsigned> numbers;
  for (unsigned number = 0; number < function.getNumArguments(); ++number)
    if (auto range = function.getArgAttrOfType<IntegerAttr>(number, "tt.pointer_range");
        range && range.getInt() == bits && isa<PointerType>(function.getArgument(number).getType()))
      numbers.push_back(number);
  return numbers;
}

} // namespace heddle
