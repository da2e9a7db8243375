// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What carries the memory of devices between ranks that share none, as work of a stream. Like a Transport it copies and
// computes nothing.
#pragma once
#include "runtime/processes/Transport.h"
#include <functional>

namespace heddle {

class Device;
class HostGroup;
class Stream;

class StreamTransport : public Carrier {
public:
  struct Part {
    int rank;         ///< the other one
    uint64_t address; ///< on this rank's device
    uint64_t bytes;   ///< the same for all parts of an exchange
  };
  struct Exchange {
    std::vector<Part> out, in; ///< at most one part each for a rank
    uint64_t what = 0;         ///< as Transport::exchange has it
    double seconds = 30;       ///< from when the stream has come to it
    uint64_t status =
        0; ///< address of 32 bits of the device: other than 0 then, what this rank sends is not to be used
    /// Calls what may fail, on the thread of the call or in a function of the stream, and makes the failure known.
    std::function<void(const std::function<void()> &work)> guard;
    std::function<void()> check; ///< throws when this rank's own work before the exchange has failed
  };
  /// Puts an exchange into the stream. Of two ranks one sends what the other receives, in the same order of calls, on
  /// one stream. Through the guard comes Error{Environment} naming both sides: for ranks that did not take part until
  /// the deadline, are gone, exchange something else, or send what is not to be used; for calls that fail; and the
  /// reason of `end`. After an error it has failed for good. One thread at a time.
  virtual void exchange(Stream &stream, const Exchange &exchange) = 0;
};

/// Over ncclSend and ncclRecv of NCCL, of RCCL on AMD's GPUs: a communicator for each rail. Collective over all ranks
/// of the group, which has its sockets by then; throws as HostGroup::agree, Error{Input} for devices that are no GPUs
/// and Error{Environment} for a library that is not found, and for libraries of different versions.
std::unique_ptr<StreamTransport> makeNcclTransport(HostGroup &group, std::shared_ptr<Device> device);

} // namespace heddle
