// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C interface: collectives of groups whose ranks are processes.
#include "chips/Chip.h"
#include "collectives/BundledKernels.h"
#include "collectives/Communicator.h"
#include "library/Compiler.h"
#include "library/Handles.h"
#include "library/Json.h"
#include "library/Structures.h"
#include "program/RankCollective.h"
#include "runtime/ProcessGroup.h"
#include <algorithm>
#include <fmt/format.h>
#include <mutex>

using namespace heddle;

namespace {

// Sizes of the structures in interface version 2.
constexpr size_t firstOptionsSize = 40, firstRequestSize = 48, firstPlanSize = 32;

struct CommunicatorObject {
  static constexpr HandleKind kind = HandleKind::Communicator;
  std::shared_ptr<Device> device;
  std::shared_ptr<BundledKernels> kernels;
  std::unique_ptr<Communicator> group;
  std::mutex launching; ///< launches of several threads come in some order
  int reservedUnits = 0;
};

/// An array as a launch takes it.
struct ArrayPlace {
  std::string name, type;
  uint64_t sizeBytes;
  int64_t alignment;
  bool isResult;
};

struct WindowObject {
  static constexpr HandleKind kind = HandleKind::Window;
  std::shared_ptr<CommunicatorObject> owner;
  Window *window;
};

struct CollectiveObject {
  static constexpr HandleKind kind = HandleKind::Collective;
  std::shared_ptr<CommunicatorObject> owner;
  Communicator::Operation *operation;
  bool isCaptured;
  std::shared_ptr<const program::RankCollective> module; ///< null for a plain one: an input and an output
  std::vector<ArrayPlace> arrays;
};

struct Options {
  double deadline = 30, setup = 30, prepare = 0;
  int reservedUnits = 0;
};

Options readOptions(const heddle_communicator_options *given) {
  Options wanted;
  if (!given)
    return wanted;
  auto options = readStructure(given, firstOptionsSize, "options");
  auto read = [](double value, const char *name, double &place) {
    if (!(value >= 0) || value > Communicator::maxDeadlineSeconds)
      throw inputError(
          fmt::format("`options->{}` is {}, and must be from 0 to {}", name, value, Communicator::maxDeadlineSeconds));
    place = value > 0 ? value : place;
  };
  read(options.deadline_seconds, "deadline_seconds", wanted.deadline);
  read(options.setup_seconds, "setup_seconds", wanted.setup);
  read(options.prepare_seconds, "prepare_seconds", wanted.prepare);
  if (options.reserved_units < 0)
    throw inputError(fmt::format("`options->reserved_units` is {}, and must be 0 or more", options.reserved_units));
  if (options.reserved)
    throw inputError(fmt::format("`options->reserved` is {}, and must be 0", options.reserved));
  wanted.reservedUnits = options.reserved_units;
  return wanted;
}

void giveCommunicator(heddle_communicator *place, Bootstrap &bootstrap, std::shared_ptr<Device> device,
                      const Options &wanted) {
  auto object = std::make_shared<CommunicatorObject>();
  object->device = device;
  object->reservedUnits = wanted.reservedUnits;
  object->kernels = std::make_shared<BundledKernels>(kernelsInNoBundle());
  Communicator::Options options{.deadlineSeconds = wanted.deadline, .kernels = object->kernels};
  auto processes = std::make_unique<ProcessGroup>(bootstrap, device, wanted.setup);
  ProcessGroup &steps = *processes;
  object->group = std::make_unique<Communicator>(std::move(processes), options);
  if (wanted.prepare > 0)
    steps.setStepSeconds(wanted.prepare);
  *place = static_cast<heddle_communicator>(addHandle(HandleKind::Communicator, std::move(object)));
}

/// The caller's all-gather has one size for all; texts of several lengths go as their lengths, then padded.
std::unique_ptr<Bootstrap> bootstrapOver(int rank, int size, heddle_all_gather_function allGather, void *user) {
  auto gather = [=](const void *mine, void *all, size_t bytes, double seconds) {
    if (int32_t result = allGather(mine, all, bytes, seconds, user))
      throw environmentError(
          fmt::format("the program's `all_gather` of {} bytes for rank {} returned {}", bytes, rank, result));
  };
  return makeBootstrap(rank, size, [=](const std::string &mine, double seconds) {
    std::vector<uint64_t> lengths(size_t(size), 0);
    uint64_t own = mine.size();
    gather(&own, lengths.data(), sizeof own, seconds);
    uint64_t most = *std::max_element(lengths.begin(), lengths.end());
    if (most > Bootstrap::mostBytes)
      throw environmentError(fmt::format("the program's `all_gather` gave a length of {} bytes, and the most is {}",
                                         most, Bootstrap::mostBytes));
    std::string padded = mine, all(size_t(most) * size_t(size), '\0');
    padded.resize(size_t(most));
    if (most > 0)
      gather(padded.data(), all.data(), size_t(most), seconds);
    std::vector<std::string> texts;
    for (size_t i = 0; i < lengths.size(); ++i)
      texts.push_back(all.substr(i * size_t(most), size_t(lengths[i])));
    return texts;
  });
}

template <typename Value>
Value valueAt(const std::vector<Value> &values, int32_t index, const char *field) {
  if (index < 0 || size_t(index) >= values.size())
    throw inputError(fmt::format("`request->{}` is {}, and must be from 0 to {}", field, index, values.size() - 1));
  return values[size_t(index)];
}

/// In the order of the enumerations of the header.
const std::vector<CollectiveKind> kinds = {CollectiveKind::AllReduce, CollectiveKind::AllGather,
                                           CollectiveKind::ReduceScatter, CollectiveKind::AllToAll,
                                           CollectiveKind::Broadcast};
const std::vector<Reduction> reductions = {Reduction::Sum,     Reduction::Product, Reduction::Minimum,
                                           Reduction::Maximum, Reduction::And,     Reduction::Or};

struct Request {
  Plan plan;
  bool isCaptured;
  OperandWindows windows;
};

const Window *findWindow(heddle_window window, const char *field, const CommunicatorObject &communicator) {
  auto object = find<WindowObject>(window, field);
  if (object->owner.get() != &communicator)
    throw inputError(fmt::format("`{}` is a window of another communicator", field));
  return object->window;
}

OperandWindows readWindows(const heddle_collective_request &request, const CommunicatorObject &communicator) {
  if (!request.input_window && !request.output_window)
    return {};
  return {findWindow(request.input_window, "request->input_window", communicator),
          findWindow(request.output_window, "request->output_window", communicator)};
}

Request readRequest(const CommunicatorObject &object, const heddle_collective_request *given) {
  const Communicator &group = *object.group;
  requirePointer(given, "request", "a collective");
  auto request = readStructure(given, firstRequestSize, "request");
  requirePointer(request.type, "request->type", "an element type");
  if (request.captured != 0 && request.captured != 1)
    throw inputError(fmt::format("`request->captured` is {}, and must be 0 or 1", request.captured));
  Collective collective;
  collective.kind = valueAt(kinds, request.kind, "kind");
  collective.type = parseElementType(request.type);
  collective.reduction = valueAt(reductions, request.reduction, "reduction");
  collective.ranks = group.ranks();
  collective.inner = request.count;
  collective.root = request.root;
  if (request.root && collective.kind != CollectiveKind::Broadcast)
    throw inputError(fmt::format("`request->root` is {}, and must be 0: only a broadcast has a root", request.root));
  if (request.reduction && !collective.reduces())
    throw inputError(fmt::format("`request->reduction` is {}, and must be 0: {} reduces nothing", request.reduction,
                                 collectiveName(collective.kind)));
  PlanOptions options;
  options.algorithm = request.algorithm ? request.algorithm : "";
  options.computeUnits = group.computeUnits();
  OperandWindows windows = readWindows(request, object);
  options.direct = options.windows = windows.areGiven();
  Plan plan = makePlanBeside(object.reservedUnits, collective, object.device->chip(), options);
  return {plan, request.captured == 1, windows};
}

std::vector<ArrayPlace> arraysOf(const Collective &what) {
  int64_t size = elementSizeBytes(what.type);
  std::string type = elementTypeName(what.type);
  return {{"input", type, uint64_t(what.inputElements() * size), size, false},
          {"output", type, uint64_t(what.outputElements() * size), size, true}};
}

std::vector<ArrayPlace> arraysOf(const program::RankCollective &module) {
  std::vector<ArrayPlace> arrays;
  for (size_t i = 0; i < module.arrays.size(); ++i)
    arrays.push_back({module.arrays[i].name, module.arrays[i].type, module.arrays[i].sizeBytes, 1,
                      i + module.results >= module.arrays.size()});
  for (size_t i = 0; i < module.arguments.size(); ++i)
    if (module.arguments[i] >= 0) { // after those of the protocol
      const auto &all = module.kernel.arguments;
      ArrayPlace &place = arrays[size_t(module.arguments[i])];
      place.alignment = std::max(place.alignment, all[all.size() - module.arguments.size() + i].divisibility);
    }
  return arrays;
}

/// Looked at before the launch counts: a fault there would end the group.
void checkAddresses(const std::vector<ArrayPlace> &arrays, const std::vector<uint64_t> &addresses) {
  for (size_t i = 0; i < arrays.size(); ++i)
    if (arrays[i].sizeBytes > 0 && (addresses[i] == 0 || addresses[i] % uint64_t(arrays[i].alignment) != 0))
      throw inputError(fmt::format("`{}` is {:#x}, and the address of {} bytes of {} at a multiple of {} is wanted",
                                   arrays[i].name, addresses[i], arrays[i].sizeBytes, arrays[i].type,
                                   arrays[i].alignment));
}

std::vector<LaunchArgument> argumentsOf(const CollectiveObject &object, const std::vector<uint64_t> &addresses,
                                        int rank) {
  std::vector<LaunchArgument> arguments;
  if (!object.module) {
    for (uint64_t address : addresses)
      arguments.push_back(DeviceAddress(address));
    return arguments;
  }
  for (int number : object.module->arguments) {
    if (number >= 0)
      arguments.push_back(DeviceAddress(addresses[size_t(number)]));
    else if (number == program::RankCollective::Replica)
      arguments.push_back(ScalarBits{uint64_t(rank / object.module->partitions)});
    else
      arguments.push_back(ScalarBits{uint64_t(rank % object.module->partitions)});
  }
  return arguments;
}

/// Throws Error{Input} for a stream of another device than the communicator's.
std::shared_ptr<StreamObject> findStream(heddle_stream stream, const CommunicatorObject &communicator) {
  auto queue = find<StreamObject>(stream, "stream");
  if (queue->device->name() != communicator.device->name())
    throw inputError(fmt::format("`stream` is of {}, and the communicator of {}", queue->device->name(),
                                 communicator.device->name()));
  return queue;
}

/// Puts the communicator's work and that of a stream in order: `order` is a member of Communicator.
heddle_status orderStream(heddle_communicator communicator, heddle_stream stream,
                          void (Communicator::*order)(int rank, Stream &stream)) {
  return guarded([&] {
    auto object = find<CommunicatorObject>(communicator, "communicator");
    auto queue = findStream(stream, *object);
    std::lock_guard lock(object->launching);
    (*object->group.*order)(object->group->localRanks().front(), *queue->stream);
  });
}

void launchCollective(const CollectiveObject &object, heddle_stream stream, const std::vector<uint64_t> &addresses) {
  auto queue = stream ? findStream(stream, *object.owner) : nullptr;
  Communicator &group = *object.owner->group;
  int rank = group.localRanks().front();
  uint64_t capture = (queue ? *queue->stream : group.stream(rank)).captureId();
  bool isCapturing = capture != 0;
  if (isCapturing != object.isCaptured)
    throw inputError(fmt::format("the stream is {}being captured, and the collective was prepared for streams that "
                                 "are{}",
                                 isCapturing ? "" : "not ", object.isCaptured ? "" : " not"),
                     {"prepare one for each: `captured` of the request"});
  checkAddresses(object.arrays, addresses);
  std::vector<LaunchArgument> operands = argumentsOf(object, addresses, rank);
  std::lock_guard lock(object.owner->launching);
  if (queue)
    group.launch(*object.operation, rank, operands, *queue->stream, capture);
  else
    group.launch(*object.operation, rank, operands);
}

} // namespace

