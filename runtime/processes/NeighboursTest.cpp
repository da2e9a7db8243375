// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Real processes that pass descriptors, die, stop, leave and abort.
#include "runtime/processes/Neighbours.h"
#include "runtime/processes/LaunchRing.h"
#include "runtime/processes/TestProcesses.h"
#include "support/TestError.h"
#include <thread>

namespace heddle {
namespace {

using testing::OpenResources, testing::TestProcesses, testing::TestRank, testing::now;

std::unique_ptr<Neighbours> join(const TestRank &self) {
  return std::make_unique<Neighbours>(*self.bootstrap(), "host:" + std::to_string(self.rank), 10);
}

TEST(NeighboursOfAHost, PassBytesAndDescriptors) {
  for (int size : {1, 2, 3, 8}) {
    TestProcesses processes(size, [](const TestRank &self) {
      OpenResources before = OpenResources::count();
      auto bootstrap = self.bootstrap();
      {
        Neighbours neighbours(*bootstrap, "host:0", 10);
        bootstrap.reset();
        for (int round = 0; round < 3; ++round) {
          FileDescriptor file = createMemoryFile("heddle-test", 4096);
          FileMapping mine(file, 4096, true);
          static_cast<int *>(mine.address())[0] = 100 * round + self.rank;
          auto messages = neighbours.exchange(std::to_string(self.rank), {file.get()}, 10);
          for (int rank = 0; rank < self.size; ++rank) {
            if (messages.at(size_t(rank)).bytes != std::to_string(rank))
              self.say("wrong bytes");
            if (rank == self.rank)
              continue;
            checkMemoryFile(messages[size_t(rank)].files.at(0), 4096, "a rank");
            FileMapping theirs(messages[size_t(rank)].files[0], 4096, false);
            if (static_cast<int *>(theirs.address())[0] != 100 * round + rank)
              self.say("wrong memory");
          }
        }
        neighbours.barrier(10);
      }
      OpenResources after = OpenResources::count(); // all but the inherited sockets, which the bootstrap has closed
      size_t inherited = self.size == 1 ? 0 : self.rank == 0 ? size_t(self.size - 1) : 1;
      if (after.files + inherited != before.files || after.sharedMappings)
        self.say("left behind: " + std::to_string(after.files) + " descriptors, before " +
                 std::to_string(before.files));
      self.say("done");
    });
    for (int rank = 0; rank < size; ++rank)
      EXPECT_EQ(processes.finish(rank), "done\n") << rank << " of " << size;
  }
}

/// Waits in an exchange; says how it ended and when.
void waitForAll(const TestRank &self, double seconds) {
  auto neighbours = join(self);
  neighbours->onChange([&] { self.say("told"); });
  self.say("ready");
  if (self.rank == 2)
    ::pause();
  try {
    neighbours->exchange("", {}, seconds);
  } catch (const Error &error) {
    self.say("at " + std::to_string(now()));
    throw;
  }
}

double timeIn(const std::string &text) {
  size_t at = text.find("at ");
  return at == std::string::npos ? 0 : std::stod(text.substr(at + 3));
}

TEST(NeighboursOfAHost, HearOfADeath) {
  for (int number : {SIGKILL, SIGTERM}) {
    TestProcesses processes(3, [](const TestRank &self) { waitForAll(self, 30); });
    for (int rank : {0, 1, 2})
      processes.waitFor(rank, "ready");
    double killed = now();
    processes.signal(2, number);
    for (int rank : {0, 1}) {
      std::string text = processes.finish(rank);
      EXPECT_CONTAINS(text, "error: rank 2 (host:2, pid " + std::to_string(processes.pid(2)) + ") is gone");
      EXPECT_CONTAINS(text, "told\n");
      EXPECT_LT(timeIn(text) - killed, 1) << text; // milliseconds, on a machine that has nothing else to do
    }
  }
}

// A child of the process that ends holds its sockets open.
TEST(NeighboursOfAHost, HearOfADeathThoughAChildLives) {
  TestProcesses processes(3, [](const TestRank &self) {
    auto neighbours = join(self);
    if (self.rank == 2 && ::fork() == 0) {
      try {
        neighbours->exchange("", {}, 1);
      } catch (const Error &error) {
        self.say(error.what());
      }
      neighbours.reset();
      self.say("the child lives");
      ::sleep(3);
      ::_exit(0);
    }
    self.say("ready");
    if (self.rank == 2)
      ::pause();
    neighbours->exchange("", {}, 30);
  });
  processes.waitFor(0, "ready");
  processes.waitFor(1, "ready");
  processes.waitFor(2, "the group belongs to process ");
  processes.waitFor(2, "the child lives");
  double killed = now();
  processes.signal(2, SIGKILL);
  for (int rank : {0, 1})
    EXPECT_CONTAINS(processes.finish(rank), "is gone");
  EXPECT_LT(now() - killed, 2);
}

TEST(NeighboursOfAHost, NameAStoppedProcessAtTheDeadline) {
  TestProcesses processes(3, [](const TestRank &self) { waitForAll(self, 0.5); });
  for (int rank : {0, 1, 2})
    processes.waitFor(rank, "ready");
  processes.signal(2, SIGSTOP);
  for (int rank : {0, 1})
    EXPECT_CONTAINS(processes.finish(rank),
                    "rank 2 (host:2, pid " + std::to_string(processes.pid(2)) + ") did not take part within 0.5 s");
}

// A rank answers while its program waits for something else, and one that is stopped does not.
TEST(NeighboursOfAHost, SayWhoIsSilent) {
  TestProcesses processes(3, [](const TestRank &self) {
    auto neighbours = join(self);
    neighbours->barrier(10);
    if (self.rank == 0)
      self.say("first: " + neighbours->describeSilent(10));
    self.say("ready");
    std::this_thread::sleep_for(std::chrono::seconds(self.rank == 0 ? 1 : 60));
    if (self.rank == 0)
      self.say("then: " + neighbours->describeSilent(0.5));
  });
  for (int rank : {0, 1, 2})
    processes.waitFor(rank, "ready");
  processes.signal(2, SIGSTOP);
  std::string text = processes.finish(0);
  EXPECT_CONTAINS(text, "first: \n");
  EXPECT_CONTAINS(text, "then: rank 2 (host:2, pid " + std::to_string(processes.pid(2)) + ") does not answer\n");
}

TEST(NeighboursOfAHost, HearOfGoodbyesAndAborts) {
  TestProcesses processes(3, [](const TestRank &self) {
    auto neighbours = join(self);
    neighbours->barrier(10);
    if (self.rank == 0)
      return; // leaves
    try {
      neighbours->barrier(10);
    } catch (const Error &error) {
      self.say(error.what());
    }
    auto again = errorOf([&] { neighbours->barrier(10); });
    self.say(again.what());
  });
  processes.finish(0);
  for (int rank : {1, 2}) // the first to see it ends the group, saying so
    EXPECT_CONTAINS(processes.finish(rank), "has left the group");

  TestProcesses aborting(3, [](const TestRank &self) {
    auto neighbours = join(self);
    if (self.rank == 1)
      neighbours->abort("the disk is full");
    neighbours->exchange("", {}, 30);
  });
  EXPECT_CONTAINS(aborting.finish(1), "error: the disk is full");
  for (int rank : {0, 2})
    EXPECT_CONTAINS(aborting.finish(rank), "ended the group: the disk is full");
}

TEST(NeighboursOfAHost, FinishAnExchangeThatIsCompleteBeforeTheFailure) {
  for (int i = 0; i < 20; ++i) { // which of the two threads of rank 0 sees what first is not up to the test
    TestProcesses processes(2, [](const TestRank &self) {
      auto neighbours = join(self);
      auto messages = neighbours->exchange(std::to_string(self.rank), {}, 10);
      self.say("has " + messages[0].bytes + messages[1].bytes);
      if (self.rank == 1)
        neighbours->abort("they differ");
      else
        neighbours->waitForFailure(10);
      self.say(errorOf([&] { neighbours->barrier(10); }).what());
    });
    EXPECT_EQ(processes.finish(1), "has 01\nthey differ\n");
    EXPECT_CONTAINS(processes.finish(0), "has 01\nrank 1 (host:1, pid ");
  }
}

TEST(NeighboursOfAHost, CompareTheirLaunches) {
  TestProcesses processes(3, [](const TestRank &self) {
    auto neighbours = join(self);
    LaunchRing ring(*neighbours, 10);
    for (uint64_t launch = 1; launch <= 3000; ++launch) {
      uint64_t hash = launch == 2500 && self.rank == 1 ? 1 : launch * 77;
      ring.record(launch, hash);
      if (auto difference = ring.differenceAt(launch, hash))
        self.say("launch " + std::to_string(launch) + " differs: rank " + std::to_string(difference->rank));
      if (launch % 500 == 0)
        neighbours->barrier(10);
    }
    if (self.rank == 2)
      ring.fail();
    neighbours->barrier(10);
    self.say("count " + std::to_string(ring.countOf(2)) + ", failed " + std::to_string(ring.failedRank()));
    neighbours->barrier(10);
  });
  std::vector<std::string> said;
  for (int rank : {0, 1, 2})
    said.push_back(processes.finish(rank));
  EXPECT_CONTAINS(said[0] + said[1], "launch 2500 differs: rank ");
  EXPECT_CONTAINS(said[2] + said[1], "launch 2500 differs: rank ");
  EXPECT_CONTAINS(said[0], "count 3000, failed 2");
  EXPECT_CONTAINS(said[2], "count 3000, failed -1");
  for (const std::string &text : said)
    EXPECT_EQ(text.find("launch 1 "), std::string::npos) << text;
}

} // namespace
} // namespace heddle
