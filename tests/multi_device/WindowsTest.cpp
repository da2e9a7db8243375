// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Windows: direct algorithms whose operands are in other processes give the bits of the reference, and what happens
// when a rank dies, is silent, or registers something else.
#include "runtime/Stream.h"
#include "runtime/processes/Frame.h"
#include "support/TestError.h"
#include "tests/multi_device/RankRun.h"

using namespace heddle;
using namespace heddle::testing;

namespace {

std::vector<Plan> directPlans(int ranks, int64_t inner) {
  std::vector<Plan> plans;
  for (const Algorithm *algorithm : allAlgorithms())
    if (algorithm->direct)
      plans.push_back(compiled(planOf(*algorithm, ranks, inner, /*windows=*/true)));
  return plans;
}

Plan directAllReduce(int ranks, int64_t inner = 3000) {
  return planOf(findAlgorithm(CollectiveKind::AllReduce, "two_shot_direct"), ranks, inner, /*windows=*/true);
}

class Windows : public ::testing::Test {
protected:
  static void SetUpTestSuite() {
    for (int ranks : {2, 3})
      compiled(directAllReduce(ranks));
  }
};

/// A rank's memory in a window, of the communicator's own allocator.
struct Shared {
  Shared(Communicator &group, int rank, uint64_t sizeBytes, const std::string &name = "")
      : buffer(group.allocate(rank, sizeBytes, name)),
        window(group.registerWindow({buffer.address()}, sizeBytes, name)) {}
  Buffer buffer;
  Window &window;
};

uint64_t bytesOf(const Collective &collective, bool isOutput) {
  return uint64_t((isOutput ? collective.outputElements() : collective.inputElements()) *
                  elementSizeBytes(collective.type));
}

/// Twice with other inputs; counts what is right.
void callTwice(const TestRank &self, Communicator &group, const Plan &plan, const OperandWindows &windows,
               uint64_t input, uint64_t output, int &right) {
  for (uint64_t seed : {1, 2}) {
    RankRun run(group, self.rank, plan, seed, windows, input, output);
    run.launch();
    std::string difference = run.difference();
    right += difference.empty();
    if (!difference.empty())
      self.say(std::string(plan.algorithm->name) + ": " + difference);
  }
}

// Where operands lie in their windows is each rank's own business: offsets differ between ranks here.
TEST_F(Windows, DirectAlgorithmsGiveTheBitsOfTheReference) {
  for (int size : {2, 3}) {
    std::vector<Plan> plans = directPlans(size, 3000);
    TestProcesses processes(size, [&](const TestRank &self) {
      auto group = join(self);
      constexpr uint64_t most = 3 * 3000 * 4, room = 4096;
      Shared first(*group, self.rank, most + room, "first"), second(*group, self.rank, 2 * most + room, "second");
      int right = 0;
      for (const Plan &plan : plans) {
        uint64_t input = first.buffer.address() + 64 * uint64_t(self.rank);
        uint64_t output = second.buffer.address() + 20 * uint64_t(self.rank + 1);
        callTwice(self, *group, plan, {&first.window, &second.window}, input, output, right);
        input = output + bytesOf(plan.collective, true); // both in one
        callTwice(self, *group, plan, {&second.window, &second.window}, input, output, right);
        if (plan.collective.kind == CollectiveKind::AllReduce || plan.collective.kind == CollectiveKind::AllToAll)
          callTwice(self, *group, plan, {&second.window, &second.window}, output, output, right);
      }
      self.say(std::to_string(right) + " right");
    });
    size_t inPlace = 0;
    for (const Plan &plan : plans)
      inPlace += plan.collective.kind == CollectiveKind::AllReduce || plan.collective.kind == CollectiveKind::AllToAll;
    for (int rank = 0; rank < size; ++rank)
      EXPECT_EQ(processes.finish(rank), std::to_string(4 * plans.size() + 2 * inPlace) + " right\n") << rank;
  }
}

// One process has its memory in one place: windows are allowed, and change nothing.
TEST_F(Windows, InOneProcess) {
  TestProcesses processes(1, [](const TestRank &self) {
    Communicator group({openDevice("host:0"), openDevice("host:1")}, deadline(30));
    Plan plan = directAllReduce(2);
    auto inputs = reference::randomInputs(plan.collective, 1, false);
    auto expected = reference::runCollective(plan.collective, inputs);
    std::vector<Buffer> buffers;
    for (int rank : {0, 1})
      buffers.push_back(group.allocate(rank, inputs[0].size()));
    Window &window = group.registerWindow({buffers[0].address(), buffers[1].address()}, inputs[0].size());
    Communicator::Operation &sum = group.prepare(plan, "", "", {&window, &window});
    for (int rank : {0, 1}) {
      group.stream(rank).copyToDevice(buffers[size_t(rank)], inputs[size_t(rank)].data());
      group.stream(rank).synchronize();
    }
    for (int rank : {0, 1})
      group.launch(sum, rank, {DeviceAddress(buffers[size_t(rank)]), DeviceAddress(buffers[size_t(rank)])});
    group.synchronize();
    for (int rank : {0, 1}) {
      std::string seen(inputs[0].size(), '\0');
      group.stream(rank).copyToHost(seen.data(), buffers[size_t(rank)]);
      group.stream(rank).synchronize();
      self.say("right" + reference::firstDifference(ElementType::F32, seen, expected[size_t(rank)]));
    }
    group.deregister(window);
  });
  EXPECT_EQ(processes.finish(0), "right\nright\n");
}

TEST_F(Windows, LeaveNothingBehind) {
  TestProcesses processes(3, [](const TestRank &self) {
    auto device = openDevice("host:" + std::to_string(self.rank));
    OpenResources before = OpenResources::count();
    {
      auto group = join(self);
      for (int round : {0, 1}) { // the first also makes what stays with the group: a kernel, an arena
        OpenResources alone = OpenResources::count();
        {
          Shared shared(*group, self.rank, 1 << 20, "x");
          uint64_t start = shared.buffer.address();
          RankRun run(*group, self.rank, directAllReduce(3), 1, {&shared.window, &shared.window}, start, start);
          run.launch();
          self.say(run.difference() + "+");
          OpenResources with = OpenResources::count();
          group->deregister(shared.window);
          self.say(std::to_string(with.sharedMappings - OpenResources::count().sharedMappings) + " mappings less");
        }
        OpenResources after = OpenResources::count();
        if (round == 1)
          self.say(std::to_string(after.sharedMappings - alone.sharedMappings) + " mappings, " +
                   std::to_string(after.files - alone.files) + " files more");
      }
      Shared kept(*group, self.rank, 1 << 20); // ends with the communicator
    }
    OpenResources after = OpenResources::count();
    self.say("left: " + std::to_string(after.sharedMappings) + " mappings, " +
             std::to_string(int(after.files + (self.rank == 0 ? 2 : 1)) - int(before.files)) + " files");
  });
  for (int rank : {0, 1, 2})
    EXPECT_EQ(processes.finish(rank),
              "+\n2 mappings less\n+\n2 mappings less\n0 mappings, 0 files more\nleft: 0 mappings, 0 files\n");
}

/// Says the class and the text of the error of `work`, then that the group works still, or its error.
void sayError(const TestRank &self, Communicator &group, const std::function<void()> &work) {
  auto say = [&](const Error &error) {
    self.say(std::to_string(int(error.kind)) + " " + error.what());
    for (const std::string &note : error.notes)
      self.say("note: " + note);
  };
  try {
    work();
    self.say("no error");
  } catch (const Error &error) {
    say(error);
  }
  try {
    Shared shared(group, self.rank, 1 << 20, "after");
    RankRun run(group, self.rank, directAllReduce(self.size), 1, {&shared.window, &shared.window},
                shared.buffer.address(), shared.buffer.address());
    run.launch();
    self.say("then" + run.difference());
  } catch (const Error &error) {
    self.say(std::string("then error: ") + error.what());
  }
}

/// What each of `size` ranks says of an error while it registers memory.
std::vector<std::string> errorsOf(int size, const std::function<void(const TestRank &, Communicator &)> &work) {
  TestProcesses processes(size, [&](const TestRank &self) {
    auto group = join(self);
    sayError(self, *group, [&] { work(self, *group); });
  });
  std::vector<std::string> texts;
  for (int rank = 0; rank < size; ++rank)
    texts.push_back(processes.finish(rank));
  return texts;
}

TEST_F(Windows, SizesThatDifferAreRefusedWithBoth) {
  for (int size : {2, 3})
    for (const std::string &text : errorsOf(size, [](const TestRank &self, Communicator &group) {
           Shared shared(group, self.rank, self.rank == 1 ? 4096 : 8192, "x");
         })) {
      EXPECT_TRUE(text.starts_with("2 rank 1 (host:1, pid ")) << text;
      EXPECT_CONTAINS(text, ") asks for window 0 `x` of 4096 bytes, rank 0 (host:0, pid ");
      EXPECT_CONTAINS(text, ") for window 0 `x` of 8192 bytes\n");
      EXPECT_CONTAINS(text, "\nthen\n");
    }
}

TEST_F(Windows, MemoryThatCannotBeSharedIsRefusedOnAllRanks) {
  for (int size : {2, 3})
    for (const std::string &text : errorsOf(size, [](const TestRank &self, Communicator &group) {
           Buffer ordinary = group.device(self.rank)->allocate(4096, "mine");
           Buffer shared = group.allocate(self.rank, 4096);
           group.registerWindow({self.rank == 1 ? ordinary.address() : shared.address()}, 4096);
         })) {
      EXPECT_CONTAINS(text, "share: 4096 bytes at 0x");
      EXPECT_CONTAINS(text, " are ordinary memory of the host, which no other process can map\n");
      EXPECT_TRUE(text.starts_with("2 rank 1 (host:1, pid ") || text.starts_with("2 share: ")) << text;
      EXPECT_CONTAINS(text, "\nthen\n");
    }
  std::vector<std::string> freed = errorsOf(2, [](const TestRank &self, Communicator &group) {
    Buffer shared = group.allocate(self.rank, 4096, "gone");
    uint64_t address = shared.address();
    if (self.rank == 1)
      shared = Buffer();
    group.registerWindow({address}, 4096);
  });
  EXPECT_TRUE(freed[0].starts_with("2 rank 1 (host:1, pid ")) << freed[0];
  for (const std::string &text : freed) {
    EXPECT_CONTAINS(text, "share: address 0x");
    EXPECT_CONTAINS(text, " lies in no live buffer\n");
    EXPECT_CONTAINS(text, "\nthen\n");
  }
  std::vector<std::string> tooLong = errorsOf(2, [](const TestRank &self, Communicator &group) {
    Buffer shared = group.allocate(self.rank, 4096, "short");
    group.registerWindow({shared.address() + 96}, 4096);
  });
  for (const std::string &text : tooLong)
    EXPECT_CONTAINS(text, "share: 4096 bytes from byte 96 on do not fit buffer `short` of 4096 bytes\n");
  for (const std::string &text : errorsOf(2, [](const TestRank &self, Communicator &group) {
         Buffer shared = group.allocate(self.rank, 4096);
         group.registerWindow({self.rank ? 0 : shared.address()}, 4096);
       }))
    EXPECT_CONTAINS(text, "a window of 4096 bytes at address 0x0: no memory is there\n");
}

TEST_F(Windows, ARankThatDoesSomethingElseIsTold) {
  std::vector<std::string> texts = errorsOf(2, [](const TestRank &self, Communicator &group) {
    if (self.rank == 0)
      Shared(group, 0, 4096, "x");
    else
      group.prepare(directAllReduce(2));
  });
  EXPECT_CONTAINS(texts[0], "reaches into the operands of other ranks where they lie");
  EXPECT_CONTAINS(texts[1], "note: operands in windows are reached: ");
  texts = errorsOf(2, [](const TestRank &self, Communicator &group) {
    if (self.rank == 0)
      Shared(group, 0, 4096, "x");
    else
      group.prepare(planOf(findAlgorithm(CollectiveKind::AllReduce, "one_shot_pull"), 2, 40));
  });
  EXPECT_CONTAINS(texts[0], ") asks for all-reduce sum f32");
  EXPECT_CONTAINS(texts[0], ") for window 0 `x` of 4096 bytes\n");
  EXPECT_CONTAINS(texts[1], "prepares something else than rank 0");
  EXPECT_CONTAINS(texts[1], "note: plan of rank 0: window 0 `x` of 4096 bytes\n");
  for (const std::string &text : texts)
    EXPECT_CONTAINS(text, "\nthen\n");
}

TEST_F(Windows, OperandsInDifferentWindowsAreRefusedWithBothKeys) {
  for (int size : {2, 3})
    for (const std::string &text : errorsOf(size, [](const TestRank &self, Communicator &group) {
           Shared first(group, self.rank, 1 << 20), second(group, self.rank, 1 << 20);
           const Window &mine = self.rank == 1 ? second.window : first.window;
           group.prepare(directAllReduce(self.size), "", "", {&mine, &mine});
         })) {
      EXPECT_CONTAINS(text, ") prepares something else than rank 0 (host:0, pid ");
      EXPECT_CONTAINS(text, "two_shot_direct");
      EXPECT_CONTAINS(text, ", windows, part [1][3000], input in 0, output in 0\n");
      EXPECT_CONTAINS(text, ", windows, part [1][3000], input in 1, output in 1\n");
      EXPECT_CONTAINS(text, "\nthen\n");
    }
  for (const std::string &text : errorsOf(2, [](const TestRank &self, Communicator &group) {
         Shared shared(group, self.rank, 1 << 20);
         Plan plan = planOf(findAlgorithm(CollectiveKind::AllReduce, "two_shot_direct"), 2, 3000); // not for windows
         group.prepare(plan, "", "", {&shared.window, &shared.window});
       }))
    EXPECT_CONTAINS(text, "reaches into the operands of other ranks where they lie");
}

TEST_F(Windows, AnOperandOutsideEndsTheGroup) {
  std::vector<std::string> texts = errorsOf(3, [](const TestRank &self, Communicator &group) {
    Shared shared(group, self.rank, 12000, "x");
    uint64_t start = shared.buffer.address();
    RankRun run(group, self.rank, directAllReduce(3), 1, {&shared.window, &shared.window}, start, start);
    run.launch();
    group.synchronize();
    Communicator::Operation &sum = group.prepare(directAllReduce(3), "", "", {&shared.window, &shared.window});
    group.launch(sum, self.rank, {DeviceAddress(start), DeviceAddress(start + (self.rank == 1 ? 4 : 0))});
    group.synchronize();
  });
  EXPECT_CONTAINS(texts[1], "2 `all-reduce sum of f32[3000] over 3 ranks`: its output of 12000 bytes at 0x");
  EXPECT_CONTAINS(texts[1], " does not lie in window `x` of 12000 bytes at 0x");
  for (int rank : {0, 2})
    EXPECT_CONTAINS(texts[size_t(rank)], ") ended the group: `all-reduce sum of f32[3000] over 3 ranks`: its output");
}

// Both have prepared both; at the launch they differ.
TEST_F(Windows, ALaunchInAnotherWindowIsFound) {
  TestProcesses processes(2, [](const TestRank &self) {
    auto group = join(self, 3600);
    Shared first(*group, self.rank, 12000), second(*group, self.rank, 12000);
    Communicator::Operation *sums[] = {&group->prepare(directAllReduce(2), "", "", {&first.window, &first.window}),
                                       &group->prepare(directAllReduce(2), "", "", {&second.window, &second.window})};
    if (self.rank == 1)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    DeviceAddress operand = self.rank ? second.buffer : first.buffer;
    group->launch(*sums[self.rank], self.rank, {operand, operand});
    group->synchronize();
  });
  std::string first = processes.finish(0), second = processes.finish(1);
  EXPECT_CONTAINS(second, "error: launch 1 of rank 1 is `all-reduce");
  EXPECT_CONTAINS(second, "input in 1, output in 1\nnote: plan of the other: all-reduce");
  EXPECT_CONTAINS(second, "input in 0, output in 0\n");
  EXPECT_CONTAINS(first, "ended the group: launch 1 of rank 1 is `all-reduce");
}

TEST_F(Windows, ADeregisteredWindowIsRefused) {
  for (const std::string &text : errorsOf(2, [](const TestRank &self, Communicator &group) {
         Shared shared(group, self.rank, 12000, "x");
         uint64_t start = shared.buffer.address();
         Communicator::Operation &sum = group.prepare(directAllReduce(2), "", "", {&shared.window, &shared.window});
         group.deregister(shared.window);
         try {
           group.deregister(shared.window);
         } catch (const Error &error) {
           self.say(error.what());
         }
         try {
           group.prepare(directAllReduce(2), "", "", {&shared.window, &shared.window});
         } catch (const Error &error) {
           self.say(error.what());
         }
         group.launch(sum, self.rank, {DeviceAddress(start), DeviceAddress(start)});
       })) {
    EXPECT_CONTAINS(text, "window `x` was deregistered before\n");
    EXPECT_CONTAINS(text, "window `x` was deregistered\n");
    EXPECT_CONTAINS(text, "`all-reduce sum of f32[3000] over 2 ranks`: window `x` of its input was deregistered");
  }
}

TEST_F(Windows, ADeathDuringRegistrationIsNamed) {
  for (int size : {2, 3}) {
    TestProcesses processes(size, [](const TestRank &self) {
      auto group = join(self, 3600, 3600);
      self.say("joined");
      if (self.rank == self.size - 1)
        ::pause();
      sayError(self, *group, [&] { Shared(*group, self.rank, 4096, "x"); });
    });
    for (int rank = 0; rank < size; ++rank)
      processes.waitFor(rank, "joined");
    std::string dead = "rank " + std::to_string(size - 1) + " (host:" + std::to_string(size - 1) + ", pid " +
                       std::to_string(processes.pid(size - 1)) + ") is gone";
    processes.signal(size - 1, SIGKILL);
    for (int rank = 0; rank < size - 1; ++rank) {
      std::string text = processes.finish(rank);
      EXPECT_CONTAINS(text, "3 " + dead);
      EXPECT_CONTAINS(text, "then error: " + dead);
    }
  }
}

/// The first step of a registration as a rank takes it, then `then`, in place of the rest.
void registerByHand(Communicator &group, const std::function<void(Neighbours &)> &then) {
  Neighbours &all = group.processes()->neighbours();
  all.exchange(FieldWriter().number(0).text("window 0 `x` of 4096 bytes").bytes, {}, 20);
  then(all);
}

TEST_F(Windows, ADeathBetweenTheStepsIsNamed) {
  TestProcesses processes(3, [](const TestRank &self) {
    auto group = join(self, 3600, 3600);
    OpenResources before = OpenResources::count();
    if (self.rank == 2)
      registerByHand(*group, [](Neighbours &) { ::raise(SIGKILL); });
    try {
      Shared(*group, self.rank, 4096, "x");
    } catch (const Error &error) {
      self.say(error.what());
    }
    // The thread that has heard of the death may still copy, for which freed memory waits.
    size_t mappings = OpenResources::count().sharedMappings;
    for (int turn = 0; turn < 1000 && mappings != before.sharedMappings; ++turn) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      mappings = OpenResources::count().sharedMappings;
    }
    self.say(std::to_string(mappings - before.sharedMappings) + " mappings");
  });
  for (int rank : {0, 1})
    EXPECT_EQ(processes.finish(rank), "rank 2 (host:2, pid " + std::to_string(processes.pid(2)) +
                                          ") is gone: its process ended or closed its connection without leaving the "
                                          "group\n0 mappings\n");
}

