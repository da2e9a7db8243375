// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Indices for any counts, and rows in their order and back.
#include "kernels/TestCalls.h"

using namespace heddle;
using namespace heddle::kernels;

namespace {

TestCall indices(int64_t R, int64_t E, const std::vector<int64_t> &counts, int64_t length, const char *align,
                 ElementType type = ElementType::I32) {
  return {.kernel = "permute_indices",
          .extents = {{"R", R}, {"E", E}},
          .options = {{"length", std::to_string(length)}, {"align", align}, {"block", "128"}},
          .arrange = [=](auto &arrays) { arrays.at("counts").type = type; },
          .change =
              [=](HostArrays &inputs) {
                HostArray &array = inputs.at("counts");
                for (size_t i = 0; i < counts.size(); ++i)
                  storeInt(type, counts[i], array.bytes.data() + array.offset({int64_t(i) / E, int64_t(i) % E}));
              }};
}

std::vector<int64_t> integers(const HostArray &array) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < array.type.shape[0]; ++i)
    values.push_back(loadInt(array.type.type, array.bytes.data() + array.offset({i})));
  return values;
}

} // namespace

TEST(Permute, indices_of_an_example) {
  HostArrays made = expectReference(indices(2, 3, {2, 0, 1, 1, 0, 2}, 13, "4"));
  EXPECT_EQ(integers(made.at("indices")), (std::vector<int64_t>{0, 1, 3, -1, -1, -1, -1, -1, 2, 4, 5, -1, -1}));
  EXPECT_EQ(integers(made.at("sizes")), (std::vector<int64_t>{4, 4, 4}));
  EXPECT_EQ(integers(made.at("ends")), (std::vector<int64_t>{4, 8, 12}));
}

// More ranks and experts than are read at once, more rows than are written at once, and experts without rows.
TEST(Permute, indices_for_any_counts) {
  std::vector<int64_t> counts;
  for (int64_t i = 0; i < 18 * 66; ++i)
    counts.push_back(i % 5 ? i % 3 : 0);
  expectReference(indices(18, 66, counts, 18 * 66 + 66 * 8, "8", ElementType::I64));
  expectReference(indices(2, 3, {300, 0, 5, 129, 0, 128}, 600, "16"));
  expectReference(indices(0, 2, {}, 40, "16"));
}

TEST(Permute, rows_and_back) {
  for (ElementType type : {ElementType::BF16, ElementType::F8E5M2, ElementType::F32})
    for (const char *kernel : {"permute_rows", "unpermute_rows"}) {
      bool gathers = std::string(kernel) == "permute_rows";
      TestCall call{.kernel = kernel,
                    .extents = {{gathers ? "M" : "L", gathers ? 21 : 30}, {"K", 136}},
                    .options = {{"block_m", "4"}, {"block_k", "128"}},
                    .type = type,
                    .change = [](HostArrays &inputs) { // beside -1: other numbers that are no row
                      HostArray &array = inputs.at("indices");
                      storeInt(array.type.type, 21, array.bytes.data() + array.offset({0}));
                      storeInt(array.type.type, INT32_MIN, array.bytes.data() + array.offset({1}));
                    }};
      gathers ? void(call.extents["L"] = 30) : void(call.options["rows"] = "21");
      if (type == ElementType::F32)
        call.arrange = [gathers](auto &arrays) {
          arrays.at("indices").type = ElementType::I64;
          arrays.at(gathers ? "x" : "y").strides = {1, 31};
        };
      expectReference(call);
    }
}

// What would pass the end is left out on the device, where nothing checks it: the bytes after the indices stay.
TEST(Permute, too_few_indices) {
  std::shared_ptr<Device> device = openDevice(testDevice());
  const LibraryKernel &kernel = lookupKernel("permute_indices");
  CallRequest request;
  request.inputs = {{"counts", {ElementType::I32, {1, 2}}}};
  request.options = {{"length", "64"}, {"align", "32"}};
  Prepared prepared(device, kernel, request);
  std::unique_ptr<Stream> stream = device->createStream();
  auto buffer = [&](const std::vector<int32_t> &values) {
    Buffer made = device->allocate(4 * values.size(), "values");
    stream->copyToDevice(made, values.data());
    stream->synchronize();
    return made;
  };
  Buffer counts = buffer({40, 5}), indices = buffer(std::vector<int32_t>(96, 7)), sizes = buffer({0, 0}),
         ends = buffer({0, 0});
  prepared.launch(*stream, {{"counts", counts.address()},
                            {"indices", indices.address()},
                            {"sizes", sizes.address()},
                            {"ends", ends.address()}});
  std::vector<int32_t> made(96), expected(96, 7);
  stream->copyToHost(made.data(), indices);
  stream->synchronize();
  for (int32_t i = 0; i < 64; ++i)
    expected[size_t(i)] = i < 40 ? i : -1;
  EXPECT_EQ(std::vector<int32_t>(made.begin() + 64, made.end()),
            std::vector<int32_t>(expected.begin() + 64, expected.end()));
  EXPECT_EQ(std::vector<int32_t>(made.begin(), made.begin() + 64),
            std::vector<int32_t>(expected.begin(), expected.begin() + 64));
}

TEST(Permute, what_is_wrong) {
  auto with = [](TestCall call) { return messageOf([&] { expectReference(call); }); };
  EXPECT_CONTAINS(with(indices(1, 2, {3, -1}, 64, "32")), "counts[0, 1] is -1, and a count is 0 or above");
  EXPECT_CONTAINS(with(indices(1, 2, {33, 1}, 64, "32")), "need 96 rows, and `length` is 64");
  EXPECT_CONTAINS(with(indices(1, 2, {3, 1}, 63, "32")), "`length` is 63, and must be from 64");
  for (std::vector<int64_t> wrong : {std::vector<int64_t>{3, -1}, {33, 1}}) {
    TestCall checked = indices(1, 2, wrong, 64, "32");
    checked.options["check"] = "true";
    EXPECT_CONTAINS(with(checked), wrong[0] == 3 ? "a count is negative" : "the groups need more than `length` rows");
  }
  CallRequest request;
  request.inputs = {{"y", {ElementType::F32, {4, 8}}}, {"indices", {ElementType::I32, {4}}}};
  EXPECT_CONTAINS(refusal("unpermute_rows", request), "`rows` is -1, and must be from 0");
}
