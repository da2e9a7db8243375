// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every error of the text: where it is, what is wrong with both values, what to do next.
#include "frontend/hlo/TestModule.h"
#include <fmt/format.h>

using namespace heddle;
using namespace heddle::hlo;

static std::string refusedModule(const std::string &text) {
  return messageOf([&] { parseModule(text, "t.hlo"); });
}

/// Line 8 of a module whose line 7 defines `p` of the shape.
static std::string refusedLine(const std::string &shape, const std::string &line, int replicas = 1) {
  return refusal("p = " + shape + " parameter(0)\n" + line, replicas);
}

using Refusals = std::vector<std::pair<std::string, std::string>>;

/// Of each pair the line that follows `before`, and what the error holds.
static void expectRefused(const std::string &shape, const std::string &before, const Refusals &refusals) {
  for (const auto &[line, expected] : refusals)
    EXPECT_CONTAINS(refusedLine(shape, before + line), expected);
}

TEST(HloRefused, unknown_opcodes_with_the_nearest) {
  std::string text = refusedLine("f32[2]", "q = f32[2] al-reduce(p)");
  EXPECT_CONTAINS(text, "t.hlo:8:12: unknown opcode 'al-reduce'\ndid you mean 'all-reduce'?");
  EXPECT_CONTAINS(refusedLine("f32[2]", "q = f32[2] frobnicate(p)"), "unknown opcode 'frobnicate'\ndocs/hlo.md lists");
}

TEST(HloRefused, opcodes_that_are_not_supported) {
  for (const char *opcode : {"ragged-all-to-all", "rng", "domain"})
    EXPECT_CONTAINS(refusedLine("f32[2]", fmt::format("q = f32[2] {}(p)", opcode)),
                    fmt::format("t.hlo:8:12: '{}' is not supported\ndocs/hlo.md lists", opcode));
}

TEST(HloRefused, gathers_that_do_not_fit) {
  auto refused = [](const std::string &attributes, const std::string &expected) {
    EXPECT_CONTAINS(refusedLine("f32[4,5]", "i = s32[3,1] constant({{1},{2},{3}})\nq = gather(p, i), " + attributes),
                    expected);
  };
  std::string rest = ", index_vector_dim=1, slice_sizes={1,5}";
  refused("start_index_map={0}, index_vector_dim=1, slice_sizes={1,5}", "'gather' needs offset_dims={d,..}");
  refused("offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0,1}" + rest,
          "start_index_map has 2 dimensions, and the start indices 1 components");
  refused("offset_dims={1}, collapsed_slice_dims={2}, start_index_map={0}" + rest,
          "collapsed_slice_dims {2} are not distinct, ascending dimensions of rank 2");
  refused("offset_dims={1}, collapsed_slice_dims={1}, start_index_map={0}" + rest,
          "dimension 1 is left out of the result, and slice_sizes has 5 there");
  refused("offset_dims={0,1}, collapsed_slice_dims={0}, start_index_map={0}" + rest,
          "'gather' has 2 offset_dims, and its windows have 1 dimensions");
  refused("offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,6}",
          "'gather': size 6 does not fit dimension 1 of size 5");
  refused("offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=3, slice_sizes={1,5}",
          "index_vector_dim=3 with start indices s32[3,1]");
  EXPECT_CONTAINS(refusedLine("f32[4]", "q = f32[4] gather(p, p), offset_dims={}, start_index_map={0}, "
                                        "index_vector_dim=1, slice_sizes={1}"),
                  "takes integers as start indices, got f32[4]");
}

TEST(HloRefused, windows_that_do_not_fit) {
  expectRefused(
      "f32[2,3]", "z = f32[] constant(0)\nq = reduce-window(p, z), ",
      {{"window={size=2}, to_apply=add", "the window {size=2} does not fit 2 dimensions\nit is {size=AxB stride"},
       {"window={size=2x2 stride=0x1}, to_apply=add", "does not fit 2 dimensions"},
       {"window={size=2x2 skip=1x1}, to_apply=add", "does not fit 2 dimensions"},
       {"window={size=1x2}", "'reduce-window' takes values, as many initial values and to_apply, got 2"}});
  EXPECT_CONTAINS(refusedLine("f32[]", "q = call(p, p), to_apply=add, window={size=1}"), "'call' has no window");
  EXPECT_CONTAINS(refusedLine("f32[2]", "q = reduce-window(p), window={size=1}, to_apply=add"),
                  "'reduce-window' takes values, as many initial values and to_apply, got 1 operands");
}

