// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A table of expressions by rule, tried in order.
#include "tests/gluon_programs/Rules.h"
#include <regex>
#include <utility>
#include <vector>

namespace heddle::gluon_programs {

/// Each message has both values, or the operation, where these expressions have something else than words.
static const std::vector<std::pair<const char *, const char *>> rules = {
    {"G1", "`\\w+` has -?\\d+, which is no power of two"},
    {"G2", "`order` is \\[.*\\] for \\d+ axes"},
    {"G4", "slice dim \\d+ of a layout of \\d+ axes"},
    {"G6", "kWidth is \\d+ for results in"},
    {"G10", "two bits of registers, lanes and warps move along axis \\d+ by \\d+"},
    {"G11", "\\d+ elements of padding after \\d+"},
    {"V6", "padding for \\S+ in a memory object of"},
    {"V7", "moves \\S+ elements of \\S+ to or from a memory object of"},
    {"V8", "makes an immutable memory object with nothing in it"},
    {"V9", "writes to an immutable memory object"},
    {"V10", "takes a slot of .* (out of|whose layout is of all its axes)"},
    {"V12", "takes elements \\d+ to \\d+ of axis \\d+, which has \\d+"},
    {"V22", "makes .*: the elements of the two lie in other places"},
    {"V13", "'ttg.memdesc_trans' makes .* of"},
    {"V14", "'ttg.memdesc_reshape' makes .* of"},
    {"V16", "'ttg.convert_layout' makes .* of"},
    {"F1", "accesses elements of \\S+ through a pointer to"},
    {"F4", "has kind '\\w+' for elements of"},
    {"S23", "multiplies .* with an instruction of"},
    {"K1", "takes slot -?\\d+ of a ring of \\d+: they are numbered from 0 to"},
    {"K2", "needs \\d+ bytes .*the chip has \\d+ for a block"},
    {"K3", "the offsets of a layout of shared memory are not the elements, one to one"},
    {"K9", "bytes of shared memory that .* (writes|reads) before: .* missing between them"},
    {"K4", "is of \\d+ warps of \\d+ threads, the module of \\d+ of \\d+"},
    {"K5", "does not cover what it reaches|leaves some of them to no thread"},
    {"K6", "has no matrix instruction of \\d+x\\d+x\\d+"},
    {"K7", "the operands have `#ttg.dot_op` of the result's layout|both are alike, and K is"},
    {"K8", "copies (a tile|elements) of .* to"},
    {"types", "expects different type than prior uses"},
};

std::string ruleOf(const std::string &message) {
  std::smatch named;
  if (std::regex_search(message, named, std::regex("\\(rule (W\\d)\\)")))
    return named[1];
  for (const auto &[rule, words] : rules)
    if (std::regex_search(message, std::regex(words)))
      return rule;
  return "";
}

} // namespace heddle::gluon_programs