// What a rank sends is checked before anything of it is mapped.
TEST_F(Windows, ARankThatSendsSomethingElseIsTold) {
  struct Part {
    uint64_t kind, wholeBytes, offset;
    const char *words;
  };
  for (const Part &part :
       {Part{0, 4096, 1, "sent memory of 4096 bytes for a window of 4096 bytes from byte 1 on"},
        Part{0, uint64_t(1) << 40, 0, "sent a memory file of 8192 bytes, announced were 1099511627776"},
        Part{9, 4096, 0, "rank 1 (host:1, pid "}}) {
    TestProcesses processes(2, [&](const TestRank &self) {
      auto group = join(self);
      OpenResources before = OpenResources::count();
      auto work = [&] {
        if (self.rank == 0)
          return void(Shared(*group, 0, 4096, "x"));
        registerByHand(*group, [&](Neighbours &all) {
          Buffer mine = group->allocate(1, 8192);
          ExportedMemory exported = group->device(1)->exportMemory(mine);
          FieldWriter fields;
          fields.number(part.kind).number(part.wholeBytes).text("").number(part.offset).number(4096);
          all.exchange(FieldWriter().number(0).text(fields.bytes).bytes, {exported.file.get()}, 20);
          all.exchange(FieldWriter().number(0).text("").bytes, {}, 20);
        });
      };
      sayError(self, *group, work);
      OpenResources after = OpenResources::count();
      self.say(std::to_string(after.files - before.files) + " files more");
    });
    std::string text = processes.finish(0);
    EXPECT_CONTAINS(text, part.words);
    EXPECT_CONTAINS(text, "\nthen\n");
  }
}

