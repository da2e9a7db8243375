// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads an algorithm for whose data each rank loads after a barrier.
#include "collectives/model/DataSources.h"

namespace heddle {
namespace {

class SourceFinder : public ProtocolWriter {
public:
  explicit SourceFinder(const Plan &plan) : plan(plan), sources(size_t(plan.collective.ranks)) {}

  std::vector<std::set<int>> run() {
    for (me = 0; me < plan.collective.ranks; ++me)
      plan.algorithm->write(*this, plan.collective);
    return sources;
  }

  void barrier() override {}
  TileHandle input(const Rank &) override { return 0; }
  void output(const Rank &, TileHandle) override {}
  void store(const Rank &at, const Slot &, TileHandle) override { add(resolve(at), me); }
  TileHandle load(const Rank &at, const Slot &) override {
    add(me, resolve(at));
    return 0;
  }
  void send(const Rank &, const Slot &, TileHandle) override {}
  TileHandle receive(const Rank &, const Slot &, TileHandle) override { return 0; }
  void publish() override {}
  TileHandle peerInput(const Rank &of, const Rank &) override {
    add(me, resolve(of));
    return 0;
  }
  void peerOutput(const Rank &of, const Rank &, TileHandle) override { add(resolve(of), me); }
  void inTurn(const std::function<void()> &body) override { body(); }
  TileHandle fold(const std::function<TileHandle(int rank)> &contribution) override {
    for (int rank = 0; rank < plan.collective.ranks; ++rank)
      contribution(rank);
    return 0;
  }

private:
  int resolve(const Rank &rank) const { return rank.of(me, plan.collective.ranks); }
  void add(int reader, int source) {
    if (reader >= 0 && source >= 0 && reader != source)
      sources[size_t(reader)].insert(source);
  }
  const Plan &plan;
  int me = 0;
  std::vector<std::set<int>> sources;
};

} // namespace

std::vector<std::set<int>> dataSources(const Plan &plan) {
  return SourceFinder(plan).run();
}

} // namespace heddle
