// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Thread code on the launch's record in device memory (binary/LaunchRecord.h), for operations that tell the runtime
// something or end the program.
#pragma once
#include "compiler/lowering/simt/ThreadCode.h"

namespace heddle::simt {

class RecordCode : public ThreadCode {
public:
  using ThreadCode::ThreadCode;

protected:
  Value bytesAfter(Value pointer, Value offset);
  Value recordPointer(int64_t offset);
  Value addToRecord(int64_t offset, int64_t value); ///< the sum of before
  Value someProgramFailed();                        ///< i1
  /// All threads of the block do `before` and end if the bit is set in one of them. A barrier for all.
  void endProgramIf(Value anyThread, llvm::function_ref<void()> before);
};

} // namespace heddle::simt
