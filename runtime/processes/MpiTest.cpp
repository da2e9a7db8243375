// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MPI's library as it is installed. By itself the program tries what goes wrong without a launcher; ctest also starts
// it by mpirun of Open MPI and of MPICH, and once as a program that has initialised MPI itself.
#include "runtime/processes/Mpi.h"
#include "runtime/processes/Transport.h"
#include "support/TestError.h"
#include <cstdlib>
#include <dlfcn.h>
#include <gtest/gtest.h>

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
  auto transport = makeMpiTransport(*bootstrap);
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
  EXPECT_CONTAINS(messageOf([&] { makeMpiTransport(*other); }), "rank 0 of 1 is rank ");
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
