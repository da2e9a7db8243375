// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Messages between processes: what is damaged, too long, cut off or made up is refused, and nothing crashes.
#include "runtime/processes/Frame.h"
#include "runtime/processes/Handshake.h"
#include "runtime/processes/SocketBootstrap.h"
#include "support/TestError.h"
#include <random>

namespace heddle {
namespace {

Frame readAll(const std::string &bytes, size_t piece = 1 << 20, size_t most = 1000) {
  FrameReader reader("rank 7", most);
  for (size_t at = 0; at < bytes.size() && !reader.isComplete();)
    at += reader.feed(std::string_view(bytes).substr(at, piece));
  return reader.isComplete() ? reader.take() : Frame{FrameKind::Failure, "incomplete"};
}

TEST(Frames, ComeInPieces) {
  for (size_t piece : {1, 3, 15, 16, 17, 4000})
    for (const std::string &body : {std::string(), std::string("a"), std::string(900, 'x')}) {
      Frame frame = readAll(encodeFrame(FrameKind::Data, body), piece);
      EXPECT_EQ(frame.kind, FrameKind::Data);
      EXPECT_EQ(frame.body, body);
    }
}

TEST(Frames, SayWhatIsWrong) {
  std::string good = encodeFrame(FrameKind::Hello, "some bytes");
  auto changed = [&](size_t at, char byte) {
    std::string bytes = good;
    bytes[at] = byte;
    return messageOf([&] { readAll(bytes); });
  };
  EXPECT_CONTAINS(changed(0, 'X'), "rank 7 sent no message of heddle");
  EXPECT_CONTAINS(changed(4, 9), "rank 7 speaks version 9 of the protocol between processes, this one version " +
                                     std::to_string(processProtocolVersion));
  EXPECT_CONTAINS(changed(6, 99), "unknown kind 99");
  EXPECT_CONTAINS(changed(9, 99), "at most 1000 are allowed");
  EXPECT_CONTAINS(changed(20, 'Z'), "damaged message");
}

TEST(Frames, EveryChangedByteIsSeen) {
  std::string good = encodeFrame(FrameKind::Data, "the body");
  for (size_t at = 0; at < good.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string bytes = good;
      bytes[at] = char(bytes[at] ^ (1 << bit));
      try {
        EXPECT_EQ(readAll(bytes).body, "incomplete") << "byte " << at << ", bit " << bit; // a longer one is waited for
      } catch (const Error &) {
      }
    }
}

TEST(Frames, FieldsAreBounded) {
  FieldWriter fields;
  fields.number(5).text("abc");
  FieldReader reader(fields.bytes, "rank 7");
  EXPECT_CONTAINS(messageOf([&] { FieldReader(fields.bytes, "rank 7").number(4); }),
                  "rank 7 sent the number 5, at most 4");
  EXPECT_EQ(reader.number(), 5u);
  EXPECT_CONTAINS(messageOf([&] { FieldReader(reader).text(2); }), "a text of 3 bytes, at most 2 are allowed");
  EXPECT_CONTAINS(messageOf([&] { reader.end(); }), "with 7 bytes too many");
  EXPECT_EQ(reader.text(3), "abc");
  EXPECT_CONTAINS(messageOf([&] { reader.number(); }), "ends too early");
}

// What the decoders do with made-up bytes: an Error or a value, within their bounds. Half of the inputs are good ones
// with a few bytes changed, and good checksums, so that the inner fields are reached.
TEST(Frames, MadeUpMessages) {
  std::mt19937_64 random(27);
  Hello hello{1, 4, "job", std::string(32, 'n'), std::string(32, 'p')};
  FieldWriter all;
  all.number(3).text("one").text("").text("three");
  int good = 0;
  for (int round = 0; round < 8000; ++round) {
    std::string body = round % 2 ? encodeHello(hello) : all.bytes;
    if (round % 4 < 2)
      for (size_t changes = random() % 6; changes--;)
        body[random() % body.size()] = char(random());
    else
      for (size_t size = random() % 200, at = (body.clear(), 0); at < size; ++at)
        body += char(random() % 4 ? 0 : random());
    try {
      Frame frame = readAll(encodeFrame(FrameKind::Hello, body));
      round % 2 ? (void)decodeHello(frame.body, "rank 7") : (void)SocketBootstrap::decodeAll(frame.body, 3, 3);
      ++good;
    } catch (const Error &error) {
      EXPECT_EQ(error.kind, ErrorClass::Environment);
    }
    std::string raw = encodeFrame(FrameKind::All, body).substr(0, random() % 64);
    for (char &byte : raw)
      byte = random() % 8 ? byte : char(random());
    try {
      readAll(raw, 1 + random() % 20);
    } catch (const Error &error) {
      EXPECT_EQ(error.kind, ErrorClass::Environment);
    }
  }
  EXPECT_GT(good, 200);
}

} // namespace
} // namespace heddle
