// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The part of a communicator that is for windows: memory that all ranks register together, so that direct algorithms
// reach the operands of ranks in other processes.
#include "binary/PeerAbi.h"
#include "collectives/Communicator.h"
#include "collectives/Window.h"
#include "runtime/ProcessGroup.h"
#include "runtime/processes/Frame.h"
#include <fmt/format.h>

namespace heddle {

std::string Window::title() const {
  return name.empty() ? fmt::format("window {}", number) : fmt::format("window `{}`", name);
}

Buffer Communicator::allocate(int rank, uint64_t sizeBytes, const std::string &name) {
  Device &own = *device(rank);
  bool isShared = processGroup && ranks() > 1;
  return isShared ? own.allocateShared(sizeBytes, name, Caching::Normal, processGroup->sharing())
                  : own.allocate(sizeBytes, name);
}

static void checkWindow(const std::vector<uint64_t> &starts, size_t devices, uint64_t sizeBytes) {
  if (starts.size() != devices)
    throw inputError(fmt::format("a window of {} addresses in a group with {} ranks of this process: each has one",
                                 starts.size(), devices));
  if (sizeBytes == 0)
    throw inputError("a window of 0 bytes", {"register memory of at least 1 byte"});
  for (uint64_t start : starts)
    if (start == 0 || sizeBytes > UINT64_MAX - start)
      throw inputError(fmt::format("a window of {} bytes at address {:#x}: no memory is there", sizeBytes, start));
}

Window &Communicator::registerWindow(const std::vector<uint64_t> &addresses, uint64_t sizeBytes,
                                     const std::string &name) {
  std::lock_guard one(preparing);
  std::shared_ptr<void> allowed = devices.front()->allowInCaptures();
  auto window = std::make_unique<Window>();
  window->number = windows.size();
  window->name = name;
  window->size = sizeBytes;
  window->starts = addresses;
  window->addresses = addresses;
  window->shifts.assign(size_t(ranks()), 0);
  auto check = [&] { checkWindow(addresses, devices.size(), sizeBytes); };
  if (processGroup) {
    agreeOnStep(
        fmt::format("window {}{} of {} bytes", window->number, name.empty() ? "" : " `" + name + "`", sizeBytes),
        check);
    if (ranks() > 1)
      importWindow(*window);
  } else {
    check();
  }
  window->registered = true;
  windows.push_back(std::move(window));
  return *windows.back();
}

namespace {

/// What a rank says of its memory of a window.
struct WindowPart {
  ExportedRange range;
  uint64_t start = 0; ///< in its own process

