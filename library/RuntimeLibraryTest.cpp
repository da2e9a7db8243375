// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// libheddle_runtime by the C interface: what it has works, and what needs the compiler says what to link. That packages
// run is shown by examples/c/run-package.test.
#include "library/LibraryTestSupport.h"

namespace heddle {
namespace {

/// The error of a call that needs the compiler.
void expectLacking(heddle_status status, const std::string &text) {
  EXPECT_EQ(status, HEDDLE_ENVIRONMENT);
  EXPECT_EQ(heddle_error_text(), text + ", and this is libheddle_runtime, which has no compiler");
  ASSERT_GE(heddle_error_note_count(), 1u);
  EXPECT_EQ(std::string(heddle_error_note(heddle_error_note_count() - 1)),
            "link libheddle for it: heddle::heddle of find_package, heddle of pkg-config (docs/c-api.md)");
}

TEST(RuntimeLibrary, SaysWhatItIs) {
  EXPECT_EQ(heddle_has_compiler(), 0);
  EXPECT_EQ(heddle_interface_version(), uint32_t(HEDDLE_INTERFACE_VERSION));
  EXPECT_STREQ(heddle_version(), "0.1.0");
}

TEST(RuntimeLibrary, RefusesToCompile) {
  heddle_package package = nullptr;
  heddle_text text = nullptr;
  int32_t code = 0;
  expectLacking(heddle_compile("", 0, nullptr, nullptr, 0, &package), "heddle_compile compiles");
  EXPECT_STREQ(heddle_error_note(0), "load a package that `heddle compile -o` has written: heddle_package_load");
  expectLacking(heddle_compile_file("a.ttir", nullptr, 0, &package), "heddle_compile_file compiles");
  expectLacking(heddle_compile_phase("", 0, nullptr, "asm", nullptr, 0, &text), "heddle_compile_phase compiles");
  expectLacking(heddle_package_assembly(package, &text), "heddle_package_assembly disassembles");
  expectLacking(heddle_report("doctor", nullptr, 0, nullptr, nullptr, &code, &text),
                "heddle_report does what the command does");
  EXPECT_EQ(package, nullptr);
  EXPECT_EQ(text, nullptr);
}

TEST(RuntimeLibrary, MovesBytes) {
  Handle<heddle_device> device;
  Handle<heddle_stream> stream;
  Handle<heddle_buffer> buffer;
  Handle<heddle_text> values;
  ASSERT_OK(heddle_device_open("host", &device.value));
  ASSERT_OK(heddle_stream_create(device, &stream.value));
  ASSERT_OK(heddle_make_values("rand:f32[64]:7", &values.value));
  std::string made = textOf(values), back(made.size(), '\0');
  ASSERT_OK(heddle_buffer_create(device, made.size(), "x", &buffer.value));
  ASSERT_OK(heddle_copy_to_device(stream, buffer, 0, made.data(), made.size()));
  ASSERT_OK(heddle_copy_to_host(stream, back.data(), buffer, 0, back.size()));
  ASSERT_OK(heddle_stream_synchronize(stream));
  EXPECT_EQ(back, made);
}

int32_t gatherAlone(const void *mine, void *all, size_t bytes, double, void *) {
  std::memcpy(all, mine, bytes);
  return 0;
}

TEST(RuntimeLibrary, PlansCollectivesAndRefusesToCompileThem) {
  Handle<heddle_device> device;
  Handle<heddle_communicator> group;
  ASSERT_OK(heddle_device_open("host", &device.value));
  ASSERT_OK(heddle_communicator_create(device, 0, 1, gatherAlone, nullptr, nullptr, &group.value));
  heddle_collective_request request = {};
  request.struct_size = sizeof request;
  request.type = "f32";
  request.count = 1024;
  heddle_collective_plan plan = {};
  plan.struct_size = sizeof plan;
  ASSERT_OK(heddle_communicator_plan(group, &request, &plan));
  EXPECT_GE(plan.blocks, 1);
  heddle_collective collective = nullptr;
  expectLacking(heddle_communicator_prepare(group, &request, &collective),
                "the kernel of all-reduce sum of f32[1024] over 1 rank is in no bundle and would have to be compiled");
  request.type = "i32";
  request.reduction = HEDDLE_MAXIMUM;
  expectLacking(
      heddle_communicator_prepare(group, &request, &collective),
      "the kernel of all-reduce maximum of i32[1024] over 1 rank is in no bundle and would have to be compiled");
  EXPECT_EQ(std::string(heddle_error_note(0))
                .find("make a bundle that has it, `heddle package collectives all-reduce "
                      "--for host --ranks 1 -d i32 --sizes 4096 --op maximum`"),
            0u)
      << heddle_error_note(0);
  expectLacking(heddle_communicator_prepare_module(group, "HloModule m", 11, nullptr, 0, &collective),
                "heddle_communicator_prepare_module compiles");
}

} // namespace
} // namespace heddle
