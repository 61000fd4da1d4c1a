// SPDX-License-Identifier: BSD-3-Clause
// One page and several pages in messages.
#include "pages/page_text.hpp"

#include <gtest/gtest.h>

namespace acp::pages {
namespace {

TEST(PageText, counts_one_page_and_several) {
    EXPECT_EQ(in_pages(0), "0 pages");
    EXPECT_EQ(in_pages(1), "1 page");
    EXPECT_EQ(in_pages(2), "2 pages");
}

TEST(PageText, names_one_page_and_the_ends_of_several) {
    EXPECT_EQ(pages_named(7, 1), "page 7");
    EXPECT_EQ(pages_named(7, 3), "pages 7 to 9");
}

}  // namespace
}  // namespace acp::pages
