// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each part is two messages of MPI: a header, and the bytes, which are received when the header says as many as this
// rank wants. A receive of fewer bytes than are sent would end the program in libraries that ask the error handler of
// MPI_COMM_WORLD, which is the program's. Bytes are copied into and out of messages: MPI may still write what it was
// given when an exchange has failed.
#include "runtime/processes/Handshake.h"
#include "runtime/processes/Mpi.h"
#include "runtime/processes/StreamSockets.h"
#include "runtime/processes/Transport.h"
#include "support/Error.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <mutex>

namespace heddle {
namespace {

class MpiTransport : public Transport {
public:
  MpiTransport(Mpi &mpi, int tag) : mpi(mpi), tag(tag) {}
  void exchange(const std::vector<Part> &out, const std::vector<Part> &in, uint64_t what, double seconds) override;
  void end(const std::string &reason) override;
  std::string description() const override { return mpi.library(); }
  size_t mostBytes() const override { return Mpi::Transfers::mostBytes; }

private:
  void requireGoing();

  Mpi &mpi;
  const int tag;
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
  Mpi::Transfers headers(mpi), bodies(mpi), sent(mpi);
  std::vector<size_t> bodyOf(in.size(), SIZE_MAX); ///< its number in `bodies`, when its header has come
  auto hasCome = [&](size_t i) { return bodyOf[i] != SIZE_MAX && bodies.hasArrived(bodyOf[i]); };
  Deadline deadline(seconds);
  PollingPause pause;
  try {
    for (const Part &part : in)
      headers.receive(part.rank, tag, TransferHeader::size);
    for (const Part &part : out) {
      sent.send(part.rank, tag, TransferHeader{number, what, part.bytes}.encode());
      sent.send(part.rank, tag + 1, std::string(static_cast<const char *>(part.data), part.bytes));
    }
    for (;;) {
      bool isDone = headers.poll();
      for (size_t i = 0; i < in.size(); ++i) {
        if (!headers.hasArrived(i) || bodyOf[i] != SIZE_MAX)
          continue;
        TransferHeader::check(headers.bytes(i), {number, what, in[i].bytes}, fmt::format("rank {}", in[i].rank));
        bodyOf[i] = bodies.size();
        bodies.receive(in[i].rank, tag + 1, in[i].bytes);
      }
      isDone &= bodies.poll();
      isDone &= sent.poll();
      if (isDone)
        break;
      requireGoing();
      if (deadline.passed()) {
        std::vector<int> late;
        for (size_t i = 0; i < in.size(); ++i)
          if (!hasCome(i))
            late.push_back(in[i].rank);
        for (size_t i = 0; i < out.size(); ++i)
          if (!sent.hasArrived(2 * i) || !sent.hasArrived(2 * i + 1))
            late.push_back(out[i].rank);
        throw environmentError(lateText(std::move(late), seconds));
      }
      pause.wait();
    }
    for (size_t i = 0; i < in.size(); ++i)
      std::memcpy(in[i].data, bodies.bytes(bodyOf[i]).data(), in[i].bytes);
  } catch (const Error &error) {
    end(error.what());
    throw;
  }
}

} // namespace

std::unique_ptr<Transport> makeMpiTransport(Bootstrap &bootstrap, double seconds) {
  Mpi *mpi = nullptr;
  int number = 0;
  for (const std::string &theirs : together(bootstrap, seconds, [&] {
         mpi = &Mpi::instance();
         if (mpi->rank() != bootstrap.rank() || mpi->size() != bootstrap.size())
           throw inputError(fmt::format("it is rank {} of {}, and for MPI rank {} of {}", bootstrap.rank(),
                                        bootstrap.size(), mpi->rank(), mpi->size()),
                            {"a transport over MPI is for a group that MPI has brought together: `--bootstrap mpi`"});
         FieldWriter mine;
         mine.number(uint64_t(mpi->transports));
         return mine.bytes;
       })) {
    FieldReader fields(theirs, "a rank of the group");
    number = std::max(number, int(fields.number(INT_MAX / 2)));
    fields.end();
  }
  mpi->transports = number + 1;
  return std::make_unique<MpiTransport>(*mpi, Mpi::transportTag(number));
}

} // namespace heddle
