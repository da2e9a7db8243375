// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Adds, finds and keeps entries; says goodbye for all of them when the process ends.
#include "nccl/Table.h"
#include "nccl/Offer.h"
#include <chrono>
#include <cstdlib>
#include <thread>
#include <unistd.h>

namespace heddle::dropin {

Table &Table::shared() {
  static auto *table = new Table;
  return *table;
}

std::shared_ptr<Entry> Table::find(Comm comm) {
  std::shared_lock lock(mutex);
  auto found = entries.find(comm);
  return found == entries.end() ? nullptr : found->second;
}

void Table::add(std::shared_ptr<Entry> entry) {
  // Registered when CUDA has been initialised, so that it runs before what CUDA has registered.
  static const pid_t owner = ::getpid(); // a forked child leaves nothing
  static const int registered = std::atexit([] {
    if (::getpid() == owner)
      shared().leaveAll();
  });
  (void)registered;
  std::unique_lock lock(mutex);
  ended.erase(entry->comm);
  endedError.clear();
  entries[entry->comm] = std::move(entry);
}

bool Table::hasEnded(Comm comm) {
  std::shared_lock lock(mutex);
  return ended.count(comm) > 0;
}

void Table::forgetEnd(Comm comm) {
  std::unique_lock lock(mutex);
  ended.erase(comm);
}

void Table::remove(const std::shared_ptr<Entry> &entry) {
  std::unique_lock lock(mutex);
  auto found = entries.find(entry->comm);
  if (found == entries.end() || found->second != entry)
    return;
  entries.erase(found);
  ended.insert(entry->comm);
  if (std::string text = entry->lastError(); !text.empty())
    endedError = std::move(text);
}

void Table::release(std::shared_ptr<Entry> entry) {
  ++releasing;
  if (entry->wasCaptured() || leaving) {
    entry->leave();
    std::unique_lock lock(mutex);
    kept.push_back(std::move(entry));
  }
  entry.reset();
  --releasing;
}

std::string Table::anyError() {
  std::shared_lock lock(mutex);
  for (const auto &[comm, entry] : entries)
    if (std::string text = entry->lastError(); !text.empty())
      return text;
  return endedError;
}

std::vector<std::shared_ptr<Entry>> Table::everyEntry() {
  std::shared_lock lock(mutex);
  std::vector<std::shared_ptr<Entry>> all = kept;
  for (const auto &[comm, entry] : entries)
    all.push_back(entry);
  return all;
}

void Table::leaveAll() {
  constexpr int longest = 2000; // milliseconds
  leaving = true;
  for (const auto &entry : everyEntry())
    entry->leave();
  for (int turn = 0; turn < longest && (releasing > 0 || offersInBackground() > 0); ++turn)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

} // namespace heddle::dropin
