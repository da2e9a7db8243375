// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Declares a kernel's arguments, and compiles its module into a package.
#include "program/KernelFrame.h"
#include "collectives/kernel/CollectiveKernel.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "program/Types.h"
#include <fmt/format.h>

using namespace mlir;
using heddle::tile::TileWriter;

namespace heddle::program {
namespace {

/// Arrays of a program begin at multiples of 256 bytes.
constexpr int arrayAlignment = 16;

Type storedPointer(TileWriter &w, const Node &node) {
  return w.pointerTo(tile::storageType(*w.b.getContext(), *bufferType(node.shape.type)));
}

} // namespace

void loadProgramDialects(MLIRContext &context) {
  loadCollectiveDialects(context);
  context.loadDialect<math::MathDialect>();
}

std::vector<TileWriter::Argument> argumentsOf(TileWriter &w, const Graph &graph, const StepKernel &kernel) {
  std::vector<TileWriter::Argument> arguments;
  for (NodeId input : kernel.inputs)
    arguments.push_back({fmt::format("in{}", input), storedPointer(w, graph[input]), arrayAlignment});
  for (NodeId output : kernel.outputs)
    arguments.push_back({fmt::format("out{}", output), storedPointer(w, graph[output]), arrayAlignment});
  arguments.push_back({"replica", w.b.getI32Type()});
  arguments.push_back({"partition", w.b.getI32Type()});
  return arguments;
}

Expression makeExpression(TileWriter &w, const Graph &graph, const StepKernel &kernel, ValueRange arguments) {
  Expression expression(w, graph);
  for (size_t i = 0; i < kernel.inputs.size(); ++i)
    expression.bindBuffer(kernel.inputs[i], arguments[i]);
  size_t devices = kernel.inputs.size() + kernel.outputs.size();
  expression.bindDevice(arguments[devices], arguments[devices + 1]);
  return expression;
}

Package KernelCache::get(const std::string &text, int warps, const std::function<Package()> &make) {
  std::promise<Package> promise;
  std::shared_future<Package> made;
  {
    std::lock_guard lock(mutex);
    auto [entry, isNew] = known.try_emplace({text, warps});
    if (isNew)
      entry->second = promise.get_future().share();
    else
      made = entry->second;
  }
  if (made.valid())
    return made.get();
  try {
    Package package = make();
    promise.set_value(package);
    return package;
  } catch (...) {
    promise.set_exception(std::current_exception());
    throw;
  }
}

void finishKernel(StepKernel &kernel, ModuleOp module, const CompileOptions &options, KernelCache *cache) {
  llvm::raw_string_ostream stream(kernel.text);
  module.print(stream);
  auto make = [&] { return compileModule(module, kernel.name, options).package; };
  kernel.package = cache ? cache->get(kernel.text, options.warps, make) : make();
}

} // namespace heddle::program