TEST(HloRefused, selections_that_do_not_fit) {
  expectRefused(
      "f32[4]", "z = f32[] constant(0)\ns = f32[2] parameter(1)\nq = ",
      {{"select-and-scatter(p, s, z), window={size=2 stride=2}, scatter=add",
        "takes a value, a source, an initial value, select and scatter, got 3 operands"},
       {"select-and-scatter(p, s, z), window={size=3}, select=add, scatter=add",
        "computation 'add' does not make pred[] of two f32[], as 'select-and-scatter' needs"},
       {"call(p, p), to_apply=add, scatter=add", "'call' has no select and no scatter\n'select-and-scatter' has"}});
}

TEST(HloRefused, maps_and_custom_calls_that_do_not_fit) {
  expectRefused(
      "f32[2]", "q = ",
      {{"map(p), to_apply=add", "computation 'add' does not make a scalar of one of each of the 1 operands of 'map'"},
       {"map(p), dimensions={0}", "'map' takes arrays of the same dimensions and to_apply, got 1 operands"},
       {"f32[2] custom-call(p), custom_call_target=\"mystery\"",
        "'custom-call' of the target 'mystery' is not supported\ndocs/hlo.md lists the targets"},
       {"f32[2] custom-call(p), custom_call_target=\"TopK\"", "and k=-1"},
       {"(f32[1], s32[1]) custom-call(p), custom_call_target=\"TopK\", called_computations={add}",
        "computation 'add' makes f32[] of 2 scalars, and 'custom-call' needs pred[] of 2"}});
  EXPECT_CONTAINS(refusedLine("u64[2]", "q = (u64[2], u32[4]) rng-bit-generator(p), algorithm=rng_three_fry"),
                  "algorithm=rng_default or rng_philox, and makes the state and integers; got u64[2] and "
                  "algorithm=rng_three_fry");
  EXPECT_CONTAINS(refusedLine("s32[2]", "q = reduce-precision(p), exponent_bits=5, mantissa_bits=10"),
                  "takes an array of f16, bf16, f32 or f64, exponent_bits of 1 or more and mantissa_bits, got s32[2], "
                  "5 and 10");
}

TEST(HloRefused, factors_and_systems_that_do_not_fit) {
  EXPECT_CONTAINS(refusedLine("f32[2,3]", "q = cholesky(p)"), "'cholesky' of f32[2,3], which is not square");
  EXPECT_CONTAINS(refusedLine("bf16[2,2]", "q = cholesky(p)"), "a factor or solution of bf16[2,2] is not supported");
  expectRefused("f32[2,2]", "b = f32[3,1] parameter(1)\nq = triangular-solve(p, b), ",
                {{"left_side=true", "'triangular-solve' of f32[2,2] and f32[3,1] with left_side=true"},
                 {"lower=true", "'triangular-solve' of f32[2,2] and f32[3,1] with left_side=false"},
                 {"transpose_a=CONJUGATE", "t.hlo:9:41: unknown transpose_a 'CONJUGATE'\nit is NO_TRANSPOSE, "
                                           "TRANSPOSE or ADJOINT"}});
}

TEST(HloRefused, scatters_that_do_not_fit) {
  std::string indices = "i = s32[2,1] constant({{0},{1}})\n";
  auto rows = [](const std::string &region) {
    return " parameter(1)\nq = scatter(p, i, u), update_window_dims={1}, inserted_window_dims={0}, "
           "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=" +
           region;
  };
  expectRefused("f32[4,3]", indices,
                {{"u = f32[5,3]" + rows("add"), "'gather'"},
                 {"u = f32[2,4]" + rows("add"), "'gather': size 4 does not fit dimension 1 of size 3"},
                 {"q = f32[4,3] scatter(p, p), to_apply=add",
                  "'scatter' takes an array, indices, updates and to_apply, got 2 operands"}});
  expectRefused(
      "s32[4,3]", indices,
      {{"u = s32[2,3]" + rows("max"), "computation 'max' does not make s32[] of two s32[], as 'scatter' needs"}});
}

