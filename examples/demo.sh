#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The body of `./dev demo`: two Triton kernels, as the Triton IR that Triton 3.6 printed for an AMD GPU, compiled to host code, run on
# random inputs, and compared with a plain reference; then an HLO module with collectives on four devices, every rank compared; then a Gluon kernel on
# a simulated MI350X, compared and checked.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PATH=$PWD/build/bin:$PATH
out=build/demo
mkdir -p $out

show() { # prints a command, then runs it
  printf '\n$' && printf ' %s' "$@" && printf '\n'
  "$@"
}

echo "1. Triton IR to host code"
show heddle compile tests/corpus/matmul_f16.gfx942.ttir --target host -o $out/matmul_f16.hpkg
show heddle compile tests/corpus/row_softmax.gfx942.ttir --target host -o $out/row_softmax.hpkg

printf '\n2. Run on the host: c = a x b in f16, tiles of 64x64, one program for each; softmax of 128 rows of 1000\n'
show heddle run $out/matmul_f16.hpkg --grid 16 --device host \
  --arg "a=rand:f16[256,128]:1" --arg "b=rand:f16[128,256]:2" --arg "c=f16[256,256]" \
  --arg M=256 --arg N=256 --arg K=128 --arg sam=128 --arg sbk=256 --arg scm=256 \
  --out a=$out/a.npy --out b=$out/b.npy --out c=$out/c.npy
show heddle run $out/row_softmax.hpkg --grid 64 --device host \
  --arg "out=f32[128,1000]" --arg "x=rand:f32[128,1000]:3" \
  --arg stride_out=1000 --arg stride_x=1000 --arg rows=128 --arg cols=1000 \
  --out x=$out/x.npy --out out=$out/softmax.npy

printf '\n3. Compare with a plain reference in f64\n'
show python3 examples/demo_check.py matmul $out/a.npy $out/b.npy $out/c.npy
show python3 examples/demo_check.py softmax $out/x.npy $out/softmax.npy

printf '\n4. An HLO module on four devices: all-reduce, residual and normalisation in one kernel, then an all-gather\n'
show heddle inspect examples/layer.hlo
show heddle run examples/layer.hlo --devices 4 --device host --arg partial=rand:10 --arg residual=rand:20 --arg weight=1 \
  --out 0=$out/normal.npy --out 1=$out/rows.npy
inputs=()
for rank in 0 1 2 3; do # the same random arrays, for the reference: an all-gather hands them over
  inputs+=($out/partial.$rank.npy $out/residual.$rank.npy)
done
heddle run examples/inputs.hlo --devices 4 --arg partial=rand:10 --arg residual=rand:20 \
  --out 0=$out/partial.npy --out 1=$out/residual.npy
show python3 examples/demo_check.py layer "${inputs[@]}" $out/normal.{0,1,2,3}.npy $out/rows.{0,1,2,3}.npy

printf '\n5. The same module on four simulated AMD MI300X, held against the same reference\n'
show heddle run examples/layer.hlo --devices 4 --device sim:gfx942 --arg partial=rand:10 --arg residual=rand:20 \
  --arg weight=1 --out 0=$out/sim.normal.npy --out 1=$out/sim.rows.npy
show python3 examples/demo_check.py layer "${inputs[@]}" $out/sim.normal.{0,1,2,3}.npy $out/sim.rows.{0,1,2,3}.npy

printf '\n6. A Gluon kernel on a simulated AMD MI350X: its tiles go straight to LDS one iteration ahead, and no wait is missing\n'
gluon=examples/gemm_async_double.gfx950.ttgir
show heddle run $gluon --device sim:gfx950 --grid 2,2 --arg "a=rand:f16[128,256]:1" --arg "b=rand:f16[256,256]:2" \
  --arg "c=f16[128,256]" --arg M=128 --arg N=256 --arg K=256 --out a=$out/ga.npy --out b=$out/gb.npy --out c=$out/gc.npy
show python3 examples/demo_check.py matmul $out/ga.npy $out/gb.npy $out/gc.npy
show heddle check $gluon --grid 1 --arg "a=rand:f16[64,128]:1" --arg "b=rand:f16[128,128]:2" --arg "c=f16[64,128]" \
  --arg M=64 --arg N=128 --arg K=128
