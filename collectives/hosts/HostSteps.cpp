// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The steps of each collective between hosts. The order in which a rank puts steps into its two streams is the same on
// all ranks of a host, and that of exchanges the same on all ranks of a rail.
#include "collectives/hosts/HostSteps.h"
#include "runtime/Event.h"
#include "runtime/Stream.h"
#include "support/Error.h"
#include <algorithm>
#include <set>

namespace heddle {
namespace {

using State = HostCommunicator::State;
using Operation = HostCommunicator::Operation;
using Move = State::Move;

HostKernelOptions kernelOptions(const State &state) {
  return {state.device->chip(), state.node->computeUnits(), state.reservedUnits()};
}

/// Null for one rank, which has nothing to do.
Communicator::Operation *prepareNode(State &state, const HostPlan &plan, CollectiveKind kind, int64_t inner) {
  if (plan.perHost == 1 || inner == 0)
    return nullptr;
  return &state.node->prepare(planOfNode(plan, kind, inner, kernelOptions(state)));
}

/// What one call does.
class Steps {
public:
  Steps(State &state, Operation &operation, uint64_t input, uint64_t output)
      : state(state), operation(operation), plan(operation.plan), input(input), output(output),
        size(uint64_t(elementSizeBytes(plan.collective.type))), own(state.layout.host()), hosts(plan.hosts),
        part(uint64_t(plan.collective.partElements()) * size) {}
  void run();

private:
  void allReduce();
  void oneByOne();
  void reduceScatter();
  void chunkStage(int64_t chunk, size_t stage, uint64_t offset);
  void restOfAllReduce(uint64_t offset);

  void launch(Communicator::Operation *node, uint64_t from, uint64_t to) {
    state.node->launch(*node, state.layout.local(), {DeviceAddress(from), DeviceAddress(to)});
  }
  void copy(uint64_t to, uint64_t from, uint64_t bytes) {
    if (to != from && bytes)
      state.nodeStream().copy(to, from, bytes);
  }
  /// To each other host from `out` + host * outStep, from each into `in` + host * inStep.
  void exchangeAll(uint64_t out, uint64_t outStep, uint64_t in, uint64_t inStep, uint64_t bytes) {
    std::vector<Move> outs, ins;
    for (int host = 0; host < hosts; ++host)
      if (host != own) {
        outs.push_back({host, out + uint64_t(host) * outStep, bytes});
        ins.push_back({host, in + uint64_t(host) * inStep, bytes});
      }
    state.exchange(outs, ins, next());
  }
  /// Exchanges follow the kernels so far.
  void railAfterNode(const std::shared_ptr<Event> &event) {
    state.nodeStream().record(event);
    state.rail->wait(event);
  }
  void fold(int64_t elements, uint64_t from, uint64_t to) {
    state.fold->launch(state.nodeStream(), plan.collective.type, plan.collective.reduction, hosts, elements, from, to);
  }
  /// Which exchange of which call this is.
  uint64_t next() { return (operation.hash ^ state.launches * 0x9E3779B97F4A7C15u) + step++; }
  int hostAt(int distance) const { return (own + distance + hosts) % hosts; }