heddle_status heddle_communicator_create(heddle_device device, int32_t rank, int32_t size,
                                         heddle_all_gather_function all_gather, void *user,
                                         const heddle_communicator_options *options,
                                         heddle_communicator *communicator) {
  return guarded([&] {
    auto object = find<DeviceObject>(device, "device");
    requirePointer(reinterpret_cast<const void *>(all_gather), "all_gather", "a function");
    requirePointer(communicator, "communicator", "a place for the handle");
    Options wanted = readOptions(options);
    auto bootstrap = bootstrapOver(rank, size, all_gather, user);
    giveCommunicator(communicator, *bootstrap, object->device, wanted);
  });
}

heddle_status heddle_communicator_connect(heddle_device device, const char *address, int32_t rank, int32_t size,
                                          const char *secret, const heddle_communicator_options *options,
                                          heddle_communicator *communicator) {
  return guarded([&] {
    auto object = find<DeviceObject>(device, "device");
    requirePointer(address, "address", "an address");
    requirePointer(communicator, "communicator", "a place for the handle");
    Options wanted = readOptions(options);
    BootstrapOptions bootstrapOptions;
    bootstrapOptions.address = address;
    bootstrapOptions.rank = rank;
    bootstrapOptions.size = size;
    bootstrapOptions.secret = secret ? secret : "";
    bootstrapOptions.seconds = wanted.setup;
    auto bootstrap = makeBootstrap(bootstrapOptions);
    giveCommunicator(communicator, *bootstrap, object->device, wanted);
  });
}

