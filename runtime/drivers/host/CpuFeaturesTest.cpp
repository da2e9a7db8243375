// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LLVM's names of CPU features, asked of this machine.
#include "runtime/drivers/host/CpuFeatures.h"
#include <gtest/gtest.h>

using namespace heddle;

namespace {

TEST(CpuFeatures, EveryX86HasSse2) {
#ifdef __x86_64__
  EXPECT_TRUE(missingCpuFeatures({"sse", "sse2", "cx8", "cmov", "fxsr", "64bit", "x87"}).empty());
#endif
}

TEST(CpuFeatures, AgreesWithTheCompilersOwnCheck) {
#ifdef __x86_64__
  auto has = [](const char *name) { return missingCpuFeatures({name}).empty(); };
  EXPECT_EQ(has("avx2"), bool(__builtin_cpu_supports("avx2")));
  EXPECT_EQ(has("fma"), bool(__builtin_cpu_supports("fma")));
  EXPECT_EQ(has("bmi"), bool(__builtin_cpu_supports("bmi")));
  EXPECT_EQ(has("sse4.2"), bool(__builtin_cpu_supports("sse4.2")));
  EXPECT_EQ(has("avx512f"), bool(__builtin_cpu_supports("avx512f")));
  EXPECT_EQ(has("avx512vbmi2"), bool(__builtin_cpu_supports("avx512vbmi2")));
  EXPECT_EQ(has("avx512bf16"), bool(__builtin_cpu_supports("avx512bf16")));
  EXPECT_EQ(has("pclmul"), bool(__builtin_cpu_supports("pclmul")));
#endif
}

TEST(CpuFeatures, UnknownNamesAreIgnored) {
  EXPECT_TRUE(missingCpuFeatures({"fast-shuffle", "", "+avx9"}).empty());
}

} // namespace
