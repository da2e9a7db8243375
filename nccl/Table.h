// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The communicators of this process that Heddle may serve, by NCCL's handles, and what becomes of them when the process
// ends.
#pragma once
#include "nccl/Entry.h"
#include <map>
#include <set>
#include <shared_mutex>

namespace heddle::dropin {

/// Safe to use from several threads. Never destroyed: they may call while the process ends.
class Table {
public:
  static Table &shared();

  std::shared_ptr<Entry> find(Comm comm);
  void add(std::shared_ptr<Entry> entry);
  /// Whether NCCL's handle is that of a communicator that has ended, and of none since.
  bool hasEnded(Comm comm);
  void forgetEnd(Comm comm); ///< NCCL has given the handle to a communicator that is not added
  /// Without effect when NCCL has given its handle to another communicator meanwhile.
  void remove(const std::shared_ptr<Entry> &entry);
  /// Lets Heddle's part of a communicator go, which is in the table no more. What graphs hold addresses of stays.
  void release(std::shared_ptr<Entry> entry);

  /// The first error of any, also of the latest one that has ended, until there is a new one; an empty text for none.
  std::string anyError();
  /// Tells the ranks of all communicators that this process ends. From then on nothing of Heddle's is given back: CUDA
  /// shuts down.
  void leaveAll();
  bool isLeaving() const { return leaving; }

private:
  std::vector<std::shared_ptr<Entry>> everyEntry();

  std::shared_mutex mutex;
  std::map<Comm, std::shared_ptr<Entry>> entries;
  std::set<Comm> ended;
  std::string endedError;
  std::vector<std::shared_ptr<Entry>> kept; ///< for the life of the process
  std::atomic<bool> leaving = false;
  std::atomic<int> releasing = 0; ///< threads
};

} // namespace heddle::dropin
