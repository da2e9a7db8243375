// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C interface as a C program uses it: a launch, foreign memory, graphs, reports; and from several threads.
#include "library/LibraryTestSupport.h"
#include "library/Structures.h"
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

using namespace heddle;

namespace {

using LibraryTest = WithVectorAdd;

TEST(Library, HasVersions) {
  EXPECT_EQ(heddle_interface_version(), uint32_t(HEDDLE_INTERFACE_VERSION));
  EXPECT_NE(std::string(heddle_version()), "");
}

/// Of interface version 1: fields are added at the end only.
TEST(Library, StructuresKeepTheirLayout) {
  EXPECT_EQ(sizeof(heddle_argument), 40u);
  EXPECT_EQ(offsetof(heddle_argument, name), 8u);
  EXPECT_EQ(offsetof(heddle_argument, type), 16u);
  EXPECT_EQ(offsetof(heddle_argument, divisibility), 24u);
  EXPECT_EQ(offsetof(heddle_argument, pointer), 32u);
  EXPECT_EQ(sizeof(heddle_value), 16u);
  EXPECT_EQ(offsetof(heddle_value, bits), 8u);
  EXPECT_EQ(sizeof(heddle_launch_options), 48u);
  EXPECT_EQ(offsetof(heddle_launch_options, grid), 8u);
  EXPECT_EQ(offsetof(heddle_launch_options, timeout_seconds), 32u);
  EXPECT_EQ(offsetof(heddle_launch_options, cooperative), 40u);
}

/// Of interface version 2.
TEST(Library, StructuresOfCollectivesKeepTheirLayout) {
  EXPECT_EQ(offsetof(heddle_communicator_options, reserved), 36u);
  EXPECT_EQ(offsetof(heddle_communicator_options, transport), 40u); // since version 5
  EXPECT_EQ(offsetof(heddle_communicator_options, host_address), 48u);
  EXPECT_EQ(offsetof(heddle_communicator_options, host_model), 56u);
  EXPECT_EQ(offsetof(heddle_communicator_options, hosts), 64u);
  EXPECT_EQ(sizeof(heddle_communicator_options), 72u);
  EXPECT_EQ(sizeof(heddle_collective_request), 64u);
  EXPECT_EQ(offsetof(heddle_collective_request, input_window), 48u);
  EXPECT_EQ(offsetof(heddle_collective_request, output_window), 56u);
  EXPECT_EQ(offsetof(heddle_collective_request, algorithm), 16u);
  EXPECT_EQ(offsetof(heddle_collective_request, count), 24u);
  EXPECT_EQ(offsetof(heddle_collective_request, kind), 32u);
  EXPECT_EQ(offsetof(heddle_collective_request, captured), 44u);
  EXPECT_EQ(sizeof(heddle_collective_plan), 32u);
  EXPECT_EQ(offsetof(heddle_collective_plan, memory_bytes), 16u);
}

TEST_F(LibraryTest, LaunchesOnMemoryOfTheDevice) {
  for (const char *name : {"host:1", "sim:gfx942"}) {
    Handle<heddle_device> other;
    ASSERT_OK(heddle_device_open(name, &other.value));
    Handle<heddle_package> compiled =
        compileVectorAdd({std::string(name) == "host:1" ? "target=host" : "target=gfx942"});
    Handle<heddle_kernel> loaded;
    ASSERT_OK(heddle_kernel_load(other, compiled, &loaded.value));
    Handle<heddle_stream> queue;
    ASSERT_OK(heddle_stream_create(other, &queue.value));
    Handle<heddle_buffer> buffers[3];
    for (auto &each : buffers) {
      ASSERT_OK(heddle_buffer_create(other, bytes, "each", &each.value));
      ASSERT_OK(heddle_copy_to_device(queue, each, 0, x.data(), bytes));
    }
    std::vector<heddle_value> values = {
        bufferValue(buffers[0]), bufferValue(buffers[1]), bufferValue(buffers[2]), {HEDDLE_SCALAR, 0, count}};
    ASSERT_OK(heddle_launch(queue, loaded, &options, values.data(), values.size()));
    ASSERT_OK(heddle_copy_to_host(queue, out.data(), buffers[2], 0, bytes));
    ASSERT_OK(heddle_stream_synchronize(queue));
    expectSum(x, x);
  }
}

TEST_F(LibraryTest, LaunchesOnMemoryOfOthers) {
  ASSERT_OK(launch());
  ASSERT_OK(heddle_stream_synchronize(stream));
  expectSum(x, y);
  // A kernel with bounds checks may use memory only that the device knows.
  Handle<heddle_package> checked = compileVectorAdd({"check=true"});
  Handle<heddle_kernel> loaded;
  ASSERT_OK(heddle_kernel_load(device, checked, &loaded.value));
  auto run = [&] {
    EXPECT_EQ(heddle_launch(stream, loaded, &options, addresses.data(), addresses.size()), HEDDLE_OK);
    return heddle_stream_synchronize(stream);
  };
  EXPECT_NE(run(), HEDDLE_OK);
  EXPECT_CONTAINS(std::string(heddle_error_text()), "outside every buffer");
  Handle<heddle_buffer> adopted[3];
  std::vector<float> *arrays[] = {&x, &y, &out};
  for (int i = 0; i < 3; ++i)
    ASSERT_OK(heddle_buffer_adopt(device, addresses[size_t(i)].bits, bytes, "array", &adopted[i].value));
  ASSERT_OK(run());
  uint64_t address = 0, size = 0;
  ASSERT_OK(heddle_buffer_get(adopted[2], &address, &size));
  EXPECT_EQ(address, reinterpret_cast<uint64_t>(arrays[2]->data()));
  EXPECT_EQ(size, bytes);
  expectSum(x, y);

  Handle<heddle_device> simulated;
  ASSERT_OK(heddle_device_open("sim:gfx950", &simulated.value));
  heddle_buffer none = nullptr;
  EXPECT_EQ(heddle_buffer_adopt(simulated, address, bytes, "array", &none), HEDDLE_INPUT);
  EXPECT_CONTAINS(std::string(heddle_error_text()),
                  "sim:gfx950:0: its kernels cannot use memory that is not the device's");
}

TEST_F(LibraryTest, AGraphRunsAgain) {
  ASSERT_OK(heddle_capture_begin(stream));
  ASSERT_OK(launch());
  Handle<heddle_graph> graph;
  ASSERT_OK(heddle_capture_end(stream, &graph.value));
  EXPECT_EQ(out[7], 0);
  for (float added : {1.0f, 5.0f}) {
    std::fill(y.begin(), y.end(), added);
    ASSERT_OK(heddle_graph_launch(stream, graph));
    ASSERT_OK(heddle_stream_synchronize(stream));
    expectSum(x, y);
  }
}

TEST_F(LibraryTest, EventsOrderAndTime) {
  Handle<heddle_event> start, end;
  ASSERT_OK(heddle_event_create(device, &start.value));
  ASSERT_OK(heddle_event_create(device, &end.value));
  Handle<heddle_stream> other;
  ASSERT_OK(heddle_stream_create(device, &other.value));
  ASSERT_OK(heddle_event_record(start, stream));
  ASSERT_OK(launch());
  ASSERT_OK(heddle_event_record(end, stream));
  ASSERT_OK(heddle_stream_wait(other, end));
  ASSERT_OK(heddle_stream_synchronize(other));
  expectSum(x, y);
  ASSERT_OK(heddle_event_synchronize(end));
  double milliseconds = -1;
  ASSERT_OK(heddle_event_elapsed(start, end, &milliseconds));
  EXPECT_GE(milliseconds, 0);
}

TEST_F(LibraryTest, PackagesTravelAsBytes) {
  Handle<heddle_text> bytesOfPackage;
  ASSERT_OK(heddle_package_bytes(package, &bytesOfPackage.value));
  std::string data = textOf(bytesOfPackage);
  Handle<heddle_package> parsed;
  ASSERT_OK(heddle_package_parse(data.data(), data.size(), &parsed.value));
  size_t arguments = 0;
  ASSERT_OK(heddle_package_argument_count(parsed, &arguments));
  ASSERT_EQ(arguments, 4u);
  heddle_argument argument = {.struct_size = sizeof argument};
  ASSERT_OK(heddle_package_argument(parsed, 0, &argument));
  EXPECT_EQ(std::string(argument.name), "x");
  EXPECT_EQ(std::string(argument.type), "f32");
  EXPECT_EQ(argument.pointer, 1);
  EXPECT_EQ(argument.divisibility, 16);
  Handle<heddle_text> description, assembly;
  ASSERT_OK(heddle_package_describe(parsed, &description.value));
  EXPECT_EQ(nlohmann::json::parse(textOf(description))["kernel"], "vector_add");
  ASSERT_OK(heddle_package_assembly(parsed, &assembly.value));
  EXPECT_CONTAINS(textOf(assembly), "ret");
}

TEST(Library, ValuesAreThoseOfTheCommand) {
  Handle<heddle_text> values;
  ASSERT_OK(heddle_make_values("rand:f32[4]:7", &values.value));
  EXPECT_EQ(textOf(values), materialize(parseBufferSpec("rand:f32[4]:7")));
  heddle_text none = nullptr;
  EXPECT_EQ(heddle_make_values("3.5", &none), HEDDLE_INPUT);
}

TEST(Library, ReportsAreTheCommandsJson) {
  std::string file = sourcePath("tests/corpus/vector_add.gfx942.ttir");
  std::vector<const char *> words = {file.c_str(),       "--target",    "gfx942",    "--grid", "1",    "--arg",
                                     "x=rand:f32[64]:1", "--arg",       "y=f32[64]", "--arg",  "n=64", "--arg",
                                     "out=f32[64]",      "--schedules", "1"};
  int32_t code = -1;
  size_t calls = 0;
  auto count = [](size_t, size_t, void *user) { return ++*static_cast<size_t *>(user), 0; };
  Handle<heddle_text> json;
  ASSERT_OK(heddle_report("check", words.data(), words.size(), count, &calls, &code, &json.value));
  // y is uninitialised, and decides neither a branch nor an address.
  auto verdict = nlohmann::json::parse(textOf(json));
  EXPECT_EQ(verdict["kernel"], "vector_add");
  EXPECT_TRUE(verdict["clean"].get<bool>()) << textOf(json);
  EXPECT_EQ(code, 0);
  EXPECT_GT(calls, 0u);
  // Progress may end it early; then it is not clean.
  auto stop = [](size_t, size_t, void *) { return int32_t(1); };
  Handle<heddle_text> stopped;
  ASSERT_OK(heddle_report("check", words.data(), words.size(), stop, nullptr, &code, &stopped.value));
  EXPECT_FALSE(nlohmann::json::parse(textOf(stopped))["clean"].get<bool>());
  // Progress may make a report of its own.
  auto inspect = [](size_t, size_t, void *user) {
    const char *word = static_cast<std::string *>(user)->c_str();
    int32_t inner = -1;
    Handle<heddle_text> phases;
    EXPECT_EQ(heddle_report("inspect", &word, 1, nullptr, nullptr, &inner, &phases.value), HEDDLE_OK);
    EXPECT_TRUE(nlohmann::json::parse(textOf(phases)).is_array());
    return int32_t(0);
  };
  Handle<heddle_text> again;
  ASSERT_OK(heddle_report("check", words.data(), words.size(), inspect, &file, &code, &again.value));
  EXPECT_TRUE(nlohmann::json::parse(textOf(again))["clean"].get<bool>());
}

TEST_F(LibraryTest, PrintedLinesGoToTheFunction) {
  std::vector<std::string> lines;
  ASSERT_OK(heddle_set_print(
      [](const char *line, void *user) { static_cast<std::vector<std::string> *>(user)->push_back(line); }, &lines));
  const char *text =
      "module {\n  tt.func public @p(%n: i32) {\n    tt.print \" n\" {hex = false, isSigned = array<i32: 1>} : %n : "
      "i32\n    tt.return\n  }\n}\n";
  Handle<heddle_package> printing;
  ASSERT_OK(heddle_compile(text, std::strlen(text), "p.ttir", nullptr, 0, &printing.value));
  Handle<heddle_kernel> loaded;
  ASSERT_OK(heddle_kernel_load(device, printing, &loaded.value));
  heddle_value value = {HEDDLE_SCALAR, 0, 42};
  ASSERT_OK(heddle_launch(stream, loaded, nullptr, &value, 1));
  ASSERT_OK(heddle_stream_synchronize(stream));
  ASSERT_OK(heddle_set_print(nullptr, nullptr));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_CONTAINS(lines[0], "42");
  // The function may replace itself, and release the stream.
  struct Once {
    Handle<heddle_stream> stream;
    std::atomic<int> calls{0};
  } once;
  ASSERT_OK(heddle_stream_create(device, &once.stream.value));
  ASSERT_OK(heddle_set_print(
      [](const char *, void *user) {
        auto &own = *static_cast<Once *>(user);
        EXPECT_EQ(heddle_set_print(nullptr, nullptr), HEDDLE_OK);
        EXPECT_EQ(heddle_release(std::exchange(own.stream.value, nullptr)), HEDDLE_OK);
        ++own.calls;
      },
      &once));
  ASSERT_OK(heddle_launch(once.stream, loaded, nullptr, &value, 1));
  for (int i = 0; i < 10000 && once.calls == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(once.calls, 1);
}

/// Of a launch on several devices: a buffer of another one has no address on the stream's.
TEST_F(LibraryTest, BuffersAreOfTheStreamsDevice) {
  Handle<heddle_device> other;
  ASSERT_OK(heddle_device_open("host:1", &other.value));
  Handle<heddle_buffer> buffer;
  ASSERT_OK(heddle_buffer_create(other, bytes, "x", &buffer.value));
  addresses[0] = bufferValue(buffer);
  EXPECT_EQ(launch(), HEDDLE_INPUT);
  EXPECT_CONTAINS(std::string(heddle_error_text()), "`values[0]` is a buffer of host:1, and the stream is of host:0");
}

struct GrownStructure {
  size_t struct_size;
  int64_t first, later;
};

/// A caller of the first version lacks `later`; one of the next version has more.
TEST(Library, StructuresOfOtherVersions) {
  constexpr size_t firstSize = offsetof(GrownStructure, later);
  GrownStructure given = {firstSize, 1, 2};
  EXPECT_EQ(readStructure(&given, firstSize, "given").first, 1);
  EXPECT_EQ(readStructure(&given, firstSize, "given").later, 0);
  writeStructure(&given, {0, 3, 4}, firstSize, "given");
  EXPECT_EQ(given.struct_size, firstSize);
  EXPECT_EQ(given.first, 3);
  EXPECT_EQ(given.later, 2);
  given.struct_size = sizeof given;
  EXPECT_EQ(readStructure(&given, firstSize, "given").later, 2);
  struct {
    GrownStructure known;
    uint64_t more;
  } newer = {{sizeof newer, 5, 6}, 7};
  EXPECT_THROW(readStructure(&newer.known, firstSize, "given"), Error);
  writeStructure(&newer.known, {0, 8, 9}, firstSize, "given");
  EXPECT_EQ(newer.known.later, 9);
  EXPECT_EQ(newer.more, 0u);
  EXPECT_EQ(readStructure(&newer.known, firstSize, "given").first, 8);
  given.struct_size = firstSize - 1;
  EXPECT_THROW(readStructure(&given, firstSize, "given"), Error);
}

void failAtExit() {
  bool told = heddle_device_open(nullptr, nullptr) == HEDDLE_INPUT &&
              std::string(heddle_error_text()).find("`name` is null") != std::string::npos;
  std::fputs(told ? "told" : "not told", stderr);
}

TEST(LibraryDeathTest, ACallMayFailWhileTheProcessEnds) {
  auto end = [] {
    std::atexit(failAtExit);
    heddle_device_open(nullptr, nullptr); // the thread has an error already
    std::exit(0);
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(0), "^told$");
}

TEST_F(LibraryTest, ThreadsCompileAndLaunchSideBySide) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      Handle<heddle_package> own = compileVectorAdd({"optimization=" + std::to_string(i % 4)});
      Handle<heddle_kernel> loaded;
      Handle<heddle_stream> queue;
      std::vector<float> result(count);
      std::vector<heddle_value> values = addresses;
      values[2].bits = reinterpret_cast<uint64_t>(result.data());
      wrong += heddle_kernel_load(device, own, &loaded.value) != HEDDLE_OK;
      wrong += heddle_stream_create(device, &queue.value) != HEDDLE_OK;
      for (int launches = 0; launches < 20; ++launches)
        wrong += heddle_launch(queue, loaded, &options, values.data(), values.size()) != HEDDLE_OK;
      // Each thread has its own error.
      wrong += heddle_device_open(("none" + std::to_string(i)).c_str(), nullptr) != HEDDLE_INPUT;
      wrong += heddle_stream_synchronize(queue) != HEDDLE_OK;
      for (size_t at = 0; at < count; ++at)
        wrong += result[at] != x[at] + y[at];
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

} // namespace
