# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a kernel in TTGIR for sm_90 with so many partitions of one warp: many_partitions.py NUMBER. Each stores its number."""
import sys

print("""module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @many(%x: !tt.ptr<i32>) {
    ttg.warp_specialize(%x)
    default {
      ttg.warp_yield
    }""")
for number in range(int(sys.argv[1])):
    print(f"""    partition{number}(%y: !tt.ptr<i32>) num_warps(1) {{
      %number = arith.constant {number} : i32
      %at = tt.addptr %y, %number : !tt.ptr<i32>, i32
      tt.store %at, %number : !tt.ptr<i32>
      ttg.warp_return
    }}""")
print("""    : (!tt.ptr<i32>) -> ()
    tt.return
  }
}""")
