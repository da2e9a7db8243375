// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C interface: bundles, and calls of the library's kernels that are in them.
#include "chips/Chip.h"
#include "library/Handles.h"
#include "library/Json.h"
#include "library/Options.h"
#include "runtime/LoadedCall.h"
#include <fmt/format.h>

using namespace heddle;

namespace {

struct CallObject {
  static constexpr HandleKind kind = HandleKind::Call;
  std::shared_ptr<Device> device;
  LoadedCall call;
};

std::map<std::string, std::string> readChoices(const char *const *choices, size_t count) {
  std::map<std::string, std::string> read;
  for (const std::string &choice : readStrings(choices, count, "choices")) {
    size_t equals = choice.find('=');
    if (equals == std::string::npos)
      throw inputError(fmt::format("the choice `{}` is not `key=value`", choice));
    auto [place, isNew] = read.emplace(choice.substr(0, equals), choice.substr(equals + 1));
    if (!isNew)
      throw inputError(fmt::format("the choice `{}` is given twice: `{}` and `{}`", place->first, place->second,
                                   choice.substr(equals + 1)));
  }
  return read;
}

/// The addresses by the names of the call's arrays. Throws Error{Input} for another number of them, and for a null one
/// of an array with elements.
std::map<std::string, uint64_t> readAddresses(const BundleCall &call, const uint64_t *addresses, size_t count) {
  std::vector<const BundleArray *> arrays = call.arrays();
  if (count != arrays.size())
    throw inputError(
        fmt::format("a call of `{}` takes {} arrays, and {} addresses were given", call.kernel, arrays.size(), count),
        {"heddle_call_describe lists them"});
  if (count > 0)
    requirePointer(addresses, "addresses", "an array of addresses");
  std::map<std::string, uint64_t> read;
  for (size_t i = 0; i < count; ++i) {
    if (addresses[i] == 0 && arrays[i]->sizeBytes > 0)
      throw inputError(
          fmt::format("`addresses[{}]` is 0, and `{}` has {} bytes", i, arrays[i]->name, arrays[i]->sizeBytes));
    read[arrays[i]->name] = addresses[i];
  }
  return read;
}

} // namespace

heddle_status heddle_bundle_load(const char *path, heddle_bundle *bundle) {
  return guarded([&] {
    requirePointer(path, "path", "a file's name");
    requirePointer(bundle, "bundle", "a place for the handle");
    give(bundle, BundleObject{std::make_shared<const Bundle>(Bundle::load(path))});
  });
}

heddle_status heddle_bundle_parse(const void *bytes, size_t size, heddle_bundle *bundle) {
  return guarded([&] {
    requirePointer(bytes, "bytes", "a bundle's bytes");
    requirePointer(bundle, "bundle", "a place for the handle");
    std::string text(static_cast<const char *>(bytes), size);
    give(bundle, BundleObject{std::make_shared<const Bundle>(Bundle::parse(text, "<bytes>"))});
  });
}

heddle_status heddle_bundle_describe(heddle_bundle bundle, heddle_text *json) {
  return guarded([&] {
    auto object = find<BundleObject>(bundle, "bundle");
    requirePointer(json, "json", "a place for the handle");
    give(json, TextObject{object->bundle->describe()});
  });
}

heddle_status heddle_call_load(heddle_device device, heddle_bundle bundle, const char *kernel,
                               const char *const *choices, size_t count, heddle_call *call) {
  return guarded([&] {
    auto where = find<DeviceObject>(device, "device");
    auto object = find<BundleObject>(bundle, "bundle");
    requirePointer(kernel, "kernel", "a kernel's name");
    requirePointer(call, "call", "a place for the handle");
    const BundleCall &found = object->bundle->findCall(kernel, where->device->chip().name, readChoices(choices, count));
    give(call, CallObject{where->device, LoadedCall(where->device, found, object->bundle->packages)});
  });
}

heddle_status heddle_call_describe(heddle_call call, heddle_text *json) {
  return guarded([&] {
    auto object = find<CallObject>(call, "call");
    requirePointer(json, "json", "a place for the handle");
    const BundleCall &what = object->call.call();
    nlohmann::ordered_json description = {{"kernel", what.kernel}, {"target", what.target}, {"choices", what.choices}};
    description["arrays"] = nlohmann::ordered_json::array();
    for (const BundleArray *array : what.arrays())
      description["arrays"].push_back({{"name", array->name},
                                       {"type", array->type},
                                       {"shape", array->shape},
                                       {"strides", array->strides},
                                       {"bytes", array->sizeBytes},
                                       {"result", what.isResult(*array)}});
    giveJson(json, description);
  });
}

heddle_status heddle_call_launch(heddle_stream stream, heddle_call call, const uint64_t *addresses, size_t count) {
  return guarded([&] {
    auto queue = find<StreamObject>(stream, "stream");
    auto object = find<CallObject>(call, "call");
    if (queue->device->name() != object->device->name())
      throw inputError(
          fmt::format("`stream` is of {}, and the call of {}", queue->device->name(), object->device->name()));
    object->call.launch(*queue->stream, readAddresses(object->call.call(), addresses, count));
  });
}
