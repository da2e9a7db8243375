// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What libfmt.so defines, from its headers: Debian has no archive of it, and a library for users may not need a shared
// one. The dev preset's objects ask for these functions; a release is compiled against the header-only form.
#include <fmt/format-inl.h>

template auto fmt::detail::thousands_sep_impl(fmt::detail::locale_ref) -> fmt::detail::thousands_sep_result<char>;
template char fmt::detail::decimal_point_impl(fmt::detail::locale_ref);
