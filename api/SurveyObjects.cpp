// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the ELF files in folders, reads each on some core, and groups what is refused by its reason.
#include "api/SurveyObjects.h"
#include "api/CheckRuns.h"
#include "api/KernelCode.h"
#include "simulator/analysis/Waits.h"
#include "simulator/decode/Decoder.h"
#include "support/Error.h"
#include "support/File.h"
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <mutex>

namespace heddle {
namespace {

using namespace simulator;
namespace fs = std::filesystem;

/// The message with `...` for what stands in back-ticks and N for numbers.
std::string reasonOf(const std::string &message) {
  std::string reason;
  for (size_t i = 0; i < message.size(); ++i) {
    size_t end = message[i] == '`' ? message.find('`', i + 1) : std::string::npos;
    if (end != std::string::npos) {
      reason += "`...`";
      i = end;
    } else if (std::isdigit(static_cast<unsigned char>(message[i])) &&
               (i == 0 || !std::isalnum(static_cast<unsigned char>(message[i - 1])))) {
      while (i + 1 < message.size() && std::isalnum(static_cast<unsigned char>(message[i + 1])))
        ++i;
      reason += 'N';
    } else
      reason += message[i];
  }
  return reason;
}

void countWaits(const MachineCode &code, SurveyCounts &counts) {
  for (const Wait &wait : analyseWaits(code)) {
    ++counts.waits;
    counts.waitsForNothing += wait.waitsForNothing();
    if (wait.waitsTooLong())
      ++counts.tooLong[infoOf(wait.tooLongClass()).name];
  }
}

void survey(const std::string &file, bool waits, SurveyedObject &made) {
  SurveyCounts &counts = made.counts;
  counts.objects = 1;
  AmdCodeObject object = parseAmdCodeObject(readFile(file), file);
  inspectedChip(object, file);
  for (const AmdKernel &kernel : object.kernels) {
    MachineCode code = readKernelCode(object, kernel);
    ++counts.kernels;
    counts.instructions += code.instructions.size();
    counts.partlyRead += !code.isComplete;
    for (const Instruction &instruction : code.instructions)
      if (!Decoder::isKnown(instruction))
        ++counts.unknown[instruction.mnemonic];
    if (waits)
      countWaits(code, counts);
  }
}

bool isElfFile(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  char magic[4] = {};
  file.read(magic, sizeof magic);
  return file && isElf(std::string_view(magic, sizeof magic));
}

/// The ELF files in a folder and those below it, but for those that may not be read.
void findElfFiles(const std::string &folder, std::vector<std::string> &files) {
  std::error_code failure, unknown;
  std::string at = folder; ///< the folder that is read
  auto entry = fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied, failure);
  for (; !failure && entry != fs::recursive_directory_iterator(); entry.increment(failure)) {
    at = entry->path().string();
    if (entry->is_regular_file(unknown) && isElfFile(entry->path()))
      files.push_back(at);
  }
  if (failure)
    throw environmentError(fmt::format("cannot read folder `{}`: {}", at, failure.message()));
}

} // namespace

void SurveyCounts::add(const SurveyCounts &other) {
  objects += other.objects;
  kernels += other.kernels;
  instructions += other.instructions;
  partlyRead += other.partlyRead;
  waits += other.waits;
  waitsForNothing += other.waitsForNothing;
  for (const auto &[name, count] : other.unknown)
    unknown[name] += count;
  for (const auto &[name, count] : other.tooLong)
    tooLong[name] += count;
}

std::vector<CountClassText> tooLongClasses() {
  std::vector<CountClassText> texts;
  for (unsigned kind = unsigned(CountClass::Larger); kind < countClassCount; ++kind)
    texts.push_back({infoOf(CountClass(kind)).name, infoOf(CountClass(kind)).what});
  return texts;
}

std::vector<std::string> findObjects(const std::vector<std::string> &paths) {
  std::vector<std::string> files;
  for (const std::string &path : paths) {
    std::error_code failure;
    if (!fs::is_directory(path, failure)) {
      if (!fs::exists(path, failure))
        throw inputError(fmt::format("`{}` is no file and no folder", path));
      files.push_back(path);
      continue;
    }
    size_t before = files.size();
    findElfFiles(path, files);
    if (files.size() == before)
      throw inputError(fmt::format("folder `{}` has no code object: none of its files is an ELF file", path));
    std::sort(files.begin() + ptrdiff_t(before), files.end());
  }
  return files;
}

std::vector<SurveyedObject> surveyObjects(const SurveyRequest &request) {
  std::vector<SurveyedObject> made(request.files.size());
  std::mutex progress;
  size_t done = 0;
  runInParallel(made.size(), request.threads, [&](size_t index) {
    made[index].file = request.files[index];
    try {
      survey(request.files[index], request.waits, made[index]);
    } catch (const Error &error) {
      if (error.kind == ErrorClass::Internal)
        throw;
      made[index].error = error.what();
      made[index].reason = reasonOf(error.what());
    }
    std::lock_guard lock(progress);
    ++done;
    if (request.progress)
      request.progress(done, made.size());
  });
  return made;
}

} // namespace heddle