TEST_F(Windows, ARankThatRegistersNothingIsNamedAtTheDeadline) {
  for (int size : {2, 3}) {
    TestProcesses processes(size, [](const TestRank &self) {
      auto group = join(self, 3600, 0.4);
      if (self.rank == 1) {
        self.say("silent");
        ::pause();
      }
      sayError(self, *group, [&] { Shared(*group, self.rank, 4096, "x"); });
    });
    processes.waitFor(1, "silent");
    for (int rank : {0, 2})
      if (rank < size) {
        std::string text = processes.finish(rank);
        EXPECT_CONTAINS(text, "rank 1 (host:1, pid " + std::to_string(processes.pid(1)) + ")");
        EXPECT_CONTAINS(text, "then error: ");
      }
  }
}

// The others have let go of the memory of a group that has failed, and the memory of the one that is gone is theirs no
// longer.
TEST_F(Windows, AreUnmappedAfterAFailure) {
  TestProcesses processes(3, [](const TestRank &self) {
    OpenResources before = OpenResources::count();
    {
      auto group = join(self, 3600);
      Shared shared(*group, self.rank, 1 << 20, "x");
      Window &window = shared.window;
      RankRun run(*group, self.rank, directAllReduce(3), 1, {&window, &window}, shared.buffer.address(),
                  shared.buffer.address());
      run.launch();
      self.say("first" + run.difference());
      if (self.rank == 2)
        ::pause();
      try {
        run.launch();
        group->synchronize();
      } catch (const Error &error) {
        self.say(error.what());
      }
      try {
        group->deregister(window);
      } catch (const Error &error) {
        self.say(std::string("deregister: ") + error.what());
      }
    }
    self.say(std::to_string(OpenResources::count().sharedMappings - before.sharedMappings) + " mappings");
  });
  for (int rank : {0, 1, 2})
    processes.waitFor(rank, "first");
  processes.signal(2, SIGKILL);
  std::string gone = "rank 2 (host:2, pid " + std::to_string(processes.pid(2)) + ") is gone";
  for (int rank : {0, 1}) {
    std::string text = processes.finish(rank);
    EXPECT_CONTAINS(text, "first\n" + gone);
    EXPECT_CONTAINS(text, "deregister: " + gone);
    EXPECT_CONTAINS(text, "\n0 mappings\n");
  }
}

} // namespace
