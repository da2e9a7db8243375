// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A point in a stream: something to wait for, and a time.
#pragma once

namespace heddle {

/// Stream::record puts it into a stream; recording again moves it. One never recorded counts as reached.
class Event {
public:
  virtual ~Event();

  virtual bool query() const = 0;       ///< has everything before the latest record run?
  virtual void synchronize() const = 0; ///< blocks until it has; errors stay with the stream

  /// Milliseconds from `start` to this event. Throws Error{Input} when one of them was not recorded or not reached.
  virtual double millisecondsSince(const Event &start) const = 0;
};

} // namespace heddle