TEST(HloRefused, sorts_that_do_not_fit) {
  expectRefused("f32[2]", "q = f32[2] ",
                {{"sort(p), to_apply=add",
                  "'sort' takes arrays, one of dimensions and to_apply, got 1 operands and 0 dimensions"},
                 {"sort(p), to_apply=add, dimensions={1}", "dimension 1 is out of range for rank 1"},
                 {"sort(p, p), to_apply=add, dimensions={0}",
                  "computation 'add' makes f32[] of 2 scalars, and 'sort' needs pred[] of 4"},
                 {"sort(p), to_apply=add, dimensions={0}",
                  "computation 'add' makes f32[] of 2 scalars, and 'sort' needs pred[] of 2"}});
  EXPECT_CONTAINS(
      refusedModule("HloModule m\nlt { a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = compare(a, b), "
                    "direction=LT }\ne { p = f32[2] parameter(0) q = sort(p), to_apply=lt, dimensions={0} }"),
      "parameter 0 of the computation 'lt' is s32[], and is given f32[]");
  EXPECT_CONTAINS(refusedLine("f32[3000000000]", "q = topk(p), k=1"),
                  "f32[3000000000] is sorted along 3000000000 elements, and at most 2147483647 are read");
  EXPECT_CONTAINS(refusedLine("f32[2]", "q = topk(p), k=3"),
                  "'topk' takes an array and k from 0 to its last dimension, got f32[2] and k=3");
  EXPECT_CONTAINS(refusedLine("f32[]", "q = call(p, p), to_apply=add, dimensions={0}"), "'call' has no dimensions");
}

TEST(HloRefused, convolutions_that_do_not_fit) {
  expectRefused(
      "f32[2,5,6]", "w = f32[3,6,4] parameter(1)\nq = f32[2,3,4] convolution(p, w), ",
      {{"window={size=3}, dim_labels=b0f_0io", "takes an image and a kernel, a shape that is written, and dim_labels"},
       {"window={size=3}, dim_labels=bf_io->bf",
        "dim_labels of their ranks\nit has 2 operands and dim_labels=bf_io->bf"},
       {"window={size=3}, dim_labels=b0f_0io->b0f, feature_group_count=2",
        "of 6 features of 2 images with a kernel for 6, 4 outputs, feature_group_count=2"},
       {"window={size=2}, dim_labels=b0f_0io->b0f", "the window of 'convolution' has size 2 where the kernel has 3"},
       {"window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f",
        "t.hlo:9:1: the shape of 'convolution' is written as f32[2,3,4], its operands make it f32[2,5,4]"}});
}

TEST(HloRefused, conditionals_that_do_not_fit) {
  EXPECT_CONTAINS(refusedLine("f32[]", "q = f32[] conditional(p)"),
                  "'conditional' takes a pred for two branches, or an s32, and an operand for each branch; it has 1 "
                  "operands and 0 branches");
  EXPECT_CONTAINS(refusedLine("pred[]", "q = conditional(p, p, p), branch_computations={add, add}"),
                  "computation 'add' takes 2");
  EXPECT_CONTAINS(refusedLine("f32[]", "q = call(p, p), to_apply=add, branch_computations={add}"),
                  "'call' has no branches\n'conditional' has");
}

TEST(HloRefused, unknown_element_types_and_attribute_values) {
  EXPECT_CONTAINS(refusal("p = f33[2] parameter(0)"), "t.hlo:7:5: unknown element type 'f33'\ndid you mean 'f32'?");
  EXPECT_CONTAINS(refusal("p = f33[2] parameter(0)"), "the element types are pred, s1");
  EXPECT_CONTAINS(refusedLine("f32[2]", "q = compare(p, p), direction=LESS"),
                  "t.hlo:8:30: unknown comparison direction 'LESS'\nthe directions are EQ");
  EXPECT_CONTAINS(refusedLine("f32[2]", "q = compare(p, p), direction=LT, type=ANY"), "unknown comparison type 'ANY'");
}

TEST(HloRefused, missing_attributes) {
  EXPECT_CONTAINS(refusedLine("f32[2]", "q = f32[2] all-gather(p)"), "t.hlo:8:1: 'all-gather' needs dimensions={d}");
  EXPECT_CONTAINS(refusedLine("f32[2]", "q = f32[2] all-reduce(p)"), "'all-reduce' needs to_apply=computation");
  EXPECT_CONTAINS(refusedLine("f32[2]", "q = f32[2] reduce-scatter(p), dimensions={0}"),
                  "'reduce-scatter' needs to_apply");
  EXPECT_CONTAINS(refusedLine("f32[2]", "q = f32[2] collective-permute(p)"), "needs source_target_pairs={{a,b},..}");
  EXPECT_CONTAINS(refusedLine("f32[2]", "q = f32[2] call(p)"), "'call' needs to_apply=computation");
  EXPECT_CONTAINS(refusedLine("f32[2]", "q = fusion(p), kind=kLoop"), "'fusion' needs calls=computation");
  EXPECT_CONTAINS(refusedLine("f32[2]", "q = while(p), body=add"), "'while' needs condition=computation");
  EXPECT_CONTAINS(refusedLine("f32[2]", "q = slice(p)"), "'slice' needs slice={[start:limit],..}");
  EXPECT_CONTAINS(refusedLine("f32[2]", "q = compare(p, p)"), "'compare' needs direction=LT");
}

