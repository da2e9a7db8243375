// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collectives of NCCL on CUDA devices of one process, to be measured beside Heddle's.
#pragma once
#include "runtime/Stream.h"
#include "support/ElementType.h"
#include <memory>
#include <string>
#include <vector>

namespace heddle {

class Device;
class NcclApi;
namespace nccl {
using Communicator = struct CommunicatorHandle *;
}

/// What every rank does. `partElements` is the elements of what a rank puts in (all-reduce, all-gather), or of the part
/// that goes to each rank (reduce-scatter, all-to-all).
struct NcclCollective {
  enum class Kind { AllReduce, AllGather, ReduceScatter, AllToAll };
  enum class Reduction { Sum, Product, Minimum, Maximum };
  Kind kind = Kind::AllReduce;
  ElementType type = ElementType::F32;
  Reduction reduction = Reduction::Sum;
  int64_t partElements = 0;
};

/// Rank r is device r. The streams are the group's own, so that what they still hold is gone before NCCL is. Ordinary
/// buffers, no NVLink multicast. One thread launches for all ranks.
class NcclGroup {
public:
  struct Operands {
    uint64_t input, output; ///< addresses of a rank
  };

  /// Throws Error{Input} for devices that are not CUDA's; Error{Environment} without NCCL, and what it says. An empty
  /// `library` is what HEDDLE_NCCL_LIBRARY says.
  explicit NcclGroup(const std::vector<std::shared_ptr<Device>> &devices, const std::string &library = "");
  NcclGroup(const NcclGroup &) = delete;
  ~NcclGroup();

  std::string description() const; ///< `NCCL 2.27.3 (libnccl.so.2)`
  Stream &stream(int rank) { return *streams[size_t(rank)]; }
  /// Throws Error{Input} for a type that NCCL has not.
  static void check(const NcclCollective &collective);
  /// Puts the collective into the streams of all ranks, also of streams that are being captured; returns at once.
  void launch(const NcclCollective &collective, const std::vector<Operands> &operands);

private:
  void launchRank(const NcclCollective &collective, size_t rank, const Operands &operands);

  std::vector<std::shared_ptr<Device>> devices;
  std::unique_ptr<NcclApi> api;
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<nccl::Communicator> communicators;
  bool failed = false;
};

} // namespace heddle
