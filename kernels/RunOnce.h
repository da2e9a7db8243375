// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A call from arrays of this process to arrays of this process: by a device, by the plain reference, and both compared.
#pragma once
#include "kernels/Prepared.h"

namespace heddle::kernels {

/// Buffers of a device for a prepared call, with the inputs in them.
class CallBuffers {
public:
  /// Throws Error{Input} where an input has other bytes than its type says.
  CallBuffers(const std::shared_ptr<Device> &device, Stream &stream, const Prepared &prepared,
              const HostArrays &inputs);
  const std::map<std::string, uint64_t> &addresses() const { return places; }
  /// The results, after all work of the stream.
  HostArrays results(Stream &stream, const Plan &plan) const;

private:
  std::map<std::string, Buffer> buffers;
  std::map<std::string, uint64_t> places;
};

/// Inputs of a call that has none: contents by seed, those of the kernel where random ones will not do.
HostArrays makeInputs(const LibraryKernel &kernel, const Call &call, uint64_t seed);

/// What the plain reference gives for the same inputs.
HostArrays referenceResults(const LibraryKernel &kernel, const Call &call, const Plan &plan, const HostArrays &inputs);

/// How two arrays of one type differ: by bits, but every NaN is one; or by more than `tolerance` times the largest
/// magnitude expected.
struct Difference {
  int64_t elements = 0;
  std::string first; ///< `q[3, 5] is 1.25, and the reference has 1.5`
};
/// `other` is whose `expected` is, for the text.
Difference compareArrays(const std::string &name, const HostArray &given, const HostArray &expected,
                         double tolerance = 0, const char *other = "the reference");

} // namespace heddle::kernels
