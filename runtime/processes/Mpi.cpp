// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Opens MPI's library and tells its binary interface by what is in it. Handles are pointers or integers, which a
// function receives in the same register; constants are addresses of symbols or numbers. Calls come one at a time, so
// that MPI_THREAD_SERIALIZED is enough.
#include "runtime/processes/Mpi.h"
#include "runtime/processes/Deadline.h"
#include "runtime/processes/Handshake.h"
#include "support/Error.h"
#include "support/Knobs.h"
#include <climits>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fmt/format.h>
#include <mutex>
#include <optional>
#include <sched.h>
#include <thread>
#include <vector>

namespace heddle {
namespace {

/// Of MPI's calls, which come from the program's thread and from those of streams.
std::recursive_mutex &mpiMutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

/// Larger than MPI_Status of any library, which is not read.
struct alignas(16) AnyStatus {
  char bytes[256];
};

constexpr double failedSeconds = 5; ///< that all ranks may take to come to their end when this one has failed
constexpr double joinSeconds = 60;  ///< that all ranks may take until each has asked for MPI

} // namespace

struct Mpi::Functions {
  int (*initialized)(int *);
  int (*finalized)(int *);
  int (*initThread)(int *, char ***, int, int *);
  int (*queryThread)(int *);
  int (*commIdup)(uintptr_t, uintptr_t *, uintptr_t *);
  int (*commSetErrhandler)(uintptr_t, uintptr_t);
  int (*commRank)(uintptr_t, int *);
  int (*commSize)(uintptr_t, int *);
  int (*isend)(const void *, int, uintptr_t, int, int, uintptr_t, uintptr_t *);
  int (*irecv)(void *, int, uintptr_t, int, int, uintptr_t, uintptr_t *);
  int (*test)(uintptr_t *, int *, void *);
  int (*ibarrier)(uintptr_t, uintptr_t *);
  int (*errorString)(int, char *, int *);
  int (*finalize)();
};

//===-- The library ----------------------------------------------------------------------------------------------===//

static std::string textOf(const char *name) {
  const char *text = std::getenv(name);
  return text ? text : "";
}

/// Those of the launcher that has started this process come first: a library of another family would take the process
/// for one that is alone.
static std::vector<std::string> libraryNames() {
  if (std::string given = mpiLibrary(); !given.empty())
    return {given};
  std::vector<std::string> mpich = {"libmpi_abi.so.1", "libmpi.so.12", "libmpich.so.12"}, open = {"libmpi.so.40"};
  bool isOpenMpi = !textOf("OMPI_COMM_WORLD_SIZE").empty();
  std::vector<std::string> names = isOpenMpi ? open : mpich;
  for (const std::string &each : isOpenMpi ? mpich : open)
    names.push_back(each);
  return names;
}

void Mpi::open() {
  if (::dlsym(RTLD_DEFAULT, "MPI_Init_thread")) { // a second library would know nothing of the first
    handle = ::dlopen(nullptr, RTLD_NOW);
  } else {
    std::vector<std::string> problems;
    for (const std::string &each : libraryNames()) {
      handle = ::dlopen(each.c_str(), RTLD_NOW | RTLD_GLOBAL);
      if (handle)
        break;
      problems.push_back(::dlerror());
    }
    if (!handle) {
      problems.push_back("install Open MPI or MPICH, or name the library by HEDDLE_MPI_LIBRARY");
      throw environmentError("no library of MPI can be opened", problems);
    }
  }
  call = std::make_unique<Functions>();
  auto find = [&]<typename F>(F *&function, const char *symbol) {
    function = reinterpret_cast<F *>(::dlsym(handle, symbol));
    if (!function)
      throw environmentError(fmt::format("the MPI library {} has no function {}", name, symbol),
                             {"Heddle needs MPI 3 or later"});
  };
  Dl_info facts{};
  if (void *symbol = ::dlsym(handle, "MPI_Init_thread"); symbol && ::dladdr(symbol, &facts) && facts.dli_fname) {
    const char *slash = std::strrchr(facts.dli_fname, '/');
    name = slash ? slash + 1 : facts.dli_fname;
  }
  find(call->initialized, "MPI_Initialized");
  find(call->finalized, "MPI_Finalized");
  find(call->initThread, "MPI_Init_thread");
  find(call->queryThread, "MPI_Query_thread");
  find(call->commIdup, "MPI_Comm_idup");
  find(call->commSetErrhandler, "MPI_Comm_set_errhandler");
  find(call->commRank, "MPI_Comm_rank");
  find(call->commSize, "MPI_Comm_size");
  find(call->isend, "MPI_Isend");
  find(call->irecv, "MPI_Irecv");
  find(call->test, "MPI_Test");
  find(call->ibarrier, "MPI_Ibarrier");
  find(call->errorString, "MPI_Error_string");
  find(call->finalize, "MPI_Finalize");
  chooseConstants();
}

/// MPI_Abi_get_version is in libraries of MPICH's own interface too: the file's name decides.
void Mpi::chooseConstants() {
  void *world = ::dlsym(handle, "ompi_mpi_comm_world");
  isOpenMpi = world != nullptr;
  isStandard = !isOpenMpi && name.starts_with("libmpi_abi");
  communicator = isOpenMpi ? uintptr_t(world) : isStandard ? 0x101 : 0x44000000;
  byte = isOpenMpi ? uintptr_t(::dlsym(handle, "ompi_mpi_byte")) : isStandard ? 0x247 : 0x4c00010d;
  errorsReturn = isOpenMpi ? uintptr_t(::dlsym(handle, "ompi_mpi_errors_return")) : isStandard ? 0x142 : 0x54000001;
  if (!byte || !errorsReturn)
    throw environmentError(fmt::format("the MPI library {} has Open MPI's communicator and not its types", name));
  name = fmt::format("{} ({})", isOpenMpi ? "Open MPI" : isStandard ? "MPI of the standard ABI" : "MPICH", name);
}

void Mpi::check(int code, const char *what) const {
  if (code != 0)
    throw environmentError(fmt::format("{}: {} failed: {}", name, what, errorText(code)));
}

std::string Mpi::errorText(int code) const {
  char text[8192] = {}; // larger than MPI_MAX_ERROR_STRING of any library
  int length = 0;
  return call->errorString(code, text, &length) == 0 ? text : fmt::format("code {}", code);
}

/// Without a launcher a library takes the process for the only one, and that is never what was meant.
static void requireLauncher(const std::string &library) {
  for (const char *each : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "PMI_FD"})
    if (!textOf(each).empty())
      return;
  throw environmentError(fmt::format("MPI is not running: no launcher of MPI has started this process, and the program "
                                     "has not initialised {}",
                                     library),
                         {"start it by mpirun, as in `mpirun -n 4 heddle bench all-reduce --bootstrap mpi`"});
}