TEST(HloRefused, gather_and_scatter_dimensions) {
  EXPECT_CONTAINS(refusedLine("f32[2,2]", "q = f32[2,2] all-gather(p), dimensions={0,1}"),
                  "'all-gather' expects exactly one dimension, got 2");
  EXPECT_CONTAINS(refusedLine("f32[2]", "q = f32[2] reduce-scatter(p), dimensions={}, to_apply=add"),
                  "expects exactly one dimension, got 0");
  EXPECT_CONTAINS(refusedLine("f32[2]", "q = f32[2] all-gather(p), dimensions={1}"),
                  "dimension 1 is out of range for rank 1");
  EXPECT_CONTAINS(refusedLine("f32[2]", "q = f32[2] all-to-all(p), dimensions={-1}"),
                  "dimension -1 is out of range for rank 1");
}

TEST(HloRefused, collectives_without_a_shape) {
  EXPECT_CONTAINS(refusedLine("f32[2]", "q = all-reduce(p), to_apply=add"),
                  "t.hlo:8:1: the shape of a collective cannot be inferred; write it");
  EXPECT_CONTAINS(refusedLine("f32[2]", "q = all-reduce-start(p), to_apply=add"),
                  "the shape of 'all-reduce-start' cannot be inferred; write it");
}

TEST(HloRefused, declared_shapes_that_disagree) {
  EXPECT_CONTAINS(refusedLine("f32[2]", "q = f32[4] all-gather(p), dimensions={0}", 4),
                  "the shape of 'all-gather' is written as f32[4], its operands make it f32[8]\n"
                  "the groups have 4 devices, the dimension is 0");
  EXPECT_CONTAINS(refusedLine("f32[2]", "q = f32[3] add(p, p)"),
                  "the shape of 'add' is written as f32[3], its operands make it f32[2]");
  EXPECT_CONTAINS(refusedLine("f32[2]", "q = negate(f32[3] p)"),
                  "the operand is written as f32[3], its definition makes it f32[2]");
}

TEST(HloRefused, iota_groups) {
  auto refused = [](const std::string &groups) {
    return refusedLine("f32[2]", "q = f32[2] all-reduce(p), to_apply=add, replica_groups=" + groups, 4);
  };
  EXPECT_CONTAINS(refused("[2,2]<=[5]"), "t.hlo:8:56: collective device list iota size 5 does not match the tile "
                                         "assignment dimensions product 4");
  EXPECT_CONTAINS(refused("[4]<=[4]"), "expects [groups,size], got 1 dimensions");
  EXPECT_CONTAINS(refused("[1,2,2]<=[4]"), "expects [groups,size], got 3 dimensions");
  EXPECT_CONTAINS(refused("[2,2]<=[2,2]T(0,0)"), "T(0,0) is no permutation of the 2 dimensions of [2,2]");
  EXPECT_CONTAINS(refused("[4294967296,4294967296]<=[4]"), "holds more than 65536 devices");
  EXPECT_CONTAINS(refused("[0,4]<=[4]"), "has a dimension of size 0");
}

TEST(HloRefused, mesh_groups) {
  auto refused = [](const std::string &groups) {
    return refusedLine("f32[2]", "q = f32[2] all-reduce(p), to_apply=add, replica_groups=" + groups, 8);
  };
  EXPECT_CONTAINS(refused("mesh['x'=2,'y'=4], device_ids=(0,1,2) {'x'}"), "3 device ids for a mesh of 8 devices");
  EXPECT_CONTAINS(refused("mesh['x'=2,'y'=4] {'z'}"), "the mesh has no axis 'z'\nthe axes of the mesh are 'x', 'y'");
  EXPECT_CONTAINS(refused("mesh['x'=2,'y'=4] {2}"), "axis 2 of a mesh of 2 axes");
  EXPECT_CONTAINS(refused("mesh['x'=2,'y'=4] {'y':(1)3}"), "sub-axis :(1)3 does not divide axis 'y' of size 4");
  EXPECT_CONTAINS(refused("mesh['x'=2,'y'=4] {'y':(4611686018427387904)4}"), "does not divide axis 'y' of size 4");
  EXPECT_CONTAINS(refused("mesh['x'=9223372036854775807,'y'=4] {'x'}"), "holds more than 65536 devices");
  EXPECT_CONTAINS(refused("mesh['x'=2,'x'=4] {'x'}"), "two axes named 'x'");
  EXPECT_CONTAINS(refused("mesh['x'=8] {'x','x'}"), "axis 'x' is named twice");
  EXPECT_CONTAINS(refused("mesh['x'=8] {'x':(1)4,'x':(2)4}"), "axis 'x' is named twice");
}

