// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Round trips, and a parser that answers any bytes with a package or an Error.
#include "binary/Package.h"
#include "support/Hash.h"
#include "support/TestError.h"
#include <cstring>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

using namespace heddle;

namespace {

Package smallPackage() {
  Package package;
  package.kernel = package.entry = "add";
  package.target = "host";
  package.processor = "x86-64-v3";
  package.features = {"avx2", "fma"};
  package.remarks = {"a.py:1:2: prefetched"};
  package.binaryKind = "elf-shared-object";
  package.abiVersion = 1;
  package.arguments = {{"x", "f32", true, 16}, {"n", "i32", false, 1}};
  package.scratchBytes = 256;
  package.threads = 128;
  package.sharedBytes = 65536;
  package.dependentLaunch = true;
  package.checked = true;
  package.peers = true;
  package.tensorMaps = {{0, "f16", {64, 32}, 64}};
  package.sites = {{"tt.load", "add.py", 3, 7, "", {}, false},
                   {"tt.print", "add.py", 4, 1, " x: ", {{"f32", {4, 2}, true}}, true}};
  package.producer = "heddle test";
  package.sourceHash = "0123456789abcdef";
  package.binary = std::string("\0\1\2binary", 9);
  return package;
}

/// A package file around any JSON, with right sizes and checksum.
std::string fileAround(const std::string &json) {
  std::string bytes = "HEDDLEPK";
  auto append = [&](uint64_t value, size_t size) { bytes.append(reinterpret_cast<const char *>(&value), size); };
  append(1, 4);
  append(0, 4);
  append(json.size(), 8);
  append(0, 8);
  bytes += json;
  append(hashBytes(bytes), 8);
  return bytes;
}

TEST(Package, RoundTripKeepsEveryField) {
  Package package = smallPackage();
  Package back = Package::parse(package.serialize(), "a.hpkg");
  EXPECT_EQ(back.describe(), package.describe());
  EXPECT_EQ(back.binary, package.binary);
  EXPECT_EQ(back.serialize(), package.serialize());
  EXPECT_EQ(back.sites[1].operands[0].shape, (std::vector<int64_t>{4, 2}));
  EXPECT_EQ(back.arguments[0].divisibility, 16);
  EXPECT_EQ(back.tensorMaps[0].type, "f16");
  EXPECT_EQ(back.tensorMaps[0].box, (std::vector<int64_t>{64, 32}));
  EXPECT_EQ(back.tensorMaps[0].swizzle, 64);
}

TEST(Package, NewerFieldsMayBeMissing) {
  auto json = nlohmann::json::parse(smallPackage().describe());
  Package back = Package::parse(fileAround(json.dump()), "a");
  EXPECT_EQ(back.threads, 128);
  EXPECT_EQ(back.sharedBytes, 65536u);
  EXPECT_TRUE(back.dependentLaunch);
  EXPECT_TRUE(back.peers);
  EXPECT_EQ(back.remarks.size(), 1u);
  EXPECT_EQ(back.tensorMaps.size(), 1u);
  for (const char *key : {"threads", "sharedBytes", "dependentLaunch", "peers", "remarks", "tensorMaps"})
    json.erase(key);
  back = Package::parse(fileAround(json.dump()), "a");
  EXPECT_EQ(back.threads, 0);
  EXPECT_EQ(back.sharedBytes, 0u);
  EXPECT_FALSE(back.dependentLaunch);
  EXPECT_FALSE(back.peers);
  EXPECT_TRUE(back.remarks.empty());
  EXPECT_TRUE(back.tensorMaps.empty());
  json["threads"] = -1;
  EXPECT_CONTAINS(messageOf([&] { Package::parse(fileAround(json.dump()), "a"); }),
                  "field `threads` is not an integer of at least 0");
  json["threads"] = 128;
  json["tensorMaps"] = {{{"argument", 0}, {"type", "f16"}, {"box", {64, 0}}, {"swizzle", 0}}};
  EXPECT_CONTAINS(messageOf([&] { Package::parse(fileAround(json.dump()), "a"); }),
                  "field `tensorMaps[0].box` is not a list of integers of at least 1");
}

TEST(Package, FileRoundTrip) {
  auto path = (std::filesystem::temp_directory_path() / ("heddle-package-" + std::to_string(::getpid()))).string();
  smallPackage().save(path);
  EXPECT_EQ(Package::load(path).describe(), smallPackage().describe());
  std::filesystem::remove(path);
  EXPECT_EQ(errorOf([&] { Package::load(path); }).kind, ErrorClass::Environment);
}

TEST(Package, TextThatIsNoUtf8IsReplaced) {
  Package package = smallPackage();
  package.sites[0].file = "a\xff.py";
  EXPECT_EQ(Package::parse(package.serialize(), "a").sites[0].file, "a\xef\xbf\xbd.py");
}

TEST(Package, EveryTruncationIsAnError) {
  std::string good = smallPackage().serialize();
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_EQ(errorOf([&] { Package::parse(good.substr(0, length), "a"); }).kind, ErrorClass::Input) << length;
}

TEST(Package, EveryFlippedByteIsAnError) {
  std::string good = smallPackage().serialize();
  for (size_t at = 0; at < good.size(); ++at)
    for (int mask : {0x01, 0x80, 0xff}) {
      std::string bad = good;
      bad[at] = char(bad[at] ^ mask);
      EXPECT_EQ(errorOf([&] { Package::parse(bad, "a"); }).kind, ErrorClass::Input) << at;
    }
}

TEST(Package, MessagesNameBothValues) {
  std::string good = smallPackage().serialize();
  EXPECT_CONTAINS(messageOf([] { Package::parse("ELF", "a.hpkg"); }), "a.hpkg: not a kernel package\nmake one with");
  std::string newer = good;
  newer[8] = 7;
  EXPECT_CONTAINS(messageOf([&] { Package::parse(newer, "a.hpkg"); }), "package format 7, this program reads format 1");
  std::string size = std::to_string(good.size());
  EXPECT_CONTAINS(messageOf([&] { Package::parse(good.substr(0, 100), "a"); }),
                  "truncated package: 100 bytes of " + size);
  EXPECT_CONTAINS(messageOf([&] { Package::parse(good + "x", "a"); }), "trailing bytes in the package");
  std::string damaged = good;
  damaged[60] ^= 1;
  EXPECT_CONTAINS(messageOf([&] { Package::parse(damaged, "a"); }), "damaged package: checksum ");
  std::string huge = good;
  std::memset(huge.data() + 16, 0xff, 16);
  EXPECT_CONTAINS(messageOf([&] { Package::parse(huge, "a"); }), "truncated package");
}

TEST(Package, IllTypedFieldsAreNamed) {
  using Json = nlohmann::json;
  Json good = Json::parse(smallPackage().describe());
  EXPECT_NO_THROW(Package::parse(fileAround(good.dump()), "a"));
  auto messageAfter = [&](const std::function<void(Json &)> &change) {
    Json bad = good;
    change(bad);
    return messageOf([&] { Package::parse(fileAround(bad.dump()), "a"); });
  };
  EXPECT_CONTAINS(messageAfter([](Json &j) { j.erase("entry"); }), "a: malformed package: field `entry` is missing");
  EXPECT_CONTAINS(messageAfter([](Json &j) { j["kernel"] = 3; }), "field `kernel` is not a string");
  EXPECT_CONTAINS(messageAfter([](Json &j) { j["scratchBytes"] = -1; }),
                  "field `scratchBytes` is not an integer of at least 0");
  EXPECT_CONTAINS(messageAfter([](Json &j) { j["scratchBytes"] = UINT64_MAX; }), "`scratchBytes`");
  EXPECT_CONTAINS(messageAfter([](Json &j) { j["abiVersion"] = 1ll << 40; }), "`abiVersion`");
  EXPECT_CONTAINS(messageAfter([](Json &j) { j["abiVersion"] = 1.5; }), "`abiVersion`");
  EXPECT_CONTAINS(messageAfter([](Json &j) { j["checked"] = "yes"; }), "field `checked` is not true or false");
  EXPECT_CONTAINS(messageAfter([](Json &j) { j["features"] = Json::array({1}); }),
                  "`features` is not a list of strings");
  EXPECT_CONTAINS(messageAfter([](Json &j) { j["remarks"] = "one"; }), "`remarks` is not a list");
  EXPECT_CONTAINS(messageAfter([](Json &j) { j["remarks"] = Json::array({"one", 2}); }),
                  "`remarks` is not a list of strings");
  EXPECT_CONTAINS(messageAfter([](Json &j) { j["arguments"] = nullptr; }), "field `arguments` is not a list");
  EXPECT_CONTAINS(messageAfter([](Json &j) { j["arguments"][1] = 4; }), "arguments[1] is not an object");
  EXPECT_CONTAINS(messageAfter([](Json &j) { j["arguments"][1]["divisibility"] = 0; }), "`arguments[1].divisibility`");
  EXPECT_CONTAINS(messageAfter([](Json &j) { j["sites"][1]["operands"][0]["shape"] = {-1}; }),
                  "`sites[1].operands[0].shape`");
  for (const char *json : {"", "{", "[]", "3", "null", "{\"kernel\"", "\xff"})
    EXPECT_CONTAINS(messageOf([&] { Package::parse(fileAround(json), "a"); }), "malformed package");
  EXPECT_CONTAINS(messageOf([&] { Package::parse(fileAround(std::string(1000000, '[')), "a"); }), "is not JSON");
}

// Descriptions that are damaged but carry a right checksum: a package or an Error, never more.
TEST(Package, DamagedDescriptionsDoNoHarm) {
  std::string good = smallPackage().describe();
  uint64_t state = 1;
  auto next = [&] { return (state = state * 6364136223846793005ull + 1442695040888963407ull) >> 33; };
  const std::string alphabet = "{}[]\",:0123456789-e.truefalsnl\\ \xff";
  for (int round = 0; round < 20000; ++round) {
    std::string bad = good;
    for (uint64_t edits = 1 + next() % 4; edits-- > 0;)
      if (next() % 2)
        bad[next() % bad.size()] = alphabet[next() % alphabet.size()];
      else
        bad.erase(next() % bad.size(), next() % 8);
    try {
      Package::parse(fileAround(bad), "a");
    } catch (const Error &error) {
      EXPECT_EQ(error.kind, ErrorClass::Input);
    }
  }
}

} // namespace
