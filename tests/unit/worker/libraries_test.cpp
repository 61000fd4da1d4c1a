// SPDX-License-Identifier: BSD-3-Clause
// Libraries of a worker have numbers of their own; wrong numbers, paths and names find nothing.
#include "worker/libraries.hpp"

#include <gtest/gtest.h>
#include <string>

namespace acp::worker {
namespace {

TEST(WorkerLibraries, find_symbols_by_the_number_of_their_library) {
    Libraries libraries;
    auto loaded = libraries.load(ACP_TEST_DEVICE_FUNCTIONS);
    ASSERT_TRUE(loaded.is_ok());
    const std::uint64_t library = loaded.value();
    EXPECT_EQ(library, 1U);
    const std::uint64_t add = libraries.find(library, "add");
    ASSERT_NE(add, 0U);
    EXPECT_EQ(reinterpret_cast<std::int64_t (*)(std::int64_t, std::int64_t)>(add)(40, 2), 42);
    EXPECT_EQ(libraries.find(library, "no_such_symbol"), 0U);
    EXPECT_EQ(libraries.find(library + 1, "add"), 0U);
}

TEST(WorkerLibraries, have_the_program_and_what_it_was_linked_with_at_number_0) {
    Libraries libraries;
    const std::uint64_t absolute = libraries.find(0, "labs");
    ASSERT_NE(absolute, 0U);
    EXPECT_EQ(reinterpret_cast<long (*)(long)>(absolute)(-42), 42);
    EXPECT_EQ(libraries.load(ACP_TEST_DEVICE_FUNCTIONS).value(), 1U);
    EXPECT_EQ(libraries.find(0, "add"), 0U) << "a symbol of another library";
    EXPECT_FALSE(libraries.unload(0));
}

TEST(WorkerLibraries, have_numbers_that_are_never_used_again) {
    Libraries libraries;
    EXPECT_EQ(libraries.load(ACP_TEST_DEVICE_FUNCTIONS).value(), 1U);
    EXPECT_EQ(libraries.load(ACP_TEST_DEVICE_FUNCTIONS).value(), 2U) << "loaded twice";
    EXPECT_TRUE(libraries.unload(1));
    EXPECT_FALSE(libraries.unload(1));
    EXPECT_EQ(libraries.find(1, "add"), 0U);
    EXPECT_NE(libraries.find(2, "add"), 0U);
    EXPECT_TRUE(libraries.unload(2));
    EXPECT_EQ(libraries.load(ACP_TEST_DEVICE_FUNCTIONS).value(), 3U);
}

TEST(WorkerLibraries, report_in_the_loaders_words_what_cannot_be_loaded) {
    Libraries libraries;
    auto refused = libraries.load("/no/such/library.so");
    ASSERT_FALSE(refused.is_ok());
    EXPECT_NE(std::string(refused.failure().message()).find("/no/such/library.so"),
              std::string::npos);
    EXPECT_EQ(libraries.load(ACP_TEST_DEVICE_FUNCTIONS).value(), 1U) << "a failure has no number";
}

TEST(WorkerLibraries, keep_one_copy_of_a_library_that_is_loaded_twice) {
    Libraries libraries;
    const std::uint64_t first = libraries.load(ACP_TEST_DEVICE_FUNCTIONS).value();
    const std::uint64_t second = libraries.load(ACP_TEST_DEVICE_FUNCTIONS).value();
    EXPECT_NE(first, second);
    EXPECT_EQ(libraries.find(first, "add"), libraries.find(second, "add")) << "as dlopen does";
}

}  // namespace
}  // namespace acp::worker
