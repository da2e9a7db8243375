// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A package's tensor maps on a threads device: made of the launch's arguments, and read by the kernel's bulk copies.
#include "tests/threads_driver/ThreadsDriver.h"
#include "runtime/Device.h"
#include "runtime/DeviceTestSupport.h"
#include "runtime/Driver.h"

using namespace heddle;

namespace {

// One warp: a box of `in` comes to shared memory and goes on into `out`.
constexpr const char *copyBox = R"(
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i32)
declare i64 @llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta(ptr addrspace(3), i32)
declare i1 @llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(ptr addrspace(3), i32)
declare void @llvm.nvvm.cp.async.bulk.tensor.g2s.cta.tile.2d(ptr addrspace(3), ptr addrspace(3), ptr, i32, i32, i64, i1)
declare void @llvm.nvvm.cp.async.bulk.tensor.s2g.tile.2d(ptr addrspace(3), ptr, i32, i32, i64, i1)
declare void @llvm.nvvm.cp.async.bulk.commit.group()
declare void @llvm.nvvm.cp.async.bulk.wait.group(i32)
@full = internal addrspace(3) global i64 undef, align 8
@tile = internal addrspace(3) global [2048 x i8] undef, align 1024
define ptx_kernel void @copy_box(i32 %row, ptr addrspace(1) %in, i32 %r, i32 %c, i64 %p, i64 %s, ptr addrspace(1) %out,
    i32 %r2, i32 %c2, i64 %p2, i64 %s2, i64 %record, ptr byval([128 x i8]) align 64 "nvvm.grid_constant" %from,
    ptr byval([128 x i8]) align 64 "nvvm.grid_constant" %to) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %isFirst = icmp eq i32 %tid, 0
  br i1 %isFirst, label %begin, label %end
begin:
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @full, i32 1)
  call i64 @llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta(ptr addrspace(3) @full, i32 2048)
  call void @llvm.nvvm.cp.async.bulk.tensor.g2s.cta.tile.2d(ptr addrspace(3) @tile, ptr addrspace(3) @full, ptr %from, i32 0, i32 %row, i64 0, i1 false)
  br label %poll
poll:
  %done = call i1 @llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(ptr addrspace(3) @full, i32 0)
  br i1 %done, label %store, label %poll
store:
  call void @llvm.nvvm.cp.async.bulk.tensor.s2g.tile.2d(ptr addrspace(3) @tile, ptr %to, i32 0, i32 %row, i64 0, i1 false)
  call void @llvm.nvvm.cp.async.bulk.commit.group()
  call void @llvm.nvvm.cp.async.bulk.wait.group(i32 0)
  br label %end
end:
  ret void
})";

Package boxPackage() {
  Package package;
  package.kernel = package.entry = "copy_box";
  package.target = threads::threadsChip().name;
  package.binaryKind = "llvm-ir";
  package.threads = 32;
  package.arguments = {scalarArgument("row")};
  for (const char *name : {"in", "out"})
    for (const auto &argument : {pointerArgument(name, "f32"), scalarArgument("rows"), scalarArgument("columns"),
                                 scalarArgument(std::string(name) + ".pitch", "i64"), scalarArgument("step", "i64")})
      package.arguments.push_back(argument);
  package.tensorMaps = {{1, "f32", {32, 16}, 64}, {6, "f32", {32, 16}, 64}};
  package.binary = copyBox;
  return package;
}

class ThreadsDriver : public ::testing::Test {
protected:
  static std::shared_ptr<Device> open() {
    threads::useThreadsDriver();
    return openDevice("threads:0");
  }
  std::shared_ptr<Device> device = open();
  std::unique_ptr<Stream> stream = device->createStream();
};

TEST_F(ThreadsDriver, TensorMapsOfALaunch) {
  constexpr uint32_t rows = 40, columns = 10, pitch = 12;
  std::vector<float> values = countUp<float>(rows * pitch, 1);
  Buffer in = device->allocate(values.size() * 4, "in"), out = device->allocate(values.size() * 4, "out");
  Kernel kernel{device->loadModule(boxPackage())};
  auto launch = [&](uint64_t pitchOfIn) {
    stream->launch(
        {.kernel = kernel,
         .arguments = {ScalarBits{16}, in, ScalarBits{rows}, ScalarBits{columns}, ScalarBits{pitchOfIn}, ScalarBits{1},
                       out, ScalarBits{rows}, ScalarBits{columns}, ScalarBits{pitch}, ScalarBits{1}}});
  };
  stream->copyToDevice(in, values.data());
  stream->fill(out, 0);
  launch(pitch);
  auto back = readBack<float>(*stream, out);
  for (uint32_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(back[i], i / pitch >= 16 && i % pitch < columns ? values[i] : 0) << i;
  EXPECT_CONTAINS(
      messageOf([&] { launch(columns); }),
      "argument `in.pitch`: a stride of 10 elements, 40 bytes, along axis 0 of a tensor map is not a multiple");
}

TEST_F(ThreadsDriver, CodeAndDescriptionHaveTheSameParameters) {
  Package package = boxPackage();
  package.tensorMaps.pop_back();
  EXPECT_CONTAINS(
      messageOf([&] { device->loadModule(package); }),
      "kernel `copy_box`: its code has 14 parameters, 2 of them tensor maps; its description says 13 and 1");
}

} // namespace