  std::string encode() const {
    FieldWriter fields;
    fields.number(uint64_t(range.memory.kind)).number(range.memory.sizeBytes).text(range.memory.handle);
    fields.number(range.offset).number(start);
    return fields.bytes;
  }
  static WindowPart decode(Neighbours::Message &message, uint64_t sizeBytes, const std::string &sender) {
    FieldReader fields(message.bytes, sender);
    WindowPart part;
    part.range.memory.kind = SharingKind(fields.number(uint64_t(SharingKind::CudaHandle)));
    part.range.memory.sizeBytes = fields.number();
    part.range.memory.handle = fields.text(ExportedMemory::mostHandleBytes);
    part.range.offset = fields.number();
    part.start = fields.number();
    fields.end();
    uint64_t whole = part.range.memory.sizeBytes, offset = part.range.offset;
    if (sizeBytes > whole || offset > whole - sizeBytes)
      throw environmentError(fmt::format("{} sent memory of {} bytes for a window of {} bytes from byte {} on", sender,
                                         whole, sizeBytes, offset));
    if (!message.files.empty())
      part.range.memory.file = std::move(message.files[0]);
    return part;
  }
};

} // namespace

/// Collective. An error of one rank is thrown on all; nothing stays mapped then.
void Communicator::importWindow(Window &window) const {
  Device &device = *devices[0];
  WindowPart own;
  own.start = window.starts[0];
  auto messages = processGroup->exchange([&](std::vector<int> &files) {
    own.range = device.exportRange(own.start, window.size);
    if (own.range.memory.file)
      files.push_back(own.range.memory.file.get());
    return own.encode();
  });
  window.imports.resize(size_t(ranks()));
  window.addresses.assign(size_t(ranks()), own.start);
  processGroup->agree([&] {
    for (int rank = 0; rank < ranks(); ++rank) {
      if (rank == firstRank)
        continue;
      std::string sender = processGroup->describe(rank);
      WindowPart part = WindowPart::decode(messages[size_t(rank)], window.size, sender);
      window.hasHandles |= part.range.memory.kind == SharingKind::CudaHandle;
      Buffer &import = window.imports[size_t(rank)];
      import = device.importMemory(part.range.memory, fmt::format("{} of rank {}", window.title(), rank));
      window.addresses[size_t(rank)] = import.address() + part.range.offset;
      window.shifts[size_t(rank)] = window.addresses[size_t(rank)] - part.start;
    }
    return "";
  });
}

void Communicator::deregister(Window &window) {
  std::lock_guard one(preparing);
  std::shared_ptr<void> allowed = devices.front()->allowInCaptures();
  bool isOwn = false;
  for (const auto &known : windows)
    isOwn |= known.get() == &window;
  if (!isOwn)
    throw inputError("the window was registered by another group");
  if (!window.registered)
    throw inputError(fmt::format("{} was deregistered before", window.title()));
  std::exception_ptr failure;
  try {
    if (processGroup)
      agreeOnStep(fmt::format("the end of window {}", window.number), [] {});
  } catch (const Error &) {
    if (!processGroup->neighbours().failure()) // the group goes on, with the window
      throw;
    failure = std::current_exception();
  }
  (void)waitForStreams(); // their errors are those of synchronize
  window.registered = false;
  window.imports.clear();
  {
    std::lock_guard lock(mutex);
    for (const auto &operation : operations)
      if (operation->windows.input == &window || operation->windows.output == &window)
        operation->groups.clear();
  }
  if (failure)
    std::rethrow_exception(failure);
  together([&] { // then no rank uses this rank's memory
    if (window.hasHandles)
      devices[0]->finishFreeing();
  });
}

void Communicator::checkWindows(const OperandWindows &given) const {
  for (const Window *window : {given.input, given.output}) {
    if (!window)
      throw inputError("one of two operands in a window: both are, or neither");
    bool isOwn = false;
    for (const auto &known : windows)
      isOwn |= known.get() == window;
    if (!isOwn)
      throw inputError("the window of an operand was registered by another group");
    if (!window->registered)
      throw inputError(fmt::format("{} was deregistered", window->title()), {"register the memory again"});
  }
}

void Communicator::checkOperands(const Operation &operation, int rank,
                                 const std::vector<LaunchArgument> &operands) const {
  const Collective &what = operation.plan().collective;
  if (operands.size() != 2)
    throw inputError(fmt::format("`{}` of windows takes an input and an output, and {} operands were given",
                                 operation.name(), operands.size()));
  auto size = uint64_t(elementSizeBytes(what.type));
  struct {
    const char *name;
    const Window *window;
    uint64_t bytes;
  } both[] = {{"input", operation.windows.input, uint64_t(what.inputElements()) * size},
              {"output", operation.windows.output, uint64_t(what.outputElements()) * size}};
  size_t local = localIndex(rank);
  for (size_t i = 0; i < 2; ++i) {
    const Window &window = *both[i].window;
    if (!window.registered)
      throw inputError(
          fmt::format("`{}`: {} of its {} was deregistered", operation.name(), window.title(), both[i].name),
          {"register the memory again, and prepare with that window"});
    if (i == 0 && what.kind == CollectiveKind::Broadcast && rank != what.root)
      continue;
    const auto *address = std::get_if<DeviceAddress>(&operands[i]);
    if (!address)
      continue; // the launch refuses it
    if (!window.holds(local, address->value, both[i].bytes))
      throw inputError(fmt::format("`{}`: its {} of {} bytes at {:#x} does not lie in {} of {} bytes at {:#x}",
                                   operation.name(), both[i].name, both[i].bytes, address->value, window.title(),
                                   window.size, window.starts[local]),
                       {"it was prepared for operands in windows"});
  }
}

} // namespace heddle
