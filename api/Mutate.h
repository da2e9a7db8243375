// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether `heddle check` finds faults in a kernel: its machine code is changed, one instruction at a time, and the
// checks must catch each changed kernel.
#pragma once
#include "api/Check.h"

namespace heddle {

/// A mutant, or several, of which it is known why no check can notice it.
struct EquivalentMutant {
  std::string kind;           ///< empty: of every kind
  std::optional<uint64_t> pc; ///< in the file
  std::string text;           ///< of the instruction, or `FILE:LINE` of its source, when there is no pc
  std::string reason;
  std::string origin; ///< `FILE:LINE`, for messages
};
/// Lines `[KIND] LOCATION: REASON`, where LOCATION is an address, `FILE:LINE` or an instruction; `#` begins a comment.
/// Throws Error{Input} with the line.
std::vector<EquivalentMutant> parseEquivalents(const std::string &text, const std::string &name);

struct MutationKindText {
  std::string name, what;
};
std::vector<MutationKindText> mutationKinds();

struct EquivalenceText {
  std::string name, what;
  bool always = false; ///< for every launch, not for this one alone
};
/// What is shown of survivors, and why such a change makes no difference.
std::vector<EquivalenceText> equivalences();

struct MutateRequest {
  CheckRequest check;
  std::vector<EquivalentMutant> equivalents;
  bool crossCheck = false; ///< ask also of mutants that are caught whether they are equivalent: Error{Internal} if so
};

struct Mutant {
  enum class Fate { Finding, WrongResult, Fault, NoEnd, Survived, NotRun };
  std::string kind;
  uint64_t pc = 0; ///< in the file; 0: the launch is changed, not the code
  std::string before, after, source;
  Fate fate = Fate::NotRun;
  std::string detail; ///< what gave it away: a check's name, an element, an error

  /// Whether a survivor is no fault, and who says so.
  enum class Equivalence {
    Unknown, ///< missed, for all that is known
    Always,  ///< the machine code: no launch can tell it from the good kernel
    Launch,  ///< what the good kernel did in the runs of this launch, and in no other
    Stated,  ///< the request
  };
  Equivalence equivalence = Equivalence::Unknown;
  std::string proof;      ///< its name, when it was shown
  std::string equivalent; ///< why
};

struct MutateResult {
  CheckResult good; ///< mutants are made only when it has no findings and all its runs ended
  size_t executed = 0;
  size_t notReached = 0; ///< instructions that could be changed, between those that ran, and did not run themselves
  std::vector<Mutant> mutants;
  std::vector<std::string> notes; ///< of explanations for what is caught, or did not run

  size_t count(Mutant::Fate fate) const;
  size_t caught() const;
  size_t count(Mutant::Equivalence equivalence) const;
  size_t equivalent() const; ///< survivors that are no fault
  /// Of those that ran and are not equivalent, the part that was caught; 1 when there are none.
  double score() const;
};

/// Throws Error{Input} for an object or arguments that do not fit, and for an explanation that fits no mutant.
MutateResult mutateKernel(const std::string &file, const std::string &name, const MutateRequest &request);

} // namespace heddle
