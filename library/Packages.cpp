// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C interface: versions and packages.
#include "library/Handles.h"
#include "library/Structures.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace heddle;

uint32_t heddle_interface_version(void) {
  return HEDDLE_INTERFACE_VERSION;
}

const char *heddle_version(void) {
  return HEDDLE_VERSION;
}

heddle_status heddle_package_load(const char *path, heddle_package *package) {
  return guarded([&] {
    requirePointer(path, "path", "a file's name");
    requirePointer(package, "package", "a place for the handle");
    give(package, PackageObject{Package::load(path), {}});
  });
}

heddle_status heddle_package_parse(const void *bytes, size_t size, heddle_package *package) {
  return guarded([&] {
    requirePointer(bytes, "bytes", "a package's bytes");
    requirePointer(package, "package", "a place for the handle");
    give(package, PackageObject{Package::parse(std::string(static_cast<const char *>(bytes), size), "<bytes>"), {}});
  });
}

heddle_status heddle_package_save(heddle_package package, const char *path) {
  return guarded([&] {
    auto object = find<PackageObject>(package, "package");
    requirePointer(path, "path", "a file's name");
    object->package.save(path);
  });
}

heddle_status heddle_package_bytes(heddle_package package, heddle_text *bytes) {
  return guarded([&] {
    auto object = find<PackageObject>(package, "package");
    requirePointer(bytes, "bytes", "a place for the handle");
    give(bytes, TextObject{object->package.serialize()});
  });
}

heddle_status heddle_package_describe(heddle_package package, heddle_text *json) {
  return guarded([&] {
    auto object = find<PackageObject>(package, "package");
    requirePointer(json, "json", "a place for the handle");
    give(json, TextObject{object->package.describe()});
  });
}

heddle_status heddle_package_warnings(heddle_package package, heddle_text *json) {
  return guarded([&] {
    auto object = find<PackageObject>(package, "package");
    requirePointer(json, "json", "a place for the handle");
    give(json,
         TextObject{nlohmann::json(object->warnings).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)});
  });
}

heddle_status heddle_package_argument_count(heddle_package package, size_t *count) {
  return guarded([&] {
    auto object = find<PackageObject>(package, "package");
    requirePointer(count, "count", "a place for the number");
    *count = object->package.arguments.size();
  });
}

heddle_status heddle_package_argument(heddle_package package, size_t index, heddle_argument *argument) {
  return guarded([&] {
    auto object = find<PackageObject>(package, "package");
    requirePointer(argument, "argument", "a structure to fill");
    constexpr size_t firstArgumentSize = 40; // of interface version 1
    requireStructureSize(argument->struct_size, firstArgumentSize, "argument");
    const auto &all = object->package.arguments;
    if (index >= all.size())
      throw inputError(fmt::format("`index` is {}, and kernel `{}` has {} arguments, counted from 0", index,
                                   object->package.kernel, all.size()));
    heddle_argument filled = {.struct_size = 0,
                              .name = all[index].name.c_str(),
                              .type = all[index].type.c_str(),
                              .divisibility = all[index].divisibility,
                              .pointer = all[index].pointer,
                              .reserved = 0};
    writeStructure(argument, filled, firstArgumentSize, "argument");
  });
}
