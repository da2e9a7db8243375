// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each part is one message of MPI, its header first. Bytes are copied into and out of messages: MPI may still write
// what it was given when an exchange has failed.
#include "runtime/processes/Handshake.h"
#include "runtime/processes/Mpi.h"
#include "runtime/processes/Transport.h"
#include "support/Error.h"
#include <atomic>
#include <cstring>
#include <fmt/format.h>
#include <mutex>

namespace heddle {
namespace {

class MpiTransport : public Transport {
public:
  MpiTransport() : mpi(Mpi::instance()) {}
  void exchange(const std::vector<Part> &out, const std::vector<Part> &in, uint64_t what, double seconds) override;
  void end(const std::string &reason) override;
  std::string description() const override { return mpi.library(); }

private:
  void requireGoing();

  Mpi &mpi;
  uint64_t number = 0;
  std::mutex mutex;
  std::string failure;
};

void MpiTransport::end(const std::string &reason) {
  std::lock_guard lock(mutex);
  if (failure.empty())
    failure = reason;
}

void MpiTransport::requireGoing() {
  std::lock_guard lock(mutex);
  if (!failure.empty())
    throw environmentError(failure);
}

void MpiTransport::exchange(const std::vector<Part> &out, const std::vector<Part> &in, uint64_t what, double seconds) {
  requireGoing();
  ++number;
  Mpi::Transfers transfers(mpi); // first those that are received
  for (const Part &part : in)
    transfers.receive(part.rank, Mpi::TransportBytes, TransferHeader::size + part.bytes);
  for (const Part &part : out)
    transfers.send(
        part.rank, Mpi::TransportBytes,
        TransferHeader{number, what, part.bytes}.encode().append(static_cast<const char *>(part.data), part.bytes));
  Deadline deadline(seconds);
  PollingPause pause;
  try {
    while (!transfers.poll()) {
      requireGoing();
      if (deadline.passed()) {
        std::vector<int> late;
        for (size_t i = 0; i < in.size() + out.size(); ++i)
          if (!transfers.hasArrived(i))
            late.push_back(i < in.size() ? in[i].rank : out[i - in.size()].rank);
        throw environmentError(lateText(std::move(late), seconds));
      }
      pause.wait();
    }
    for (size_t i = 0; i < in.size(); ++i) {
      std::string_view bytes = transfers.bytes(i);
      TransferHeader::check(bytes.substr(0, TransferHeader::size), {number, what, in[i].bytes},
                            fmt::format("rank {}", in[i].rank));
      std::memcpy(in[i].data, bytes.data() + TransferHeader::size, in[i].bytes);
    }
  } catch (const Error &error) {
    end(error.what());
    throw;
  }
}

} // namespace

std::unique_ptr<Transport> makeMpiTransport(const Bootstrap &bootstrap) {
  Mpi &mpi = Mpi::instance();
  if (mpi.rank() != bootstrap.rank() || mpi.size() != bootstrap.size())
    throw inputError(fmt::format("rank {} of {} is rank {} of {} for MPI", bootstrap.rank(), bootstrap.size(),
                                 mpi.rank(), mpi.size()),
                     {"a transport over MPI is for a group that MPI has brought together: `--bootstrap mpi`"});
  return std::make_unique<MpiTransport>();
}

} // namespace heddle
