// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which survivors of `heddle mutate` are no fault: what the machine code shows, or the runs of the good kernel. What
// cannot be shown is left as it is.
#pragma once
#include "api/CheckRuns.h"
#include "api/Mutate.h"
#include "simulator/mutations/LaunchFacts.h"

namespace heddle {

AmdSegment &codeOf(AmdCodeObject &object);
/// The object with one instruction changed.
AmdCodeObject mutate(const AmdCodeObject &object, const simulator::MutantSite &site);
/// Of the plan's run `choice`; a mutant may take so much longer than the good kernel.
simulator::SimulationOptions optionsOfMutant(const SimulatedKernel &kernel, const CheckedRuns &runs, size_t choice);

/// Says of survivors why they are equivalent, as far as the time reaches. `mutants` are those of `sites`; `runs` are
/// the good kernel's.
void findEquivalents(const SimulatedKernel &kernel, const CheckedRuns &runs,
                     const std::vector<simulator::MutantSite> &sites, const MutateRequest &request,
                     const Deadline &deadline, std::vector<Mutant> &mutants);

} // namespace heddle
