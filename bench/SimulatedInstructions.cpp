// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Nanoseconds that the simulator needs for one instruction of a wave: `simulator-bench`, or with lines of assembly of
// gfx950 as arguments. The best of several turns.
#include "simulator/decode/TestAssembler.h"
#include <algorithm>
#include <chrono>
#include <cstdio>

using namespace heddle::simulator;

namespace {

const char *const usual[] = {"v_add_f32 v2, v3, v4",
                             "v_fma_f32 v2, v3, v4, v5",
                             "v_add_f32 v2, v3, s4",
                             "v_add_f32 v2, -v3, |v4|",
                             "v_add_f32_dpp v2, v3, v4 row_shr:1",
                             "v_lshl_add_u32 v2, v3, 2, v4",
                             "v_lshlrev_b64 v[2:3], 2, v[4:5]",
                             "v_fma_f64 v[2:3], v[4:5], v[6:7], v[8:9]",
                             "v_add_f16 v2, v3, v4",
                             "v_pk_fma_f16 v2, v3, v4, v5",
                             "v_pk_mul_f32 v[2:3], v[4:5], v[6:7]",
                             "v_cmp_gt_f32 vcc, v3, v4",
                             "v_cndmask_b32 v2, v3, v4, vcc",
                             "v_max_f32 v2, v3, v4",
                             "v_exp_f32 v2, v3",
                             "v_rcp_f32 v2, v3",
                             "v_perm_b32 v2, v3, v4, v5",
                             "v_cvt_i32_f32 v2, v3",
                             "v_cvt_pk_bf16_f32 v2, v3, v4",
                             "v_cvt_pk_fp8_f32 v2, v3, v4",
                             "v_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[8:11], v[0:3]",
                             "v_mfma_f32_32x32x16_bf16 v[0:15], v[16:19], v[20:23], v[0:15]",
                             "v_mfma_f32_16x16x32_fp8_fp8 v[0:3], v[4:5], v[8:9], v[0:3]",
                             "v_mfma_i32_16x16x64_i8 v[0:3], v[4:7], v[8:11], v[0:3]"};

double nanoseconds(const std::string &text, uint64_t exec) {
  std::vector<Instruction> decoded = decodeText("gfx950", text);
  auto wave = makeTestWave();
  wave->setExec(exec);
  double best = 1e9;
  for (int turn = 0; turn < 20; ++turn) {
    constexpr int repeats = 2000;
    auto start = std::chrono::steady_clock::now();
    for (int count = 0; count < repeats; ++count)
      decoded[0].execute(*wave, decoded[0]);
    std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
    best = std::min(best, spent.count() / repeats);
  }
  return best;
}

} // namespace

int main(int count, char **arguments) {
  std::vector<std::string> lines(arguments + 1, arguments + count);
  if (lines.empty())
    lines.assign(std::begin(usual), std::end(usual));
  std::printf("%10s %10s\n", "all lanes", "half");
  for (const std::string &line : lines)
    std::printf("%7.1f ns %7.1f ns  %s\n", nanoseconds(line, ~uint64_t(0)), nanoseconds(line, 0xFFFFFFFF),
                line.c_str());
}
