// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of chips, and the error for a name that is not in it.
#include "chips/Chip.h"
#include "support/TestError.h"

using namespace heddle;

namespace {

TEST(Chip, EveryChipIsFoundByItsName) {
  EXPECT_EQ(allChips().size(), 4u);
  for (const Chip *chip : allChips())
    EXPECT_EQ(&lookupChip(chip->name), chip);
}

TEST(Chip, SizesAndFormats) {
  EXPECT_EQ(lookupChip("sm_90").sharedMemoryBytes, 232448);
  EXPECT_EQ(lookupChip("gfx942").sharedMemoryBytes, 65536);
  EXPECT_EQ(lookupChip("gfx950").sharedMemoryBytes, 163840);
  EXPECT_EQ(lookupChip("gfx950").threadsPerWarp, 64);
  EXPECT_EQ(lookupChip("gfx942").fp8, Fp8Formats::Fnuz);
  EXPECT_EQ(lookupChip("gfx950").fp8, Fp8Formats::Ocp);
  EXPECT_EQ(lookupChip("host").vendor, Vendor::Host);
  EXPECT_STREQ(vendorName(lookupChip("sm_90").vendor), "nvidia");
}

TEST(Chip, PeerAtomics) {
  for (const char *name : {"host", "sm_90", "gfx942", "gfx950"})
    requirePeerAtomics(lookupChip(name));
  Chip older = {.name = "gfx90a", .description = "", .vendor = Vendor::Amd};
  EXPECT_EQ(messageOf([&] { requirePeerAtomics(older); }), "target 'gfx90a' has no atomics that other devices see\n"
                                                           "targets that have them are gfx942, gfx950, host, sm_90");
}

TEST(Chip, UnknownNameListsTheKnownAndTheClosest) {
  EXPECT_EQ(errorOf([] { lookupChip("gfx90b"); }).kind, ErrorClass::Input);
  EXPECT_EQ(messageOf([] { lookupChip("gfx943"); }),
            "unknown target 'gfx943'\ndid you mean 'gfx942'\nthe known targets are gfx942, gfx950, host, sm_90");
  EXPECT_EQ(messageOf([] { lookupChip("tpu"); }),
            "unknown target 'tpu'\nthe known targets are gfx942, gfx950, host, sm_90");
  EXPECT_CONTAINS(messageOf([] { lookupChip("sm90"); }), "did you mean 'sm_90'");
  EXPECT_CONTAINS(messageOf([] { lookupChip(""); }), "unknown target ''");
  EXPECT_CONTAINS(messageOf([] { lookupChip(std::string(100000, 'x')); }), "unknown target");
}

} // namespace
