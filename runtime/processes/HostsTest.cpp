// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Processes that play several hosts: who is where, sockets between them, exchanges of data, strangers, made-up
// messages, and ranks that die, stop or do something else.
#include "runtime/processes/Handshake.h"
#include "runtime/processes/HostLayout.h"
#include "runtime/processes/Secret.h"
#include "runtime/processes/StreamSockets.h"
#include "runtime/processes/TestProcesses.h"
#include "runtime/processes/Transport.h"
#include "support/TestError.h"
#include <cstring>
#include <random>
#include <thread>

namespace heddle {
namespace {

using testing::OpenResources, testing::TestProcesses, testing::TestRank, testing::now;

TEST(HostLayouts, AreOfEquallyManyRanksInARow) {
  HostLayout two = layOutHosts({"a", "a", "b", "b"}, 3);
  EXPECT_EQ(two.describe(), "2 hosts of 2 ranks");
  EXPECT_EQ(two.host(), 1);
  EXPECT_EQ(two.local(), 1);
  EXPECT_EQ(two.rail(), (std::vector<bool>{false, true, false, false}));
  EXPECT_EQ(layOutHosts({"a", "a", "a"}, 1).describe(), "1 host of 3 ranks");
  EXPECT_EQ(layOutHosts({"a", "b", "c"}, 1).describe(), "3 hosts of 1 rank");
}

TEST(HostLayouts, ThatAreUnequalOrMixedAreFlat) {
  for (const auto &names : {std::vector<std::string>{"a", "a", "b"}, {"a", "b", "a", "b"}, {"a", "b", "b", "a"}}) {
    HostLayout layout = layOutHosts(names, 1);
    EXPECT_TRUE(layout.flat);
    EXPECT_EQ(layout.machines, 2);
    EXPECT_EQ(layout.hosts, int(names.size()));
    EXPECT_EQ(layout.perHost, 1);
    EXPECT_EQ(layout.host(), 1);
    EXPECT_CONTAINS(layout.describe(), "2 hosts with different numbers of ranks");
  }
}

/// Ranks r with equal r * hosts / size are on one host.
HostPlace placeOf(const TestRank &self, int hosts, bool tcp) {
  return {"host " + std::to_string(self.rank * hosts / self.size), tcp, tcp ? "127.0.0.1" : ""};
}

std::vector<bool> allOthers(int rank, int size) {
  std::vector<bool> peers(size_t(size), true);
  peers[size_t(rank)] = false;
  return peers;
}

TEST(NeighboursOfHosts, PassBytesAndHearOfADeath) {
  for (bool tcp : {false, true}) {
    TestProcesses processes(4, [=](const TestRank &self) {
      OpenResources before = OpenResources::count();
      {
        auto bootstrap = self.bootstrap();
        Neighbours all(*bootstrap, "host:" + std::to_string(self.rank), 10, placeOf(self, 2, tcp));
        for (int round = 0; round < 3; ++round) {
          std::string mine(size_t(self.rank) * 15000 + size_t(round), char('a' + self.rank));
          auto messages = all.exchange(mine, {}, 10);
          for (int rank = 0; rank < self.size; ++rank)
            if (messages.at(size_t(rank)).bytes != std::string(size_t(rank) * 15000 + size_t(round), char('a' + rank)))
              self.say("wrong bytes");
        }
        bootstrap.reset();
        self.say("ready");
        if (self.rank == 3)
          ::pause();
        try {
          all.exchange("", {}, 30);
        } catch (const Error &error) {
          self.say(error.what());
        }
      }
      OpenResources after = OpenResources::count();
      if (size_t inherited = self.rank == 0 ? 3 : 1; after.files + inherited != before.files)
        self.say("left behind: " + std::to_string(after.files));
    });
    for (int rank : {0, 1, 2, 3})
      processes.waitFor(rank, "ready");
    double killed = now();
    processes.signal(3, SIGKILL);
    for (int rank : {0, 1, 2})
      EXPECT_EQ(processes.finish(rank), "ready\nrank 3 (host:3, pid " + std::to_string(processes.pid(3)) +
                                            ") is gone: its process ended or closed its connection without leaving "
                                            "the group\n");
    EXPECT_LT(now() - killed, 15); // the deadline is 30
  }
}

TEST(NeighboursOfHosts, NeedAnAddressForTcp) {
  TestProcesses processes(2, [](const TestRank &self) {
    HostPlace place = placeOf(self, 2, true);
    if (self.rank == 1)
      place.address.clear();
    Neighbours(*self.bootstrap(), "host:0", 10, place);
  });
  for (int rank : {0, 1})
    EXPECT_CONTAINS(processes.finish(rank), "rank 1 cannot join the group: it has no address at which ranks of other "
                                            "hosts could reach it: name one of an interface of this host");
}

//===-- Exchanges ------------------------------------------------------------------------------------------------===//

std::unique_ptr<Transport> connect(const TestRank &self, bool tcp = false) {
  return makeSocketTransport(*self.bootstrap(), allOthers(self.rank, self.size), placeOf(self, self.size, tcp), 10);
}

/// Sends to all and receives from all `bytes`, of which each says who sent it and in which exchange.
std::string exchangeBytes(Transport &transport, const TestRank &self, size_t bytes, uint64_t what, double seconds) {
  std::vector<std::string> out, in;
  std::vector<Transport::Part> outs, ins;
  for (int rank = 0; rank < self.size; ++rank) {
    out.emplace_back(bytes, char(self.rank * 16 + rank + int(what)));
    in.emplace_back(bytes, '\0');
  }
  for (int rank = 0; rank < self.size; ++rank)
    if (rank != self.rank) {
      outs.push_back({rank, out[size_t(rank)].data(), bytes});
      ins.push_back({rank, in[size_t(rank)].data(), bytes});
    }
  transport.exchange(outs, ins, what, seconds);
  for (int rank = 0; rank < self.size; ++rank)
    if (rank != self.rank && in[size_t(rank)] != std::string(bytes, char(rank * 16 + self.rank + int(what))))
      return "wrong bytes of rank " + std::to_string(rank);
  return "";
}

TEST(Transports, MoveBytesOfAnySize) {
  for (bool tcp : {false, true}) {
    TestProcesses processes(3, [=](const TestRank &self) {
      auto transport = connect(self, tcp);
      uint64_t what = 0;
      for (size_t bytes : {0, 1, 8, 4095, 300000, 0, 5 << 20, 17})
        if (std::string wrong = exchangeBytes(*transport, self, bytes, ++what, 10); !wrong.empty())
          self.say(wrong);
      self.say(transport->description());
    });
    for (int rank : {0, 1, 2})
      EXPECT_EQ(processes.finish(rank), tcp ? "TCP\n" : "unix sockets\n");
  }
}

TEST(Transports, RefuseWhatTheOtherDoesNotMean) {
  TestProcesses processes(2, [](const TestRank &self) {
    auto transport = connect(self);
    exchangeBytes(*transport, self, 8, 1, 10);
    Error first = errorOf([&] { exchangeBytes(*transport, self, 8, uint64_t(5 + self.rank), 10); });
    self.say(first.what());
    self.say(errorOf([&] { exchangeBytes(*transport, self, 8, 9, 10); }).what()); // has failed for good
    self.say("done");
    ::pause(); // or this one's end might be what the other sees
  });
  for (int rank : {0, 1})
    processes.waitFor(rank, "done");
  EXPECT_EQ(processes.text(0),
            "rank 1 exchanges something else than this rank: 8 bytes of operation 0000000000000006, not 8 bytes of "
            "0000000000000005\nrank 1 exchanges something else than this rank: 8 bytes of operation 0000000000000006, "
            "not 8 bytes of 0000000000000005\ndone\n");
  EXPECT_CONTAINS(processes.text(1), "rank 0 exchanges something else than this rank");
}

TEST(Transports, NameTheRankThatIsGoneOrSilent) {
  for (int number : {SIGKILL, SIGSTOP}) {
    TestProcesses processes(3, [](const TestRank &self) {
      auto transport = connect(self);
      exchangeBytes(*transport, self, 8, 1, 10);
      self.say("ready");
      if (self.rank == 2)
        ::pause();
      self.say(errorOf([&] { exchangeBytes(*transport, self, 1 << 20, 2, 4); }).what());
      self.say("done");
      ::pause(); // or this one's end might be what the other sees first
    });
    for (int rank : {0, 1, 2})
      processes.waitFor(rank, "ready");
    processes.signal(2, number);
    for (int rank : {0, 1}) {
      processes.waitFor(rank, "done");
      EXPECT_CONTAINS(processes.text(rank), number == SIGKILL
                                                ? "rank 2 is gone: it closed its connection for data"
                                                : "rank 2 did not take part in an exchange between hosts within 4 s");
    }
  }
}

TEST(Transports, EndFromAnotherThread) {
  TestProcesses processes(2, [](const TestRank &self) {
    auto transport = connect(self);
    if (self.rank == 1)
      ::pause();
    double start = now();
    std::thread other([&] {
      ::usleep(100000);
      transport->end("the disk is full");
    });
    self.say(errorOf([&] { exchangeBytes(*transport, self, 8, 1, 30); }).what());
    other.join();
    self.say(now() - start < 15 ? "soon" : "late");
  });
  EXPECT_EQ(processes.finish(0), "the disk is full\nsoon\n");
}

//===-- Strangers and made-up messages ---------------------------------------------------------------------------===//

/// A bootstrap of two whose gathers pass through a function: texts of all, and the number of the call from 0 on.
class TamperedBootstrap : public Bootstrap {
public:
  using Change = std::function<void(std::vector<std::string> &, int call)>;
  TamperedBootstrap(std::unique_ptr<Bootstrap> real, Change change)
      : real(std::move(real)), change(std::move(change)) {}
  int rank() const override { return real->rank(); }
  int size() const override { return real->size(); }
  std::vector<std::string> allGather(std::string_view mine, double seconds) override {
    std::vector<std::string> texts = real->allGather(mine, seconds);
    change(texts, calls++);
    return texts;
  }

private:
  std::unique_ptr<Bootstrap> real;
  Change change;
  int calls = 0;
};

TEST(PairedStreams, KeepStrangersOut) {
  TestProcesses processes(2, [](const TestRank &self) {
    std::vector<FileDescriptor> strangers;
    TamperedBootstrap bootstrap(self.bootstrap(), [&](std::vector<std::string> &texts, int call) {
      if (call != 0 || self.rank != 1)
        return;
      std::string invitation = texts[0].substr(1);
      FieldReader fields(invitation, "rank 0");
      SocketAddress address = SocketAddress::parse(fields.text(256));
      FieldWriter forged;
      forged.number(1).text(std::string(32, 'x'));
      for (const std::string &said :
           {std::string(), std::string(200, '?'), encodeFrame(FrameKind::Introduction, forged.bytes),
            encodeFrame(FrameKind::Hello, "")}) {
        strangers.push_back(connectTo(address, Deadline(5)));
        sendAll(strangers.back().get(), said, "rank 0", Deadline(5));
      }
    });
    double start = now();
    PairedSockets pairs = connectPairs(bootstrap, allOthers(self.rank, 2), placeOf(self, 2, false), 10);
    if (self.rank == 0)
      self.say("refused " + std::to_string(pairs.refused) + (now() - start < 4 ? " soon" : " late"));
    self.say(pairs.sockets[size_t(1 - self.rank)] ? "connected" : "alone");
  });
  EXPECT_EQ(processes.finish(1), "connected\n");
  EXPECT_EQ(processes.finish(0), "refused 4 soon\nconnected\n"); // the one that says nothing is given up with the rest
}

// Invitations with a few bytes changed, and none at all: an error on this rank, within its time.
TEST(PairedStreams, RefuseMadeUpInvitations) {
  std::mt19937_64 random(91);
  FieldWriter good;
  good.text("unix:@heddle-no-such-name").text(std::string(32, 't'));
  for (int round = 0; round < 400; ++round) {
    std::string made = good.bytes;
    if (round % 4 == 0)
      made.resize(random() % made.size());
    for (size_t changes = round % 4 == 0 ? 0 : 1 + random() % 6; changes--;)
      made[random() % made.size()] = char(random());
    auto bootstrap = makeBootstrap(1, 2, [&, call = 0](const std::string &mine, double) mutable {
      return std::vector<std::string>{call++ == 0 ? "+" + made : "+", mine};
    });
    double start = now();
    Error error = errorOf([&] { connectPairs(*bootstrap, {true, false}, {"a", false, ""}, 0.01); });
    EXPECT_EQ(error.kind, ErrorClass::Environment) << error.what();
    EXPECT_CONTAINS(error.what(), "rank 1 cannot join the group: ");
    EXPECT_LT(now() - start, 5);
  }
}

TEST(TransferHeaders, AreCheckedBeforeAnythingIsTaken) {
  TransferHeader wanted{3, 77, 4096};
  TransferHeader::check(wanted.encode(), wanted, "rank 7");
  auto refusal = [&](const std::string &seen) {
    return messageOf([&] { TransferHeader::check(seen, wanted, "rank 7"); });
  };
  EXPECT_CONTAINS(refusal(TransferHeader{4, 77, 4096}.encode()),
                  "rank 7 is at exchange 4 between hosts, this one at 3");
  EXPECT_CONTAINS(refusal(TransferHeader{3, 78, 4096}.encode()), "operation 000000000000004e, not 4096 bytes");
  EXPECT_CONTAINS(refusal(TransferHeader{3, 77, 1}.encode()), "1 bytes of operation");
  EXPECT_CONTAINS(refusal(std::string(32, '\0')), "sent what is no data of heddle between hosts");
  EXPECT_CONTAINS(refusal("short"), "a header of 5 bytes");
  std::mt19937_64 random(5);
  for (int round = 0; round < 5000; ++round) {
    std::string made = wanted.encode();
    size_t at = random() % made.size();
    char before = made[at];
    made[at] = char(random());
    if (made[at] != before)
      EXPECT_THROW(TransferHeader::check(made, wanted, "rank 7"), Error);
  }
}

// A rank of another host that sends no frames on its socket ends the group.
TEST(NeighboursOfHosts, RefuseMadeUpFrames) {
  std::mt19937_64 random(12);
  for (int round = 0; round < 10; ++round) {
    std::string garbage;
    for (size_t size = 1 + random() % 200; size--;)
      garbage += char(random());
    if (round == 0)
      garbage = encodeFrame(FrameKind::Hello, "hello");
    garbage.resize(std::max<size_t>(garbage.size(), 32), '!');
    TestProcesses processes(2, [&](const TestRank &self) {
      auto bootstrap = self.bootstrap();
      if (self.rank == 0) {
        Neighbours all(*bootstrap, "host:0", 10, placeOf(self, 2, false));
        self.say(errorOf([&] { all.exchange("", {}, 20); }).what());
        return;
      }
      // As a rank does it, up to the socket.
      FieldWriter identity;
      identity.number(processProtocolVersion).number(uint64_t(::getpid())).number(::geteuid()).text("host:1");
      identity.text("host 1").text("").text("heddle-none").text(std::string(32, 't'));
      bootstrap->allGather("+" + identity.bytes, 10);
      for (int step = 0; step < 3; ++step)
        bootstrap->allGather("+", 10);
      PairedSockets pairs = connectPairs(*bootstrap, {true, false}, placeOf(self, 2, false), 10);
      sendAll(pairs.sockets[0].get(), garbage, "rank 0", Deadline(5));
      ::pause();
    });
    EXPECT_CONTAINS(processes.finish(0), "rank 1 (host:1, pid " + std::to_string(processes.pid(1)) + ") sent ");
  }
}

} // namespace
} // namespace heddle
