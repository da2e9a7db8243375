// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Spaces, keys and matches of library kernels: declarations, pruning, and what a result may be used for.
#include "autotune/Space.h"
#include "autotune/Lookup.h"
#include "support/TestError.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <set>

namespace heddle::autotune {
namespace {

using namespace kernels;

CallRequest requestOf(const LibraryKernel &kernel, const std::map<std::string, int64_t> &extents,
                      const Chip &chip = hostChip) {
  return {.chip = &chip, .inputs = arraysOfShape(kernel, extents, ElementType::BF16), .options = {}};
}

Space spaceOf(const std::string &name, const std::map<std::string, int64_t> &extents, const Chip &chip,
              const std::map<std::string, std::string> &options = {}) {
  const LibraryKernel &kernel = lookupKernel(name);
  CallRequest request = requestOf(kernel, extents, chip);
  request.options = options;
  return makeSpace(kernel, request);
}

bool hasName(const Space &space, const std::string &name) {
  std::vector<std::string> names = space.names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

TEST(Space, every_kernel_declares_one) {
  for (const LibraryKernel *kernel : allKernels()) {
    CallRequest request = requestOf(*kernel, kernel->tuning.example, sm90Chip);
    request.options = kernel->tuning.exampleOptions;
    request.options["warps"] = "4"; // fewer
    Space space = makeSpace(*kernel, request);
    EXPECT_GT(space.candidates.size(), 2u) << kernel->name;
    EXPECT_TRUE(space.candidates[0].configuration.empty());
    std::vector<std::string> names = space.names();
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
    EXPECT_EQ(versionOf(*kernel).size(), 8u);
  }
}

TEST(Space, a_declaration_of_what_there_is_not) {
  LibraryKernel kernel = lookupKernel("amax");
  CallRequest request = requestOf(kernel, kernel.tuning.example);
  kernel.tuning.variants = {{{}, {"blok"}}};
  EXPECT_CONTAINS(messageOf([&] { makeSpace(kernel, request); }), "declares `blok` for tuning");
  kernel.tuning.variants = {{{{"method", "atomics"}}, {"block"}}};
  EXPECT_CONTAINS(messageOf([&] { makeSpace(kernel, request); }), "declares `method=atomics` for tuning");
  kernel.tuning.variants = {};
  kernel.tuning.counts = {"T"};
  EXPECT_CONTAINS(messageOf([&] { makeSpace(kernel, request); }), "declares `T` as a count for tuning");
  kernel.tuning.counts = {};
  kernel.tuning.example = {{"M", 1}};
  kernel.name = "other";
  EXPECT_CONTAINS(messageOf([&] { versionOf(kernel); }),
                  "the example that kernel `other` declares for tuning is refused");
}

TEST(Space, what_a_caller_chose_stays) {
  Space all = spaceOf("amax", {{"M", 64}, {"N", 4096}}, sm90Chip);
  Space some = spaceOf("amax", {{"M", 64}, {"N", 4096}}, sm90Chip, {{"method", "atomic"}, {"warps", "8"}});
  EXPECT_TRUE(hasName(all, "block=1024,method=reduction,warps=4"));
  EXPECT_TRUE(hasName(some, "block=1024"));
  EXPECT_LT(some.candidates.size(), 5u);
  for (const Candidate &candidate : some.candidates)
    EXPECT_TRUE(candidate.call.is("method", "atomic"));
}

/// Options and tile parameters that matter depend on how the weights lie in memory.
TEST(Space, variants_that_apply) {
  const LibraryKernel &kernel = lookupKernel("fp8_rowwise_3d");
  CallRequest request = requestOf(kernel, {{"E", 2}, {"K", 256}, {"N", 256}}, sm90Chip);
  request.options["warps"] = "4";
  Space transposed = makeSpace(kernel, request);
  EXPECT_TRUE(hasName(transposed, "method=cooperative,shared_k=64,shared_n=128"));
  EXPECT_FALSE(hasName(transposed, "block=512,rows=2"));
  request.inputs["x"].strides = {}; // rows are contiguous
  Space plain = makeSpace(kernel, request);
  EXPECT_TRUE(hasName(plain, "block=512,rows=2"));
  EXPECT_FALSE(hasName(plain, "method=cooperative,shared_k=64,shared_n=128"));
}

TEST(Space, the_same_launches_once) {
  // On NVIDIA's GPUs blocks share strips by default.
  Space space = spaceOf("fp8_rowwise_3d", {{"E", 2}, {"K", 256}, {"N", 256}}, sm90Chip, {{"warps", "4"}});
  auto same = std::find_if(space.pruned.begin(), space.pruned.end(), [](const PrunedConfiguration &pruned) {
    return textOf(pruned.configuration) == "method=cooperative,shared_k=64,shared_n=512";
  });
  ASSERT_NE(same, space.pruned.end());
  EXPECT_EQ(same->reason, "makes the same launches as `default`");
  // On the host a block has one thread.
  Space host = spaceOf("amax", {{"M", 64}, {"N", 4096}}, hostChip);
  EXPECT_FALSE(hasName(host, "block=1024,method=atomic,warps=16"));
  EXPECT_TRUE(hasName(host, "block=1024,method=atomic,warps=4"));
}

TEST(Space, what_the_chip_cannot_run) {
  Step step;
  step.name = "k";
  step.text = "%0 = arith.addf %1, %2 : tensor<128x512xf32>\n%3 = tt.trans %0 {order = array<i32: 1, 0>} : "
              "tensor<512x1024xf16> -> tensor<1024x512xf16>\n";
  step.warps = 4;
  EXPECT_EQ(whyImpossible(step, sm90Chip),
            "a block of 128 threads holds 65536 numbers, 512 registers of each thread, which has 255");
  step.warps = 16;
  step.heldWords = 4 * 65536; // as many such tiles
  EXPECT_EQ(whyImpossible(step, sm90Chip),
            "a block of 512 threads holds 262144 numbers, 512 registers of each thread, which has 255");
  step.heldWords = std::nullopt;
  EXPECT_EQ(whyImpossible(step, sm90Chip),
            "a transposed tile takes 1048576 bytes of shared memory, and a block has 232448");
  step.text = "";
  EXPECT_EQ(whyImpossible(step, sm90Chip), "");
  step.warps = 32;
  EXPECT_EQ(whyImpossible(step, gfx950Chip), "32 warps are 2048 threads, and a block has at most 1024");
  EXPECT_EQ(whyImpossible(step, hostChip), "");
}

TEST(CallKey, every_part_that_matters) {
  const LibraryKernel &kernel = lookupKernel("fp8_rowwise_3d");
  KeyPlace place{"NVIDIA H200, 132 units", "CUDA 12.8", "events"};
  CallRequest request = requestOf(kernel, {{"E", 2}, {"K", 256}, {"N", 248}}, sm90Chip);
  Key key = keyOf(kernel, request, place);
  EXPECT_EQ(key["extents"], "E=2,K=256,N=248");
  EXPECT_EQ(key["types"], "x=bf16");
  EXPECT_EQ(key["strides"], "x=16|1|16");
  EXPECT_EQ(key["options"], "dtype=f8E4M3FN,nan=propagate,pow2=false");
  EXPECT_EQ(key["fixed"], "-");
  EXPECT_EQ(key["chip"], "sm_90");
  std::set<std::string> ids = {key.id()};
  auto add = [&](const CallRequest &changed, const KeyPlace &where) {
    EXPECT_TRUE(ids.insert(keyOf(kernel, changed, where).id()).second);
  };
  CallRequest changed = request;
  changed.options["pow2"] = "true";
  add(changed, place);
  changed = request, changed.options["warps"] = "4";
  add(changed, place);
  changed = request, changed.inputs["x"].type = ElementType::F16;
  add(changed, place);
  changed = request, changed.inputs["x"].strides = {};
  add(changed, place);
  changed = request, changed.inputs["x"].shape[0] = 3;
  add(changed, place);
  changed = request, changed.chip = &gfx950Chip;
  add(changed, place);
  add(request, {"NVIDIA H100, 132 units", "CUDA 12.8", "events"});
  add(request, {"NVIDIA H200, 132 units", "CUDA 12.9", "events"});
  add(request, {"NVIDIA H200, 132 units", "CUDA 12.8", "events-cold"});
}

struct Matching : testing::Test {
  const LibraryKernel &kernel = lookupKernel("fp8_rowwise_2d");
  KeyPlace place{"NVIDIA H200, 132 units", "CUDA 12.8", "events"};

  CallRequest request(int64_t m, int64_t k = 4096) { return requestOf(kernel, {{"M", m}, {"K", k}}, sm90Chip); }
  TunedResult result(int64_t m, const std::string &warps, const KeyPlace &where) {
    return {keyOf(kernel, request(m), where), {{"warps", warps}}, 1, 2, 0.5, 0, 10, "2026-11-27T10:00:00Z", "measured"};
  }
};

TEST_F(Matching, the_closest_of_those_that_may_be_used) {
  std::vector<TunedResult> results = {result(1000, "1", place), result(1024, "2", place), result(4096, "4", place)};
  EXPECT_EQ(findMatch(results, kernel, request(1024), place)->result.configuration.at("warps"), "2");
  EXPECT_TRUE(findMatch(results, kernel, request(1024), place)->differences.empty());
  std::optional<Match> close = findMatch(results, kernel, request(900), place); // both round up to 1024
  EXPECT_EQ(close->result.configuration.at("warps"), "1");
  EXPECT_EQ(close->differences,
            std::vector<std::string>{"measured with extents K=4096,M=1000, and this is K=4096,M=900"});
  EXPECT_FALSE(findMatch(results, kernel, request(512), place));
  EXPECT_FALSE(findMatch(results, kernel, request(1024, 4097), place)); // K is no count
}

TEST_F(Matching, another_driver_is_said_and_another_product_is_not_used) {
  KeyPlace other = place;
  other.driver = "CUDA 12.4";
  std::vector<TunedResult> results = {result(1024, "2", other)};
  EXPECT_EQ(findMatch(results, kernel, request(1024), place)->differences,
            std::vector<std::string>{"measured with driver CUDA 12.4, and this is CUDA 12.8"});
  results.push_back(result(1024, "4", place));
  EXPECT_EQ(findMatch(results, kernel, request(1024), place)->result.configuration.at("warps"), "4");
  other = {"NVIDIA H100, 132 units", "CUDA 12.8", "events"};
  EXPECT_FALSE(findMatch({result(1024, "2", other)}, kernel, request(1024), place));
  other = {"NVIDIA H200, 132 units", "-", "estimate"};
  EXPECT_FALSE(findMatch({result(1024, "2", other)}, kernel, request(1024), place));
  // For a chip that is not here, the product is said.
  EXPECT_EQ(findMatch({result(1024, "2", place)}, kernel, request(1024), std::nullopt)->differences,
            std::vector<std::string>{"measured on NVIDIA H200, 132 units"});
}

TEST_F(Matching, another_version_of_the_kernel_is_not_used) {
  TunedResult old = result(1024, "2", place);
  std::map<std::string, std::string> parts = old.key.all();
  parts["kernel_version"] = "00000000";
  old.key = Key(parts);
  EXPECT_FALSE(findMatch({old}, kernel, request(1024), place));
}

TEST(Shipped, they_are_of_kernels_that_there_are) {
  for (const TunedResult &result : shippedResults()) {
    const LibraryKernel &kernel = lookupKernel(result.key["kernel"]);
    std::vector<std::string> names = tunableNames(kernel);
    for (const auto &[name, value] : result.configuration)
      EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
    EXPECT_NO_THROW(lookupChip(result.key["chip"]));
    EXPECT_NE(result.key["clock"], "estimate");
  }
}

} // namespace
} // namespace heddle::autotune