TEST(HloRefused, programs_that_are_not_partitioned) {
  EXPECT_CONTAINS(refusal("p = f32[2] parameter(0)\nq = f32[2] custom-call(p), custom_call_target=\"Sharding\"", 1, 2),
                  "'custom-call' of the target 'Sharding' in a program of 2 partitions: it is not partitioned yet");
}

TEST(HloRefused, calls_of_lapack) {
  EXPECT_CONTAINS(
      refusal("p = f32[2,2] parameter(0)\nq = f32[2] custom-call(p), custom_call_target=\"lapack_sgeev_ffi\""),
      "'custom-call' of the target 'lapack_sgeev_ffi' is not supported\nof LAPACK potrf, trsm, getrf");
  EXPECT_CONTAINS(
      refusal("p = f32[2,2] parameter(0)\nq = f32[2] custom-call(p, p), custom_call_target=\"lapack_sgeqrf_ffi\""),
      "'lapack_sgeqrf_ffi' takes 1 operand, got 2");
  EXPECT_CONTAINS(
      refusal("p = bf16[2,2] parameter(0)\nq = f32[2] custom-call(p), custom_call_target=\"lapack_ssyevd_ffi\""),
      "'lapack_ssyevd_ffi' of bf16[2,2] is not possible\nits operands have elements of type f32");
  auto refusedCall = [](const std::string &target, const std::string &operands, const std::string &config = "") {
    return refusal(
        fmt::format("m = f32[2,3,2] parameter(0)\nw = f32[2,2,3] parameter(1)\nv = f32[2,2] parameter(2)\n"
                    "u = f32[2,4] parameter(3)\nb = f32[3,2] parameter(4)\nd = f64[2,2] parameter(5)\n"
                    "q = f32[2] custom-call({}), custom_call_target=\"lapack_{}_ffi\", backend_config={{{}}}",
                    operands, target, config));
  };
  EXPECT_CONTAINS(refusedCall("xgeqrf", "m"), "the target 'lapack_xgeqrf_ffi' is not supported");
  EXPECT_CONTAINS(refusedCall("sorgqr", "m, d"), "'lapack_sorgqr_ffi' of f32[2,3,2], f64[2,2] is not possible\n"
                                                 "its operands have elements of type f32");
  EXPECT_CONTAINS(refusedCall("sorgqr", "m, b"), "all operands have the same batch dimensions");
  EXPECT_CONTAINS(refusedCall("sorgqr", "m, u"), "at most as many factors as columns");
  EXPECT_CONTAINS(refusedCall("sorgqr", "w, v"), "at most as many columns as rows");
  EXPECT_CONTAINS(refusedCall("sormqr", "m, v, w", "left = true"),
                  "with left = true the last matrix has as many rows as the first has rows");
  EXPECT_CONTAINS(refusedCall("ssyevd", "m"), "the matrix is square");
  EXPECT_CONTAINS(refusedCall("sgtsv", "v, u, v, w"), "the three diagonals have as many elements");
  EXPECT_CONTAINS(refusedCall("spotrf", "v", "uplo = 88 : ui8"),
                  "'lapack_spotrf_ffi' has uplo = 88\nit is the number of one of the letters L, U");
  EXPECT_CONTAINS(refusedCall("spotrf", "v", "uplo=88"), "has uplo = 88\n");
  EXPECT_CONTAINS(refusedCall("spotrf", "v", "uplo: 76"), "'lapack_spotrf_ffi' has the configuration {uplo: 76}\n"
                                                          "its attributes are written as `{uplo = value : type}`");
  EXPECT_CONTAINS(refusedCall("sormqr", "m, v, w", "left = yes"), "has left = yes\nit is `true` or `false`");
  EXPECT_CONTAINS(refusedCall("sgesdd", "m", "mode = 79 : ui8"), "has mode = 79");
  EXPECT_CONTAINS(refusedCall("strsm", "v, v", "side = 0 : ui8"), "has side = 0");
}

