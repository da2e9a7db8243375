// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How ranks find each other, and what happens when they do not: here the ranks are threads, each with a bootstrap of
// its own, so that wrong and strange processes can be played.
#include "runtime/processes/Bootstrap.h"
#include "runtime/processes/Handshake.h"
#include "runtime/processes/Secret.h"
#include "runtime/processes/Sockets.h"
#include "support/TestError.h"
#include <filesystem>
#include <future>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <thread>

namespace heddle {
namespace {

std::string freshName() {
  return "unix:@heddle-test-" + hexText(randomBytes(8));
}

BootstrapOptions rankOf(const std::string &address, int rank, int size, double seconds = 10) {
  BootstrapOptions options;
  options.address = address, options.rank = rank, options.size = size, options.seconds = seconds;
  options.job = "test";
  return options;
}

/// What `work` says for each rank: text, or the message of its error.
std::vector<std::string> onRanks(int size, const std::function<std::string(int)> &work) {
  std::vector<std::string> said(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      try {
        said[size_t(rank)] = work(rank);
      } catch (const Error &error) {
        said[size_t(rank)] = std::string("error: ") + error.what();
        for (const std::string &note : error.notes)
          said[size_t(rank)] += "\n" + note;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  return said;
}

/// Gathers twice; `-` for a rank that got something else than all gave.
std::string gatherTwice(Bootstrap &bootstrap) {
  for (size_t length : {size_t(1), size_t(70000)}) {
    std::string mine(length * size_t(bootstrap.rank()), char('a' + bootstrap.rank()));
    std::vector<std::string> all = bootstrap.allGather(mine, 10);
    for (int rank = 0; rank < bootstrap.size(); ++rank)
      if (all.at(size_t(rank)) != std::string(length * size_t(rank), char('a' + rank)))
        return "-";
  }
  return "+";
}

TEST(Bootstraps, GatherOverEachAddress) {
  std::string folder = std::filesystem::temp_directory_path() / ("heddle-test-" + hexText(randomBytes(8)));
  ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
  std::string port = std::to_string(20000 + int(::getpid()) % 30000);
  for (const std::string &address : {freshName(), "unix:" + folder + "/socket", "tcp:127.0.0.1:" + port})
    for (int size : {1, 2, 5}) {
      auto said = onRanks(size, [&](int rank) {
        BootstrapOptions options = rankOf(address, rank, size);
        options.secret = "a secret of the test";
        return gatherTwice(*makeBootstrap(options));
      });
      EXPECT_EQ(said, std::vector<std::string>(size_t(size), "+")) << address;
    }
  EXPECT_TRUE(std::filesystem::is_empty(folder)); // the socket's file went when all had come
  std::filesystem::remove(folder);
}

/// What a second process hears that is not as the group of two wants it, while rank 0 waits for rank 1 and gets it.
std::string refusalOf(const std::function<void(BootstrapOptions &)> &change) {
  std::string address = freshName(), heard;
  int refused = 0;
  auto said = onRanks(2, [&](int rank) {
    BootstrapOptions options = rankOf(address, rank, 2);
    options.secret = "a secret of the test";
    if (rank == 1) {
      BootstrapOptions wrong = options;
      change(wrong);
      try {
        makeBootstrap(wrong);
      } catch (const Error &error) {
        heard = error.what();
      }
    }
    auto bootstrap = makeBootstrap(options);
    if (rank == 0)
      refused = bootstrap->refused();
    return gatherTwice(*bootstrap);
  });
  EXPECT_EQ(said, std::vector<std::string>(2, "+"));
  EXPECT_EQ(refused, 1);
  return heard;
}

TEST(Bootstraps, RefuseWhoIsNotOfTheGroup) {
  EXPECT_CONTAINS(refusalOf([](BootstrapOptions &wrong) { wrong.secret = "another secret here"; }),
                  "it has another secret than rank 0");
  EXPECT_CONTAINS(refusalOf([](BootstrapOptions &wrong) { wrong.job = "other"; }),
                  "it is of job `other`, rank 0 of job `test`");
  EXPECT_CONTAINS(refusalOf([](BootstrapOptions &wrong) { wrong.size = 3; }),
                  "rank 1 counts 3 processes, rank 0 counts 2");
}

TEST(Bootstraps, RefuseASecondOfARank) {
  std::string address = freshName(), refusal;
  std::promise<void> refused;
  auto said = onRanks(4, [&](int thread) { // two of them are rank 1; rank 2 comes when one of these has been refused
    if (thread == 3)
      refused.get_future().wait_for(std::chrono::seconds(20));
    try {
      return gatherTwice(*makeBootstrap(rankOf(address, std::min(thread, 1) + (thread == 3), 3)));
    } catch (const Error &error) {
      refusal = error.what();
      refused.set_value();
    }
    return std::string("refused");
  });
  EXPECT_EQ(said[0] + said[3], "++");
  EXPECT_NE(said[1], said[2]);
  EXPECT_CONTAINS(refusal, "rank 1 is there already");
}

// Processes that send other versions, damaged messages, rubbish, half of a message, or nothing: all are refused or
// dropped and counted, and the ranks find each other beside them.
TEST(Bootstraps, OtherProcessesAreRefusedAndCounted) {
  std::string address = freshName();
  SocketAddress parsed = SocketAddress::parse(address);
  std::string version = encodeFrame(FrameKind::Hello, "x"), damaged = version;
  version[4] = 1;
  damaged.back() = 'y';
  const std::vector<std::string> messages = {version,
                                             damaged,
                                             "GET / HTTP/1.1\r\n\r\n",
                                             version.substr(0, 7),
                                             encodeFrame(FrameKind::Gather, "x"),
                                             std::string(5000, '\xff'),
                                             ""};
  std::string versionAnswer;
  int refused = 0;
  auto said = onRanks(2, [&](int rank) {
    std::vector<FileDescriptor> others;
    if (rank == 1) {
      for (const std::string &message : messages) {
        others.push_back(connectTo(parsed, Deadline(10)));
        try {
          sendAll(others.back().get(), message, "rank 0", Deadline(5));
        } catch (const Error &) { // it has hung up already
        }
      }
      for (int silent = 0; silent < 100; ++silent) // more than rank 0 keeps
        others.push_back(connectTo(parsed, Deadline(10)));
      FrameReader reader("rank 0", 4096);
      receiveFrame(others[0].get(), reader, Deadline(5)); // the challenge
      versionAnswer = receiveFrame(others[0].get(), reader, Deadline(5)).body;
    }
    auto bootstrap = makeBootstrap(rankOf(address, rank, 2));
    if (rank == 0)
      refused = bootstrap->refused();
    return gatherTwice(*bootstrap);
  });
  EXPECT_EQ(said, std::vector<std::string>(2, "+"));
  EXPECT_CONTAINS(versionAnswer, "speaks version 1 of the protocol between processes, this one version " +
                                     std::to_string(processProtocolVersion));
  EXPECT_GE(refused, 40);
}

// A rank 0 that knows the secret, and then says something else than that all ranks have come.
TEST(Bootstraps, AnOtherLastMessageIsRefused) {
  std::string address = freshName();
  auto said = onRanks(2, [&](int rank) -> std::string {
    BootstrapOptions options = rankOf(address, rank, 2);
    options.secret = "a secret of the test";
    if (rank == 1)
      return gatherTwice(*makeBootstrap(options));
    FileDescriptor listener = listenAt(SocketAddress::parse(address)), link;
    for (Deadline deadline(10); !link && !deadline.passed();)
      if (waitFor(listener.get(), POLLIN, deadline))
        link = acceptFrom(listener.get());
    std::string nonce = randomBytes(32);
    sendAll(link.get(), encodeFrame(FrameKind::Challenge, nonce), "rank 1", Deadline(5));
    FrameReader reader("rank 1", mostHandshakeBytes);
    Hello hello = decodeHello(receiveFrame(link.get(), reader, Deadline(5)).body, "rank 1");
    std::string proof = proofOf(options.secret, true, nonce, hello);
    sendAll(link.get(), encodeFrame(FrameKind::Welcome, proof), "rank 1", Deadline(5));
    sendAll(link.get(), encodeFrame(FrameKind::Goodbye, ""), "rank 1", Deadline(5));
    return "+";
  });
  EXPECT_EQ(said[0], "+");
  EXPECT_CONTAINS(said[1], "sent a message of kind " + std::to_string(int(FrameKind::Goodbye)));
}

TEST(Bootstraps, NameTheRanksThatAreMissing) {
  std::string address = freshName();
  auto said = onRanks(2, [&](int rank) {
    makeBootstrap(rankOf(address, rank, 4, 0.3));
    return std::string("+");
  });
  for (const std::string &each : said)
    EXPECT_CONTAINS(each, "ranks 2 and 3 of 4 did not come to `" + address + "` within 0.3 s");
  EXPECT_CONTAINS(messageOf([&] { makeBootstrap(rankOf(freshName(), 1, 2, 0.2)); }), "no process listens at");
}

TEST(Bootstraps, NameARankThatIsSilentOrGone) {
  for (bool isSilent : {true, false}) {
    std::string address = freshName();
    auto said = onRanks(3, [&](int rank) {
      auto bootstrap = makeBootstrap(rankOf(address, rank, 3));
      gatherTwice(*bootstrap);
      if (rank == 2 && !isSilent)
        return std::string("+");
      if (rank == 2)
        std::this_thread::sleep_for(std::chrono::milliseconds(900));
      else
        bootstrap->allGather("", 0.3);
      return std::string("+");
    });
    for (int rank : {0, 1})
      EXPECT_CONTAINS(said[size_t(rank)], isSilent ? "rank 2 of 3 did not take part within 0.3 s"
                                                   : "rank 2 of 3 is gone: it closed its connection");
  }
}

TEST(Bootstraps, RefuseWhatCannotBe) {
  auto message = [](const std::string &address, int rank = 0, int size = 2) {
    return messageOf([&] { makeBootstrap(rankOf(address, rank, size, 0.2)); });
  };
  EXPECT_CONTAINS(message("tcp:127.0.0.1:4711"), "processes over tcp need a secret");
  EXPECT_CONTAINS(message("udp:x"), "is of no known form");
  EXPECT_CONTAINS(message("tcp:127.0.0.1:70000"), "is no port from 1 to 65535");
  EXPECT_CONTAINS(message("unix:" + std::string(120, 'x')), "a unix socket's has at most 107");
  EXPECT_CONTAINS(message("inherited:999", 1), "does not begin with the number of an open socket");
  EXPECT_CONTAINS(message("inherited:"), "0 sockets for rank 0 of 2, it needs 1");
  EXPECT_CONTAINS(message(freshName(), 2), "rank 2 of 2 processes");
  EXPECT_CONTAINS(message("unix:/heddle-test-socket"), "it must have mode 0700");
  BootstrapOptions everywhere = rankOf("tcp:0.0.0.0:4711", 0, 2, 0.2);
  everywhere.secret = "a secret of the test";
  EXPECT_CONTAINS(messageOf([&] { makeBootstrap(everywhere); }), "stands for every interface");
  everywhere.address = "tcp:localhost:4711";
  EXPECT_CONTAINS(messageOf([&] { makeBootstrap(everywhere); }), "`localhost` is no address");
}

TEST(Bootstraps, DoNotTakeANameThatIsInUse) {
  std::string address = freshName();
  FileDescriptor other = listenAt(SocketAddress::parse(address));
  EXPECT_CONTAINS(messageOf([&] { makeBootstrap(rankOf(address, 0, 2, 0.2)); }), "Address already in use");
  std::string folder = std::filesystem::temp_directory_path() / ("heddle-test-" + hexText(randomBytes(8)));
  ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
  SocketAddress file = SocketAddress::parse("unix:" + folder + "/socket");
  FileDescriptor first = listenAt(file);
  EXPECT_CONTAINS(messageOf([&] { listenAt(file); }), "Address already in use");
  first.reset(); // as after a crash: the file is there, and no process listens
  EXPECT_TRUE(bool(listenAt(file)));
  std::filesystem::remove_all(folder);
}

TEST(Bootstraps, OverACallersAllGather) {
  auto bootstrap = makeBootstrap(1, 2, [](const std::string &mine, double) {
    return mine == "wrong" ? std::vector<std::string>{mine} : std::vector<std::string>{"a", mine};
  });
  EXPECT_EQ(bootstrap->allGather("b", 1), (std::vector<std::string>{"a", "b"}));
  EXPECT_CONTAINS(messageOf([&] { bootstrap->allGather("wrong", 1); }), "gave 1 texts for 2 ranks");
}

} // namespace
} // namespace heddle
