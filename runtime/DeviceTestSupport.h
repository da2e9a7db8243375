// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For the tests of every driver: arguments, what is in a buffer, and what holds for all devices and streams.
#pragma once
#include "binary/Package.h"
#include "runtime/Device.h"
#include "runtime/Stream.h"
#include "support/TestError.h"
#include <numeric>

namespace heddle {

inline PackageArgument pointerArgument(const std::string &name, const std::string &type = "i32") {
  return {name, type, true, 1};
}

inline PackageArgument scalarArgument(const std::string &name, const std::string &type = "i32") {
  return {name, type, false, 1};
}

/// Waits for the stream.
template <typename T>
std::vector<T> readBack(Stream &stream, const Buffer &buffer) {
  std::vector<T> values(buffer.sizeBytes() / sizeof(T));
  stream.copyToHost(values.data(), buffer);
  stream.synchronize();
  return values;
}

template <typename T>
std::vector<T> countUp(size_t count, T first = 0) {
  std::vector<T> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

/// A stretch from the middle of one buffer into another, which may be on another device.
inline void expectCopiesRoundTrip(Device &from, Device &to) {
  auto stream = from.createStream();
  Buffer a = from.allocate(4000, "a"), b = to.allocate(4000, "b");
  std::vector<int32_t> values = countUp<int32_t>(1000);
  stream->copyToDevice(a, values.data());
  stream->fill(b, 0xff);
  stream->copy(b.address(), a.address() + 40, 400);
  auto back = readBack<int32_t>(*stream, b);
  EXPECT_EQ(back[0], 10);
  EXPECT_EQ(back[99], 109);
  EXPECT_EQ(back[100], -1);
}

inline void expectRangesAreChecked(Device &device) {
  auto stream = device.createStream();
  Buffer buffer = device.allocate(100, "x");
  char host[200] = {};
  Error error = errorOf([&] { stream->copyToDevice(buffer.address(), host, 101); });
  EXPECT_EQ(error.kind, ErrorClass::Input);
  EXPECT_CONTAINS(error.what(), "copy to the device: 101 bytes from byte 0 on do not fit buffer `x` of 100 bytes");
  EXPECT_CONTAINS(messageOf([&] { stream->copyToHost(host, buffer.address() + 112, 4); }),
                  "12 bytes past the end of buffer `x` of 100 bytes");
  EXPECT_CONTAINS(messageOf([&] { stream->fill(buffer.address() + 90, 0, 20); }),
                  "20 bytes from byte 90 on do not fit");
  EXPECT_CONTAINS(messageOf([&] { stream->copy(0, buffer.address(), 4); }),
                  "copy, destination: address 0x0 lies in no live buffer");
  stream->copyToHost(host, buffer.address() + 100, 0);
  stream->synchronize();
}

/// Leaves the stream in a capture.
inline void expectMisusedCapturesAreRefused(Stream &stream) {
  EXPECT_CONTAINS(messageOf([&] { stream.endCapture(); }), "the stream is not being captured");
  stream.beginCapture();
  EXPECT_CONTAINS(messageOf([&] { stream.beginCapture(); }), "is being captured already");
  EXPECT_CONTAINS(messageOf([&] { stream.synchronize(); }), "a stream that is being captured cannot be waited for");
  auto graph = stream.endCapture();
  stream.beginCapture();
  EXPECT_CONTAINS(messageOf([&] { stream.launch(*graph); }), "a graph cannot be launched into a capture");
}

} // namespace heddle
