# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Adds up an array over all ranks: torchrun --nproc-per-node 3 examples/python/sum.py
import numpy
from heddle.collectives import Communicator

with Communicator.env() as group:
    x = numpy.full(4, float(group.rank + 1), "f4")
    total = group.all_reduce(x)
    if group.rank == 0:
        print(group.size, "ranks:", total.tolist())
