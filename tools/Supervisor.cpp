// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Starts the worker process, passes its output on, and starts another one when it ends by a signal.
#include "tools/Supervisor.h"
#include "api/Tune.h"
#include "tools/Output.h"
#include "tools/Ranks.h"
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <functional>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace heddle {
namespace {

constexpr int mostFaults = 100; ///< each takes a candidate away, or makes the search careful

std::atomic<bool> interrupted = false; ///< of a worker; in the first process: no further worker is started
std::atomic<pid_t> runningWorker = 0;

void onSignal(int) {
  interrupted = true;
}

/// The worker ends in order, and then this process does.
void forwardSignal(int signal) {
  interrupted = true;
  if (pid_t worker = runningWorker)
    ::kill(worker, signal);
}

/// While one lives, SIGINT and SIGTERM wait.
class SignalBlock {
public:
  SignalBlock() {
    sigset_t both;
    ::sigemptyset(&both);
    ::sigaddset(&both, SIGINT);
    ::sigaddset(&both, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &both, &before);
  }
  SignalBlock(const SignalBlock &) = delete;
  ~SignalBlock() { end(); }
  void end() const { ::pthread_sigmask(SIG_SETMASK, &before, nullptr); }

private:
  sigset_t before;
};

[[noreturn]] void throwInterrupted() {
  throw environmentError("interrupted", {"nothing is lost; run the same command again to go on"});
}

/// A signal that comes before the fork ends this process, and a later one the worker: none comes between.
pid_t startWorker(const std::vector<std::string> &words) {
  std::vector<std::string> copies = words;
  std::vector<char *> raw;
  for (std::string &word : copies)
    raw.push_back(word.data());
  raw.push_back(nullptr);
  std::fflush(nullptr);
  pid_t parent = ::getpid();
  SignalBlock block;
  if (interrupted)
    throwInterrupted();
  pid_t worker = ::fork();
  if (worker < 0)
    throw environmentError(fmt::format("a process for the tuner: {}", std::strerror(errno)));
  if (worker == 0) { // nothing here may allocate
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent)
      ::_exit(int(ErrorClass::Environment));
    block.end();
    ::execv("/proc/self/exe", raw.data());
    ::_exit(int(ErrorClass::Environment));
  }
  runningWorker = worker;
  // Ctrl-C goes to all processes of the terminal's job; the worker was not one of them if it came before the fork.
  sigset_t pending;
  if (::sigpending(&pending) == 0 && ::sigismember(&pending, SIGINT) == 1)
    ::kill(worker, SIGINT);
  return worker;
}

void requireWaited(const std::function<int()> &wait) {
  while (wait() < 0)
    if (errno != EINTR)
      throw environmentError(fmt::format("waiting for the tuner's process: {}", std::strerror(errno)));
}

/// Its exit status. No signal is sent to it once its number may be that of another process.
int waitForWorker(pid_t worker) {
  siginfo_t ended;
  int status = 0;
  requireWaited([&] { return ::waitid(P_PID, id_t(worker), &ended, WEXITED | WNOWAIT); });
  runningWorker = 0;
  requireWaited([&] { return int(::waitpid(worker, &status, 0)); });
  return status;
}

bool isFault(int signal) {
  return signal == SIGSEGV || signal == SIGABRT || signal == SIGBUS || signal == SIGILL || signal == SIGFPE;
}

} // namespace

bool canSupervise() {
  return !rememberedProgram().empty();
}

int superviseWorkers(const std::string &time) {
  std::vector<std::string> words = rememberedProgram();
  words.push_back("--worker");
  words.push_back(time);
  std::signal(SIGINT, onSignal); // the worker has it too, and ends in order
  std::signal(SIGTERM, forwardSignal);
  for (int fault = 0; fault < mostFaults; ++fault) {
    pid_t worker = startWorker(words);
    int status = waitForWorker(worker);
    if (WIFEXITED(status)) {
      if (WEXITSTATUS(status) != deviceLostCode)
        return WEXITSTATUS(status);
      say("the device is opened again by a new process");
      continue;
    }
    int signal = WTERMSIG(status);
    if (interrupted && !isFault(signal))
      throwInterrupted(); // it had not begun
    std::string reason = fmt::format("ended the process by signal {} ({})", signal, ::strsignal(signal));
    if (!isFault(signal))
      throw environmentError(fmt::format("a signal has {} that tunes", reason),
                             {"nothing is lost; run the same command again to go on"});
    noteTuningCrash(worker, reason);
    say(fmt::format("a candidate {}; going on in a new one", reason));
  }
  throw environmentError(fmt::format("{} faults while tuning", mostFaults),
                         {"`heddle run kernel:NAME --verify` with the same device shows whether the default works"});
}

void becomeWorker() {
  struct sigaction action = {};
  action.sa_handler = onSignal;
  action.sa_flags = int(SA_RESETHAND); // a second one ends the process at once
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

bool isInterrupted() {
  return interrupted;
}

} // namespace heddle
