// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Starts the processes, passes on what they print with their rank, and ends all when one fails.
#include "tools/Ranks.h"
#include "support/Error.h"
#include "support/FileDescriptor.h"
#include "tools/Output.h"
#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

namespace heddle {
namespace {

constexpr int mostProcesses = 8;
constexpr std::chrono::seconds secondsAfterFailure{2};

std::vector<std::string> &programWords() {
  static std::vector<std::string> words;
  return words;
}

/// One rank: its process, and what it says.
struct Child {
  pid_t pid = 0;
  FileDescriptor output;
  std::string line; ///< so far
  int code = 0;

  bool isRunning() const { return pid > 0; }
};

Error systemFailure(const char *what) {
  return environmentError(fmt::format("{}: {}", what, std::strerror(errno)));
}

class Ranks {
public:
  explicit Ranks(int count) : children(size_t(count)), links(size_t(count)) {
    for (int rank = 1; rank < count; ++rank) {
      int ends[2];
      if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        throw systemFailure("a socket for two ranks");
      links[0].emplace_back(ends[0]);
      links[size_t(rank)].emplace_back(ends[1]);
    }
  }
  ~Ranks() {
    for (Child &child : children)
      if (child.isRunning()) {
        ::kill(child.pid, SIGKILL);
        ::waitpid(child.pid, nullptr, 0);
      }
  }

  int run() {
    for (int rank = 0; rank < int(children.size()); ++rank)
      start(rank);
    links.clear(); // or the end of a rank would not be seen by the others
    while (step()) {
    }
    int code = 0;
    for (const Child &child : children)
      code = std::max(code, child.code);
    return code;
  }

private:
  void start(int rank) {
    std::vector<std::string> words = programWords();
    std::string address = "inherited:";
    for (const FileDescriptor &link : links[size_t(rank)])
      address += (address.back() == ':' ? "" : ",") + std::to_string(link.get());
    for (const std::string &word : {std::string("--bootstrap"), address, std::string("--rank"), std::to_string(rank)})
      words.push_back(word);
    std::vector<char *> raw;
    for (std::string &word : words)
      raw.push_back(word.data());
    raw.push_back(nullptr);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      throw systemFailure("a pipe for a rank");
    FileDescriptor output(ends[0]), input(ends[1]), nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    pid_t parent = ::getpid(), pid = ::fork();
    if (pid < 0)
      throw systemFailure("a process for a rank");
    if (pid == 0) { // nothing here may allocate
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent)
        ::_exit(int(ErrorClass::Environment));
      for (const FileDescriptor &link : links[size_t(rank)])
        ::fcntl(link.get(), F_SETFD, 0);
      ::dup2(input.get(), STDERR_FILENO);
      if (rank != 0)
        ::dup2(nowhere.get(), STDOUT_FILENO);
      ::execv("/proc/self/exe", raw.data());
      ::_exit(int(ErrorClass::Environment));
    }
    children[size_t(rank)].pid = pid;
    children[size_t(rank)].output = std::move(output);
  }

  /// Whether there is more to come.
  bool step() {
    std::vector<pollfd> files;
    bool isRunning = false;
    for (const Child &child : children) {
      files.push_back({child.output.get(), POLLIN, 0});
      // A program that a rank has started may hold the pipe.
      bool isGivenUp = failed && Clock::now() > *failed + 2 * secondsAfterFailure;
      isRunning |= child.isRunning() || (child.output && !isGivenUp);
    }
    if (!isRunning)
      return false;
    ::poll(files.data(), files.size(), 50);
    for (int rank = 0; rank < int(children.size()); ++rank) {
      if (files[size_t(rank)].revents)
        read(rank);
      if (children[size_t(rank)].isRunning())
        reap(rank);
    }
    if (failed && Clock::now() > *failed + secondsAfterFailure)
      for (Child &child : children)
        if (child.isRunning())
          ::kill(child.pid, SIGKILL);
    return true;
  }

  void read(int rank) {
    Child &child = children[size_t(rank)];
    char bytes[4096];
    ssize_t count = ::read(child.output.get(), bytes, sizeof bytes);
    if (count <= 0) {
      child.output.reset();
      if (!child.line.empty())
        say(fmt::format("rank {}: {}", rank, child.line));
      return;
    }
    for (char byte : std::string_view(bytes, size_t(count)))
      if (byte != '\n')
        child.line += byte;
      else
        say(fmt::format("rank {}: {}", rank, std::exchange(child.line, "")));
  }

  void reap(int rank) {
    Child &child = children[size_t(rank)];
    int status = 0;
    if (::waitpid(child.pid, &status, WNOHANG) != child.pid)
      return;
    bool isKilledHere = failed && Clock::now() > *failed + secondsAfterFailure;
    if (WIFSIGNALED(status)) {
      say(fmt::format("rank {}: {} signal {} ({}) (pid {})", rank,
                      isKilledHere ? "did not end after a failure of another rank:" : "was ended by", WTERMSIG(status),
                      ::strsignal(WTERMSIG(status)), child.pid));
      child.code = int(ErrorClass::Environment);
    } else {
      child.code = WEXITSTATUS(status);
    }
    child.pid = 0;
    if (child.code && !failed)
      failed = Clock::now();
  }

  using Clock = std::chrono::steady_clock;
  std::vector<Child> children;
  std::vector<std::vector<FileDescriptor>> links; ///< of each rank, to give to it
  std::optional<Clock::time_point> failed;        ///< when the first did
};

} // namespace

std::optional<BootstrapOptions> RankOptions::bootstrapOptions() const {
  if (bootstrap.empty()) {
    if (rank >= 0)
      throw inputError(fmt::format("`--rank {}` without `--bootstrap`", rank),
                       {"`--bootstrap` says where rank 0 listens; `--processes` alone starts all of them"});
    return std::nullopt;
  }
  BootstrapOptions options;
  options.address = bootstrap, options.rank = rank, options.size = processes;
  return options;
}

void addRankOptions(CLI::App &verb, RankOptions &options) {
  verb.add_option_function<std::string>("--processes", [&options](const std::string &text) {
    options.processes = parseIntegerOption("--processes", text, 1, mostProcesses);
  });
  verb.add_option_function<std::string>("--rank", [&options](const std::string &text) {
    options.rank = parseIntegerOption("--rank", text, 0, mostProcesses - 1);
  });
  verb.add_option("--bootstrap", options.bootstrap);
}

void rememberProgram(const std::vector<std::string> &words) {
  programWords() = words;
}

const std::vector<std::string> &rememberedProgram() {
  return programWords();
}

int runRanks(int count) {
  if (programWords().empty())
    throw inputError("`--processes` starts the program `heddle` again, and this is another one",
                     {"start the processes yourself, as with torchrun, and give `--bootstrap env`"});
  std::fflush(nullptr);
  return Ranks(count).run();
}

} // namespace heddle
