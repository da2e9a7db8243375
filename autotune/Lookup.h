// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The configuration that the database, or else what is shipped with heddle, has for a call. It measures nothing, so a
// launch never waits for a search; the same database gives the same answer.
#pragma once
#include "autotune/CallKey.h"
#include "autotune/Database.h"
#include "kernels/Prepared.h"

namespace heddle::autotune {

/// A result for a call, and in which parts its key differs.
struct Match {
  TunedResult result;
  std::vector<std::string> differences; ///< `measured with driver 12.4, and this is 12.8`; none: the key is the call's
};

/// Of results of the same kernel and its version, chip, types, strides, options and of the same product, the one whose
/// other parts agree most. Extents agree, or those that the kernel declares as counts (kernels/LibraryKernel.h) round
/// up to the same powers of two. Without a place, as when compiling for a chip that is not here, the product may be
/// any.
std::optional<Match> findMatch(const std::vector<TunedResult> &results, const kernels::LibraryKernel &kernel,
                               const kernels::CallRequest &request, const std::optional<KeyPlace> &place);

/// The results in kernels/tuned/, which are part of the program.
const std::vector<TunedResult> &shippedResults();

struct TunedRequest {
  kernels::CallRequest request; ///< with the configuration in it
  std::optional<Match> match;
  std::string note; ///< which entry it is, or that there is none, for people
};
/// From the usual database, else the shipped results. Where there is no match, or the kernel refuses the configuration
/// for this call, the request stays as it is. Throws as Database.
TunedRequest tunedRequest(const kernels::LibraryKernel &kernel, const kernels::CallRequest &request,
                          const std::optional<KeyPlace> &place);

/// For C++ programs: a prepared call with the configuration that was found. `note`, if given, gets TunedRequest::note.
kernels::Prepared prepareTuned(std::shared_ptr<Device> device, const kernels::LibraryKernel &kernel,
                               kernels::CallRequest request, const CompileOptions &options = {},
                               std::string *note = nullptr);

} // namespace heddle::autotune
