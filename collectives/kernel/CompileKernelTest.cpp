// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels of all algorithms as PTX. The tests that run them without a GPU take the code of one thread, before the back
// end.
#include "collectives/kernel/CompileKernel.h"
#include "chips/Chip.h"
#include "collectives/Algorithm.h"
#include <gtest/gtest.h>

using namespace heddle;

TEST(CompileKernel, OfEveryAlgorithmIsPtx) {
  for (const Algorithm *algorithm : allAlgorithms())
    for (bool isOther : {false, true}) { // packets of Lamport's form, operands in windows
      bool hasPackets = algorithm->inboxSlots(2) > 0;
      if (!hasPackets && !algorithm->direct && isOther)
        continue;
      Collective collective;
      collective.kind = algorithm->kinds[0];
      collective.type = ElementType::BF16;
      collective.ranks = 4;
      collective.inner = 4096;
      for (int rank = 0; collective.kind == CollectiveKind::Permute && rank < collective.ranks; ++rank)
        collective.sources.push_back(rank - 1);
      PlanOptions options;
      options.algorithm = algorithm->name;
      if (hasPackets)
        options.packets = isOther ? PacketForm::Lamport : PacketForm::LL;
      options.windows = isOther;
      Package package = compileKernel(makePlan(collective, sm90Chip, options));
      EXPECT_EQ(package.binaryKind, "ptx") << algorithm->name;
      EXPECT_NE(package.binary.find(".entry " + package.entry), std::string::npos) << algorithm->name;
    }
}
