// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Streams of the threads driver.
#pragma once
#include "runtime/Module.h"
#include "tests/threads_driver/Engine.h"

namespace heddle::threads {

/// The loaded kernel of a package.
class ThreadsModule : public Module {
public:
  ThreadsModule(Package description, std::shared_ptr<const Program> program)
      : Module(std::move(description)), program(std::move(program)) {}
  const std::shared_ptr<const Program> program;
};

class ThreadsStream : public SteppedStream {
public:
  explicit ThreadsStream(std::shared_ptr<Device> device);

protected:
  Start prepare(const heddle::Launch &launch) override;
};

} // namespace heddle::threads
