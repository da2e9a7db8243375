// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of NCCL that the drop-in overrides: they decide, launch Heddle's collective or hand the call on.
#include "nccl/Entry.h"
#include "nccl/Log.h"
#include "nccl/Settings.h"
#include <chrono>
#include <thread>

namespace heddle::dropin {
namespace {

struct TypeRow {
  const char *name;
  int64_t bytes;
};
/// By NCCL's numbers.
constexpr TypeRow typeRows[] = {{"i8", 1},  {"ui8", 1}, {"i32", 4}, {"ui32", 4}, {"i64", 8},      {"ui64", 8},
                                {"f16", 2}, {"f32", 4}, {"f64", 8}, {"bf16", 2}, {"f8E4M3FN", 1}, {"f8E5M2", 1}};
constexpr int typeCount = int(sizeof typeRows / sizeof *typeRows);

bool reduces(Call::Kind kind) {
  return kind == Call::Kind::AllReduce || kind == Call::Kind::ReduceScatter;
}

int heddleKind(Call::Kind kind) {
  constexpr int kinds[] = {HEDDLE_ALL_REDUCE, HEDDLE_ALL_GATHER, HEDDLE_REDUCE_SCATTER, HEDDLE_ALL_TO_ALL};
  return kinds[int(kind)];
}

heddle_collective_request requestFor(const Call &call, bool captured) {
  int reduction = reduces(call.kind) ? reductionNumber(call.reduction) : 0;
  return {sizeof(heddle_collective_request),
          typeName(call.type),
          nullptr,
          int64_t(call.count),
          heddleKind(call.kind),
          reduction,
          0,
          captured ? 1 : 0,
          nullptr,
          nullptr};
}

} // namespace

const char *typeName(int type) {
  return type >= 0 && type < typeCount ? typeRows[type].name : nullptr;
}

int64_t typeBytes(int type) {
  return type >= 0 && type < typeCount ? typeRows[type].bytes : 0;
}

int reductionNumber(int reduction) {
  switch (reduction) {
  case reduction::sum:
    return HEDDLE_SUM;
  case reduction::product:
    return HEDDLE_PRODUCT;
  case reduction::maximum:
    return HEDDLE_MAXIMUM;
  case reduction::minimum:
    return HEDDLE_MINIMUM;
  default:
    return -1;
  }
}

Result callNccl(const Call &c) {
  InsideNccl inside;
  switch (c.kind) {
  case Call::Kind::AllReduce:
    return nccl().allReduce(c.input, c.output, c.count, c.type, c.reduction, c.comm, c.stream);
  case Call::Kind::AllGather:
    return nccl().allGather(c.input, c.output, c.count, c.type, c.comm, c.stream);
  case Call::Kind::ReduceScatter:
    return nccl().reduceScatter(c.input, c.output, c.count, c.type, c.reduction, c.comm, c.stream);
  case Call::Kind::AllToAll:
    return nccl().allToAll(c.input, c.output, c.count, c.type, c.comm, c.stream);
  }
  return result::internalError;
}

Entry::~Entry() {
  if (!heddle)
    return;
  for (auto &[key, each] : prepared) {
    heddle->release(each.eager);
    heddle->release(each.captured);
  }
  heddle->release(group);
  for (auto &[handle, stream] : streams)
    heddle->release(stream);
  heddle->release(device);
}

//===-- The offer ------------------------------------------------------------------------------------------------===//

std::string Entry::connect(const std::string &name, const std::string &secret, double deadline) {
  std::string problem;
  heddle = heddleLibrary(problem);
  if (!heddle)
    return problem;
  isHost = name.starts_with("host");
  constexpr double setupSeconds = 30; // all ranks have just come
  heddle_communicator_options options = {};
  options.struct_size = sizeof options;
  options.deadline_seconds = options.prepare_seconds = deadline;
  options.setup_seconds = setupSeconds;
  options.reserved_units = settings().reservedUnits;
  if (heddle->device_open(name.c_str(), &device) ||
      heddle->communicator_connect(device, ("unix:@heddle-nccl-" + secret).c_str(), rank, ranks, secret.c_str(),
                                   &options, &group))
    return heddle->error_text();
  return "";
}

void Entry::settle(Result done) {
  std::lock_guard lock(lifeMutex);
  offered = done;
  served = !done && !ended && whyNot.empty();
  lifeChanged.notify_all();
}

Result Entry::offerResult() {
  std::lock_guard lock(lifeMutex);
  return offered;
}

Result Entry::waitForOffer() {
  if (isServed()) // and stays so
    return result::success;
  constexpr double connectSeconds = 60;
  std::unique_lock lock(lifeMutex);
  auto longest = std::chrono::duration<double>(3 * settings().setupSeconds + connectSeconds);
  lifeChanged.wait_for(lock, longest, [&] { return ended || offered != result::inProgress; });
  return offered;
}

//===-- Its life -------------------------------------------------------------------------------------------------===//

Entry::Stay::Stay(Entry *entry, Part part) : entry(entry), part(part) {
  if (!entry)
    return;
  std::lock_guard lock(entry->lifeMutex);
  isAllowed = !entry->ended;
  (part == Part::Call ? entry->inCalls : entry->inNccl) += isAllowed;
}

Entry::Stay::~Stay() {
  if (!entry || !isAllowed)
    return;
  std::lock_guard lock(entry->lifeMutex);
  --(part == Part::Call ? entry->inCalls : entry->inNccl);
  entry->lifeChanged.notify_all();
}

void Entry::end(const char *reason) {
  constexpr auto moment = std::chrono::milliseconds(200); // for calls that do not wait
  bool isUsed = false;
  {
    std::lock_guard lock(lifeMutex);
    ended = true;
    isUsed = inCalls > 0;
    lifeChanged.notify_all();
  }
  if (!isUsed && wasCaptured()) // what graphs wait for ends here, too
    leave();
  if (isUsed || wasCaptured())
    abort(reason);
  std::unique_lock lock(lifeMutex);
  lifeChanged.wait_for(lock, moment, [&] { return inNccl == 0; });
}

bool Entry::hasEnded() {
  std::lock_guard lock(lifeMutex);
  return ended;
}

Result Entry::endedError() {
  return fail(result::remoteError, "the communicator was aborted");
}

void Entry::waitForCalls() {
  constexpr auto longest = std::chrono::seconds(5);
  std::unique_lock lock(lifeMutex);
  if (!lifeChanged.wait_for(lock, longest, [&] { return inCalls == 0; }))
    say("rank %d of %d: its communicator was aborted, and a thread is still in a call on it", rank, ranks);
}

//===-- Decisions ------------------------------------------------------------------------------------------------===//

// Here is all that decides: nothing that one rank alone knows, as addresses, alignment or streams.
Entry::Prepared Entry::choose(const Call &call) const {
  auto no = [](std::string reason) { return Prepared{std::move(reason), "", nullptr, nullptr}; };
  if (call.count == 0)
    return no("no elements");
  if (!typeName(call.type))
    return no("type " + std::to_string(call.type));
  if (reduces(call.kind) && reductionNumber(call.reduction) < 0)
    return no("reduction " + std::to_string(call.reduction));
  heddle_collective_request request = requestFor(call, false);
  heddle_collective_plan plan = {sizeof plan, nullptr, 0, 0, 0};
  if (heddle->communicator_plan(group, &request, &plan))
    return no(heddle->error_text());
  int64_t parts = call.kind == Call::Kind::AllReduce ? 1 : ranks;
  auto bytes = __int128(call.count) * typeBytes(call.type) * parts;
  int64_t most = settings().mostBytes;
  if (most >= 0 ? bytes > most : plan.packets == 0)
    return no(most >= 0 ? "more than HEDDLE_NCCL_BYTES" : "too large for packets");
  return {"", plan.algorithm, nullptr, nullptr};
}

Entry::Prepared &Entry::preparedFor(const Call &call) {
  Key key{call.kind, call.type, reduces(call.kind) ? call.reduction : 0, call.count};
  auto found = prepared.find(key);
  if (found == prepared.end())
    found = prepared.emplace(key, choose(call)).first;
  return found->second;
}

bool Entry::isForHeddle(const Call &call) {
  std::lock_guard lock(mutex);
  return isServed() && preparedFor(call).reason.empty();
}

Entry::Decision Entry::decide(const Call &call) {
  if (!isServed())
    return {nullptr, false, whyNot.c_str()};
  std::lock_guard lock(mutex);
  Prepared &own = preparedFor(call);
  if (!own.reason.empty())
    return {nullptr, false, own.reason.c_str()};
  bool captures = false;
  if (Result failed = isCapturing(call.stream, captures))
    return {nullptr, false, "", failed};
  heddle_collective &place = captures ? own.captured : own.eager;
  if (!place) {
    heddle_collective_request request = requestFor(call, captures);
    heddle_status status = heddle->communicator_prepare(group, &request, &place);
    if (status) { // on all ranks
      std::string why = heddle->error_text();
      if (heddle_status over = heddle->communicator_check_group(group))
        return {nullptr, captures, "", fail(over)};
      own.reason = why;
      say("rank %d of %d: NCCL makes what Heddle could not prepare: %s", rank, ranks, own.reason.c_str());
      return {nullptr, captures, own.reason.c_str()};
    }
  }
  return {place, captures, own.algorithm.c_str()};
}

Result Entry::perform(const Call &call, const Decision &decision) {
  std::lock_guard lock(mutex);
  if (decision.captures)
    hasCaptured = true;
  heddle_stream stream = nullptr;
  if (Result failed = streamOver(call.stream, stream))
    return failed;
  heddle_status status = heddle->collective_launch(decision.collective, stream, reinterpret_cast<uint64_t>(call.input),
                                                   reinterpret_cast<uint64_t>(call.output));
  if (!status && isHost) // its streams are not the program's
    status = heddle->communicator_synchronize(group);
  if (!status)
    return result::success;
  Result failed = fail(status);
  // What this rank did not launch, for a reason of its own, the others wait for.
  heddle->communicator_abort(group, lastError().c_str());
  return failed;
}

Result Entry::checkRanks(const Call &call) {
  heddle_status over = call.count > 0 ? heddle->communicator_check_group(group) : HEDDLE_OK;
  return over ? fail(over) : result::success;
}

Result Entry::beforeNccl(Stream stream) {
  std::lock_guard lock(mutex);
  heddle_stream own = nullptr;
  if (Result failed = streamOver(stream, own))
    return failed;
  if (!isHost)
    (void)heddle->communicator_follow(group, own); // as far as the stream lets it be
  return result::success;
}

void Entry::afterNccl(Stream stream) {
  std::lock_guard lock(mutex);
  heddle_stream own = nullptr;
  if (!isHost && !streamOver(stream, own))
    (void)heddle->communicator_mark(group, own);
}

Result Entry::finishNccl(Result state, double seconds) {
  auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (state == result::inProgress) {
    {
      Stay stay(this, Part::Nccl);
      if (!stay)
        return endedError();
      if (Result failed = nccl().commGetAsyncError(comm, &state))
        return failed;
    }
    if (state == result::inProgress && std::chrono::steady_clock::now() > end)
      return fail(result::systemError,
                  "NCCL did not finish a call of its own within " + std::to_string(seconds) + " s");
    if (state == result::inProgress)
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return state;
}

Result Entry::streamOver(Stream stream, heddle_stream &own) {
  if (isHost)
    return result::success;
  heddle_stream &place = streams[stream];
  if (!place)
    if (heddle_status status = heddle->stream_adopt(device, stream, &place)) {
      Result failed = fail(status);
      heddle->communicator_abort(group, lastError().c_str());
      return failed;
    }
  own = place;
  return result::success;
}

Result Entry::isCapturing(Stream stream, bool &captures) {
  heddle_stream own = nullptr;
  if (Result failed = streamOver(stream, own))
    return failed;
  int32_t capturing = 0;
  captures = !isHost && heddle->stream_is_capturing(own, &capturing) == HEDDLE_OK && capturing;
  return result::success;
}

Result Entry::fail(Result error, const std::string &text) {
  std::lock_guard lock(errorMutex);
  if (errorText.empty()) {
    errorText = text;
    say("rank %d of %d: %s", rank, ranks, errorText.c_str());
  }
  return error;
}

Result Entry::fail(heddle_status status) {
  return fail(status == HEDDLE_INPUT         ? result::invalidUsage
              : status == HEDDLE_ENVIRONMENT ? result::remoteError
                                             : result::internalError,
              heddle->error_text());
}

Result Entry::checkForErrors() {
  constexpr int64_t pause = 10'000'000; // PyTorch asks often, and the answer takes a copy from the device
  int64_t now =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
  {
    std::lock_guard lock(errorMutex);
    if (!errorText.empty())
      return result::remoteError;
    if (!isServed() || now - lastCheck < pause)
      return result::success;
    lastCheck = now;
  }
  heddle_status status = heddle->communicator_check(group);
  return status ? fail(status) : result::success;
}

std::string Entry::lastError() {
  std::lock_guard lock(errorMutex);
  return errorText;
}

void Entry::abort(const char *reason) {
  if (isServed())
    heddle->communicator_abort(group, reason);
}

void Entry::leave() {
  if (isServed())
    heddle->communicator_leave(group);
}

void Entry::waitForWork() {
  if (isServed())
    (void)heddle->communicator_synchronize(group);
}

} // namespace heddle::dropin
