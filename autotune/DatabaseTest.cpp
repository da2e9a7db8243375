// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The database and its text: what survives, what is refused and then untouched.
#include "autotune/Exchange.h"
#include "autotune/FakeClock.h"
#include "support/File.h"
#include "support/TestError.h"
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace heddle::autotune {
namespace {

/// A folder of this test, removed at its end.
struct Folder {
  Folder() {
    char name[] = "/tmp/heddle-tuning-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string file(const std::string &name) const { return path + "/" + name; }
  std::string path;
};

TunedResult sampleResult(const std::string &extents = "M=64", const std::string &when = "2026-11-27T10:00:00Z") {
  return {fakeKey(extents), {{"warps", "4"}, {"block", "64"}}, 12.3456789, 15.5, 0.2, 0.01, 20, when, "measured"};
}

TEST(Database, results_and_measurements_survive) {
  Folder folder;
  std::string path = folder.file("new/folders/tuning.sqlite");
  {
    Database database(path);
    Journal journal = database.openJournal(fakeKey(), "settings");
    journal.add("screening", 0, "default", 0.1 + 0.2);
    journal.addFailure("block=1", {"compile", "no"});
    journal.setMark("screened", "7");
    EXPECT_FALSE(journal.isResumed);
  }
  Database database(path);
  Journal journal = database.openJournal(fakeKey(), "settings");
  EXPECT_TRUE(journal.isResumed);
  EXPECT_EQ(journal.find("screening", 0, "default"), 0.1 + 0.2); // every digit
  EXPECT_FALSE(journal.find("screening", 1, "default"));
  EXPECT_EQ(journal.failures().at("block=1").reason, "no");
  EXPECT_EQ(journal.mark("screened"), "7");
  EXPECT_FALSE(database.find(fakeKey()));
  database.finish(journal, sampleResult());
  EXPECT_EQ(textOf(database.find(fakeKey())->configuration), "block=64,warps=4");
  std::string settings;
  EXPECT_TRUE(database.finishedJournal(fakeKey(), settings));
  EXPECT_EQ(settings, "settings");
  EXPECT_FALSE(database.openJournal(fakeKey(), "settings").isResumed); // a finished search is not resumed
}

TEST(Database, other_settings_begin_anew) {
  Database database(":memory:");
  database.openJournal(fakeKey(), "seed 1").add("screening", 0, "default", 1);
  EXPECT_FALSE(database.openJournal(fakeKey(), "seed 2").isResumed);
  EXPECT_FALSE(database.openJournal(fakeKey(), "seed 1").isResumed); // forgotten
}

TEST(Database, a_killed_process_loses_nothing) {
  Folder folder;
  std::string path = folder.file("tuning.sqlite");
  constexpr int count = 5;
  pid_t child = ::fork();
  if (child == 0) {
    Database database(path);
    Journal journal = database.openJournal(fakeKey(), "settings");
    for (int i = 0; i < count; ++i)
      journal.add("screening", i, "default", i + 1);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  Database database(path);
  EXPECT_EQ(database.openJournal(fakeKey(), "settings").measurementCount(), size_t(count));
}

TEST(Database, a_crash_is_assigned_when_it_comes_again) {
  Database database(":memory:");
  Journal first = database.openJournal(fakeKey(), "settings");
  first.setAttempt("block=1");
  database.noteCrash(::getpid() + 1, "signal 11"); // another process
  EXPECT_FALSE(database.openJournal(fakeKey(), "settings").isCareful());
  database.noteCrash(::getpid(), "signal 11");
  Journal second = database.openJournal(fakeKey(), "settings");
  EXPECT_TRUE(second.isCareful());
  EXPECT_TRUE(second.failures().empty()); // others were compiled at the same time
  database.noteCrash(::getpid(), "signal 11");
  EXPECT_TRUE(database.openJournal(fakeKey(), "settings").failures().empty()); // between attempts
  second.setAttempt("block=2");
  database.noteCrash(::getpid(), "signal 11");
  EXPECT_EQ(database.openJournal(fakeKey(), "settings").failures().at("block=2").reason, "signal 11");
}

/// Bytes that a test writes stay as they are when they are refused.
void expectRefused(const std::string &path, const std::string &message) {
  std::string before = readFile(path);
  Error error = errorOf([&] { Database database(path); });
  EXPECT_EQ(error.kind, ErrorClass::Input);
  EXPECT_CONTAINS(error.what(), message);
  EXPECT_CONTAINS(error.notes.at(0), "it was left as it is");
  EXPECT_EQ(readFile(path), before);
}

TEST(Database, what_is_no_database_is_refused) {
  Folder folder;
  writeFileAtomically(folder.file("text"), std::string(5000, 'x'));
  expectRefused(folder.file("text"), "is damaged, or no database");
}

TEST(Database, a_damaged_one_is_refused) {
  Folder folder;
  std::string path = folder.file("tuning.sqlite");
  {
    Database database(path);
    Journal journal = database.openJournal(fakeKey(), "settings");
    for (int i = 0; i < 500; ++i)
      journal.add("screening", i, "block=" + std::to_string(i), i + 1);
  }
  std::string bytes = readFile(path);
  ASSERT_GT(bytes.size(), 20000u);
  for (size_t i = 5000; i < 15000; ++i)
    bytes[i] = char(i * 7);
  writeFileAtomically(path, bytes);
  expectRefused(path, "is damaged");
  writeFileAtomically(path, bytes.substr(0, 6000)); // cut off
  expectRefused(path, "is damaged");
}

TEST(Database, a_newer_one_is_refused) {
  Folder folder;
  std::string path = folder.file("tuning.sqlite");
  {
    Database database(path);
  }
  Sqlite(path).run("PRAGMA user_version = 2");
  expectRefused(path, "has format 2, and this heddle reads format 1");
}

TEST(Database, another_programs_is_refused) {
  Folder folder;
  std::string path = folder.file("tuning.sqlite");
  Sqlite(path).run("CREATE TABLE mine (x INTEGER)");
  expectRefused(path, "is a database of another program");
}

TEST(Database, one_that_cannot_be_written) {
  EXPECT_CONTAINS(messageOf([] { Database database("/proc/heddle/tuning.sqlite"); }), "cannot make the folder");
  EXPECT_EQ(Database::openExisting("/proc/heddle/tuning.sqlite"), nullptr);
}

TEST(Database, merging_takes_what_is_new_or_later) {
  Database database(":memory:");
  EXPECT_EQ(database.merge({sampleResult("M=1"), sampleResult("M=2")}), 2u);
  TunedResult later = sampleResult("M=1", "2026-11-28T10:00:00Z"),
              earlier = sampleResult("M=2", "2026-11-26T10:00:00Z");
  later.configuration = earlier.configuration = {};
  EXPECT_EQ(database.merge({later, earlier, sampleResult("M=3")}), 2u);
  EXPECT_EQ(textOf(database.find(fakeKey("M=1"))->configuration), "default");
  EXPECT_EQ(textOf(database.find(fakeKey("M=2"))->configuration), "block=64,warps=4");
  EXPECT_EQ(database.results().size(), 3u);
}

TEST(Database, forgetting) {
  Database database(":memory:");
  database.merge({sampleResult("M=1"), sampleResult("M=2")});
  EXPECT_EQ(database.forget(fakeKey("M=1").id()), 1u);
  EXPECT_CONTAINS(messageOf([&] { database.forget("zz"); }), "has no key `zz`");
  EXPECT_EQ(database.forget("all"), 1u);
  EXPECT_TRUE(database.results().empty());
}

TEST(Exchange, what_is_exported_is_imported) {
  std::string text = exportText({sampleResult("M=100"), sampleResult("M=9")});
  EXPECT_LT(text.find("M=9"), text.find("M=100")); // by number
  std::vector<TunedResult> results = importText("# a comment\n\n" + text, "file", "imported");
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].key, fakeKey("M=9"));
  EXPECT_EQ(results[0].configuration, sampleResult().configuration);
  EXPECT_EQ(results[0].origin, "imported");
  EXPECT_NEAR(results[0].microseconds, 12.3457, 1e-9);
  EXPECT_EQ(exportText(results), text);
}

TEST(Exchange, what_is_refused) {
  std::string head = "{\"kind\":\"heddle-tuning-results\",\"format\":1}\n", line = lineOf(sampleResult());
  auto refusal = [&](const std::string &text) { return messageOf([&] { importText(text, "file", "imported"); }); };
  auto changed = [&](const std::string &from, const std::string &to) {
    std::string text = line;
    text.replace(text.find(from), from.size(), to);
    return refusal(head + text);
  };
  EXPECT_CONTAINS(refusal(""), "file: no tuning results");
  EXPECT_CONTAINS(refusal("{}\n"), "file:1: error: these are no tuning results");
  EXPECT_CONTAINS(refusal("{\"kind\":\"heddle-tuning-results\",\"format\":2}\n"),
                  "file:1: error: the results have format 2, and this heddle reads format 1");
  EXPECT_CONTAINS(refusal(head + "nonsense"), "file:2: error: no JSON object in `nonsense`");
  EXPECT_CONTAINS(changed("\"gain\"", "\"gian\""), "file:2: error: a result has no field `gian`");
  EXPECT_CONTAINS(changed("\"rounds\":20", "\"rounds\":\"many\""), "the field `rounds` is missing or of another type");
  EXPECT_CONTAINS(changed("\"chip\"", "\"chips\""),
                  "file:2: error: a tuning key has no part `chips`\nthe closest is `chip`");
  EXPECT_CONTAINS(changed("\"chip\":\"host\",", ""), "file:2: error: a tuning key lacks `chip`");
  EXPECT_CONTAINS(changed("\"host\"", "\"\""), "file:2: error: the part `chip` of a tuning key is empty");
  EXPECT_CONTAINS(changed("block=64", "block"), "file:2: error: `block,warps=4` is no configuration");
  EXPECT_CONTAINS(changed("warps=4", "block=4"), "it has `block` twice");
}

} // namespace
} // namespace heddle::autotune
