// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A bootstrap over open sockets: all ranks send to rank 0, which sends all to all.
#pragma once
#include "runtime/processes/Bootstrap.h"
#include "runtime/processes/Deadline.h"
#include "runtime/processes/Frame.h"
#include "support/FileDescriptor.h"

namespace heddle {

class SocketBootstrap : public Bootstrap {
public:
  /// `links`: of rank 0 to ranks 1 to size - 1, of the others to rank 0.
  SocketBootstrap(int rank, int size, std::vector<FileDescriptor> links, int refused = 0);

  int rank() const override { return own; }
  int size() const override { return count; }
  int refused() const override { return refusals; }
  std::string localAddress() const override;
  std::vector<std::string> allGather(std::string_view mine, double seconds) override;

  /// For tests: the texts of an `All` frame. Throws as FieldReader.
  static std::vector<std::string> decodeAll(const std::string &body, int size, uint64_t round);

private:
  std::vector<std::string> gatherAtRankZero(const std::string &mine, double seconds);
  std::vector<std::string> gatherThroughRankZero(const std::string &mine, double seconds);
  void collect(std::vector<std::string> &texts, const Deadline &deadline, double seconds);

  const int own, count;
  std::vector<FileDescriptor> links;
  std::vector<FrameReader> readers; ///< of each link
  const int refusals;
  uint64_t round = 0;
  std::string failure; ///< of an earlier call
};

} // namespace heddle
