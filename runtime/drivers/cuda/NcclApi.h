// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NCCL's library, or RCCL's, opened at run time: the entry points that a comparison with it and a transport between
// hosts take, and errors that say which call failed, how, and what to do. Source: NCCL's user guide, 2.18 to 2.28.
#pragma once
#include "runtime/drivers/cuda/CudaApi.h"
#include <climits>

namespace heddle {
namespace nccl {

using Result = int;
using Communicator = struct CommunicatorHandle *;

namespace result {
inline constexpr Result success = 0, unhandledCudaError = 1, systemError = 2, internalError = 3, invalidArgument = 4,
                        invalidUsage = 5, inProgress = 7;
} // namespace result

struct UniqueId {
  char bytes[128];
};

/// ncclConfig_t as NCCL 2.17 has it: the version says which fields there are, also to later libraries.
struct Config {
  size_t size;
  unsigned magic, version;
  int blocking, clusterSize, leastBlocks, mostBlocks;
  const char *network;
};
inline constexpr unsigned configMagic = 0xcafebeef, configVersion = 21700;
inline constexpr int undefinedInteger = INT_MIN;

namespace type {
inline constexpr int i8 = 0, ui8 = 1, i32 = 2, ui32 = 3, i64 = 4, ui64 = 5, f16 = 6, f32 = 7, f64 = 8, bf16 = 9,
                     f8E4M3FN = 10, f8E5M2 = 11;
} // namespace type

namespace reduction {
inline constexpr int sum = 0, product = 1, maximum = 2, minimum = 3;
} // namespace reduction

} // namespace nccl

// X(name, exported symbol, result, parameter types). The fake of the tests exports the same list.
#define HEDDLE_NCCL_REQUIRED(X)                                                                                        \
  X(getVersion, ncclGetVersion, nccl::Result, int *)                                                                   \
  X(getErrorString, ncclGetErrorString, const char *, nccl::Result)                                                    \
  X(initAll, ncclCommInitAll, nccl::Result, nccl::Communicator *, int, const int *)                                    \
  X(destroy, ncclCommDestroy, nccl::Result, nccl::Communicator)                                                        \
  X(groupStart, ncclGroupStart, nccl::Result)                                                                          \
  X(groupEnd, ncclGroupEnd, nccl::Result)                                                                              \
  X(allReduce, ncclAllReduce, nccl::Result, const void *, void *, size_t, int, int, nccl::Communicator, cuda::Stream)  \
  X(allGather, ncclAllGather, nccl::Result, const void *, void *, size_t, int, nccl::Communicator, cuda::Stream)       \
  X(reduceScatter, ncclReduceScatter, nccl::Result, const void *, void *, size_t, int, int, nccl::Communicator,        \
    cuda::Stream)                                                                                                      \
  X(send, ncclSend, nccl::Result, const void *, size_t, int, int, nccl::Communicator, cuda::Stream)                    \
  X(receive, ncclRecv, nccl::Result, void *, size_t, int, int, nccl::Communicator, cuda::Stream)

// Of the transport between hosts.
#define HEDDLE_NCCL_TRANSPORT(X)                                                                                       \
  X(getUniqueId, ncclGetUniqueId, nccl::Result, nccl::UniqueId *)                                                      \
  X(initRankConfig, ncclCommInitRankConfig, nccl::Result, nccl::Communicator *, int, nccl::UniqueId, int,              \
    nccl::Config *)                                                                                                    \
  X(abort, ncclCommAbort, nccl::Result, nccl::Communicator)                                                            \
  X(getAsyncError, ncclCommGetAsyncError, nccl::Result, nccl::Communicator, nccl::Result *)

#define HEDDLE_NCCL_OPTIONAL(X) X(getLastError, ncclGetLastError, const char *, nccl::Communicator)

/// The opened library. It stays open for the life of the process: its threads may.
class NcclApi {
public:
  /// Puts NCCL_NVLS_ENABLE=0 into the environment first: no NVLink multicast. Throws Error{Environment}: no such
  /// library, an entry point that it lacks.
  explicit NcclApi(const std::string &libraryPath);

  /// Throws Error{Environment} for a library without the entry points of the transport.
  void requireTransport() const;

  /// `NCCL: ncclAllReduce: invalid argument (4)`, with what is known to help as notes.
  Error error(const char *symbol, nccl::Result result) const;

  /// Throws `error` for anything but success.
  template <typename... Parameters, typename... Arguments>
  void call(const LibraryFunction<nccl::Result, Parameters...> &function, Arguments... arguments) const {
    if (nccl::Result result = function(arguments...))
      throw error(function.symbol, result);
  }

  const std::string &library() const { return path; }
  int version() const { return libraryVersion; } ///< 22703 is 2.27.3

#define HEDDLE_NCCL_MEMBER(name, symbol, ...) LibraryFunction<__VA_ARGS__> name{#symbol};
  HEDDLE_NCCL_REQUIRED(HEDDLE_NCCL_MEMBER)
  HEDDLE_NCCL_TRANSPORT(HEDDLE_NCCL_MEMBER)
  HEDDLE_NCCL_OPTIONAL(HEDDLE_NCCL_MEMBER)
#undef HEDDLE_NCCL_MEMBER

private:
  std::string path;
  int libraryVersion = 0;
};

/// `2.27.3` for 22703.
std::string ncclVersionText(int version);

} // namespace heddle
