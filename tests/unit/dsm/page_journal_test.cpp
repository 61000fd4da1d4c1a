// SPDX-License-Identifier: BSD-3-Clause
// The journals of ranks lie apart, and their entries have the step and the page of each copy.
#include "dsm/page_journal.hpp"

#include <array>
#include <gtest/gtest.h>
#include <vector>

namespace acp::dsm {
namespace {

struct alignas(pages::page_bytes) Page {
    std::array<std::byte, pages::page_bytes> bytes{};
};

TEST(PageJournal, has_an_entry_and_a_copy_for_each_page_of_each_rank) {
    std::vector<Page> memory(3 * PageJournal::bytes / pages::page_bytes);
    const PageJournals journals(memory.front().bytes.data(), 3);
    const pages::PageNumber last = (std::uint64_t{1} << 40) - 1;
    for (std::uint32_t slot = 0; slot < journals.ranks(); ++slot) {
        const PageJournal journal = journals.of(slot);
        for (std::size_t i = 0; i < PageJournal::pages_max; ++i) {
            EXPECT_EQ(journal.read(i).step, JournalStep::none);
            for (std::byte& byte : journal.copy(i)) byte = static_cast<std::byte>(slot * 8 + i);
            journal.begin(i, i % 2 == 0 ? JournalStep::sending : JournalStep::merging,
                          i == 7 ? last : slot * 10 + i);
        }
    }
    for (std::uint32_t slot = 0; slot < journals.ranks(); ++slot) {
        const PageJournal journal = journals.of(slot);
        for (std::size_t i = 0; i < PageJournal::pages_max; ++i) {
            EXPECT_EQ(journal.read(i).step,
                      i % 2 == 0 ? JournalStep::sending : JournalStep::merging);
            EXPECT_EQ(journal.read(i).page, i == 7 ? last : slot * 10 + i);
            EXPECT_EQ(journal.copy(i)[0], static_cast<std::byte>(slot * 8 + i));
            EXPECT_EQ(journal.copy(i)[4095], static_cast<std::byte>(slot * 8 + i));
            journal.end(i);
            EXPECT_EQ(journal.read(i).step, JournalStep::none);
        }
    }
}

}  // namespace
}  // namespace acp::dsm
