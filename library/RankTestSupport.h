// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For the tests of the C interface's collectives: one rank of a group, in a process of its own.
#pragma once
#include "library/LibraryTestSupport.h"
#include "runtime/processes/TestProcesses.h"
#include <algorithm>
#include <memory>

namespace heddle::testing {

/// A rank whose calls must succeed, or say what is wrong.
class Rank {
public:
  explicit Rank(const TestRank &self, double deadline = 30) : Rank(self, optionsOf(deadline)) {}
  /// A further communicator of the same process is over the bootstrap of the first.
  Rank(const TestRank &self, const heddle_communicator_options &options, std::shared_ptr<Bootstrap> known = nullptr)
      : self(self), bootstrap(known ? std::move(known) : self.bootstrap()) {
    check(heddle_device_open(("host:" + std::to_string(self.rank)).c_str(), &device.value));
    check(heddle_communicator_create(device, self.rank, self.size, gather, bootstrap.get(), &options,
                                     &communicator.value));
  }

  static heddle_communicator_options optionsOf(double deadline) {
    heddle_communicator_options options = {};
    options.struct_size = sizeof options;
    options.deadline_seconds = deadline;
    options.setup_seconds = 20;
    return options;
  }
  void check(heddle_status status) const {
    if (status != HEDDLE_OK)
      throw Error(ErrorClass(status), heddle_error_text());
  }
  /// The status and the text of a call that has to fail.
  void sayError(heddle_status status) const {
    self.say(std::to_string(status) + ": " + (status ? heddle_error_text() : "no error"));
  }
  heddle_collective_request request(int32_t kind, int64_t count, bool captured = false) const {
    return {sizeof(heddle_collective_request),
            "f32",
            nullptr,
            count,
            kind,
            HEDDLE_SUM,
            0,
            captured ? 1 : 0,
            nullptr,
            nullptr};
  }
  Handle<heddle_collective> prepare(const heddle_collective_request &wanted) const {
    Handle<heddle_collective> collective;
    check(heddle_communicator_prepare(communicator, &wanted, &collective.value));
    return collective;
  }
  void launch(heddle_collective collective, const float *input, float *output, heddle_stream stream = nullptr) const {
    check(heddle_collective_launch(collective, stream, reinterpret_cast<uint64_t>(input),
                                   reinterpret_cast<uint64_t>(output)));
  }
  void synchronize() const { check(heddle_communicator_synchronize(communicator)); }
  /// An all-reduce of `values` in place, which has run once.
  Handle<heddle_collective> sumOnce(std::vector<float> &values) const {
    auto sum = prepare(request(HEDDLE_ALL_REDUCE, int64_t(values.size())));
    launch(sum, values.data(), values.data());
    synchronize();
    return sum;
  }

  const TestRank &self;
  std::shared_ptr<Bootstrap> bootstrap;
  Handle<heddle_device> device;
  Handle<heddle_communicator> communicator;

private:
  static int32_t gather(const void *mine, void *all, size_t bytes, double seconds, void *user) {
    std::string own(static_cast<const char *>(mine), bytes);
    auto *to = static_cast<char *>(all);
    for (const std::string &text : static_cast<Bootstrap *>(user)->allGather(own, seconds))
      to = std::copy(text.begin(), text.end(), to);
    return 0;
  }
};

} // namespace heddle::testing
