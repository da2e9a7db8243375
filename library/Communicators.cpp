// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C interface: collectives of groups whose ranks are processes, of one host or of several.
#include "chips/Chip.h"
#include "library/Compiler.h"
#include "library/Handles.h"
#include "library/Json.h"
#include "library/RankGroup.h"
#include "library/Structures.h"
#include <algorithm>
#include <fmt/format.h>

using namespace heddle;

namespace {

// Sizes of the structures in interface version 2.
constexpr size_t firstOptionsSize = 40, firstRequestSize = 48, firstPlanSize = 32;

struct CommunicatorObject {
  static constexpr HandleKind kind = HandleKind::Communicator;
  std::shared_ptr<Device> device;
  std::shared_ptr<BundledKernels> kernels;
  std::unique_ptr<RankGroup> group;
};

struct WindowObject {
  static constexpr HandleKind kind = HandleKind::Window;
  std::shared_ptr<CommunicatorObject> owner;
  Window *window;
};

struct CollectiveObject {
  static constexpr HandleKind kind = HandleKind::Collective;
  std::shared_ptr<CommunicatorObject> owner;
  std::shared_ptr<PreparedCollective> prepared;
};

const char *textOr(const char *text, const char *otherwise) {
  return text ? text : otherwise;
}

void readHostOptions(const heddle_communicator_options &given, HostOptions &wanted) {
  if (given.hosts < 0 || given.hosts > Bootstrap::mostRanks)
    throw inputError(
        fmt::format("`options->hosts` is {}, and must be from 0 to {}", given.hosts, Bootstrap::mostRanks));
  if (given.reserved_hosts)
    throw inputError(fmt::format("`options->reserved_hosts` is {}, and must be 0", given.reserved_hosts));
  wanted.hosts = given.hosts;
  wanted.transport = parseTransport(textOr(given.transport, transportName(TransportKind::Automatic)));
  wanted.address = textOr(given.host_address, "");
}

RankGroupOptions readOptions(const heddle_communicator_options *given) {
  RankGroupOptions wanted;
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
  readHostOptions(options, wanted.hosts);
  wanted.hosts.seconds = wanted.setup;
  if (options.host_model)
    wanted.hostModel = parseHostModel(options.host_model);
  return wanted;
}

void giveCommunicator(heddle_communicator *place, Bootstrap &bootstrap, std::shared_ptr<Device> device,
                      RankGroupOptions wanted) {
  auto object = std::make_shared<CommunicatorObject>();
  object->device = device;
  object->kernels = wanted.kernels = std::make_shared<BundledKernels>(kernelsInNoBundle());
  object->group = makeRankGroup(bootstrap, std::move(device), wanted);
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

CollectiveRequest readRequest(const CommunicatorObject &object, const heddle_collective_request *given) {
  requirePointer(given, "request", "a collective");
  auto request = readStructure(given, firstRequestSize, "request");
  requirePointer(request.type, "request->type", "an element type");
  if (request.captured != 0 && request.captured != 1)
    throw inputError(fmt::format("`request->captured` is {}, and must be 0 or 1", request.captured));
  CollectiveRequest wanted;
  Collective &collective = wanted.collective;
  collective.kind = valueAt(kinds, request.kind, "kind");
  collective.type = parseElementType(request.type);
  collective.reduction = valueAt(reductions, request.reduction, "reduction");
  collective.ranks = object.group->ranks();
  collective.inner = request.count;
  collective.root = request.root;
  if (request.root && collective.kind != CollectiveKind::Broadcast)
    throw inputError(fmt::format("`request->root` is {}, and must be 0: only a broadcast has a root", request.root));
  if (request.reduction && !collective.reduces())
    throw inputError(fmt::format("`request->reduction` is {}, and must be 0: {} reduces nothing", request.reduction,
                                 collectiveName(collective.kind)));
  wanted.algorithm = textOr(request.algorithm, "");
  wanted.isCaptured = request.captured == 1;
  wanted.windows = readWindows(request, object);
  return wanted;
}

/// Looked at before the launch counts: a fault there would end the group.
void checkAddresses(const std::vector<ArrayPlace> &arrays, const std::vector<uint64_t> &addresses) {
  for (size_t i = 0; i < arrays.size(); ++i)
    if (arrays[i].sizeBytes > 0 && (addresses[i] == 0 || addresses[i] % uint64_t(arrays[i].alignment) != 0))
      throw inputError(fmt::format("`{}` is {:#x}, and the address of {} bytes of {} at a multiple of {} is wanted",
                                   arrays[i].name, addresses[i], arrays[i].sizeBytes, arrays[i].type,
                                   arrays[i].alignment));
}

/// Throws Error{Input} for a stream of another device than the communicator's.
std::shared_ptr<StreamObject> findStream(heddle_stream stream, const CommunicatorObject &communicator) {
  auto queue = find<StreamObject>(stream, "stream");
  if (queue->device->name() != communicator.device->name())
    throw inputError(fmt::format("`stream` is of {}, and the communicator of {}", queue->device->name(),
                                 communicator.device->name()));
  return queue;
}

/// Puts the communicator's work and that of a stream in order: `order` is a member of RankGroup.
heddle_status orderStream(heddle_communicator communicator, heddle_stream stream,
                          void (RankGroup::*order)(Stream &stream)) {
  return guarded([&] {
    auto object = find<CommunicatorObject>(communicator, "communicator");
    (*object->group.*order)(*findStream(stream, *object)->stream);
  });
}

void launchCollective(const CollectiveObject &object, heddle_stream stream, const std::vector<uint64_t> &addresses) {
  auto queue = stream ? findStream(stream, *object.owner) : nullptr;
  checkAddresses(object.prepared->arrays, addresses);
  object.prepared->launch(addresses, queue ? queue->stream.get() : nullptr);
}

void giveCollective(heddle_collective *place, const std::shared_ptr<CommunicatorObject> &owner,
                    std::unique_ptr<PreparedCollective> prepared) {
  give(place, CollectiveObject{owner, std::move(prepared)});
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
    RankGroupOptions wanted = readOptions(options);
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
    RankGroupOptions wanted = readOptions(options);
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
    nlohmann::ordered_json description = {{"rank", object->group->rank()},
                                          {"size", object->group->ranks()},
                                          {"device", object->device->name()},
                                          {"target", object->device->chip().name}};
    object->group->describe(description);
    giveJson(json, description);
  });
}

