// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bundles by the C interface: calls of the library's kernels run on the host and on a simulated device with the same
// bits, and input that is wrong is refused.
#include "library/LibraryTestSupport.h"
#include <filesystem>
#include <nlohmann/json.hpp>

namespace heddle {
namespace {

using nlohmann::json;

/// Two calls of one launch, and one of a fill and two launches with a temporary, for two chips; made once.
class Bundles : public testing::Test {
protected:
  static void SetUpTestSuite() {
    path = testing::TempDir() + "heddle-library-test-" + std::to_string(::getpid()) + ".hbundle";
    const char *words[] = {"kernels",   "--for",          "host,gfx950",   "--kernel",  "fp8_rowwise_2d",
                           "--kernel",  "fp8_rowwise_3d", "--shape",       "M=4,K=256", "--shape",
                           "M=8,K=256", "--shape",        "E=2,K=32,N=48", "-o",        path.c_str()};
    int32_t code = -1;
    Handle<heddle_text> report;
    ASSERT_OK(heddle_report("package", words, std::size(words), nullptr, nullptr, &code, &report.value));
    ASSERT_EQ(code, 0);
    ASSERT_EQ(json::parse(textOf(report))["calls"].size(), 6u);
  }
  static void TearDownTestSuite() { std::filesystem::remove(path); }

  void SetUp() override {
    ASSERT_OK(heddle_bundle_load(path.c_str(), &bundle.value));
    ASSERT_OK(heddle_device_open("host", &host.value));
  }

  heddle_status load(heddle_device device, const char *kernel, std::vector<const char *> choices, heddle_call *call) {
    return heddle_call_load(device, bundle, kernel, choices.data(), choices.size(), call);
  }

  /// The bytes of all results, of random inputs.
  std::string run(const char *deviceName, const char *kernel, std::vector<const char *> choices) {
    Handle<heddle_device> device;
    Handle<heddle_stream> stream;
    Handle<heddle_call> call;
    Handle<heddle_text> text;
    EXPECT_EQ(heddle_device_open(deviceName, &device.value), HEDDLE_OK) << heddle_error_text();
    EXPECT_EQ(heddle_stream_create(device, &stream.value), HEDDLE_OK);
    EXPECT_EQ(load(device, kernel, choices, &call.value), HEDDLE_OK) << heddle_error_text();
    EXPECT_EQ(heddle_call_describe(call, &text.value), HEDDLE_OK);
    json arrays = json::parse(textOf(text))["arrays"];
    std::vector<Handle<heddle_buffer>> buffers(arrays.size());
    std::vector<uint64_t> addresses(arrays.size());
    std::vector<std::string> bytes;
    for (size_t i = 0; i < arrays.size(); ++i) {
      size_t size = arrays[i]["bytes"];
      uint64_t made = 0;
      Handle<heddle_text> values;
      EXPECT_EQ(heddle_make_values(("rand:bf16[" + std::to_string(size / 2) + "]:3").c_str(), &values.value),
                HEDDLE_OK);
      bytes.push_back(arrays[i]["result"] ? std::string(size, '\x55') : textOf(values));
      EXPECT_EQ(heddle_buffer_create(device, size, nullptr, &buffers[i].value), HEDDLE_OK);
      EXPECT_EQ(heddle_buffer_get(buffers[i], &addresses[i], &made), HEDDLE_OK);
      EXPECT_EQ(heddle_copy_to_device(stream, buffers[i], 0, bytes[i].data(), size), HEDDLE_OK);
    }
    for (int twice = 0; twice < 2; ++twice) // temporaries are as new for each launch
      EXPECT_EQ(heddle_call_launch(stream, call, addresses.data(), addresses.size()), HEDDLE_OK) << heddle_error_text();
    {
      Handle<heddle_call> released = std::move(call);
    } // what was launched keeps what it needs
    std::string results;
    for (size_t i = 0; i < arrays.size(); ++i)
      EXPECT_EQ(heddle_copy_to_host(stream, bytes[i].data(), buffers[i], 0, bytes[i].size()), HEDDLE_OK);
    EXPECT_EQ(heddle_stream_synchronize(stream), HEDDLE_OK) << heddle_error_text();
    for (size_t i = 0; i < arrays.size(); ++i)
      if (arrays[i]["result"])
        results += bytes[i];
    return results;
  }

