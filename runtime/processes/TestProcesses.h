// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For tests: a real process for each rank, forked from the test, with a bootstrap between them. Each says lines, for
// which the test can wait, and is killed when the test's time is over. The test's own process starts no threads.
#pragma once
#include "runtime/processes/Bootstrap.h"
#include "support/Error.h"
#include "support/FileDescriptor.h"
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

namespace heddle::testing {

/// What a process has open: descriptors and mappings of memory that is shared.
struct OpenResources {
  size_t files = 0, sharedMappings = 0;
  static OpenResources count() {
    OpenResources seen;
    for ([[maybe_unused]] const auto &each : std::filesystem::directory_iterator("/proc/self/fd"))
      ++seen.files;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
      seen.sharedMappings += line.find("memfd:heddle") != std::string::npos;
    return seen;
  }
};

/// A rank, within its process.
class TestRank {
public:
  TestRank(int rank, int size, int output, std::string address)
      : rank(rank), size(size), output(output), address(std::move(address)) {}
  const int rank, size;
  void say(const std::string &line) const {
    std::string text = line + "\n";
    (void)!::write(output, text.data(), text.size());
  }
  /// Once.
  std::unique_ptr<Bootstrap> bootstrap() const {
    BootstrapOptions options;
    options.address = address, options.rank = rank, options.size = size;
    return makeBootstrap(options);
  }

private:
  int output;
  std::string address;
};

class TestProcesses {
public:
  static constexpr double longestSeconds = 60;

  /// A body that throws an Error says its message, and its notes.
  TestProcesses(int size, const std::function<void(const TestRank &)> &body)
      : ended(size_t(size)), lines(size_t(size)) {
    std::vector<std::array<FileDescriptor, 2>> pairs(size_t(size > 0 ? size - 1 : 0));
    for (auto &pair : pairs) {
      int ends[2];
      EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
      pair = {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
    }
    for (int rank = 0; rank < size; ++rank) {
      int ends[2];
      EXPECT_EQ(::pipe(ends), 0);
      pid_t pid = ::fork();
      if (pid == 0)
        runChild(rank, size, ends[1], pairs, body);
      ::close(ends[1]);
      outputs.emplace_back(ends[0]);
      pids.push_back(pid);
    }
  }
  ~TestProcesses() {
    for (int rank = 0; rank < int(pids.size()); ++rank)
      if (!ended[size_t(rank)]) {
        signal(rank, SIGKILL);
        ::waitpid(pids[size_t(rank)], nullptr, 0);
      }
  }
  TestProcesses(const TestProcesses &) = delete;

  void signal(int rank, int number) { ::kill(pids[size_t(rank)], number); }
  pid_t pid(int rank) const { return pids[size_t(rank)]; }

  /// Reads on until the rank has said a line that begins so.
  void waitFor(int rank, const std::string &beginning) {
    while (readLine(rank))
      if (lines[size_t(rank)].back().starts_with(beginning))
        return;
    ADD_FAILURE() << "rank " << rank << " did not say `" << beginning << "`, but:\n" << text(rank);
  }
  /// All that it said, when it has ended.
  std::string finish(int rank) {
    while (readLine(rank)) {
    }
    int status = 0;
    if (!ended[size_t(rank)])
      ended[size_t(rank)] = ::waitpid(pids[size_t(rank)], &status, 0) == pids[size_t(rank)];
    return text(rank);
  }
  std::string text(int rank) const {
    std::string all;
    for (const std::string &line : lines[size_t(rank)])
      all += line + "\n";
    return all;
  }

private:
  [[noreturn]] static void runChild(int rank, int size, int output, std::vector<std::array<FileDescriptor, 2>> &pairs,
                                    const std::function<void(const TestRank &)> &body) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::string address = "inherited:";
    for (size_t link = 0; link < pairs.size(); ++link) {
      bool isOwn = rank == 0 || link + 1 == size_t(rank);
      if (isOwn)
        address += (address.back() == ':' ? "" : ",") + std::to_string(pairs[link][rank == 0 ? 0 : 1].get());
      pairs[link][rank == 0 ? 1 : 0].reset();
      if (!isOwn)
        pairs[link][1].reset();
      else
        pairs[link][rank == 0 ? 0 : 1].release();
    }
    TestRank self(rank, size, output, address);
    try {
      body(self);
    } catch (const Error &error) {
      self.say(std::string("error: ") + error.what());
      for (const std::string &note : error.notes)
        self.say("note: " + note);
    } catch (const std::exception &error) {
      self.say(std::string("exception: ") + error.what());
    }
    ::_exit(0);
  }

  /// False at the end of its output.
  bool readLine(int rank) {
    std::string line;
    for (;;) {
      pollfd wanted{outputs[size_t(rank)].get(), POLLIN, 0};
      int left = int(std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count());
      char byte = 0;
      if (left <= 0 || ::poll(&wanted, 1, left) <= 0) {
        ADD_FAILURE() << "rank " << rank << " says nothing more; so far:\n" << text(rank);
        signal(rank, SIGKILL);
        return false;
      }
      if (::read(wanted.fd, &byte, 1) != 1)
        return false;
      if (byte == '\n')
        break;
      line += byte;
    }
    lines[size_t(rank)].push_back(line);
    return true;
  }

  using Clock = std::chrono::steady_clock;
  const Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(longestSeconds));
  std::vector<FileDescriptor> outputs;
  std::vector<pid_t> pids;
  std::vector<bool> ended; ///< and waited for
  std::vector<std::vector<std::string>> lines;
};

/// Seconds of the monotonic clock, which all processes share.
inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

} // namespace heddle::testing