heddle_status heddle_communicator_allocate(heddle_communicator communicator, uint64_t size_bytes, const char *name,
                                           heddle_buffer *buffer) {
  return guarded([&] {
    auto object = find<CommunicatorObject>(communicator, "communicator");
    requirePointer(buffer, "buffer", "a place for the handle");
    give(buffer, BufferObject{object->group->allocate(size_bytes, textOr(name, ""))});
  });
}

heddle_status heddle_window_register(heddle_communicator communicator, uint64_t address, uint64_t size_bytes,
                                     const char *name, heddle_window *window) {
  return guarded([&] {
    auto object = find<CommunicatorObject>(communicator, "communicator");
    requirePointer(window, "window", "a place for the handle");
    Window &made = object->group->registerWindow(address, size_bytes, textOr(name, ""));
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
    heddle_collective_plan answer = object->group->plan(readRequest(*object, request));
    writeStructure(plan, answer, firstPlanSize, "plan");
  });
}

heddle_status heddle_communicator_prepare(heddle_communicator communicator, const heddle_collective_request *request,
                                          heddle_collective *collective) {
  return guarded([&] {
    auto object = find<CommunicatorObject>(communicator, "communicator");
    requirePointer(collective, "collective", "a place for the handle");
    giveCollective(collective, object, object->group->prepare(readRequest(*object, request)));
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
    giveCollective(collective, object,
                   object->group->prepareModule(std::string_view(text, size), textOr(name, "<text>"), captured == 1));
  });
}

heddle_status heddle_collective_describe(heddle_collective collective, heddle_text *json) {
  return guarded([&] {
    auto object = find<CollectiveObject>(collective, "collective");
    requirePointer(json, "json", "a place for the handle");
    const PreparedCollective &prepared = *object->prepared;
    nlohmann::ordered_json description = {
        {"name", prepared.name}, {"algorithm", prepared.algorithm}, {"blocks", prepared.blocks}};
    description["arrays"] = nlohmann::ordered_json::array();
    for (const ArrayPlace &each : prepared.arrays)
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
    const PreparedCollective &prepared = *object->prepared;
    if (prepared.isModule)
      throw inputError(fmt::format("`{}` is of a module, and takes {} arrays", prepared.name, prepared.arrays.size()),
                       {"launch it by heddle_collective_launch_arrays"});
    const Collective &what = prepared.collective;
    if (what.kind == CollectiveKind::Broadcast && object->owner->group->rank() != what.root && input == 0)
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
    const PreparedCollective &prepared = *object->prepared;
    if (size_t wanted = prepared.arrays.size(); count != wanted)
      throw inputError(fmt::format("`{}` takes {} arrays, and {} addresses were given", prepared.name, wanted, count));
    launchCollective(*object, stream, {addresses, addresses + count});
  });
}

heddle_status heddle_communicator_follow(heddle_communicator communicator, heddle_stream stream) {
  return orderStream(communicator, stream, &RankGroup::follow);
}

heddle_status heddle_communicator_mark(heddle_communicator communicator, heddle_stream stream) {
  return orderStream(communicator, stream, &RankGroup::mark);
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
    object->group->abort(textOr(reason, "it was asked to"));
  });
}

heddle_status heddle_communicator_leave(heddle_communicator communicator) {
  return guarded([&] { find<CommunicatorObject>(communicator, "communicator")->group->leave(); });
}