heddle_status heddle_communicator_add_bundle(heddle_communicator communicator, heddle_bundle bundle) {
  return guarded([&] {
    auto object = find<CommunicatorObject>(communicator, "communicator");
    object->kernels->add(find<BundleObject>(bundle, "bundle")->bundle);
  });
}

heddle_status heddle_communicator_describe(heddle_communicator communicator, heddle_text *json) {
  return guarded([&] {
    auto object = find<CommunicatorObject>(communicator, "communicator");
    requirePointer(json, "json", "a place for the handle");
    const ProcessGroup &processes = *object->group->processes();
    nlohmann::ordered_json description = {{"rank", processes.rank()},
                                          {"size", processes.ranks()},
                                          {"device", object->device->name()},
                                          {"target", object->device->chip().name},
                                          {"computeUnits", processes.computeUnits()},
                                          {"sharing", sharingName(processes.sharing())}};
    description["members"] = nlohmann::ordered_json::array();
    for (int rank = 0; rank < processes.ranks(); ++rank)
      description["members"].push_back({{"rank", rank},
                                        {"device", processes.deviceName(rank)},
                                        {"process", processes.neighbours().processId(rank)}});
    giveJson(json, description);
  });
}

heddle_status heddle_communicator_allocate(heddle_communicator communicator, uint64_t size_bytes, const char *name,
                                           heddle_buffer *buffer) {
  return guarded([&] {
    auto object = find<CommunicatorObject>(communicator, "communicator");
    requirePointer(buffer, "buffer", "a place for the handle");
    give(buffer,
         BufferObject{object->group->allocate(object->group->localRanks().front(), size_bytes, name ? name : "")});
  });
}

