// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The objects of the C interface, and the table of their handles. A handle is a number that is used once, so that null,
// a released handle and one of another kind are found without touching memory.
#pragma once
#include "binary/Bundle.h"
#include "library/Errors.h"
#include "runtime/Stream.h"
#include <memory>
#include <string>
#include <vector>

namespace heddle {

enum class HandleKind {
  Package = 1,
  Device,
  Kernel,
  Buffer,
  Stream,
  Event,
  Graph,
  Text,
  Communicator,
  Collective,
  Bundle,
  Call,
  Window
};

struct PackageObject {
  static constexpr HandleKind kind = HandleKind::Package;
  Package package;
  std::vector<std::string> warnings;
};
struct DeviceObject {
  static constexpr HandleKind kind = HandleKind::Device;
  std::shared_ptr<Device> device;
};
struct KernelObject {
  static constexpr HandleKind kind = HandleKind::Kernel;
  Kernel kernel;
};
struct BufferObject {
  static constexpr HandleKind kind = HandleKind::Buffer;
  Buffer buffer;
};
struct StreamObject {
  static constexpr HandleKind kind = HandleKind::Stream;
  std::shared_ptr<Device> device;
  std::unique_ptr<Stream> stream;
};
struct EventObject {
  static constexpr HandleKind kind = HandleKind::Event;
  std::shared_ptr<Event> event;
};
struct GraphObject {
  static constexpr HandleKind kind = HandleKind::Graph;
  std::unique_ptr<Graph> graph;
};
struct BundleObject {
  static constexpr HandleKind kind = HandleKind::Bundle;
  std::shared_ptr<const Bundle> bundle;
};
struct TextObject {
  static constexpr HandleKind kind = HandleKind::Text;
  std::string bytes;
};

/// The handle of an object that is kept from now on.
void *addHandle(HandleKind kind, std::shared_ptr<void> object);
/// The object. Throws Error{Input} for a number that is no handle of this kind; `parameter` names it in the message.
std::shared_ptr<void> findHandle(const void *handle, HandleKind kind, const char *parameter);
/// The same, or null: for callers whose name of the parameter takes long to make.
std::shared_ptr<void> findHandleIfAny(const void *handle, HandleKind kind);
/// Lets the object go; null is allowed. Throws as findHandle.
void removeHandle(const void *handle);

template <typename Object>
std::shared_ptr<Object> find(const void *handle, const char *parameter) {
  return std::static_pointer_cast<Object>(findHandle(handle, Object::kind, parameter));
}

/// Gives a new object to the caller, who wants it at `place`.
template <typename Handle, typename Object>
void give(Handle *place, Object object) {
  *place = static_cast<Handle>(addHandle(Object::kind, std::make_shared<Object>(std::move(object))));
}

} // namespace heddle
