# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The entry point of group `triton.backends`: `import triton` imports `compiler` and `driver`. A failure here would break Triton
for every program on a machine that has this package, so nothing is loaded and nothing is done at import."""
