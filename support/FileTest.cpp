// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whole files: round trips, replacement in one step, and errors that name path and reason.
#include "support/File.h"
#include "support/Hash.h"
#include "support/TestError.h"
#include <filesystem>
#include <gtest/gtest.h>

using namespace heddle;
namespace fs = std::filesystem;

namespace {

struct FileTest : testing::Test {
  fs::path folder = fs::temp_directory_path() / ("heddle-file-test-" + std::to_string(::getpid()));
  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }
  std::string at(const char *name) { return (folder / name).string(); }
};

TEST_F(FileTest, RoundTripKeepsEveryByte) {
  std::string bytes(100000, '\0');
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = char(i * 7);
  writeFileAtomically(at("a"), bytes);
  EXPECT_EQ(readFile(at("a")), bytes);
  writeFileAtomically(at("a"), "");
  EXPECT_EQ(readFile(at("a")), "");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1) << "a temporary file stayed";
}

TEST_F(FileTest, MissingFileNamesPathAndReason) {
  Error error = errorOf([&] { readFile(at("none")); });
  EXPECT_EQ(error.kind, ErrorClass::Environment);
  EXPECT_EQ(std::string(error.what()), "cannot read `" + at("none") + "`: No such file or directory");
}

TEST_F(FileTest, FolderIsNoFile) {
  EXPECT_NE(std::string(errorOf([&] { readFile(folder.string()); }).what()).find("Is a directory"), std::string::npos);
  Error error = errorOf([&] { writeFileAtomically(folder.string(), "x"); });
  EXPECT_EQ(error.kind, ErrorClass::Environment);
  EXPECT_NE(std::string(error.what()).find("Is a directory"), std::string::npos);
}

TEST_F(FileTest, UnwritablePathNamesPathAndReason) {
  Error error = errorOf([&] { writeFileAtomically(at("no/such/folder"), "x"); });
  EXPECT_EQ(error.kind, ErrorClass::Environment);
  EXPECT_EQ(std::string(error.what()), "cannot write `" + at("no/such/folder") + "`: No such file or directory");
}

TEST_F(FileTest, LinkKeepsPointing) {
  writeFileAtomically(at("real"), "old");
  fs::create_symlink(at("real"), at("link"));
  writeFileAtomically(at("link"), "new");
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(readFile(at("real")), "new");
}

TEST_F(FileTest, DeviceIsWrittenDirectly) {
  writeFileAtomically("/dev/null", "x");
  EXPECT_FALSE(fs::is_regular_file("/dev/null"));
}

TEST(Hash, IsFixed) { // of the published test vectors: XXH3 of the empty input
  EXPECT_EQ(hashBytes(""), 0x2d06800538d394c2ull);
  EXPECT_EQ(hashHex(""), "2d06800538d394c2");
}

} // namespace
