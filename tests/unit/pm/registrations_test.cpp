// SPDX-License-Identifier: BSD-3-Clause
// Memory of the program that is locked for other ranks: whole pages, registered once for any number
// of locks, which ends with the last unlock; and what cannot be locked.
#include "pm/registrations.hpp"

#include <cstring>
#include <new>
#include <sys/mman.h>
#include <vector>

#include "os/mapping.hpp"

#include "support/refuse_memory.hpp"
#include "unit/pm/pm_node.hpp"

namespace acp::pm::test {
namespace {

using base::Code;

class RegistrationsTest : public testing::Test {
protected:
    // Rank 1 reads a word of rank 0 at this address.
    Code read(memory::GlobalAddress address, std::uint64_t& word) {
        gma::Gma& gma = *node_.ranks[1].gma;
        const memory::GlobalAddress into = gma.space().starter_address(1);
        const base::Status end = gma.wait_for_one(gma.copy(into, address, 8, gma::handle_null));
        std::memcpy(&word, node_.ranks.segment().starter(1), 8);
        return end.code();
    }

    std::uint64_t page_ = os::page_bytes();
    PmNode node_{2};
    Registrations locked_{*node_.ranks[0].gma};
    std::vector<char> memory_ = std::vector<char>(16 * page_);
    // a page's first byte
    char* pages_ =
        memory_.data() + (page_ - reinterpret_cast<std::uintptr_t>(memory_.data()) % page_);
};

TEST_F(RegistrationsTest, memory_is_read_by_others_until_the_last_unlock) {
    const std::uint64_t word = 0x1234'5678'9abc'def0;
    std::memcpy(pages_ + 40, &word, sizeof word);
    const auto first = locked_.lock(pages_ + 40, 8);
    const auto second = locked_.lock(pages_ + 40, 8);
    ASSERT_TRUE(first.is_ok() && second.is_ok());
    EXPECT_EQ(first.value(), second.value()) << "one address, also if it is locked twice";
    std::uint64_t come = 0;
    EXPECT_EQ(read(first.value(), come), Code::ok);
    EXPECT_EQ(come, word);
    EXPECT_TRUE(locked_.unlock(first.value()).is_ok());
    EXPECT_EQ(read(first.value(), come), Code::ok) << "it was locked twice";
    EXPECT_TRUE(locked_.unlock(first.value()).is_ok());
    EXPECT_EQ(read(first.value(), come), Code::stale);
    const base::Status third = locked_.unlock(first.value());
    EXPECT_EQ(third.code(), Code::stale);
    EXPECT_NE(third.message().find("of no memory that is locked"), std::string_view::npos)
        << third.message();
    const auto anew = locked_.lock(pages_ + 40, 8);
    ASSERT_TRUE(anew.is_ok());
    EXPECT_NE(anew.value(), first.value()) << "the old address must not reach the memory again";
    EXPECT_EQ(read(anew.value(), come), Code::ok);
}

TEST_F(RegistrationsTest, memory_within_locked_pages_needs_no_registration_of_its_own) {
    const auto all = locked_.lock(pages_, 4 * page_);
    ASSERT_TRUE(all.is_ok());
    const auto part = locked_.lock(pages_ + page_ + 100, page_);
    ASSERT_TRUE(part.is_ok());
    EXPECT_EQ(part.value(), all.value() + page_ + 100);
    const auto beyond = locked_.lock(pages_ + 3 * page_, page_ + 1);
    ASSERT_TRUE(beyond.is_ok());
    EXPECT_NE(beyond.value(), all.value() + 3 * page_);
    // Any address in the pages names them.
    EXPECT_TRUE(locked_.unlock(all.value() + 4 * page_ - 1).is_ok());
    std::uint64_t word = 0;
    EXPECT_EQ(read(part.value(), word), Code::ok);
    EXPECT_TRUE(locked_.unlock(part.value()).is_ok());
    EXPECT_EQ(read(part.value(), word), Code::stale);
    EXPECT_EQ(read(beyond.value(), word), Code::ok) << "another registration has ended";
    EXPECT_TRUE(locked_.unlock(beyond.value()).is_ok());
}

TEST_F(RegistrationsTest, what_is_no_memory_is_refused_with_its_reason) {
    struct Row {
        void* address;
        std::uint64_t bytes;
        const char* words;
    };

    const std::vector<Row> rows{
        {nullptr, 8, "the address is NULL"},
        {pages_, 0, "the size is 0 bytes"},
        {pages_, ~std::uint64_t{0}, "18446744073709551615 bytes from address 0x"},
        {pages_, 0 - reinterpret_cast<std::uintptr_t>(pages_),
         "beyond the end of the address space"},
    };
    for (const Row& row : rows) {
        const auto locked = locked_.lock(row.address, row.bytes);
        ASSERT_FALSE(locked.is_ok()) << row.words;
        EXPECT_EQ(locked.failure().code(), Code::argument);
        EXPECT_NE(locked.failure().message().find(row.words), std::string_view::npos)
            << locked.failure().message();
    }
    void* const gone =
        ::mmap(nullptr, page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(gone, MAP_FAILED);
    ASSERT_EQ(::munmap(gone, page_), 0);
    EXPECT_EQ(locked_.lock(gone, 8).failure().code(), Code::argument);
    EXPECT_EQ(locked_.unlock(0).code(), Code::stale);
}

TEST_F(RegistrationsTest, many_ranges_come_and_go_in_any_order) {
    std::vector<memory::GlobalAddress> all;
    for (std::uint64_t page = 0; page < 14; ++page) {
        std::memcpy(pages_ + page * page_, &page, sizeof page);
        const auto locked = locked_.lock(pages_ + page * page_, 8);
        ASSERT_TRUE(locked.is_ok()) << locked.failure().message();
        all.push_back(locked.value());
    }
    for (std::uint64_t page = 0; page < all.size(); page += 2)
        EXPECT_TRUE(locked_.unlock(all[page]).is_ok());
    std::uint64_t last = 0;
    for (std::uint64_t page = 0; page < all.size(); ++page) {
        std::uint64_t come = 99;  // the word of rank 1's last read
        EXPECT_EQ(read(all[page], come), page % 2 == 0 ? Code::stale : Code::ok);
        EXPECT_EQ(come, page % 2 == 0 ? last : page);
        last = come;
    }
    for (std::uint64_t page = 1; page < all.size(); page += 2)
        EXPECT_TRUE(locked_.unlock(all[page]).is_ok());
}

TEST_F(RegistrationsTest, without_memory_nothing_is_locked) {
    std::uint64_t refused = 0;
    for (bool is_locked = false; !is_locked;) {
        ASSERT_LT(++refused, 50U);
        try {
            const acp::test::Refusal refusal(refused);
            is_locked = locked_.lock(pages_, 8).is_ok();
        } catch (const std::bad_alloc&) {
        }
    }
    EXPECT_GT(refused, 1U);
    const auto again = locked_.lock(pages_, 8);
    ASSERT_TRUE(again.is_ok());
    EXPECT_TRUE(locked_.unlock(again.value()).is_ok());
    EXPECT_TRUE(locked_.unlock(again.value()).is_ok()) << "the attempts that failed do not count";
    EXPECT_EQ(locked_.unlock(again.value()).code(), Code::stale);
}

}  // namespace
}  // namespace acp::pm::test