heddle_status heddle_window_register(heddle_communicator communicator, uint64_t address, uint64_t size_bytes,
                                     const char *name, heddle_window *window) {
  return guarded([&] {
    auto object = find<CommunicatorObject>(communicator, "communicator");
    requirePointer(window, "window", "a place for the handle");
    Window &made = object->group->registerWindow({address}, size_bytes, name ? name : "");
    give(window, WindowObject{object, &made});
  });
}

heddle_status heddle_window_deregister(heddle_window window) {
  return guarded([&] {
    auto object = find<WindowObject>(window, "window");
    object->owner->group->deregister(*object->window);
  });
}

heddle_status heddle_communicator_plan(heddle_communicator communicator, const heddle_collective_request *request,
                                       heddle_collective_plan *plan) {
  return guarded([&] {
    auto object = find<CommunicatorObject>(communicator, "communicator");
    requirePointer(plan, "plan", "a plan to be filled");
    Plan chosen = readRequest(*object, request).plan;
    heddle_collective_plan answer = {};
    answer.algorithm = chosen.algorithm->name;
    answer.memory_bytes = chosen.rounds ? chosen.arena.sizeBytes + chosen.arena.stagingBytes : 0;
    answer.blocks = chosen.rounds ? chosen.blocks : 0;
    answer.packets = !chosen.hasPackets() ? 0 : chosen.packets == PacketForm::LL ? 1 : 2;
    writeStructure(plan, answer, firstPlanSize, "plan");
  });
}

heddle_status heddle_communicator_prepare(heddle_communicator communicator, const heddle_collective_request *request,
                                          heddle_collective *collective) {
  return guarded([&] {
    auto object = find<CommunicatorObject>(communicator, "communicator");
    requirePointer(collective, "collective", "a place for the handle");
    Request read = readRequest(*object, request);
    Communicator::Operation &operation =
        object->group->prepare(read.plan, "", read.isCaptured ? "captured" : "", read.windows);
    give(collective, CollectiveObject{object, &operation, read.isCaptured, nullptr, arraysOf(read.plan.collective)});
  });
}

