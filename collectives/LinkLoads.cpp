// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads an algorithm once for each rank, counts bytes by link and phase, and estimates the time from them.
#include "collectives/LinkLoads.h"
#include "chips/Chip.h"
#include <algorithm>

namespace heddle {
namespace {

/// Reads an algorithm as rank `me`.
class LoadReader : public ProtocolWriter {
public:
  LoadReader(LinkLoads &loads, int me, PacketForm packets) : loads(loads), me(me), packets(packets) { phase(); }

  void barrier() override {
    ++number;
    phase();
    (published ? loads.legs : loads.barriers) += me == 0; // addresses go as packets, which release nothing
    published = false;
  }
  void await() override { loads.barriers += me == 0; }
  TileHandle input(const Rank &) override { return 0; }
  void output(const Rank &, TileHandle) override {}
  void store(const Rank &at, const Slot &, TileHandle) override {
    move(me, of(at), 1);
    loads.staged += of(at) >= 0 ? share / loads.ranks : 0;
  }
  TileHandle load(const Rank &at, const Slot &) override { return read(of(at)); }
  void send(const Rank &to, const Slot &, TileHandle) override {
    if (received) { // an answer
      received = false;
      ++number;
    }
    move(me, of(to), packets == PacketForm::LL ? 2 : 1);
    loads.staged += 2 * share / loads.ranks; // twice the bytes, or written twice
  }
  TileHandle receive(const Rank &, const Slot &, TileHandle) override {
    loads.legs += !received && me == 0;
    received = true;
    return 0;
  }
  void publish() override { published = true; }
  TileHandle peerInput(const Rank &of, const Rank &) override { return read(this->of(of)); }
  void peerOutput(const Rank &of, const Rank &, TileHandle) override { move(me, this->of(of), 1); }
  void inTurn(const std::function<void()> &body) override {
    share /= 2;
    body();
    share *= 2;
  }
  TileHandle fold(const std::function<TileHandle(int rank)> &contribution) override {
    for (int rank = 0; rank < loads.ranks; ++rank)
      contribution(rank);
    return 0;
  }

private:
  int of(const Rank &rank) const { return rank.of(me, loads.ranks); }
  LinkLoads::Phase &phase() {
    while (loads.phases.size() <= number)
      loads.phases.push_back({std::vector<double>(size_t(loads.ranks) * size_t(loads.ranks)), false});
    return loads.phases[number];
  }
  void move(int from, int to, double parts) {
    if (from >= 0 && to >= 0 && from != to)
      phase().parts[size_t(from * loads.ranks + to)] += parts * share;
  }
  TileHandle read(int from) {
    phase().reads |= from != me;
    move(from, me, 1);
    return 0;
  }

  LinkLoads &loads;
  const int me;
  const PacketForm packets;
  size_t number = 0;
  double share = 1;
  bool received = false, published = false;
};

/// Estimates, of published times of such kernels on eight MI300X and MI355X: 5 us for a kernel of packets, 7 us with a
/// barrier and reads; a launch is the same for all. A barrier writes a device's caches back before its signals.
constexpr double legNanoseconds = 1500, barrierNanoseconds = 2500, readNanoseconds = 1000;
/// Data that are staged go once more through the memory of a device: written and read.
constexpr double stagingBytesPerNanosecond = 1000;
/// Of a chip whose links are not known: what copies get of PCIe 4 with 16 lanes.
constexpr int64_t unknownBytesPerSecond = 25'000'000'000;

} // namespace

double LinkLoads::Phase::largest() const {
  return parts.empty() ? 0 : *std::max_element(parts.begin(), parts.end());
}

double LinkLoads::Phase::smallest(int ranks) const {
  double least = largest();
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to)
      if (from != to)
        least = std::min(least, parts[size_t(from * ranks + to)]);
  return least;
}

double LinkLoads::Phase::fullestPort(int ranks) const {
  double most = 0;
  for (int rank = 0; rank < ranks && !parts.empty(); ++rank) {
    double sent = 0, received = 0;
    for (int peer = 0; peer < ranks; ++peer) {
      sent += parts[size_t(rank * ranks + peer)];
      received += parts[size_t(peer * ranks + rank)];
    }
    most = std::max({most, sent, received});
  }
  return most;
}

LinkLoads linkLoads(const Algorithm &algorithm, const Collective &collective, PacketForm packets) {
  LinkLoads loads;
  loads.ranks = collective.ranks;
  for (int me = 0; me < collective.ranks; ++me) {
    LoadReader reader(loads, me, packets);
    algorithm.write(reader, collective);
  }
  return loads;
}

double estimateNanoseconds(const LinkLoads &loads, const PeerLinks &links, int64_t partBytes) {
  bool hasSwitch = links.perPair == 0;
  double usable = double(links.usableBytesPerSecond ? links.usableBytesPerSecond : unknownBytesPerSecond);
  double bytes = double(partBytes), perNanosecond = (hasSwitch ? 1 : links.perPair) * usable * 1e-9;
  double time = legNanoseconds * loads.legs + barrierNanoseconds * loads.barriers;
  for (const LinkLoads::Phase &phase : loads.phases)
    time += (phase.reads ? readNanoseconds : 0) +
            (hasSwitch ? phase.fullestPort(loads.ranks) : phase.largest()) * bytes / perNanosecond;
  return time + loads.staged * bytes / stagingBytesPerNanosecond;
}

} // namespace heddle
