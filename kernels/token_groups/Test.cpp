// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Padding and its inverse with groups of any sizes, and what is refused.
#include "kernels/TestCalls.h"

using namespace heddle;
using namespace heddle::kernels;

namespace {

void setIntegers(HostArray &array, const std::vector<int64_t> &values) {
  for (size_t i = 0; i < values.size(); ++i)
    storeInt(array.type.type, values[i], array.bytes.data() + array.offset({int64_t(i)}));
}

TestCall padding(const std::vector<int64_t> &ends, int64_t K, ElementType type, const char *align = "16") {
  return {.kernel = "token_group_pad",
          .extents = {{"M", ends.back()}, {"K", K}, {"G", ends.size()}},
          .options = {{"align", align}, {"block_m", "4"}, {"block_k", "128"}},
          .type = type,
          .change = [=](HostArrays &inputs) { setIntegers(inputs.at("offs"), ends); }};
}

TestCall unpadding(const std::vector<int64_t> &ends, const std::vector<int64_t> &starts, int64_t P, ElementType type) {
  return {.kernel = "token_group_unpad",
          .extents = {{"P", P}, {"K", 40}, {"G", ends.size()}},
          .options = {{"rows", std::to_string(ends.back())}, {"block_m", "4"}, {"block_k", "128"}},
          .type = type,
          .change = [=](HostArrays &inputs) {
            setIntegers(inputs.at("offs"), ends);
            setIntegers(inputs.at("starts"), starts);
          }};
}

} // namespace

// Empty groups, one row, whole and partial multiples; rows of 1, 2 and 4 bytes, none of them whole tiles.
TEST(TokenGroups, pads_groups_of_any_sizes) {
  std::vector<int64_t> ends = {0, 1, 1, 17, 49, 49};
  expectReference(padding(ends, 130, ElementType::BF16));
  expectReference(padding(ends, 9, ElementType::F8E4M3FN, "7"));
  TestCall wide = padding(ends, 48, ElementType::F32, "32");
  wide.arrange = [](auto &arrays) {
    arrays.at("offs").type = ElementType::I64;
    arrays.at("x").strides = {1, 49};
  };
  expectReference(wide);
}

// More groups than are read at once, so that padded groups begin where the ones read before end.
TEST(TokenGroups, many_groups) {
  std::vector<int64_t> ends, starts;
  for (int64_t g = 0, end = 0; g < 70; ++g) {
    starts.push_back(g * 3 + 1);
    ends.push_back(end += g % 3);
  }
  expectReference(padding(ends, 16, ElementType::BF16, "2"));
  expectReference(unpadding(ends, starts, 70 * 3 + 1, ElementType::F16));
}

// Every size of group comes back as it was, from where padding put it.
TEST(TokenGroups, unpad_is_the_inverse) {
  std::vector<int64_t> ends = {3, 3, 20, 52};
  TestCall call = padding(ends, 40, ElementType::BF16);
  HostArrays padded = expectReference(call);
  TestCall back = unpadding(ends, {}, padded.at("padded").type.shape[0], ElementType::BF16);
  back.change = [&](HostArrays &inputs) {
    setIntegers(inputs.at("offs"), ends);
    inputs.at("padded").bytes = padded.at("padded").bytes;
    inputs.at("starts").bytes = padded.at("starts").bytes;
  };
  HostArrays results = expectReference(back);
  CallRequest same;
  same.inputs = arraysOfShape(lookupKernel("token_group_pad"), call.extents, call.type);
  HostArrays inputs = makeInputs(lookupKernel("token_group_pad"), checkCall(lookupKernel("token_group_pad"), same), 1);
  EXPECT_EQ(results.at("x").bytes, inputs.at("x").bytes);
}

TEST(TokenGroups, what_is_wrong) {
  auto with = [](TestCall call) { return messageOf([&] { expectReference(call); }); };
  EXPECT_CONTAINS(with(padding({4, 2, 8}, 8, ElementType::BF16)), "offs[1] is 2, and must be from 4");
  TestCall checked = padding({9, 8}, 8, ElementType::BF16);
  checked.options["check"] = "true";
  EXPECT_CONTAINS(with(checked), "offs decreases, or passes the end");
  EXPECT_CONTAINS(with(padding({8}, 8, ElementType::BF16, "0")), "`align` is 0, and must be from 1 to 1048576");
  EXPECT_CONTAINS(with(unpadding({4, 8}, {0, 13}, 16, ElementType::BF16)), "starts[1] is 13, and must be from 0 to 12");
  checked = unpadding({4, 8}, {0, 13}, 16, ElementType::BF16);
  checked.options["check"] = "true";
  EXPECT_CONTAINS(with(checked), "a group of the padded rows passes their end");
  TestCall without = unpadding({4, 8}, {0, 8}, 16, ElementType::BF16);
  without.options.erase("rows");
  EXPECT_CONTAINS(with(without), "`rows` is -1, and must be from 0 to 16");
  CallRequest none;
  none.inputs = {{"x", {ElementType::F32, {4, 8}}}, {"offs", {ElementType::I32, {0}}}};
  EXPECT_CONTAINS(refusal("token_group_pad", none), "`offs` has 0 groups, and M = 4");
}
