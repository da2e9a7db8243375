// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Metadata of every kind is read, and damaged files are errors, never accesses outside of the file.
#include "binary/AmdCodeObject.h"
#include "binary/MessagePack.h"
#include "support/TestError.h"

namespace heddle {
namespace {

using namespace std::string_literals;

TEST(MessagePack, ValuesOfEveryKind) {
  EXPECT_EQ(parseMessagePack("\x07"), 7);
  EXPECT_EQ(parseMessagePack("\xff"), -1);
  EXPECT_EQ(parseMessagePack("\xcd\x01\x00"s), 256);
  EXPECT_EQ(parseMessagePack("\xd1\xff\xfe"), -2);
  EXPECT_EQ(parseMessagePack("\xa2hi"), "hi");
  EXPECT_EQ(parseMessagePack("\xd9\x02hi"), "hi");
  EXPECT_EQ(parseMessagePack("\x92\xc0\xc3"), nlohmann::json::parse("[null,true]"));
  EXPECT_EQ(parseMessagePack("\x81\xa1k\x93\x01\x02\x03"), nlohmann::json::parse(R"({"k":[1,2,3]})"));
  EXPECT_EQ(parseMessagePack("\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00"s), 1.5);
}

TEST(MessagePack, DamageIsAnError) {
  EXPECT_CONTAINS(messageOf([] { parseMessagePack("\xdd\xff\xff\xff\xff"); }), "1 bytes expected, 0 left");
  EXPECT_CONTAINS(messageOf([] { parseMessagePack(std::string(1000, '\x91')); }), "nested deeper than 32");
  EXPECT_CONTAINS(messageOf([] { parseMessagePack("\xc7\x01\x01"); }), "type 0xc7");
  EXPECT_CONTAINS(messageOf([] { parseMessagePack("\x01\x02"); }), "1 bytes follow");
  EXPECT_CONTAINS(messageOf([] { parseMessagePack("\x81\x01\x02"); }), "a key that is no string");
}

TEST(AmdCodeObject, WhatIsNoneIsRefused) {
  EXPECT_CONTAINS(messageOf([] { parseAmdCodeObject("MZ", "k.hsaco"); }), "`k.hsaco` is no ELF file");
  EXPECT_CONTAINS(messageOf([] { parseAmdCodeObject("__CLANG_OFFLOAD_BUNDLE__", "k.hsaco"); }),
                  "`k.hsaco` is a bundle of code objects");
  EXPECT_CONTAINS(messageOf([] {
                    parseAmdCodeObject("\x7f"
                                       "ELF",
                                       "k.hsaco");
                  }),
                  "it has 4 bytes");
  std::string host = "\x7f"
                     "ELF\x02\x01\x01"s +
                     std::string(57, '\0');
  host[18] = 62;
  EXPECT_CONTAINS(messageOf([&] { parseAmdCodeObject(host, "k.so"); }),
                  "`k.so` is an ELF file of machine 62 and OS ABI 0, and an AMD code object has 224 and 64");
}

} // namespace
} // namespace heddle