heddle_status heddle_communicator_prepare_module(heddle_communicator communicator, const char *text, size_t size,
                                                 const char *name, int32_t captured, heddle_collective *collective) {
  return guarded([&] {
    auto object = find<CommunicatorObject>(communicator, "communicator");
    requirePointer(text, "text", "a module");
    requirePointer(collective, "collective", "a place for the handle");
    if (captured != 0 && captured != 1)
      throw inputError(fmt::format("`captured` is {}, and must be 0 or 1", captured));
    Communicator &group = *object->group;
    auto module = std::make_shared<program::RankCollective>(
        compileModule(std::string_view(text, size), name ? name : "<text>", group.ranks(), object->device->chip(),
                      group.computeUnits()));
    Communicator::Operation &operation = group.prepare(module->plan, module->kernel, module->name);
    give(collective, CollectiveObject{object, &operation, captured == 1, module, arraysOf(*module)});
  });
}

heddle_status heddle_collective_describe(heddle_collective collective, heddle_text *json) {
  return guarded([&] {
    auto object = find<CollectiveObject>(collective, "collective");
    requirePointer(json, "json", "a place for the handle");
    const Plan &plan = object->operation->plan();
    nlohmann::ordered_json description = {{"name", object->operation->name()},
                                          {"algorithm", plan.algorithm->name},
                                          {"blocks", plan.rounds ? plan.blocks : 0}};
    description["arrays"] = nlohmann::ordered_json::array();
    for (const ArrayPlace &each : object->arrays)
      description["arrays"].push_back({{"name", each.name},
                                       {"type", each.type},
                                       {"bytes", each.sizeBytes},
                                       {"result", each.isResult},
                                       {"alignment", each.alignment}});
    giveJson(json, description);
  });
}

heddle_status heddle_collective_launch(heddle_collective collective, heddle_stream stream, uint64_t input,
                                       uint64_t output) {
  return guarded([&] {
    auto object = find<CollectiveObject>(collective, "collective");
    if (object->module)
      throw inputError(fmt::format("`{}` is of a module, and takes {} arrays", object->operation->name(),
                                   object->module->arrays.size()),
                       {"launch it by heddle_collective_launch_arrays"});
    const Collective &what = object->operation->plan().collective;
    int rank = object->owner->group->localRanks().front();
    if (what.kind == CollectiveKind::Broadcast && rank != what.root && input == 0)
      input = output; // is read by the kernel, and not used
    launchCollective(*object, stream, {input, output});
  });
}

heddle_status heddle_collective_launch_arrays(heddle_collective collective, heddle_stream stream,
                                              const uint64_t *addresses, size_t count) {
  return guarded([&] {
    auto object = find<CollectiveObject>(collective, "collective");
    if (count > 0)
      requirePointer(addresses, "addresses", "an array of addresses");
    size_t wanted = object->module ? object->module->arrays.size() : 2;
    if (count != wanted)
      throw inputError(
          fmt::format("`{}` takes {} arrays, and {} addresses were given", object->operation->name(), wanted, count));
    launchCollective(*object, stream, {addresses, addresses + count});
  });
}

heddle_status heddle_communicator_follow(heddle_communicator communicator, heddle_stream stream) {
  return orderStream(communicator, stream, &Communicator::follow);
}

heddle_status heddle_communicator_mark(heddle_communicator communicator, heddle_stream stream) {
  return orderStream(communicator, stream, &Communicator::mark);
}

heddle_status heddle_communicator_synchronize(heddle_communicator communicator) {
  return guarded([&] { find<CommunicatorObject>(communicator, "communicator")->group->synchronize(); });
}

heddle_status heddle_communicator_check(heddle_communicator communicator) {
  return guarded([&] {
    if (auto error = find<CommunicatorObject>(communicator, "communicator")->group->failure())
      throw *error;
  });
}

heddle_status heddle_communicator_check_group(heddle_communicator communicator) {
  return guarded([&] {
    auto object = find<CommunicatorObject>(communicator, "communicator");
    if (auto error = object->group->groupError())
      throw *error;
  });
}

heddle_status heddle_communicator_abort(heddle_communicator communicator, const char *reason) {
  return guarded([&] {
    auto object = find<CommunicatorObject>(communicator, "communicator");
    object->group->abort(reason ? reason : "it was asked to");
  });
}

heddle_status heddle_communicator_leave(heddle_communicator communicator) {
  return guarded([&] { find<CommunicatorObject>(communicator, "communicator")->group->leave(); });
}
