// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Many code objects at once: which of them can be read, which instructions the simulator does not know, and how many of
// their waits are too long. The work is distributed over the cores.
#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace heddle {

/// Sums over the kernels of one object, or of all.
struct SurveyCounts {
  size_t objects = 0, kernels = 0, instructions = 0;
  size_t partlyRead = 0;                 ///< kernels in which not all code can be followed
  std::map<std::string, size_t> unknown; ///< instructions that the simulator does not have, by mnemonic
  size_t waits = 0, waitsForNothing = 0;
  std::map<std::string, size_t> tooLong; ///< waits that are, by class (InspectedWait::tooLongClass)

  void add(const SurveyCounts &other);
};

struct SurveyedObject {
  std::string file;
  std::string error, reason; ///< why it cannot be read: the message, and the message without names and numbers
  SurveyCounts counts;       ///< of the kernels that were read before an error, too
};

struct SurveyRequest {
  std::vector<std::string> files;
  bool waits = false;                                    ///< analyse them
  unsigned threads = 0;                                  ///< 0: one for each core
  std::function<void(size_t done, size_t all)> progress; ///< called on any thread, one call at a time
};

struct CountClassText {
  std::string name, what;
};
/// The classes of waits that are too long.
std::vector<CountClassText> tooLongClasses();

/// The files themselves, and of folders all ELF files in them, also in folders within; by name. Throws Error{Input} for
/// a path that is neither, and for a folder that has none.
std::vector<std::string> findObjects(const std::vector<std::string> &paths);

/// In the order of the files.
std::vector<SurveyedObject> surveyObjects(const SurveyRequest &request);

} // namespace heddle