  State &state;
  Operation &operation;
  const HostPlan &plan;
  const uint64_t input, output, size;
  const int own, hosts;
  const uint64_t part; ///< bytes
  uint64_t step = 0;
};

void Steps::run() {
  if (plan.collective.partElements() == 0)
    return;
  railAfterNode(operation.computed.front()); // what the caller has put into the stream, and calls before
  switch (plan.collective.kind) {
  case CollectiveKind::AllReduce:
    return allReduce();
  case CollectiveKind::ReduceScatter:
    return reduceScatter();
  default:
    return oneByOne();
  }
}

// Turn t has stage s of chunk t - s, the first stages first: so kernels of a chunk run while the bytes of the one
// before are exchanged.
void Steps::allReduce() {
  auto chunks = int64_t(plan.chunks.size()), stages = int64_t(plan.algorithm == HostAlgorithm::Pieces ? 3 : 2);
  std::vector<uint64_t> offsets;
  uint64_t offset = 0;
  for (int64_t elements : plan.chunks)
    offsets.push_back(std::exchange(offset, offset + uint64_t(elements) * size));
  for (int64_t turn = 0; turn < chunks + stages - 1 && chunks; ++turn)
    for (int64_t stage = 0; stage < stages; ++stage)
      if (int64_t chunk = turn - stage; chunk >= 0 && chunk < chunks)
        chunkStage(chunk, size_t(stage), offsets[size_t(chunk)]);
  if (plan.rest)
    restOfAllReduce(offset);
}

/// `partial` has this host's sum of a shard, `received` those of all hosts one after the other, `gathered` the whole
/// sum of the shard. Hosts of one rank have a shard that is the chunk.
void Steps::chunkStage(int64_t chunk, size_t stage, uint64_t offset) {
  Operation::Slot &slot = operation.memory[size_t(chunk) % Operation::slots];
  int64_t elements = plan.chunks[size_t(chunk)], shard = elements / plan.perHost;
  bool pieces = plan.algorithm == HostAlgorithm::Pieces;
  uint64_t unit = uint64_t(pieces ? shard / hosts : shard) * size; // what goes to one host at once
  Operation::Kernels kernels;
  for (const auto &[count, known] : operation.ofChunks)
    if (count == elements)
      kernels = known;
  uint64_t received = slot.received.address(), mine = received + uint64_t(own) * unit;
  uint64_t partial = pieces ? slot.partial.address() : mine;
  uint64_t gathered = plan.perHost == 1 ? output + offset : slot.gathered.address();
  if (stage > 0)
    state.nodeStream().wait(slot.exchanged[stage - 1]);
  if (stage == 0) {
    if (kernels.reduce)
      launch(kernels.reduce, input + offset, partial);
    else if (pieces)
      partial = input + offset;
    else
      copy(mine, input + offset, unit);
    if (pieces)
      copy(mine, partial + uint64_t(own) * unit, unit);
    railAfterNode(slot.computed[stage]);
    exchangeAll(partial, pieces ? unit : 0, received, unit, unit);
    state.rail->record(slot.exchanged[stage]);
  } else if (stage == 1) {
    fold(int64_t(unit / size), received, pieces ? gathered + uint64_t(own) * unit : gathered);
    if (pieces) {
      railAfterNode(slot.computed[stage]);
      exchangeAll(gathered + uint64_t(own) * unit, 0, gathered, unit, unit);
      state.rail->record(slot.exchanged[stage]);
      return;
    }
  }
  if (stage + 1 == size_t(pieces ? 3 : 2) && kernels.gather)
    launch(kernels.gather, gathered, output + offset);
}

void Steps::restOfAllReduce(uint64_t offset) {
  Operation::Slot &slot = operation.memory.back();
  uint64_t bytes = uint64_t(plan.rest) * size, mine = slot.received.address() + uint64_t(own) * bytes;
  if (operation.ofRest)
    launch(operation.ofRest, input + offset, mine);
  else
    copy(mine, input + offset, bytes);
  railAfterNode(slot.computed[0]);
  exchangeAll(mine, 0, slot.received.address(), bytes, bytes);
  state.rail->record(slot.exchanged[0]);
  state.nodeStream().wait(slot.exchanged[0]);
  fold(plan.rest, slot.received.address(), output + offset);
}

/// All-gather and all-to-all. Exchange k sends to the host k after this one; then the kernels of the host k before this
/// one have what they work on. A host's block of the output is [rank of the host][part].
void Steps::oneByOne() {
  bool isGather = plan.collective.kind == CollectiveKind::AllGather;
  uint64_t block = uint64_t(plan.perHost) * part, sent = isGather ? part : block;
  uint64_t received = operation.memory.front().received.address();
  for (int k = 1; k < hosts; ++k) {
    uint64_t from = isGather ? input : input + uint64_t(hostAt(k)) * sent;
    state.exchange({{hostAt(k), from, sent}}, {{hostAt(-k), received + uint64_t(hostAt(-k)) * sent, sent}}, next());
    state.rail->record(operation.exchanged[size_t(k)]);
  }
  // In place, what arrives must not be written where something has still to be sent from.
  bool isInPlace = !isGather && input == output;
  if (isInPlace)
    state.nodeStream().wait(operation.exchanged.back());
  for (int k = 0; k < hosts; ++k) {
    int host = hostAt(-k);
    if (k > 0)
      state.nodeStream().wait(operation.exchanged[size_t(k)]);
    uint64_t from = k > 0 ? received + uint64_t(host) * sent : isGather ? input : input + uint64_t(host) * sent;
    uint64_t to = output + uint64_t(host) * block;
    if (operation.ofHosts)
      launch(operation.ofHosts, from, to);
    else
      copy(to, from, part);
  }
}

void Steps::reduceScatter() {
  uint64_t block = uint64_t(plan.perHost) * part;
  Operation::Slot &slot = operation.memory.front();
  uint64_t received = slot.received.address(), mine = received + uint64_t(own) * part;
  auto reduce = [&](int host, uint64_t to) {
    if (operation.ofHosts)
      launch(operation.ofHosts, input + uint64_t(host) * block, to);
    else
      copy(to, input + uint64_t(host) * block, part);
  };
  for (int k = 1; k < hosts; ++k) {
    int to = hostAt(k), from = hostAt(-k);
    uint64_t partial = slot.partial.address() + uint64_t(to) * part;
    reduce(to, partial);
    railAfterNode(operation.computed[size_t(k)]);
    state.exchange({{to, partial, part}}, {{from, received + uint64_t(from) * part, part}}, next());
  }
  state.rail->record(operation.exchanged.back());
  reduce(own, mine);
  state.nodeStream().wait(operation.exchanged.back());
  fold(plan.collective.partElements(), received, output);
}

/// Bytes of a slot of an operation's memory.
struct SlotBytes {
  uint64_t received = 0, partial = 0, gathered = 0;
};

/// In the order of Operation::memory.
std::vector<SlotBytes> slotsOfAllReduce(const HostPlan &plan) {
  uint64_t size = uint64_t(elementSizeBytes(plan.collective.type)), shard = 0, hosts = uint64_t(plan.hosts);
  for (int64_t elements : plan.chunks)
    shard = std::max(shard, uint64_t(elements / plan.perHost) * size);
  bool pieces = plan.algorithm == HostAlgorithm::Pieces, hasNode = plan.perHost > 1;
  SlotBytes chunk{pieces ? shard : shard * hosts, pieces && hasNode ? shard : 0, hasNode ? shard : 0};
  std::vector<SlotBytes> slots(std::min(plan.chunks.size(), Operation::slots), chunk);
  if (plan.rest)
    slots.push_back({uint64_t(plan.rest) * size * hosts});
  return slots;
}

std::vector<SlotBytes> slotsOf(const HostPlan &plan) {
  const Collective &c = plan.collective;
  if (c.partElements() == 0)
    return {};
  if (c.kind == CollectiveKind::AllReduce)
    return slotsOfAllReduce(plan);
  uint64_t parts = uint64_t(c.partElements() * elementSizeBytes(c.type)) * uint64_t(plan.hosts);
  return {{parts * (c.kind == CollectiveKind::AllToAll ? uint64_t(plan.perHost) : 1),
           c.kind == CollectiveKind::ReduceScatter ? parts : 0}};
}

} // namespace

HostCommunicator::Needs needsOf(const State &state, const HostPlan &plan) {
  HostCommunicator::Needs needs;
  for (const SlotBytes &slot : slotsOf(plan))
    needs.memoryBytes += slot.received + slot.partial + slot.gathered;
  std::set<std::string> counted;
  for (const Plan &kernel : kernelsOf(plan, kernelOptions(state))) {
    if (!kernel.rounds || !counted.insert(kernelKey(kernel)).second)
      continue;
    needs.memoryBytes += uint64_t(kernel.arena.sizeBytes + kernel.arena.stagingBytes);
    needs.blocks = std::max(needs.blocks, int(kernel.blocks));
  }
  return needs;
}

void makeMemory(State &state, Operation &operation) {
  const HostPlan &plan = operation.plan;
  const Collective &c = plan.collective;
  for (int host = 0; host < plan.hosts; ++host) {
    operation.computed.push_back(state.device->createEvent());
    operation.exchanged.push_back(state.device->createEvent());
  }
  auto allocate = [&](uint64_t bytes, const char *name) {
    return bytes ? state.device->allocate(bytes, name) : Buffer();
  };
  for (const SlotBytes &bytes : slotsOf(plan)) {
    Operation::Slot &slot = operation.memory.emplace_back();
    slot.received = allocate(bytes.received, "parts of hosts");
    slot.partial = allocate(bytes.partial, "sums of a host");
    slot.gathered = allocate(bytes.gathered, "sum of a shard");
    for (size_t stage = 0; stage < Operation::stages; ++stage) {
      slot.computed[stage] = state.device->createEvent();
      slot.exchanged[stage] = state.device->createEvent();
    }
  }
  for (int64_t elements : foldsOf(plan))
    state.fold->prepare(c.type, c.reduction, plan.hosts, elements);
}

void prepareKernels(State &state, Operation &operation) {
  const HostPlan &plan = operation.plan;
  if (plan.collective.kind != CollectiveKind::AllReduce) {
    operation.ofHosts = prepareNode(state, plan, plan.collective.kind, plan.collective.inner);
    return;
  }
  for (int64_t elements : plan.chunks) {
    auto isKnown = [&](const auto &known) { return known.first == elements; };
    if (std::none_of(operation.ofChunks.begin(), operation.ofChunks.end(), isKnown))
      operation.ofChunks.push_back({elements,
                                    {prepareNode(state, plan, CollectiveKind::ReduceScatter, elements / plan.perHost),
                                     prepareNode(state, plan, CollectiveKind::AllGather, elements / plan.perHost)}});
  }
  operation.ofRest = prepareNode(state, plan, CollectiveKind::AllReduce, plan.rest);
}

void runSteps(State &state, Operation &operation, uint64_t input, uint64_t output) {
  Steps(state, operation, input, output).run();
}

} // namespace heddle