TEST(HloRefused, ids_of_groups) {
  auto refused = [](const std::string &groups) {
    return refusedLine("f32[2]", "q = f32[2] all-reduce(p), to_apply=add, replica_groups=" + groups, 4);
  };
  EXPECT_CONTAINS(refused("{{0,1},{1,2,3}}"), "id 1 appears in more than one group\nreplica_groups={{0,1},{1,2,3}}");
  EXPECT_CONTAINS(refused("{{0,1},{3}}"), "id 2 is in no group");
  EXPECT_CONTAINS(refused("{{0,1},{2,3,4}}"), "id 4 of replica_groups >= 4");
  EXPECT_CONTAINS(refused("{{0,1},{2,3,4}}"),
                  "replica_count=4 and num_partitions=1, and the group mode is cross-replica");
  EXPECT_CONTAINS(refused("{{0,1},{2,3,-1}}"), "id -1 of replica_groups is negative");
}

TEST(HloRefused, groups_of_different_size) {
  std::string groups = ", replica_groups={{0,1,2},{3}}";
  for (const char *line :
       {"f32[6] all-gather(p), dimensions={0}", "f32[1] reduce-scatter(p), dimensions={0}, to_apply=add",
        "f32[2] all-to-all(p), dimensions={0}"})
    EXPECT_CONTAINS(refusedLine("f32[2]", "q = " + (line + groups), 4),
                    "has groups of 3 and of 1 devices; the shapes of the results cannot match");
}

TEST(HloRefused, source_target_pairs) {
  auto refused = [](const std::string &pairs) {
    return refusedLine("f32[2]", "q = f32[2] collective-permute(p), source_target_pairs=" + pairs, 4);
  };
  EXPECT_CONTAINS(refused("{{0,1},{0,2}}"), "pair {0,2}: source 0 appears twice");
  EXPECT_CONTAINS(refused("{{0,1},{2,1}}"), "pair {2,1}: target 1 appears twice");
  EXPECT_CONTAINS(refused("{{0,4}}"), "pair {0,4} of source_target_pairs names an id outside 0 to 3");
  EXPECT_CONTAINS(refused("{{0,1,2}}"), "expects pairs {source,target}, got 3 ids");
}

TEST(HloRefused, exchanges_that_do_not_divide) {
  EXPECT_CONTAINS(refusedLine("f32[3]", "q = f32[3] all-to-all(p), dimensions={0}", 2),
                  "dimension size 3 is not divisible by the group size 2");
  EXPECT_CONTAINS(refusedLine("f32[3]", "q = f32[1] reduce-scatter(p), dimensions={0}, to_apply=add", 2),
                  "dimension size 3 is not divisible by the group size 2");
  EXPECT_CONTAINS(refusedLine("f32[3]", "q = (f32[3], f32[3]) all-to-all(p, p)", 4),
                  "'all-to-all' without dimensions has 2 operands for groups of 4 devices");
  EXPECT_CONTAINS(refusedLine("f32[4]", "q = (f32[4], f32[4]) all-to-all(p, p), dimensions={0}", 2),
                  "'all-to-all' with dimensions takes 1 operand, got 2");
}

TEST(HloRefused, regions_that_are_no_reduction) {
  std::string text = "HloModule m\nf { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] subtract(a, b) }\n"
                     "g { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, a) }\n"
                     "e { p = f32[2] parameter(0) ROOT x = f32[2] all-reduce(p), to_apply=";
  for (const char *region : {"f", "g"})
    EXPECT_CONTAINS(
        refusedModule(text + region + " }"),
        "t.hlo:4:34: reduction computation of 'x' is not a single add, multiply, maximum, minimum, and, or");
  EXPECT_CONTAINS(refusedLine("s32[2]", "q = s32[2] all-reduce(p), to_apply=add"),
                  "'all-reduce' of s32 reduces with computation 'add' of type f32");
}

TEST(HloRefused, halves_that_do_not_match) {
  std::string start = "s = (f32[2], f32[2]) all-gather-start(p), dimensions={0}\n";
  EXPECT_CONTAINS(refusedLine("f32[2]", start + "d = f32[2] all-reduce-done(s)"),
                  "t.hlo:9:28: 'all-reduce-done' does not match its operand 's', which is 'all-gather-start'");
  EXPECT_CONTAINS(refusedLine("f32[2]", start + "d = f32[2] async-done(s)"),
                  "'async-done' does not match its operand 's'");
  EXPECT_CONTAINS(refusedLine("f32[2]", "d = f32[2] all-reduce-done(p)"),
                  "the operand of 'all-reduce-done' must be a start, 'p' is 'parameter'");
  EXPECT_CONTAINS(refusedLine("f32[2]", start + "d = f32[3] all-gather-done(s)"),
                  "the shape of 'all-gather-done' is written as f32[3], its start 's' makes it f32[2]");
  EXPECT_CONTAINS(refusedLine("f32[2]", start), "t.hlo:8:1: 's' ('all-gather-start') has no done");
  EXPECT_CONTAINS(refusedLine("f32[2]", start + "g = get-tuple-element(s), index=0"),
                  "'s' is the result of 'all-gather-start'; only its -done may use it");
  EXPECT_CONTAINS(refusedLine("f32[2]", start + "d = all-gather-done(s)\ne = all-gather-done(s)"),
                  "comes after its done");
  EXPECT_CONTAINS(refusedLine("f32[2]", "s = f32[2] all-gather-start(p), dimensions={0}"),
                  "expects a tuple that begins with its operands f32[2] and its result");
}

