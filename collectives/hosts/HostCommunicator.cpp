// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two streams: kernels in that of the host's group, exchanges in one of the transport's. Each step waits for the one
// before by an event, so a call returns at once, and steps of several chunks run beside each other.
#include "collectives/hosts/HostCommunicator.h"
#include "binary/PeerAbi.h"
#include "collectives/hosts/HostSteps.h"
#include "runtime/Event.h"
#include "runtime/HostGroup.h"
#include "runtime/Stream.h"
#include "runtime/processes/Deadline.h"
#include "runtime/processes/Frame.h"
#include "support/Error.h"
#include "support/Hash.h"
#include <algorithm>
#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <thread>

namespace heddle {
namespace {

constexpr double graceSeconds = 1; ///< of exchanges: a rank that a kernel waits for is named by that kernel first

HostModel::Line nodeLine(const Device &device) {
  return device.chip().vendor == Vendor::Host ? HostModel::Line{10, 3000} : HostModel::Line{3, 300000};
}

} // namespace

HostCommunicator::State::State(std::unique_ptr<HostGroup> theGroup, Options theOptions)
    : group(std::move(theGroup)), options(std::move(theOptions)), layout(group->layout()) {
  agreeOnModel();
  std::unique_ptr<ProcessGroup> processes = group->takeNode();
  nodeProcesses = processes.get();
  device = processes->device();
  isHost = device->chip().vendor == Vendor::Host;
  group->agree([&] {
    node = std::make_unique<Communicator>(std::move(processes),
                                          Communicator::Options{options.deadlineSeconds, options.kernels});
    rail = device->createStream();
    for (std::shared_ptr<Event> &event : finished)
      event = device->createEvent();
    given = device->createEvent();
    latest = device->createEvent();
    fold = std::make_unique<LocalFold>(device, options.kernels, node->computeUnits());
    return "";
  });
  group->all().onChange([this] { othersChanged(); });
}

/// Plans depend on it, and who is given none measures together with all others.
void HostCommunicator::State::agreeOnModel() const {
  std::vector<std::string> models = group->agree([&] { return options.model ? describe(*options.model) : "measured"; });
  for (int rank = 1; rank < group->ranks(); ++rank)
    if (models[size_t(rank)] != models[0])
      throw inputError(
          fmt::format("the model of hosts of rank {} is {}, that of rank 0 {}", rank, models[size_t(rank)], models[0]),
          {"every rank of a group has the same options"});
}

/// On the thread that hears of it: whatever the program waits for, it ends.
void HostCommunicator::State::othersChanged() {
  std::optional<Error> error = group->all().failureError();
  if (!error)
    return;
  failed = true;
  group->carrier().end(error->what());
  if (ending.valid())
    return;
  // On a thread that may call the device: a function of a stream may not.
  ending = std::async(std::launch::async, [this, reason = std::string(error->what())] {
    try {
      node->abort(reason);
    } catch (const std::exception &) { // its waits end at their deadlines
    }
  });
}

int HostCommunicator::State::reservedUnits() const {
  constexpr int ofNccl = 32; // its blocks take a unit's registers whole
  return std::max(options.reservedUnits, group->streams() ? ofNccl : 0);
}

HostCommunicator::HostCommunicator(std::unique_ptr<HostGroup> group, Options options)
    : state(std::make_unique<State>(std::move(group), std::move(options))) {
  state->model = state->options.model ? *state->options.model : state->measure();
}

HostCommunicator::~HostCommunicator() = default;

HostCommunicator::State::~State() {
  group->all().onChange({});
  group->carrier().end("this rank has left the group");
  if (ending.valid())
    ending.wait();
  rail.reset();
  node.reset();
}

const HostGroup &HostCommunicator::group() const {
  return *state->group;
}
const HostModel &HostCommunicator::model() const {
  return state->model;
}
int HostCommunicator::computeUnits() const {
  return state->node->computeUnits();
}
Stream &HostCommunicator::stream() {
  return state->nodeStream();
}
const std::shared_ptr<Device> &HostCommunicator::device() const {
  return state->device;
}
const ProcessGroup &HostCommunicator::node() const {
  return *state->nodeProcesses;
}
void HostCommunicator::setStepSeconds(double value) {
  state->group->setStepSeconds(value);
  state->nodeProcesses->setStepSeconds(value);
}

/// Microseconds of an exchange of `bytes` with each rank of the rail.
double HostCommunicator::State::measuredExchange(size_t bytes) {
  using Clock = std::chrono::steady_clock;
  std::vector<char> out(bytes), in(bytes * size_t(layout.hosts));
  Buffer sent, received;
  std::vector<Move> outs, ins;
  if (group->streams()) {
    sent = device->allocate(out.size(), "sent");
    received = device->allocate(in.size(), "received");
  }
  std::vector<Transport::Part> bytesOut, bytesIn;
  for (int host = 0; host < layout.hosts; ++host)
    if (int rank = layout.rankOf(host, layout.local()); host != layout.host()) {
      outs.push_back({host, sent.address(), bytes});
      ins.push_back({host, received.address() + size_t(host) * bytes, bytes});
      bytesOut.push_back({rank, out.data(), bytes});
      bytesIn.push_back({rank, in.data() + size_t(host) * bytes, bytes});
    }
  auto start = Clock::now();
  if (group->streams()) {
    exchangeOnStream(outs, ins, bytes);
    rail->synchronize();
  } else {
    group->bytes()->exchange(bytesOut, bytesIn, bytes, options.deadlineSeconds);
  }
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

/// A few exchanges, since tests and slow transports make few calls. The slowest rank's count.
HostModel HostCommunicator::State::measure() {
  HostModel measured;
  measured.node = nodeLine(*device);
  constexpr size_t large = 256 << 10;
  int others = layout.hosts - 1;
  double times[2] = {};
  for (std::string &text : group->agree([&] {
         measuredExchange(8);
         double small = std::min(measuredExchange(8), measuredExchange(8)), big = measuredExchange(large);
         return fmt::format("{} {}", uint64_t(small * 1e3), uint64_t(std::max(1.0, big - small) * 1e3));
       })) {
    unsigned long long small = 0, more = 0;
    if (std::sscanf(text.c_str(), "%llu %llu", &small, &more) != 2)
      throw environmentError(fmt::format("a rank sent `{}` for the times of a transport", text));
    times[0] = std::max(times[0], double(small) * 1e-3);
    times[1] = std::max(times[1], double(more) * 1e-3);
  }
  measured.rail = {std::max(0.1, times[0]), double(large) * others / std::max(1e-3, times[1])};
  return measured;
}

//===-- Operations -----------------------------------------------------------------------------------------------===//

void HostCommunicator::check(const HostPlan &plan) const {
  const Carrier &transport = state->group->carrier();
  if (uint64_t part = largestPartBytes(plan); part > transport.mostBytes())
    throw inputError(fmt::format("{} sends parts of {} bytes between hosts, {} takes at most {}",
                                 describe(plan.collective), part, transport.description(), transport.mostBytes()),
                     {"take more chunks, fewer elements, or the transport `tcp`"});
}

HostCommunicator::Needs HostCommunicator::needsOf(const HostPlan &plan) const {
  return heddle::needsOf(*state, plan);
}

HostCommunicator::Operation &HostCommunicator::prepare(const HostPlan &plan) {
  std::string key = hostPlanKey(plan);
  for (const auto &known : state->operations)
    if (known->key == key)
      return *known;
  state->requireGoing();
  std::vector<std::string> keys = state->group->agree([&] { return key; });
  for (int rank = 1; rank < state->group->ranks(); ++rank)
    if (keys[size_t(rank)] != keys[0])
      throw inputError(fmt::format("{} prepares something else than {}", state->group->all().describe(rank),
                                   state->group->all().describe(0)),
                       {"the ranks of a group prepare the same collectives in the same order",
                        fmt::format("plan of rank 0: {}", keys[0]),
                        fmt::format("plan of rank {}: {}", rank, keys[size_t(rank)])});
  check(plan); // on every rank: their plans are equal
  auto operation = std::make_unique<Operation>();
  operation->plan = plan;
  operation->key = key;
  operation->hash = hashBytes(key);
  // First what may fail on one rank alone: in the next step the ranks of a host wait for each other.
  for (auto *step : {&makeMemory, &prepareKernels})
    state->group->agree([&] {
      step(*state, *operation);
      return "";
    });
  state->operations.push_back(std::move(operation));
  return *state->operations.back();
}

//===-- Exchanges ------------------------------------------------------------------------------------------------===//

void HostCommunicator::State::requireGoing() {
  if (hasLeft)
    throw environmentError("this rank has left the group: it runs nothing any more", {"make a new group"});
  if (failed) // an exchange that failed may still be looking for who is at fault
    group->all().waitForFailure(2);
  if (auto error = group->all().failureError())
    throw *error;
  if (auto left = leftError()) // a call that it took part in had begun here before it left
    throw *left;
  if (failed)
    throw environmentError("the group has failed before: it runs nothing any more", {"make a new group"});
}

/// What a rank has computed after a wait that failed goes to no other host.
void HostCommunicator::State::checkNode() const {
  if (PeerErrorState(nodeError.state) != PeerErrorState::Written)
    return;
  int peer = int(std::min<uint32_t>(nodeError.peer, uint32_t(layout.perHost - 1)));
  int number = layout.rankOf(layout.host(), peer);
  throw environmentError(fmt::format("rank {} ({}) waited {:.3g} s for rank {} ({}) of its host", layout.own,
                                     group->deviceName(layout.own), double(nodeError.elapsedNs) * 1e-9, number,
                                     group->deviceName(number)));
}

/// Makes known what fails in an exchange: who was the first counts.
void HostCommunicator::State::guardExchange(const std::function<void()> &work) {
  try {
    work();
  } catch (const Error &error) {
    failed = ownFailed = true;
    // A connection that closed may be heard of here before it is by the thread that knows who has ended.
    if (!group->all().failure() && !leftError())
      group->all().waitForFailure(0.5);
    auto left = leftError();
    Error own = left ? *left : withSilentRanks(error);
    group->all().abort(own.what());
    if (auto first = group->all().failureError(); first && group->all().failure()->rank != layout.own)
      throw *first;
    throw own;
  }
}

void HostCommunicator::State::exchangeOnStream(const std::vector<Move> &out, const std::vector<Move> &in,
                                               uint64_t what) {
  StreamTransport::Exchange exchange;
  for (auto [moves, parts] : {std::pair(&out, &exchange.out), std::pair(&in, &exchange.in)})
    for (const Move &move : *moves)
      parts->push_back({layout.rankOf(move.host, layout.local()), move.address, move.bytes});
  exchange.what = what;
  exchange.seconds = options.deadlineSeconds + graceSeconds;
  exchange.status = node->errorAddress(layout.local()) + offsetof(PeerError, state);
  exchange.guard = [this](const std::function<void()> &work) { guardExchange(work); };
  exchange.check = [this] { checkNode(); };
  group->streams()->exchange(*rail, exchange);
}

void HostCommunicator::State::exchange(const std::vector<Move> &out, const std::vector<Move> &in, uint64_t what) {
  rail->copyToHost(&nodeError, node->errorAddress(layout.local()), sizeof nodeError);
  if (group->streams())
    return exchangeOnStream(out, in, what);
  std::vector<Transport::Part> outs, ins;
  auto staged = std::make_shared<std::vector<std::unique_ptr<char[]>>>(); // for devices with memory of their own
  auto partOf = [&](const Move &move) {
    void *data = reinterpret_cast<void *>(move.address);
    if (!isHost)
      data = staged->emplace_back(std::make_unique<char[]>(move.bytes)).get();
    return Transport::Part{layout.rankOf(move.host, layout.local()), data, move.bytes};
  };
  for (const Move &move : out) {
    outs.push_back(partOf(move));
    if (!isHost)
      rail->copyToHost(outs.back().data, move.address, move.bytes);
  }
  for (const Move &move : in)
    ins.push_back(partOf(move));
  rail->hostFunction([this, outs, ins, what] {
    guardExchange([&] {
      checkNode();
      group->bytes()->exchange(outs, ins, what, options.deadlineSeconds + graceSeconds);
    });
  });
  for (size_t i = 0; i < in.size() && !isHost; ++i)
    rail->copyToDevice(in[i].address, ins[i].data, in[i].bytes);
  if (!isHost)
    rail->hostFunction([staged] {}); // until here it is needed
}

/// A rank that launches nothing any more.
std::optional<Error> HostCommunicator::State::leftError() const {
  for (int rank = 0; rank < group->ranks(); ++rank)
    if (group->all().hasLeft(rank))
      return environmentError(group->all().describe(rank) + " has left the group",
                              {"the ranks of a group launch the same collectives before they leave"});
  return std::nullopt;
}

void HostCommunicator::launch(Operation &operation, uint64_t input, uint64_t output, Stream *stream) {
  if (stream && stream->captureId())
    throw inputError("the stream is being captured, and a collective between hosts is in no graph",
                     {"launch it outside of the capture"});
  // What is in flight runs to its end also after a failure.
  const std::shared_ptr<Event> &done = state->finished[state->launches % State::mostInFlight];
  if (state->launches >= State::mostInFlight)
    done->synchronize();
  state->requireGoing();
  ++state->launches;
  try {
    if (stream)
      mark(*stream);
    runSteps(*state, operation, input, output);
    state->nodeStream().record(done);
    if (stream)
      stream->wait(done);
  } catch (const Error &error) { // the others would wait for what does not come
    state->throwFirst(error);
  }
}

void HostCommunicator::follow(Stream &stream) {
  if (stream.captureId())
    return;
  state->nodeStream().record(state->latest);
  stream.wait(state->latest);
}

void HostCommunicator::mark(Stream &stream) {
  if (stream.captureId())
    return;
  stream.record(state->given);
  state->nodeStream().wait(state->given);
}

/// A rank that was waited for may itself have waited for a rank that is stopped: who does not answer is named too.
Error HostCommunicator::State::withSilentRanks(const Error &error) {
  std::string silent = group->all().describeSilent();
  return silent.empty() ? error : Error(error.kind, error.what() + ("; " + silent), error.notes);
}

/// The failure of the group, when another rank was the first; else that of this rank, of which all others hear.
void HostCommunicator::State::throwFirst(const Error &error) {
  failed = ownFailed = true;
  Error own = withSilentRanks(error);
  group->all().abort(own.what());
  auto failure = group->all().failure();
  if (!failure || failure->rank == layout.own)
    throw own;
  Error known = *group->all().failureError();
  if (std::string(known.what()) != error.what())
    known.notes.push_back(error.what());
  throw known;
}

void HostCommunicator::synchronize() {
  std::exception_ptr first;
  auto wait = [&](auto &&work) {
    try {
      work();
    } catch (...) {
      first = first ? first : std::current_exception();
    }
  };
  wait([&] { state->rail->synchronize(); });
  wait([&] { state->node->synchronize(); });
  if (!first)
    return;
  try {
    std::rethrow_exception(first);
  } catch (const Error &error) {
    state->throwFirst(error);
  }
}

std::optional<Error> HostCommunicator::failure() {
  auto known = state->group->all().failure();
  bool isOfAll = known && known->kind != GroupFailure::Kind::Gone && known->rank != state->layout.own;
  if (isOfAll || state->ownFailed)
    return known ? state->group->all().failureError() : state->leftError();
  std::optional<Error> waited = state->node->waitFailure();
  if (!waited)
    return std::nullopt;
  try {
    state->throwFirst(*waited);
  } catch (const Error &error) {
    return error;
  }
}

std::optional<Error> HostCommunicator::groupError() const {
  auto error = state->group->all().failureError();
  return error ? error : state->leftError();
}

void HostCommunicator::leave() {
  Neighbours &all = state->group->all();
  if (state->hasLeft || all.failure())
    return;
  if (!state->isIdleWithin(2))
    return abort("it left the group while work of its was not done");
  state->hasLeft = true;
  state->group->carrier().leave();
  state->node->leave();
  all.leave();
}

bool HostCommunicator::State::isIdleWithin(double seconds) {
  std::shared_ptr<Event> events[] = {device->createEvent(), device->createEvent()};
  try {
    nodeStream().record(events[0]);
    rail->record(events[1]);
    for (Deadline deadline(seconds); !deadline.passed(); std::this_thread::sleep_for(std::chrono::milliseconds(1)))
      if (events[0]->query() && events[1]->query())
        return true;
  } catch (const Error &) { // the device may be gone already
    return true;
  }
  return false;
}

std::vector<std::string> HostCommunicator::agree(const std::function<std::string()> &work) {
  state->requireGoing();
  return state->group->agree(work);
}

std::vector<std::string> HostCommunicator::gather(const std::string &mine, double seconds) {
  std::vector<std::string> texts;
  for (Neighbours::Message &each : state->group->all().exchange(mine, {}, seconds))
    texts.push_back(std::move(each.bytes));
  return texts;
}

void HostCommunicator::abort(const std::string &reason) {
  state->failed = true;
  state->group->all().abort(reason);
}

} // namespace heddle