  static inline std::string path;
  Handle<heddle_bundle> bundle;
  Handle<heddle_device> host;
};

TEST_F(Bundles, CallsHaveTheSameBitsOnChips) {
  for (const auto &[kernel, choices] : std::initializer_list<std::pair<const char *, std::vector<const char *>>>{
           {"fp8_rowwise_2d", {"M=4"}}, {"fp8_rowwise_2d", {"M=8", "K=256"}}, {"fp8_rowwise_3d", {}}}) {
    std::string onHost = run("host", kernel, choices);
    EXPECT_GT(onHost.size(), 1000u);
    EXPECT_NE(onHost, std::string(onHost.size(), '\x55'));
    EXPECT_TRUE(onHost == run("sim:gfx950", kernel, choices)) << kernel;
  }
}

TEST_F(Bundles, ParseTakesTheBytesOfAFile) {
  Handle<heddle_bundle> again;
  Handle<heddle_text> first, second;
  std::string bytes = readFile(path);
  ASSERT_OK(heddle_bundle_parse(bytes.data(), bytes.size(), &again.value));
  ASSERT_OK(heddle_bundle_describe(bundle, &first.value));
  ASSERT_OK(heddle_bundle_describe(again, &second.value));
  EXPECT_EQ(textOf(first), textOf(second));
  heddle_bundle none = nullptr;
  EXPECT_EQ(heddle_bundle_parse(bytes.data(), 10, &none), HEDDLE_INPUT);
  EXPECT_EQ(heddle_bundle_load("/no/such.hbundle", &none), HEDDLE_ENVIRONMENT);
  EXPECT_EQ(none, nullptr);
}

TEST_F(Bundles, RefusesChoicesThatFitNoneOrSeveral) {
  heddle_call call = nullptr;
  EXPECT_EQ(load(host, "fp8_rowwise_2d", {}, &call), HEDDLE_INPUT);
  EXPECT_STREQ(heddle_error_text(), "the bundle has 2 calls of `fp8_rowwise_2d` for host");
  EXPECT_STREQ(heddle_error_note(0), "say also M");
  EXPECT_EQ(load(host, "fp8_rowwise_2d", {"M=5"}, &call), HEDDLE_INPUT);
  EXPECT_STREQ(heddle_error_text(), "the bundle has no call of `fp8_rowwise_2d` for host with M=5");
  EXPECT_EQ(load(host, "fp8_rowwise_2d", {"M"}, &call), HEDDLE_INPUT);
  EXPECT_STREQ(heddle_error_text(), "the choice `M` is not `key=value`");
  EXPECT_EQ(load(host, "fp8_rowwise_2d", {"M=4", "M=8"}, &call), HEDDLE_INPUT);
  EXPECT_STREQ(heddle_error_text(), "the choice `M` is given twice: `4` and `8`");
  EXPECT_EQ(load(host, "amax", {}, &call), HEDDLE_INPUT);
  EXPECT_STREQ(heddle_error_text(), "the bundle has no kernel `amax`");
  EXPECT_EQ(load(host, nullptr, {}, &call), HEDDLE_INPUT);
  EXPECT_EQ(heddle_call_load(host, nullptr, "amax", nullptr, 0, &call), HEDDLE_INPUT);
  EXPECT_EQ(heddle_call_load(host, bundle, "amax", nullptr, 1, &call), HEDDLE_INPUT);
  EXPECT_EQ(call, nullptr);
}

TEST_F(Bundles, RefusesAddressesThatDoNotFit) {
  Handle<heddle_stream> stream, other;
  Handle<heddle_device> second;
  Handle<heddle_call> call;
  ASSERT_OK(heddle_stream_create(host, &stream.value));
  ASSERT_OK(heddle_device_open("host:1", &second.value));
  ASSERT_OK(heddle_stream_create(second, &other.value));
  ASSERT_OK(load(host, "fp8_rowwise_2d", {"M=4"}, &call.value));
  uint64_t addresses[] = {64, 0, 64};
  EXPECT_EQ(heddle_call_launch(stream, call, addresses, 2), HEDDLE_INPUT);
  EXPECT_STREQ(heddle_error_text(), "a call of `fp8_rowwise_2d` takes 3 arrays, and 2 addresses were given");
  EXPECT_EQ(heddle_call_launch(stream, call, addresses, 3), HEDDLE_INPUT);
  EXPECT_STREQ(heddle_error_text(), "`addresses[1]` is 0, and `q` has 1024 bytes");
  EXPECT_EQ(heddle_call_launch(stream, call, nullptr, 3), HEDDLE_INPUT);
  EXPECT_EQ(heddle_call_launch(other, call, addresses, 3), HEDDLE_INPUT);
  EXPECT_STREQ(heddle_error_text(), "`stream` is of host:1, and the call of host:0");
  EXPECT_EQ(heddle_call_launch(stream, reinterpret_cast<heddle_call>(bundle.value), addresses, 3), HEDDLE_INPUT);
  EXPECT_NE(std::string(heddle_error_text()).find("is a bundle, and a call is wanted"), std::string::npos);
}

} // namespace
} // namespace heddle
