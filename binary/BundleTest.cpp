// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bundles: round trips, joining, finding a call, and a parser that answers any bytes with a bundle or an Error.
#include "binary/Bundle.h"
#include "support/Hash.h"
#include "support/TestError.h"
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

using namespace heddle;

namespace {

Package packageOf(const std::string &target, const std::string &code) {
  Package package;
  package.kernel = package.entry = "add";
  package.target = target;
  package.processor = "any";
  package.binaryKind = "elf-shared-object";
  package.arguments = {{"x", "f32", true, 16}, {"n", "i32", false, 1}};
  package.binary = code;
  return package;
}

BundleCall callOf(const std::string &target, int64_t extent, size_t package) {
  BundleArray x{"x", "f32", {extent}, {1}, uint64_t(extent) * 4}, sum{"sum", "f32", {1}, {1}, 4};
  BundleStep launch{"", 0, package, {extent, 1, 1}, {{"x", 0}, {"", extent}}};
  return {
      "add", target, {{"M", std::to_string(extent)}, {"x", "f32"}}, {x}, {sum}, {}, {{"sum", 7, 0, {}, {}}, launch}};
}

/// Two calls for the host that share a package, one for sm_90, and a collective.
Bundle smallBundle() {
  Bundle bundle;
  bundle.producer = "heddle test";
  size_t host = bundle.add(packageOf("host", "host code")), sm90 = bundle.add(packageOf("sm_90", "ptx"));
  bundle.calls = {callOf("host", 8, host), callOf("host", 16, host), callOf("sm_90", 8, sm90)};
  bundle.collectives = {{"host", "all-reduce", "layout", host}};
  return bundle;
}

/// The bundle with another description around the same packages.
std::string changed(const std::function<void(nlohmann::ordered_json &)> &change) {
  std::string bytes = smallBundle().serialize();
  uint64_t jsonSize = 0, binarySize = 0;
  std::memcpy(&jsonSize, bytes.data() + 16, 8);
  std::memcpy(&binarySize, bytes.data() + 24, 8);
  auto json = nlohmann::ordered_json::parse(bytes.substr(32, jsonSize));
  change(json);
  std::string text = json.dump(), made = bytes.substr(0, 16);
  auto append = [&](uint64_t value) { made.append(reinterpret_cast<const char *>(&value), sizeof value); };
  append(text.size());
  append(binarySize);
  made += text + bytes.substr(32 + jsonSize, binarySize);
  append(hashBytes(made));
  return made;
}

TEST(Bundle, RoundTripKeepsEverything) {
  Bundle bundle = smallBundle(), back = Bundle::parse(bundle.serialize(), "a.hbundle");
  EXPECT_EQ(back.describe(), bundle.describe());
  EXPECT_EQ(back.serialize(), bundle.serialize());
  EXPECT_EQ(back.packages[1]->binary, "ptx");
  EXPECT_EQ(back.calls[1].steps[0].fills, "sum");
  EXPECT_EQ(back.calls[1].steps[0].byte, 7);
  EXPECT_EQ(back.calls[1].steps[1].arguments[1].value, 16);
  EXPECT_EQ(back.findCollective("host", "all-reduce")->layout, "layout");
  EXPECT_EQ(back.findCollective("sm_90", "all-reduce"), nullptr);
}

TEST(Bundle, KeepsEqualPackagesOnce) {
  Bundle bundle = smallBundle();
  EXPECT_EQ(bundle.packages.size(), 2u);
  EXPECT_EQ(bundle.add(packageOf("sm_90", "ptx")), 1u);
  EXPECT_EQ(bundle.add(packageOf("sm_90", "PTX")), 2u);
}

TEST(Bundle, JoinAddsWhatIsNew) {
  Bundle all, other = smallBundle();
  all.add(packageOf("gfx942", "amd code"));
  all.calls = {callOf("host", 8, 0)};
  all.join(other);
  EXPECT_EQ(all.packages.size(), 3u);
  ASSERT_EQ(all.calls.size(), 3u);
  EXPECT_EQ(all.packages[all.calls[0].steps[1].package]->binary, "amd code"); // its own stays
  EXPECT_EQ(all.packages[all.calls[1].steps[1].package]->binary, "host code");
  EXPECT_EQ(all.packages[all.calls[2].steps[1].package]->binary, "ptx");
  EXPECT_EQ(all.packages[all.collectives[0].package]->binary, "host code");
  all.join(other);
  EXPECT_EQ(all.calls.size(), 3u);
  EXPECT_EQ(all.collectives.size(), 1u);
}

TEST(Bundle, FindsTheOneCallThatFits) {
  Bundle bundle = smallBundle();
  EXPECT_EQ(&bundle.findCall("add", "host", {{"M", "16"}}), &bundle.calls[1]);
  EXPECT_EQ(&bundle.findCall("add", "sm_90", {}), &bundle.calls[2]);
}

TEST(Bundle, SaysWhatItHasWhereNoneFits) {
  Bundle bundle = smallBundle();
  auto find = [&](const char *kernel, const char *target, std::map<std::string, std::string> choices) {
    return messageOf([&] { bundle.findCall(kernel, target, choices); });
  };
  EXPECT_CONTAINS(find("ad", "host", {}), "the bundle has no kernel `ad`");
  EXPECT_CONTAINS(find("add", "gfx950", {}), "the bundle has `add` for host, sm_90, and the device is of gfx950");
  EXPECT_CONTAINS(find("add", "host", {{"K", "16"}}), "calls of `add` have no `K`");
  EXPECT_CONTAINS(find("add", "host", {{"M", "17"}}), "the bundle has no call of `add` for host with M=17");
  EXPECT_CONTAINS(find("add", "host", {}), "the bundle has 2 calls of `add` for host");
  EXPECT_CONTAINS(find("add", "host", {{"x", "f32"}}), "say also M\nthe bundle has M=8, x=f32; M=16, x=f32");
}

TEST(Bundle, RefusesWhatIsNone) {
  EXPECT_CONTAINS(messageOf([] { Bundle::parse("HEDDLEPK and more", "a"); }), "a: not a bundle of kernels");
  std::string bytes = smallBundle().serialize();
  for (size_t size = 0; size < bytes.size(); size += 7)
    EXPECT_NE(messageOf([&] { Bundle::parse(bytes.substr(0, size), "a"); }), "");
  bytes[bytes.size() / 2] ^= 1;
  EXPECT_CONTAINS(messageOf([&] { Bundle::parse(bytes, "a"); }), "a: damaged bundle");
}

TEST(Bundle, RefusesCallsOfWhatItDoesNotHave) {
  using Change = std::function<void(nlohmann::ordered_json &)>;
  auto message = [](const Change &change) { return messageOf([&] { Bundle::parse(changed(change), "a"); }); };
  EXPECT_EQ(Bundle::parse(changed([](auto &) {}), "a").describe(), smallBundle().describe());
  EXPECT_CONTAINS(message([](auto &j) { j["calls"][0]["steps"][1]["package"] = 2; }),
                  "`calls[0].steps[1].package` is 2, and there are 2 packages");
  EXPECT_CONTAINS(message([](auto &j) { j["collectives"][0]["package"] = 9; }),
                  "`collectives[0].package` is 9, and there are 2 packages");
  EXPECT_CONTAINS(message([](auto &j) { j["calls"][0]["steps"][1]["arguments"].erase(1); }),
                  "`calls[0].steps[1].arguments` has 1 arguments, and its package takes 2");
  EXPECT_CONTAINS(message([](auto &j) { j["calls"][0]["steps"][1]["arguments"][0]["array"] = "y"; }),
                  "names the array `y`, which the call has not");
  EXPECT_CONTAINS(message([](auto &j) { j["calls"][0]["steps"][0]["fill"] = "y"; }),
                  "`calls[0].steps[0].fill` names the array `y`, which the call has not");
  EXPECT_CONTAINS(message([](auto &j) { j["calls"][0]["steps"][0]["byte"] = 256; }), "an integer from 0 to 255");
  EXPECT_CONTAINS(message([](auto &j) { j["calls"][0]["steps"][1]["grid"] = {1, 0, 1}; }), "integers of at least 1");
  EXPECT_CONTAINS(message([](auto &j) { j["calls"][0]["inputs"][0]["strides"] = {1, 2}; }), "a list of 1 integers");
  EXPECT_CONTAINS(message([](auto &j) { j["calls"][0]["choices"]["M"] = 3; }), "an object of strings");
  EXPECT_CONTAINS(message([](auto &j) { j["packages"][0]["bytes"] = 1 << 30; }), "are left");
  EXPECT_CONTAINS(message([](auto &j) { j["packages"].erase(1); }), "bytes, and");
}

} // namespace
