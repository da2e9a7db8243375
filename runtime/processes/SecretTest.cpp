// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files with every fault that makes a secret none, and that random bytes differ.
#include "runtime/processes/Secret.h"
#include "support/File.h"
#include "support/TestError.h"
#include <cstdlib>
#include <filesystem>
#include <sys/stat.h>

namespace heddle {
namespace {

class Secrets : public testing::Test {
protected:
  ~Secrets() override {
    ::unsetenv("HEDDLE_SECRET");
    ::unsetenv("HEDDLE_SECRET_FILE");
    std::filesystem::remove(path);
  }
  void write(const std::string &text, mode_t mode) {
    writeFileAtomically(path, text);
    ::chmod(path.c_str(), mode);
    ::setenv("HEDDLE_SECRET_FILE", path.c_str(), 1);
  }
  const std::string path =
      (std::filesystem::temp_directory_path() / ("heddle-secret-" + hexText(randomBytes(8)))).string();
};

TEST_F(Secrets, AreOptional) {
  EXPECT_EQ(readSecret(), "");
}

TEST_F(Secrets, OfAFileComeFirst) {
  ::setenv("HEDDLE_SECRET", "sixteen bytes of environment", 1);
  EXPECT_EQ(readSecret(), "sixteen bytes of environment");
  write("sixteen bytes of a file\n", 0600);
  EXPECT_EQ(readSecret(), "sixteen bytes of a file");
}

TEST_F(Secrets, OfAFileThatOthersReadAreRefused) {
  write("sixteen bytes of a file\n", 0640);
  std::string message = messageOf(readSecret);
  EXPECT_CONTAINS(message, "has mode 0640");
  EXPECT_CONTAINS(message, "it must have mode 0600");
  EXPECT_EQ(message.find("sixteen"), std::string::npos);
}

TEST_F(Secrets, HaveALength) {
  write("short\n", 0600);
  std::string message = messageOf(readSecret);
  EXPECT_CONTAINS(message, "has 5 bytes, it has 16 to 4096");
  EXPECT_EQ(message.find("short"), std::string::npos);
  write("\n", 0600);
  EXPECT_CONTAINS(messageOf(readSecret), "has 0 bytes, it has 16 to 4096");
}

TEST_F(Secrets, RandomBytesDiffer) {
  EXPECT_EQ(randomBytes(32).size(), 32u);
  EXPECT_NE(randomBytes(32), randomBytes(32));
}

} // namespace
} // namespace heddle
