// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A way to run a tile program. The fuzzer compares two of them; the numerical tests hold each against plain C++.
#pragma once
#include "tests/reference/Evaluator.h"
#include <memory>

namespace heddle::executors {

class Executor {
public:
  virtual ~Executor() = default;
  virtual std::string name() const = 0;
  /// Runs the kernel of `moduleText` over `grid` and updates the buffers among `arguments` in place. Throws Error when
  /// it cannot.
  virtual void run(const std::string &moduleText, const reference::Grid &grid,
                   std::vector<reference::Argument> &arguments) = 0;
};

/// The reference evaluator; undefined values hold `undefinedBits`.
std::unique_ptr<Executor> makeReferenceExecutor(uint64_t undefinedBits = 0);
/// The reference evaluator on the program after `canonicalize` and `cse`, with the other choice wherever the language
/// leaves one: checks folds, the printed text, and that no output rule asks for more than the language gives.
std::unique_ptr<Executor> makeSimplifiedExecutor();

struct HostOptions {
  bool checked = false;     ///< compiled with bounds checks
  bool cooperative = false; ///< every program instance lives at once
};
/// The host target. Keeps the kernel of the last text, so that running it again costs no compilation.
std::unique_ptr<Executor> makeHostExecutor(HostOptions options = {});

} // namespace heddle::executors
