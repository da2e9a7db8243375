// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The part of NCCL's binary interface that the drop-in takes, declared here because no NCCL is needed to build it.
// Source: NCCL's user guide and API reference, 2.18 to 2.30.
#pragma once
#include <cstddef>
#include <cstdint>

namespace heddle::dropin {

using Result = int;
namespace result {
inline constexpr Result success = 0, systemError = 2, internalError = 3, invalidArgument = 4, invalidUsage = 5,
                        remoteError = 6, inProgress = 7;
} // namespace result

namespace type { // those that are named here and in tests; Entry.cpp has a table of all
inline constexpr int ui8 = 1, i32 = 2, f32 = 7;
} // namespace type

namespace reduction { // others are an average, and those that programs made
inline constexpr int sum = 0, product = 1, maximum = 2, minimum = 3;
} // namespace reduction

struct UniqueId {
  char bytes[128];
};
/// The first fields of ncclConfig_t, which all versions have.
struct Config {
  size_t size;
  unsigned magic, version;
  int blocking; ///< 0: calls that make communicators return before they are done; INT_MIN: not said
};
using Comm = struct CommHandle *;
using Stream = struct StreamHandle *; ///< cudaStream_t

// X(name, NCCL's symbol, parameter types): what the drop-in calls itself. All but the last few are in every version.
#define HEDDLE_NCCL_CALLS(X)                                                                                           \
  X(commInitRank, ncclCommInitRank, Comm *, int, UniqueId, int)                                                        \
  X(commInitAll, ncclCommInitAll, Comm *, int, const int *)                                                            \
  X(commDestroy, ncclCommDestroy, Comm)                                                                                \
  X(commAbort, ncclCommAbort, Comm)                                                                                    \
  X(commGetAsyncError, ncclCommGetAsyncError, Comm, Result *)                                                          \
  X(commCount, ncclCommCount, Comm, int *)                                                                             \
  X(commUserRank, ncclCommUserRank, Comm, int *)                                                                       \
  X(commCuDevice, ncclCommCuDevice, Comm, int *)                                                                       \
  X(groupStart, ncclGroupStart)                                                                                        \
  X(groupEnd, ncclGroupEnd)                                                                                            \
  X(allReduce, ncclAllReduce, const void *, void *, size_t, int, int, Comm, Stream)                                    \
  X(allGather, ncclAllGather, const void *, void *, size_t, int, Comm, Stream)                                         \
  X(reduceScatter, ncclReduceScatter, const void *, void *, size_t, int, int, Comm, Stream)                            \
  X(allToAll, ncclAlltoAll, const void *, void *, size_t, int, Comm, Stream)                                           \
  X(send, ncclSend, const void *, size_t, int, int, Comm, Stream)                                                      \
  X(receive, ncclRecv, void *, size_t, int, int, Comm, Stream)                                                         \
  X(broadcast, ncclBroadcast, const void *, void *, size_t, int, int, Comm, Stream)                                    \
  X(broadcastInPlace, ncclBcast, void *, size_t, int, int, Comm, Stream)                                               \
  X(reduce, ncclReduce, const void *, void *, size_t, int, int, int, Comm, Stream)                                     \
  X(gather, ncclGather, const void *, void *, size_t, int, int, Comm, Stream)                                          \
  X(scatter, ncclScatter, const void *, void *, size_t, int, int, Comm, Stream)                                        \
  X(commInitRankConfig, ncclCommInitRankConfig, Comm *, int, UniqueId, int, Config *)                                  \
  X(commInitRankScalable, ncclCommInitRankScalable, Comm *, int, int, int, UniqueId *, Config *)                       \
  X(commSplit, ncclCommSplit, Comm, int, int, Comm *, Config *)                                                        \
  X(commShrink, ncclCommShrink, Comm, int *, int, Comm *, Config *, int)                                               \
  X(commGrow, ncclCommGrow, Comm, int, const UniqueId *, int, Comm *, Config *)                                        \
  X(commFinalize, ncclCommFinalize, Comm)                                                                              \
  X(commRevoke, ncclCommRevoke, Comm, int)                                                                             \
  X(groupSimulateEnd, ncclGroupSimulateEnd, void *)

// The functions that go to NCCL as they are. A program that finds them missing would not start.
#define HEDDLE_NCCL_FORWARDED(X)                                                                                       \
  X(ncclMemAlloc)                                                                                                      \
  X(ncclMemFree)                                                                                                       \
  X(ncclGetVersion)                                                                                                    \
  X(ncclGetUniqueId)                                                                                                   \
  X(ncclCommGetUniqueId)                                                                                               \
  X(ncclGetErrorString)                                                                                                \
  X(ncclResetDebugInit)                                                                                                \
  X(ncclCommCount)                                                                                                     \
  X(ncclCommCuDevice)                                                                                                  \
  X(ncclCommUserRank)                                                                                                  \
  X(ncclCommRegister)                                                                                                  \
  X(ncclCommDeregister)                                                                                                \
  X(ncclCommSuspend)                                                                                                   \
  X(ncclCommResume)                                                                                                    \
  X(ncclCommMemStats)                                                                                                  \
  X(ncclCommWindowRegister)                                                                                            \
  X(ncclCommWindowDeregister)                                                                                          \
  X(ncclWinGetUserPtr)                                                                                                 \
  X(ncclRedOpCreatePreMulSum)                                                                                          \
  X(ncclRedOpDestroy)                                                                                                  \
  X(ncclAllReduceConfig)                                                                                               \
  X(ncclBroadcastConfig)                                                                                               \
  X(ncclReduceConfig)                                                                                                  \
  X(ncclAllGatherConfig)                                                                                               \
  X(ncclReduceScatterConfig)                                                                                           \
  X(ncclAlltoAllConfig)                                                                                                \
  X(ncclGatherConfig)                                                                                                  \
  X(ncclScatterConfig)                                                                                                 \
  X(ncclPutSignal)                                                                                                     \
  X(ncclSignal)                                                                                                        \
  X(ncclWaitSignal)                                                                                                    \
  X(ncclDevCommCreate)                                                                                                 \
  X(ncclDevCommDestroy)                                                                                                \
  X(ncclGinBarrierCreateRequirement)                                                                                   \
  X(ncclLLA2ACalcSlots)                                                                                                \
  X(ncclLLA2ACreateRequirement)                                                                                        \
  X(ncclLsaBarrierCreateRequirement)                                                                                   \
  X(ncclTeamLsa)                                                                                                       \
  X(ncclTeamRail)                                                                                                      \
  X(ncclTeamRankToLsa)                                                                                                 \
  X(ncclTeamRankToWorld)                                                                                               \
  X(ncclTeamWorld)                                                                                                     \
  X(ncclGetLsaMultimemDevicePointer)                                                                                   \
  X(ncclGetPeerDevicePointer)                                                                                          \
  X(ncclParamBind)                                                                                                     \
  X(ncclParamGetI8)                                                                                                    \
  X(ncclParamGetI16)                                                                                                   \
  X(ncclParamGetI32)                                                                                                   \
  X(ncclParamGetI64)                                                                                                   \
  X(ncclParamGetU8)                                                                                                    \
  X(ncclParamGetU16)                                                                                                   \
  X(ncclParamGetU32)                                                                                                   \
  X(ncclParamGetU64)                                                                                                   \
  X(ncclParamGetStr)                                                                                                   \
  X(ncclParamGet)                                                                                                      \
  X(ncclParamGetParameter)                                                                                             \
  X(ncclParamGetAllParameterKeys)                                                                                      \
  X(ncclParamDumpAll)

} // namespace heddle::dropin
