# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of training and inference code: backward passes, caches, mixtures of experts, recurrences, quantised matmuls.
Cases for triton_kernels.py:

    python3 bench/peers/triton_kernels.py --cases bench/peers/model_kernels.py --json rows.json

They are written as one reads them in such code, not for either compiler, with the tiles and warps that people start with.
"""

import model_attention
import model_matmuls
import model_rows

CASES = {**model_attention.CASES, **model_matmuls.CASES, **model_rows.CASES}
SIMULATED = {"experts_of_few_tokens_16x128x128": 64, "lora_of_rank_16": 64}  # for amd_kernels.py: the usual one leaves no rows
