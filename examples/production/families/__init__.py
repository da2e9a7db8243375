# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One file a family; each has `kernels()`, the descriptions of its kernels."""
