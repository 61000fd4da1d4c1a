// SPDX-License-Identifier: BSD-3-Clause
// Places of calls in a program that contains the library, as this test does.
#include "os/call_site.hpp"

#include <gtest/gtest.h>
#include <set>
#include <string>

namespace acp::os {
namespace {

// A call of the library.
[[gnu::noinline]] CallSite call() {
    CallSite site = find_call_site();
    EXPECT_NE(site.identity, 0U);
    return site;
}

TEST(CallSiteTest, a_place_in_a_loop_is_one_place) {
    std::set<std::uintptr_t> places;
    for (int i = 0; i < 3; ++i) places.insert(call().identity);
    EXPECT_EQ(places.size(), 1U);
}

TEST(CallSiteTest, two_calls_of_one_function_are_two_places) {
    const CallSite first = call();
    const CallSite second = call();
    EXPECT_NE(first.identity, second.identity);
    EXPECT_NE(first.text, second.text);
}

TEST(CallSiteTest, the_text_gives_the_program_to_addr2line) {
    const std::string text = call().text;
    EXPECT_NE(text.find("unit_os (addr2line -fe "), std::string::npos) << text;
    EXPECT_NE(text.find("unit_os 0x"), std::string::npos) << text;
}

}  // namespace
}  // namespace acp::os