void Mpi::initialise() {
  int isInitialised = 0, isFinalised = 0, level = 0;
  check(call->finalized(&isFinalised), "MPI_Finalized");
  if (isFinalised)
    throw environmentError(fmt::format("{} has been finalised in this process: it cannot be used again", name));
  check(call->initialized(&isInitialised), "MPI_Initialized");
  const int serialized = isStandard ? 2048 : 2, multiple = isStandard ? 4096 : 3;
  if (!isInitialised) {
    requireLauncher(name);
    (void)mpiExitSeconds(); // throws where it is ill-formed: at the exit it would be too late
    check(call->initThread(nullptr, nullptr, multiple, &level), "MPI_Init_thread");
    isOurs = true;
    ::on_exit([](int status, void *) { finaliseAtExit(status != 0); }, nullptr);
  } else {
    check(call->queryThread(&level), "MPI_Query_thread");
  }
  if (level < serialized)
    throw environmentError(
        fmt::format("{} was initialised for one thread (level {}), Heddle needs level {}", name, level, serialized),
        {"initialise it by MPI_Init_thread with MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE"});
  if (!isOurs)
    duplicateCommunicator();
  check(call->commSetErrhandler(communicator, errorsReturn), "MPI_Comm_set_errhandler");
  check(call->commRank(communicator, &own), "MPI_Comm_rank");
  check(call->commSize(communicator, &count), "MPI_Comm_size");
  for (const char *each : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (std::string size = textOf(each); isOurs && !size.empty() && size != std::to_string(count)) {
      giveUp();
      throw environmentError(
          fmt::format("the launcher has started {} processes ({}), and {} knows of {}", size, each, name, count),
          {"the library is of another MPI than the launcher: name the launcher's by HEDDLE_MPI_LIBRARY"});
    }
}

/// Not MPI_Comm_dup, which waits for all ranks without an end.
void Mpi::duplicateCommunicator() {
  uintptr_t copy = 0, request = 0;
  check(call->commIdup(communicator, &copy, &request), "MPI_Comm_idup");
  if (!waitFor(request, joinSeconds))
    throw environmentError(fmt::format("{}: not all ranks have asked for MPI within {:.3g} s", name, joinSeconds),
                           {"every rank of MPI_COMM_WORLD makes the group"});
  communicator = copy;
}

bool Mpi::waitFor(uintptr_t &request, double seconds) {
  AnyStatus status;
  Deadline deadline(seconds);
  PollingPause pause;
  for (int isDone = 0;;) {
    check(call->test(&request, &isDone, &status), "MPI_Test");
    if (isDone || deadline.passed())
      return isDone != 0;
    pause.wait();
  }
}

Mpi::Mpi() {
  open();
}

Mpi::~Mpi() = default;

/// Never destroyed: transfers that were left to MPI outlive everything.
static Mpi *&theMpi() {
  static Mpi *instance = nullptr;
  return instance;
}

Mpi &Mpi::instance() {
  std::lock_guard lock(mpiMutex());
  static std::optional<Error> failure; // MPI has been initialised by then, and would be taken for the program's
  if (failure)
    throw *failure;
  if (!theMpi()) {
    std::unique_ptr<Mpi> made(new Mpi);
    try {
      made->initialise();
    } catch (const Error &error) {
      if (made->isOurs)
        failure = error;
      throw;
    }
    theMpi() = made.release();
  }
  int isFinalised = 0;
  theMpi()->check(theMpi()->call->finalized(&isFinalised), "MPI_Finalized");
  if (isFinalised)
    throw environmentError(
        fmt::format("{} has been finalised in this process: it cannot be used again", theMpi()->name));
  return *theMpi();
}

/// MPI_Finalize waits for all ranks without an end; those that fail do not come. A launcher sees an exit without it,
/// and ends the job: so a rank in order waits for the work of the others.
void Mpi::finaliseAtExit(bool hasFailed) {
  std::lock_guard lock(mpiMutex());
  Mpi *mpi = theMpi();
  int isFinalised = 0;
  if (!mpi || mpi->failed || mpi->call->finalized(&isFinalised) != 0 || isFinalised)
    return;
  try {
    uintptr_t request = 0;
    mpi->check(mpi->call->ibarrier(mpi->communicator, &request), "MPI_Ibarrier");
    if (mpi->waitFor(request, hasFailed ? failedSeconds : mpiExitSeconds()))
      mpi->call->finalize();
  } catch (const Error &) { // an exit without MPI_Finalize
  }
}

//===-- Transfers ------------------------------------------------------------------------------------------------===//

struct Mpi::Transfers::State {
  struct Transfer {
    std::string bytes;
    uintptr_t request = 0;
    bool hasArrived = false;
  };
  std::vector<std::unique_ptr<Transfer>> all;
  size_t outstanding = 0;
};

Mpi::Transfers::Transfers(Mpi &mpi) : mpi(mpi), state(std::make_unique<State>()) {}

Mpi::Transfers::~Transfers() {
  if (!state->outstanding)
    return;
  mpi.giveUp();
  (void)state.release();
}

static int countOf(size_t bytes) {
  if (bytes > size_t(INT_MAX))
    throw inputError(fmt::format("{} bytes in one message of MPI, at most {} are possible", bytes, INT_MAX));
  return int(bytes);
}

void Mpi::Transfers::send(int rank, int tag, std::string bytes) {
  std::lock_guard lock(mpiMutex());
  int length = countOf(bytes.size());
  auto &made = *state->all.emplace_back(std::make_unique<State::Transfer>());
  made.bytes = std::move(bytes);
  mpi.check(mpi.call->isend(made.bytes.data(), length, mpi.byte, rank, tag, mpi.communicator, &made.request),
            "MPI_Isend");
  ++state->outstanding;
}

void Mpi::Transfers::receive(int rank, int tag, size_t bytes) {
  std::lock_guard lock(mpiMutex());
  int length = countOf(bytes);
  auto &made = *state->all.emplace_back(std::make_unique<State::Transfer>());
  made.bytes.resize(bytes);
  mpi.check(mpi.call->irecv(made.bytes.data(), length, mpi.byte, rank, tag, mpi.communicator, &made.request),
            "MPI_Irecv");
  ++state->outstanding;
}

bool Mpi::Transfers::poll() {
  std::lock_guard lock(mpiMutex());
  AnyStatus status;
  for (auto &each : state->all) {
    if (each->hasArrived)
      continue;
    int isDone = 0;
    mpi.check(mpi.call->test(&each->request, &isDone, &status), "MPI_Test");
    each->hasArrived = isDone != 0;
    state->outstanding -= each->hasArrived;
  }
  return state->outstanding == 0;
}

bool Mpi::Transfers::hasArrived(size_t number) const {
  return state->all[number]->hasArrived;
}
const std::string &Mpi::Transfers::bytes(size_t number) const {
  return state->all[number]->bytes;
}
size_t Mpi::Transfers::size() const {
  return state->all.size();
}

void PollingPause::wait() {
  constexpr int yields = 200;
  if (turns < yields) {
    ++turns;
    ::sched_yield();
    return;
  }
  std::this_thread::sleep_for(std::chrono::microseconds(100));
}

//===-- The bootstrap --------------------------------------------------------------------------------------------===//

namespace {

/// Each rank sends to each: so the ranks that do not come are known.
class MpiBootstrap : public Bootstrap {
public:
  MpiBootstrap(Mpi &mpi, int tag) : mpi(mpi), lengthTag(tag), textTag(tag + 1) {}
  ~MpiBootstrap() override {
    if (std::uncaught_exceptions() > 0)
      mpi.giveUp();
  }
  int rank() const override { return mpi.rank(); }
  int size() const override { return mpi.size(); }
  std::vector<std::string> allGather(std::string_view mine, double seconds) override;

private:
  void transfer(Mpi::Transfers &transfers, const Deadline &deadline, double seconds);
  int rankOf(size_t number) const { return int(number) + (int(number) >= mpi.rank()); } ///< of the others
  Mpi &mpi;
  const int lengthTag, textTag;
  std::string failure; ///< of an earlier call
};

/// The first transfers are those that are received, one from each other rank.
void MpiBootstrap::transfer(Mpi::Transfers &transfers, const Deadline &deadline, double seconds) {
  PollingPause pause;
  while (!transfers.poll()) {
    if (deadline.passed()) {
      std::vector<int> missing;
      for (size_t number = 0; number + 1 < size_t(size()); ++number)
        if (!transfers.hasArrived(number))
          missing.push_back(rankOf(number));
      failure = missing.empty()
                    ? fmt::format("the other ranks took nothing of rank {} within {:.3g} s", rank(), seconds)
                    : fmt::format("{} of {} did not take part within {:.3g} s", listRanks(missing), size(), seconds);
      throw environmentError(failure);
    }
    pause.wait();
  }
}

std::vector<std::string> MpiBootstrap::allGather(std::string_view mine, double seconds) {
  if (mine.size() > mostBytes)
    throw inputError(fmt::format("{} bytes in an allGather, at most {} are allowed", mine.size(), mostBytes));
  if (!failure.empty())
    throw environmentError("the bootstrap has failed before: " + failure);
  Deadline deadline(seconds);
  std::vector<std::string> texts(static_cast<size_t>(size()));
  texts[size_t(rank())] = mine;
  uint64_t length = mine.size();
  Mpi::Transfers lengths(mpi), bodies(mpi);
  for (int other = 0; other < size(); ++other)
    if (other != rank())
      lengths.receive(other, lengthTag, sizeof length);
  for (int other = 0; other < size(); ++other)
    if (other != rank())
      lengths.send(other, lengthTag, std::string(reinterpret_cast<const char *>(&length), sizeof length));
  transfer(lengths, deadline, seconds);
  for (size_t number = 0; number + 1 < size_t(size()); ++number) {
    uint64_t theirs = 0;
    std::memcpy(&theirs, lengths.bytes(number).data(), sizeof theirs);
    if (theirs > mostBytes) {
      failure = fmt::format("rank {} announces {} bytes in an allGather, at most {} are allowed", rankOf(number),
                            theirs, mostBytes);
      throw environmentError(failure);
    }
    bodies.receive(rankOf(number), textTag, size_t(theirs));
  }
  for (int other = 0; other < size(); ++other)
    if (other != rank())
      bodies.send(other, textTag, std::string(mine));
  transfer(bodies, deadline, seconds);
  for (size_t number = 0; number + 1 < size_t(size()); ++number)
    texts[size_t(rankOf(number))] = bodies.bytes(number);
  return texts;
}

} // namespace

bool isOverMpi(const Bootstrap &bootstrap) {
  return dynamic_cast<const MpiBootstrap *>(&bootstrap) != nullptr;
}

std::unique_ptr<Bootstrap> makeMpiBootstrap(const BootstrapOptions &options) {
  Mpi &mpi = Mpi::instance();
  int tag = mpi.nextBootstrapTag();
  auto refuse = [](const char *what, int asked, int has) {
    throw inputError(fmt::format("{} {} was asked for, and MPI says {}", what, asked, has),
                     {"leave rank and number out: MPI has them"});
  };
  if (options.rank >= 0 && options.rank != mpi.rank())
    refuse("rank", options.rank, mpi.rank());
  if (options.size && options.size != mpi.size())
    refuse("a number of processes of", options.size, mpi.size());
  return std::make_unique<MpiBootstrap>(mpi, tag);
}

} // namespace heddle
