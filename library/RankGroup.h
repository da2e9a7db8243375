// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a communicator of the C interface is made of: ranks of one host, or of several hosts. What those of several
// hosts do not have is refused here, with what to do instead.
#pragma once
#include "collectives/BundledKernels.h"
#include "collectives/Communicator.h"
#include "collectives/hosts/HostPlan.h"
#include "include/heddle.h"
#include "runtime/HostGroup.h"
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// A collective as a caller asks for it.
struct CollectiveRequest {
  Collective collective;
  std::string algorithm; ///< empty: the plan chooses
  bool isCaptured = false;
  OperandWindows windows;
};

/// An array as a launch takes it.
struct ArrayPlace {
  std::string name, type;
  uint64_t sizeBytes;
  int64_t alignment;
  bool isResult;
};

/// What a group has prepared: it lives as long as the group.
class PreparedCollective {
public:
  virtual ~PreparedCollective() = default;
  /// Into the stream, or the group's own when it is null. `addresses` are those of `arrays`, which have been checked.
  /// Throws Error{Input} where the stream is being captured and the collective was not prepared for that, or the
  /// reverse, and what the communicator's launch throws.
  virtual void launch(const std::vector<uint64_t> &addresses, Stream *stream) = 0;

  std::string name, algorithm;
  int blocks = 0;
  std::vector<ArrayPlace> arrays;
  bool isModule = false;
  Collective collective; ///< of a plain one
};

class RankGroup {
public:
  virtual ~RankGroup() = default;
  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  /// Adds what the group knows of itself.
  virtual void describe(nlohmann::ordered_json &json) const = 0;
  virtual heddle_collective_plan plan(const CollectiveRequest &request) = 0;
  virtual std::unique_ptr<PreparedCollective> prepare(const CollectiveRequest &request) = 0;
  virtual std::unique_ptr<PreparedCollective> prepareModule(std::string_view text, const std::string &name,
                                                            bool captured) = 0;
  virtual Buffer allocate(uint64_t sizeBytes, const std::string &name) = 0;
  virtual Window &registerWindow(uint64_t address, uint64_t sizeBytes, const std::string &name) = 0;
  virtual void deregister(Window &window) = 0;
  virtual void follow(Stream &stream) = 0;
  virtual void mark(Stream &stream) = 0;
  virtual void synchronize() = 0;
  virtual std::optional<Error> failure() = 0;
  virtual std::optional<Error> groupError() const = 0;
  virtual void abort(const std::string &reason) = 0;
  virtual void leave() = 0;
};

struct RankGroupOptions {
  double deadline = 30, setup = 30, prepare = 0; ///< seconds; 0: as setup
  int reservedUnits = 0;
  HostOptions hosts;
  std::optional<HostModel> hostModel; ///< measured when it is not given
  std::shared_ptr<BundledKernels> kernels;
};

/// Collective: of one host when all ranks are on one and none is said to play another. Throws what ProcessGroup,
/// HostSurvey and HostCommunicator throw.
std::unique_ptr<RankGroup> makeRankGroup(Bootstrap &bootstrap, std::shared_ptr<Device> device,
                                         const RankGroupOptions &options);
std::unique_ptr<RankGroup> makeHostsGroup(Bootstrap &bootstrap, std::shared_ptr<Device> device,
                                          const HostSurvey &survey, const RankGroupOptions &options);

/// The input and the output of a plain collective.
std::vector<ArrayPlace> arraysOf(const Collective &collective);

} // namespace heddle
