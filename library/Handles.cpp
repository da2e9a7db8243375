// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of handles: who holds an object, and the error for a number that it does not have.
#include "library/Handles.h"
#include <fmt/format.h>
#include <mutex>
#include <new>
#include <pthread.h>
#include <shared_mutex>
#include <unordered_map>

namespace heddle {
namespace {

constexpr uint64_t kindBits = 4; ///< of a handle, below its serial number

struct Entry {
  HandleKind kind;
  std::shared_ptr<void> object;
};

struct Table {
  Table() {
    // A child of fork gets the table whole and unlocked, whatever another thread was doing. The lock is made again
    // there: the child's thread is not the one that took it.
    ::pthread_atfork([] { shared().mutex.lock(); }, [] { shared().mutex.unlock(); },
                     [] { new (&shared().mutex) std::shared_mutex; });
  }
  static Table &shared() {
    static auto *table = new Table; // never destroyed: other threads may use it while the process ends
    return *table;
  }

  std::shared_mutex mutex;
  std::unordered_map<uint64_t, Entry> entries;
  uint64_t nextSerial = 1;
};

const char *wordOf(HandleKind kind) {
  switch (kind) {
  case HandleKind::Package:
    return "package";
  case HandleKind::Device:
    return "device";
  case HandleKind::Kernel:
    return "kernel";
  case HandleKind::Buffer:
    return "buffer";
  case HandleKind::Stream:
    return "stream";
  case HandleKind::Event:
    return "event";
  case HandleKind::Graph:
    return "graph";
  case HandleKind::Text:
    return "text";
  case HandleKind::Communicator:
    return "communicator";
  case HandleKind::Collective:
    return "collective";
  case HandleKind::Bundle:
    return "bundle";
  case HandleKind::Call:
    return "call";
  case HandleKind::Window:
    return "window";
  }
  return "";
}

uint64_t numberOf(const void *handle) {
  return reinterpret_cast<uint64_t>(handle);
}

std::string article(const std::string &noun) {
  return (noun == "event" ? "an " : "a ") + noun;
}

/// `wanted` is null where any kind would do.
Error noSuchHandle(const Table &table, const void *handle, const HandleKind *wanted, const char *parameter) {
  std::string what = wanted ? article(wordOf(*wanted)) : "a handle";
  uint64_t number = numberOf(handle);
  auto found = table.entries.find(number);
  if (found != table.entries.end())
    return inputError(fmt::format("`{}`: {:#x} is {}, and {} is wanted", parameter, number,
                                  article(wordOf(found->second.kind)), what));
  uint64_t serial = number >> kindBits, kind = number & ((1u << kindBits) - 1);
  if (serial >= 1 && serial < table.nextSerial && *wordOf(HandleKind(kind)))
    return inputError(fmt::format("`{}`: the {} {:#x} was released, and {} is wanted", parameter,
                                  wordOf(HandleKind(kind)), number, what));
  return inputError(fmt::format("`{}`: {:#x} is no handle, and {} is wanted", parameter, number, what));
}

} // namespace

void *addHandle(HandleKind kind, std::shared_ptr<void> object) {
  Table &table = Table::shared();
  std::lock_guard lock(table.mutex);
  uint64_t number = table.nextSerial++ << kindBits | uint64_t(kind);
  table.entries.emplace(number, Entry{kind, std::move(object)});
  return reinterpret_cast<void *>(number);
}

std::shared_ptr<void> findHandle(const void *handle, HandleKind kind, const char *parameter) {
  if (std::shared_ptr<void> object = findHandleIfAny(handle, kind))
    return object;
  requirePointer(handle, parameter, article(wordOf(kind)).c_str());
  Table &table = Table::shared();
  std::shared_lock lock(table.mutex);
  throw noSuchHandle(table, handle, &kind, parameter);
}

std::shared_ptr<void> findHandleIfAny(const void *handle, HandleKind kind) {
  Table &table = Table::shared();
  std::shared_lock lock(table.mutex);
  auto found = table.entries.find(numberOf(handle));
  return found == table.entries.end() || found->second.kind != kind ? nullptr : found->second.object;
}

void removeHandle(const void *handle) {
  if (!handle)
    return;
  Table &table = Table::shared();
  std::shared_ptr<void> object; // let go without the lock: the end of a stream waits
  std::lock_guard lock(table.mutex);
  auto found = table.entries.find(numberOf(handle));
  if (found == table.entries.end())
    throw noSuchHandle(table, handle, nullptr, "handle");
  object = std::move(found->second.object);
  table.entries.erase(found);
}

} // namespace heddle

using namespace heddle;

heddle_status heddle_release(const void *handle) {
  return guarded([&] { removeHandle(handle); });
}

heddle_status heddle_text_get(heddle_text text, const char **data, size_t *size) {
  return guarded([&] {
    auto object = find<TextObject>(text, "text");
    requirePointer(data, "data", "a place for the address");
    requirePointer(size, "size", "a place for the number of bytes");
    *data = object->bytes.data();
    *size = object->bytes.size();
  });
}
