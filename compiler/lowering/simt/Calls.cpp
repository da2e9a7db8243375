// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls between devices, which implement-calls replaces by machine atomics. Writes are done once; waits by all threads,
// because each of them has to know what it waited for before it goes on.
#include "compiler/lowering/peer/ExternCalls.h"
#include "compiler/lowering/simt/ThreadCode.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

namespace {
class Calls : public ThreadCode {
public:
  using ThreadCode::ThreadCode;
  void lower(ExternElementwiseOp op);
};
} // namespace

void Calls::lower(ExternElementwiseOp op) {
  if (!peer::isExternCallName(op.getSymbol()))
    return refuse("'" + op.getSymbol() + "' is a function of a vendor's device library");
  Type result = threadType(elementTypeOf(op.getType()));
  auto call = [&](int64_t reg) -> Value {
    Values operands;
    for (Value source : op.getSrcs()) {
      const Values &values = of(source);
      operands.push_back(values[values.size() == 1 ? 0 : size_t(reg)]);
    }
    return callExtern(op.getSymbol(), result, operands);
  };
  bool isWrite = op.getSymbol().contains("_atomicwrite_");
  if (isWrite) {
    made[op.getResult()] =
        once(op.getType(), elementTypeOf(op.getType()), [&](int64_t reg) -> Values { return {call(reg)}; }, {});
    return;
  }
  Values results;
  for (int64_t reg = 0; reg < registersOf(op.getType()); ++reg)
    results.push_back(call(reg));
  made[op.getResult()] = results;
}

void simt::addCalls(RewritePatternSet &patterns, ThreadState &state) {
  addFamily<Calls, ExternElementwiseOp>(patterns, state);
}