TEST(HloRefused, what_is_not_closed) {
  EXPECT_CONTAINS(refusedModule("HloModule m\ne {\n p = f32[] parameter(0)\n"),
                  "t.hlo:2:3: the body of computation 'e' is not closed");
  EXPECT_CONTAINS(refusedModule("HloModule m\n /* e {"), "t.hlo:2:2: this comment is not closed");
  EXPECT_CONTAINS(refusedModule("HloModule m\ne { p = f32[] parameter(0), metadata={a=\"x}\n}"),
                  "t.hlo:2:41: this string is not closed");
  EXPECT_CONTAINS(refusedModule("HloModule m\ne { p = f32[] parameter(0), metadata={a=\"x\"\n"),
                  "t.hlo:2:38: this '{' is not closed");
  EXPECT_CONTAINS(refusedModule("HloModule m\ne { p = f32[2] constant({1, 2"), "t.hlo:2:25: this '{' is not closed");
  EXPECT_CONTAINS(refusedModule("HloModule m\ne { p = f32[] parameter(0"), "t.hlo:2:24: this '(' is not closed");
  EXPECT_CONTAINS(refusedModule("HloModule m\ne { p = f32[] parameter(0), metadata={a=(]}}"),
                  "this '(' is closed by ']'");
  EXPECT_CONTAINS(refusedModule("HloModule m\ne { p = f32[2]{0:T(8 parameter(0) }"),
                  "t.hlo:2:15: parentheses of the layout 'T(8parameter(0)' do not match");
  EXPECT_CONTAINS(refusedModule("HloModule m\ne { p = f32[2]{0:T(8)\n"), "this '{' is not closed");
}

TEST(HloRefused, module_structure) {
  EXPECT_CONTAINS(refusedModule("Module m"), "t.hlo:1:1: expects 'HloModule' and the name of the module");
  EXPECT_CONTAINS(refusedModule("HloModule m"), "the module has no computation");
  EXPECT_CONTAINS(refusedModule("HloModule m\ne { }"), "computation 'e' has no instruction");
  EXPECT_CONTAINS(refusedModule("HloModule m, replica_count=0\n"), "replica_count=0 is not between 1 and 65536");
  EXPECT_CONTAINS(refusedModule("HloModule m, replica_count=65536, num_partitions=2\n"), "65536 devices are the most");
  std::string f = "f { p = f32[] parameter(0) }\n";
  EXPECT_CONTAINS(refusedModule("HloModule m\n" + f + f), "t.hlo:3:1: the computation 'f' is defined twice");
  EXPECT_CONTAINS(refusedModule("HloModule m\nENTRY " + f + "ENTRY g { p = f32[] parameter(0) }"),
                  "a second ENTRY, 'g'; the first is 'f'");
  EXPECT_CONTAINS(refusal("ROOT p = f32[] parameter(0)\nROOT q = negate(p)"),
                  "t.hlo:8:1: computation 'main' has a second ROOT");
  EXPECT_CONTAINS(refusedModule("HloModule m\nf (a: f32[]) -> f32[2] { p = f32[] parameter(0) }"),
                  "the result is declared as f32[2], the root makes it f32[]");
  EXPECT_CONTAINS(refusedModule("HloModule m\nf (a: s32[]) -> f32[] { p = f32[] parameter(0) }"),
                  "parameter 0 is declared as s32[]");
  EXPECT_CONTAINS(refusedModule("HloModule m\nf () -> f32[] { p = f32[] parameter(0) }"),
                  "is declared with 0 parameters, its body has 1");
}

