// SPDX-License-Identifier: BSD-3-Clause
// Copies end at the first byte that cannot be accessed, also within code that is guarded already.
#include "os/guarded_memory.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
#include <vector>

#include "os/mapping.hpp"

#include "support/effort.hpp"

namespace acp::os {
namespace {

constexpr std::uint64_t page = 4096;

class GuardedMemoryTest : public ::testing::Test {
protected:
    void SetUp() override {
        if (test::is_sanitized) GTEST_SKIP() << "the sanitizer takes the signals";
        auto made = FaultGuard::create();
        ASSERT_TRUE(made.is_ok());
        guard_ = std::move(made).value();
        // Three pages that can be written, one that can be read, and one without rights.
        auto mapped = Mapping::map_anonymous(5 * page);
        ASSERT_TRUE(mapped.is_ok());
        mapping_ = std::move(mapped).value();
        for (std::uint64_t i = 0; i < 4 * page; ++i)
            mapping_.data()[i] = static_cast<char>(i % 101);
        ASSERT_EQ(mprotect(mapping_.data() + 3 * page, page, PROT_READ), 0);
        ASSERT_EQ(mprotect(mapping_.data() + 4 * page, page, PROT_NONE), 0);
    }

    [[nodiscard]] std::uint64_t at(std::uint64_t offset) const {
        return reinterpret_cast<std::uintptr_t>(mapping_.data()) + offset;
    }

    std::unique_ptr<FaultGuard> guard_;
    Mapping mapping_;
};

TEST_F(GuardedMemoryTest, reads_up_to_the_first_page_that_cannot_be_read) {
    GuardedMemory memory(*guard_);
    std::vector<char> to(5 * page);
    EXPECT_EQ(memory.copy_in(to.data(), at(0), 4 * page), 4 * page);
    EXPECT_TRUE(std::equal(to.begin(), to.begin() + 4 * page, mapping_.data()));
    EXPECT_EQ(memory.copy_in(to.data(), at(100), 5 * page), 4 * page - 100);
    EXPECT_EQ(to[0], 100);
    EXPECT_EQ(memory.copy_in(to.data(), at(4 * page), 1), 0U);
    for (const std::uint64_t wild : {std::uint64_t{0}, std::uint64_t{16}, std::uint64_t{1} << 50U,
                                     std::uint64_t{1} << 63U, ~std::uint64_t{0}}) {
        EXPECT_EQ(memory.copy_in(to.data(), wild, 8), 0U) << wild;
    }
    EXPECT_EQ(memory.copy_in(to.data(), 0, 0), 0U);
}

TEST_F(GuardedMemoryTest, writes_up_to_the_first_page_that_cannot_be_written) {
    GuardedMemory memory(*guard_);
    const std::vector<char> from(5 * page, 'x');
    EXPECT_EQ(memory.copy_out(at(page), from.data(), 5 * page), 2 * page);
    EXPECT_EQ(mapping_.data()[page - 1], static_cast<char>((page - 1) % 101));
    EXPECT_EQ(std::count(mapping_.data() + page, mapping_.data() + 3 * page, 'x'), 2 * page);
    EXPECT_EQ(memory.copy_out(16, from.data(), 8), 0U);
}

TEST_F(GuardedMemoryTest, finds_what_can_be_written_and_changes_nothing) {
    GuardedMemory memory(*guard_);
    const std::string before(mapping_.data(), 4 * page);
    EXPECT_EQ(memory.writable(at(10), 5 * page), 3 * page - 10);
    EXPECT_EQ(memory.writable(at(10), 20), 20U);
    EXPECT_EQ(memory.writable(at(3 * page), 1), 0U);
    EXPECT_EQ(std::string(mapping_.data(), 4 * page), before);
}

TEST_F(GuardedMemoryTest, leaves_the_guard_of_the_code_around_it) {
    struct Inside {
        FaultGuard& guard;
        std::uint64_t got = 1;
    } inside{*guard_};

    const auto body = [](void* argument) noexcept {
        auto& in = *static_cast<Inside*>(argument);
        std::array<char, 8> to{};
        in.got = GuardedMemory(in.guard).copy_in(to.data(), 16, 8);
        static volatile char* volatile nowhere = nullptr;
        *nowhere = 1;
    };
    for (int i = 0; i < 3; ++i) {
        inside.got = 1;
        EXPECT_EQ(guard_->run(body, &inside), SIGSEGV);
        EXPECT_EQ(inside.got, 0U);
    }
}

}  // namespace
}  // namespace acp::os
