# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""dot.py M N K OPERANDS RESULT [PRECISION]: a kernel with one product of matrices, row-major in memory."""
import sys

M, N, K = map(int, sys.argv[1:4])
operand, result = sys.argv[4:6]
precision = sys.argv[6] if len(sys.argv) > 6 else "ieee"


def tile(name, rows, columns, element):
    shape, words = f"{rows}x{columns}", f"tensor<{rows}x{columns}xi32>"
    pointers = f"tensor<{shape}x!tt.ptr<{element}>>"
    return f"""
    %{name}_r = tt.make_range {{start = 0 : i32, end = {rows} : i32}} : tensor<{rows}xi32>
    %{name}_c = tt.make_range {{start = 0 : i32, end = {columns} : i32}} : tensor<{columns}xi32>
    %{name}_re = tt.expand_dims %{name}_r {{axis = 1 : i32}} : tensor<{rows}xi32> -> tensor<{rows}x1xi32>
    %{name}_ce = tt.expand_dims %{name}_c {{axis = 0 : i32}} : tensor<{columns}xi32> -> tensor<1x{columns}xi32>
    %{name}_w = arith.constant dense<{columns}> : tensor<{rows}x1xi32>
    %{name}_o = arith.muli %{name}_re, %{name}_w : tensor<{rows}x1xi32>
    %{name}_rb = tt.broadcast %{name}_o : tensor<{rows}x1xi32> -> {words}
    %{name}_cb = tt.broadcast %{name}_ce : tensor<1x{columns}xi32> -> {words}
    %{name}_i = arith.addi %{name}_rb, %{name}_cb : {words}
    %{name}_s = tt.splat %{name} : !tt.ptr<{element}> -> {pointers}
    %{name}_p = tt.addptr %{name}_s, %{name}_i : {pointers}, {words}"""


def of(rows, columns, element):
    return f"tensor<{rows}x{columns}x{element}>"


def pointers(rows, columns, element):
    return of(rows, columns, f"!tt.ptr<{element}>")


parameters = ", ".join(f"%{name}: !tt.ptr<{element}> {{tt.divisibility = 16 : i32}}"
                       for name, element in (("a", operand), ("b", operand), ("c", result)))
print(f"""module {{
  tt.func public @dot({parameters}) {{{tile("a", M, K, operand)}{tile("b", K, N, operand)}{tile("c", M, N, result)}
    %ta = tt.load %a_p : {pointers(M, K, operand)}
    %tb = tt.load %b_p : {pointers(K, N, operand)}
    %tc = tt.load %c_p : {pointers(M, N, result)}
    %d = tt.dot %ta, %tb, %tc, inputPrecision = {precision} : {of(M, K, operand)} * {of(K, N, operand)} -> {of(M, N, result)}
    tt.store %c_p, %d : {pointers(M, N, result)}
    tt.return
  }}
}}""")
