// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MPI's library as it is installed. By itself the program tries what goes wrong without a launcher; ctest also starts
// it by mpirun of Open MPI and of MPICH, and once as a program that has initialised MPI itself.
#include "runtime/processes/Mpi.h"
#include "runtime/processes/Transport.h"
#include "support/TestError.h"
#include <cstdlib>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <thread>

namespace heddle {
namespace {

/// What ranks give each other: of other lengths, and of bytes that tell them apart.
std::string textOf(int rank, size_t round) {
  const size_t lengths[] = {0, 1, 5000, Bootstrap::mostBytes / 4};
  return std::string(lengths[round] * size_t(rank + 1) / 2, char('a' + rank + int(round)));
}

TEST(MpiOfALauncher, GathersBytes) {
  BootstrapOptions options;
  options.address = "mpi";
  auto bootstrap = makeBootstrap(options);
  ASSERT_EQ(bootstrap->size(), 3);
  EXPECT_TRUE(isOverMpi(*bootstrap));
  for (size_t round = 0; round < 4; ++round) {
    auto texts = bootstrap->allGather(textOf(bootstrap->rank(), round), 20);
    for (int rank = 0; rank < 3; ++rank)
      EXPECT_EQ(texts.at(size_t(rank)), textOf(rank, round)) << "round " << round;
  }
  EXPECT_CONTAINS(messageOf([&] { bootstrap->allGather(std::string(Bootstrap::mostBytes + 1, 'x'), 1); }),
                  "bytes in an allGather, at most 1048576 are allowed");
  options.rank = 7;
  EXPECT_CONTAINS(messageOf([&] { makeBootstrap(options); }), "rank 7 was asked for, and MPI says ");
}

TEST(MpiOfALauncher, MovesBytesOfAnySize) {
  auto bootstrap = makeMpiBootstrap({});
  auto transport = makeMpiTransport(*bootstrap, 20);
  EXPECT_CONTAINS(transport->description(), std::getenv("OMPI_COMM_WORLD_SIZE") ? "Open MPI (libmpi.so.40" : "MPICH (");
  uint64_t what = 0;
  for (size_t bytes : {0, 1, 100000, 1 << 20}) {
    ++what;
    std::vector<std::string> out, in;
    std::vector<Transport::Part> outs, ins;
    for (int rank = 0; rank < 3; ++rank) {
      out.emplace_back(bytes, char(16 * bootstrap->rank() + rank + int(what)));
      in.emplace_back(bytes, '\0');
    }
    for (int rank = 0; rank < 3; ++rank)
      if (rank != bootstrap->rank()) {
        outs.push_back({rank, out[size_t(rank)].data(), bytes});
        ins.push_back({rank, in[size_t(rank)].data(), bytes});
      }
    transport->exchange(outs, ins, what, 20);
    for (int rank = 0; rank < 3; ++rank)
      if (rank != bootstrap->rank())
        EXPECT_EQ(in[size_t(rank)], std::string(bytes, char(16 * rank + bootstrap->rank() + int(what))));
  }
  auto other = makeBootstrap(0, 1, [](const std::string &mine, double) { return std::vector<std::string>{mine}; });
  EXPECT_CONTAINS(messageOf([&] { makeMpiTransport(*other, 20); }), "it is rank 0 of 1, and for MPI rank ");
}

/// One message of rank 0's to rank 1; `text` is what rank 1 expects or rank 0 sends.
void pass(Transport &transport, int rank, std::string text, uint64_t what) {
  std::string sent = text;
  text.assign(text.size(), '\0');
  if (rank == 0)
    transport.exchange({{1, sent.data(), sent.size()}}, {}, what, 20);
  if (rank != 1)
    return;
  transport.exchange({}, {{0, text.data(), text.size()}}, what, 20);
  EXPECT_EQ(text, sent);
}

// Rank 1 receives in the other order than rank 0 sends.
TEST(MpiOfALauncher, TwoGroupsAtOnceDoNotHearEachOther) {
  auto first = makeMpiBootstrap({}), second = makeMpiBootstrap({});
  auto one = makeMpiTransport(*first, 20), two = makeMpiTransport(*second, 20), three = makeMpiTransport(*second, 20);
  std::vector<Transport *> order = {one.get(), two.get(), three.get()};
  if (first->rank() == 1)
    std::swap(order[0], order[2]);
  for (Transport *each : order)
    pass(*each, first->rank(), each == one.get() ? "first" : each == two.get() ? "other" : "third", 7);
  for (Bootstrap *each : {second.get(), first.get()})
    EXPECT_EQ(each->allGather(std::to_string(each->rank()), 20), (std::vector<std::string>{"0", "1", "2"}));
}

// Rank 0 sends twice what rank 1 does not expect: more bytes than it receives, equally many of something else, fewer.
// What is left of that is not heard by the next group.
TEST(MpiOfALauncher, ANewGroupFollowsAFailedOne) {
  auto bootstrap = makeMpiBootstrap({});
  int rank = bootstrap->rank();
  for (size_t sent : {4000, 5, 1}) {
    auto failed = makeMpiTransport(*bootstrap, 20);
    if (rank == 0)
      for (int call = 0; call < 2; ++call)
        pass(*failed, 0, std::string(sent, 'x'), 8);
    if (rank == 1) {
      Error error = errorOf([&] { pass(*failed, 1, "hello", 9); });
      EXPECT_EQ(error.kind, ErrorClass::Environment);
      EXPECT_CONTAINS(error.what(), "rank 0 exchanges something else than this rank: ");
      EXPECT_EQ(messageOf([&] { pass(*failed, 1, "hello", 9); }).substr(0, 40),
                std::string(error.what()).substr(0, 40));
    }
    auto next = makeMpiTransport(*makeMpiBootstrap({}), 20);
    pass(*next, rank, "hello", 9);
  }
}

// A rank that is done long before the others waits for them at its exit, and the launcher sees nothing amiss.
TEST(MpiOfALauncher, EndsWhenTheLastRankDoes) {
  if (Mpi::instance().rank() == 0 && std::getenv("HEDDLE_TEST_LATE_SECONDS"))
    std::this_thread::sleep_for(std::chrono::seconds(std::atoi(std::getenv("HEDDLE_TEST_LATE_SECONDS"))));
}

TEST(MpiWithoutALauncher, IsAnError) {
  ::setenv("HEDDLE_MPI_LIBRARY", "/nowhere/libmpi.so", 1);
  Error none = errorOf([] { Mpi::instance(); });
  EXPECT_EQ(none.kind, ErrorClass::Environment);
  EXPECT_CONTAINS(none.what(), "no library of MPI can be opened");
  EXPECT_CONTAINS(none.notes.at(0), "/nowhere/libmpi.so");
  EXPECT_CONTAINS(none.notes.at(1), "HEDDLE_MPI_LIBRARY");
  ::setenv("HEDDLE_MPI_LIBRARY", "libm.so.6", 1);
  EXPECT_CONTAINS(messageOf([] { Mpi::instance(); }), "has no function MPI_");
  ::unsetenv("HEDDLE_MPI_LIBRARY");
  Error alone = errorOf([] { Mpi::instance(); });
  EXPECT_CONTAINS(alone.what(), "MPI is not running: no launcher of MPI has started this process");
  EXPECT_CONTAINS(alone.notes.at(0), "mpirun -n 4 heddle bench");
}

/// With HEDDLE_TEST_OWN_MPI a program that uses MPI itself: it has opened and initialised it, and finalises it.
class OwnMpi : public ::testing::Environment {
public:
  void SetUp() override {
    const char *library = std::getenv("HEDDLE_TEST_OWN_MPI");
    if (!library)
      return;
    handle = ::dlopen(library, RTLD_NOW | RTLD_GLOBAL);
    ASSERT_NE(handle, nullptr) << ::dlerror();
    auto init = reinterpret_cast<int (*)(int *, char ***, int, int *)>(::dlsym(handle, "MPI_Init_thread"));
    int level = 0;
    ASSERT_EQ(init(nullptr, nullptr, 3, &level), 0);
  }
  void TearDown() override {
    if (!handle)
      return;
    EXPECT_EQ(reinterpret_cast<int (*)()>(::dlsym(handle, "MPI_Finalize"))(), 0);
    EXPECT_CONTAINS(messageOf([] { Mpi::instance(); }), "has been finalised in this process");
  }

private:
  void *handle = nullptr;
};
[[maybe_unused]] ::testing::Environment *const ownMpi = ::testing::AddGlobalTestEnvironment(new OwnMpi);

} // namespace
} // namespace heddle
