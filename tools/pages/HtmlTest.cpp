// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pages and charts stay well formed whatever the texts and numbers are.
#include "tools/pages/Html.h"
#include "tools/pages/Chart.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

using namespace heddle;
using testing::HasSubstr;
using testing::Not;

namespace {

TEST(Html, BackTicksOfProseAreCode) {
  HtmlPage page("page");
  page.paragraph("`a < b` and `c");
  page.table({{"x"}, {"see `--waits`"}});
  EXPECT_NE(page.text().find("<p><code>a &lt; b</code> and `c</p>"), std::string::npos);
  EXPECT_NE(page.text().find("see <code>--waits</code></td>"), std::string::npos);
}

TEST(Html, EscapesWhatHtmlReads) {
  EXPECT_EQ(escapeHtml("a < b && c > \"d\" '"), "a &lt; b &amp;&amp; c &gt; &quot;d&quot; &#39;");
  EXPECT_EQ(escapeHtml("tab\tand\nline"), "tab\tand\nline");
}

TEST(Html, KeepsUtf8AndReplacesTheRest) {
  EXPECT_EQ(escapeHtml("µ € 𝄞"), "µ € 𝄞");
  const std::string replaced = "\xef\xbf\xbd";
  EXPECT_EQ(escapeHtml("\x01"), replaced);
  EXPECT_EQ(escapeHtml("\xc0\xaf"), replaced + replaced);                // overlong
  EXPECT_EQ(escapeHtml("\xed\xa0\x80"), replaced + replaced + replaced); // a surrogate
  EXPECT_EQ(escapeHtml("\xf4\x90\x80\x80").size(), 4 * replaced.size()); // above U+10FFFF
  EXPECT_EQ(escapeHtml("\xe2\x82"), replaced + replaced);                // cut
}

TEST(Html, AlignsColumnsOfNumbers) {
  HtmlPage page("a");
  page.table({{"name", "us"}, {"x", "1.25"}, {"2", "-3"}});
  EXPECT_THAT(page.text(), HasSubstr("<tr><td>x</td><td class=\"number\">1.25</td></tr>"));
  page.table({{"a", "b"}, {"1", ""}, {"", ""}});
  EXPECT_THAT(page.text(), HasSubstr("<tr><td class=\"number\">1</td><td></td></tr>"));
}

TEST(Chart, OneSizeAndEqualValuesHaveAnAxis) {
  SizeChart chart{"t", "s", "f", {{"Heddle", {{1024, 2.5}}}}};
  std::string svg = svgFile({draw(chart)});
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
  EXPECT_THAT(svg, HasSubstr("<title>Heddle: 1K, 2.5</title>"));
}

TEST(Chart, LeavesOutWhatALogarithmCannotShow) {
  SizeChart chart{"t", "s", "f", {{"Heddle", {{0, 1}, {1024, 0}, {2048, 3}}}}};
  std::string svg = svgFile({draw(chart)});
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
  EXPECT_THAT(svgFile({draw(SizeChart{"t", "s", "f", {}})}), Not(HasSubstr("nan")));
}

TEST(Chart, LegendsThatAreWideHaveTwoRows) {
  SizeChart chart{"t", "s", "f", {}};
  for (unsigned i = 0; i < 4; ++i)
    chart.series.push_back({"the name of a library, out of place", {{1024, 1}}, i});
  double height = draw(chart).height;
  chart.series.resize(2);
  EXPECT_GT(height, draw(chart).height);
}

TEST(Chart, BarsOfNothing) {
  std::string svg = svgFile({draw(BarChart{"t", "s", "f", {"a"}, {{"x", {0}}}, {}, ""})});
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, HasSubstr(">0</text>"));
}

TEST(Chart, MarksBothAccesses) {
  StepChart chart{"l", {"wave 0", "wave 1"}, {{0, "LDS", "a", 1, false}, {1, "LDS", "b", 2, true}}};
  std::string svg = svgFile({draw(chart)});
  EXPECT_THAT(svg, HasSubstr("var(--first)"));
  EXPECT_THAT(svg, HasSubstr("var(--second)"));
  EXPECT_THAT(svg, HasSubstr("var(--kind-LDS)"));
}

} // namespace