TEST(HloRefused, names) {
  EXPECT_CONTAINS(refusedLine("f32[2]", "%p = negate(p)"), "t.hlo:8:1: the name 'p' is defined twice");
  EXPECT_CONTAINS(refusal("param = f32[] parameter(0)\nq = negate(parm)"),
                  "t.hlo:8:12: there is no instruction 'parm'\ndid you mean 'param'?");
  EXPECT_CONTAINS(refusedLine("f32[]", "q = call(p), to_apply=ad"),
                  "there is no computation 'ad'\ndid you mean 'add'?");
  EXPECT_CONTAINS(refusal("q = f32[] parameter(1)"), "parameter 1 of computation 'main', which has 1");
  EXPECT_CONTAINS(refusal("q = f32[] parameter(0)\np = f32[] parameter(0)"), "parameter 0 is defined twice");
  EXPECT_CONTAINS(refusedLine("f32[2]", "q = iota(), iota_dimension=0, iota_dimension=0"),
                  "attribute 'iota_dimension' is given twice");
}

TEST(HloRefused, sizes_and_depths) {
  EXPECT_CONTAINS(refusal("p = f32[9223372036854775807,2] parameter(0)"), "is too large");
  EXPECT_CONTAINS(refusal("p = f32[99999999999999999999] parameter(0)"), "does not fit 64 bits");
  EXPECT_CONTAINS(refusal("p = f32[0,9223372036854775807,9223372036854775807] parameter(0)"), "is too large");
  EXPECT_CONTAINS(refusal("p = f32[-1] parameter(0)"), "dimension 0 has the negative size -1");
  EXPECT_CONTAINS(refusal("p = f32[<=8] parameter(0)"), "dynamic dimensions are not supported");
  EXPECT_CONTAINS(refusal("p = " + std::string(100000, '(') + "f32[]"), "tuples are nested more than 32 deep");
  std::string deep = "q = ";
  for (int i = 0; i < 100000; ++i)
    deep += "negate(";
  EXPECT_CONTAINS(refusal(deep), "operands are nested more than 32 deep");
  EXPECT_CONTAINS(refusal("p = f32[2] constant(" + std::string(100000, '{')), "expects a number, found '{'");
  EXPECT_CONTAINS(refusedLine("f32[1152921504606846976]", ""), "is too large");
  EXPECT_CONTAINS(refusedLine("f32[100000000000000000]", "q = f32[1] all-gather(p), dimensions={0}", 65536),
                  "is too large");
}

TEST(HloRefused, layouts) {
  EXPECT_CONTAINS(refusal("p = f32[2,3]{0} parameter(0)"),
                  "t.hlo:7:13: layout {0} is no permutation of the 2 dimensions of f32[2,3]");
  EXPECT_CONTAINS(refusal("p = f32[2,3]{1,1} parameter(0)"), "layout {1,1} is no permutation");
}

TEST(HloRefused, constants) {
  EXPECT_CONTAINS(refusal("c = f32[2] constant({1})"),
                  "t.hlo:7:21: the constant has 1 elements along dimension 0, its shape f32[2] has 2");
  EXPECT_CONTAINS(refusal("c = f32[2] constant({1,2,3})"), "the constant has more elements along dimension 0");
  EXPECT_CONTAINS(refusal("c = s8[] constant(300)"), "300 does not fit s8");
  EXPECT_CONTAINS(refusal("c = u64[] constant(-1)"), "-1 does not fit u64");
  EXPECT_CONTAINS(refusal("c = s64[] constant(9223372036854775808)"), "9223372036854775808 does not fit s64");
  EXPECT_CONTAINS(refusal("c = pred[] constant(2)"), "2 does not fit pred");
  EXPECT_CONTAINS(refusal("c = s4[] constant(8)"), "8 does not fit s4");
  EXPECT_CONTAINS(refusal("c = f8e4m3fn[] constant(465)"), "465 does not fit f8e4m3fn");
  EXPECT_CONTAINS(refusal("c = f8e5m2[] constant(61440)"), "61440 does not fit f8e5m2");
  EXPECT_CONTAINS(refusal("c = f8e4m3fn[] constant(1000)"), "1000 does not fit f8e4m3fn");
  EXPECT_CONTAINS(refusal("c = s32[] constant(1.5)"), "'1.5' is not a number of type s32");
  EXPECT_CONTAINS(refusal("c = f32[1000000] constant({...})"), "the value of the constant was left out");
  EXPECT_CONTAINS(refusal("c = f32[1000000] constant({...})"), "`print_large_constants`");
  EXPECT_CONTAINS(refusal("c = constant(1)"), "the shape of 'constant' cannot be inferred; write it");
  EXPECT_CONTAINS(refusal("c = (f32[]) constant((1))"), "a constant of shape (f32[]) is not supported");
}
