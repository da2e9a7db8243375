// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An open file, socket or memory file of this process, closed with its object.
#pragma once
#include <unistd.h>
#include <utility>

namespace heddle {

class FileDescriptor {
public:
  FileDescriptor() = default;
  explicit FileDescriptor(int number) : number(number) {}
  FileDescriptor(FileDescriptor &&other) noexcept : number(std::exchange(other.number, -1)) {}
  FileDescriptor &operator=(FileDescriptor &&other) noexcept {
    if (this != &other)
      reset(std::exchange(other.number, -1));
    return *this;
  }
  ~FileDescriptor() { reset(); }

  int get() const { return number; }
  explicit operator bool() const { return number >= 0; }
  int release() { return std::exchange(number, -1); }
  void reset(int other = -1) noexcept {
    if (number >= 0)
      ::close(number);
    number = other;
  }

private:
  int number = -1;
};

} // namespace heddle
