// SPDX-License-Identifier: BSD-3-Clause
// The inline path: the accesses that it makes at once, and the cases in which it makes none: order
// not satisfied, memory not mapped here, wild or dead addresses, too long, unaligned words, closed.
// One thread, one rank's view.
#include "gma/inline_access.hpp"

#include <array>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>

#include "unit/local/test_owner.hpp"

namespace acp::gma::test {
namespace {

using memory::Operation;

constexpr auto fence = memory::HazardFence::processor;
constexpr Handle open_floor = 9;

class InlineAccessTest : public testing::Test {
protected:
    InlineAccessTest() {
        fast_.view = owner_.space.view();
        fast_.view.inline_bytes_max = 4096;
        fast_.slots = &owner_.segment.slot(0);
        fast_.marks.order_floor.store(open_floor);
        fast_.marks.inline_handle.store(open_floor + 4);
        std::memset(target(), 't', 8192);
        std::memset(source(), 's', 8192);
        line_ = owner_.hazards.own_line();
    }

    [[nodiscard]] char* target() const { return owner_.segment.starter(1); }

    [[nodiscard]] char* source() const { return owner_.segment.starter(0); }

    [[nodiscard]] GlobalAddress target_address() const { return owner_.space.starter_address(1); }

    [[nodiscard]] GlobalAddress source_address() const { return owner_.space.starter_address(0); }

    Handle copy(GlobalAddress to, GlobalAddress from, std::uint64_t bytes, Handle order = 0) {
        return copy_inline<fence>(fast_, *line_, {to, from}, bytes, order, decline_);
    }

    void expect_untouched() const {
        EXPECT_EQ(std::string(target(), 8192), std::string(8192, 't'));
        EXPECT_EQ(std::string(source(), 8192), std::string(8192, 's'));
    }

    node::Segment node_ = local::test::make_node(2, 2);
    local::test::Owner other_{node_, 1};
    local::test::Owner owner_{node_, 0};
    FastPath fast_;
    memory::HazardLine* line_ = nullptr;
    int declined_ = 0;
    std::function<Handle()> decline_ = [this] {
        ++declined_;
        return handle_null;
    };
};

TEST_F(InlineAccessTest, copies_at_once_counts_and_leaves) {
    std::uint64_t bytes_moved = 0;
    std::uint64_t commands = 0;
    for (const std::uint64_t bytes : {0U, 1U, 4U, 8U, 15U, 16U, 32U, 33U, 64U, 65U, 4095U, 4096U}) {
        std::memset(target(), 't', 8192);
        EXPECT_EQ(copy(target_address() + 3, source_address() + 5, bytes), open_floor + 4);
        EXPECT_EQ(std::string(target(), 8192),
                  "ttt" + std::string(bytes, 's') + std::string(8189 - bytes, 't'));
        bytes_moved += bytes;
        EXPECT_EQ(line_->target.load(), 0U);
        EXPECT_EQ(line_->commands.load(), ++commands);
        EXPECT_EQ(line_->bytes.load(), bytes_moved);
    }
}

TEST_F(InlineAccessTest, leaves_what_is_longer_than_its_limit) {
    EXPECT_EQ(copy(target_address(), source_address(), 4097), handle_null);
    expect_untouched();
}

TEST_F(InlineAccessTest, runs_only_what_is_ordered_after_nothing_newer_than_the_floor) {
    for (const Handle order : {open_floor + 1, handle_cont, handle_all}) {
        EXPECT_EQ(copy(target_address(), source_address(), 8, order), handle_null);
    }
    expect_untouched();
    EXPECT_NE(copy(target_address(), source_address(), 8, open_floor), handle_null);
}

TEST_F(InlineAccessTest, leaves_wild_addresses_and_ranges_that_leave_their_segment) {
    const std::uint64_t size = local::test::test_starter_bytes;
    for (const GlobalAddress bad :
         {GlobalAddress{0}, ~GlobalAddress{0}, target_address() + size - 7, target_address() - 1}) {
        EXPECT_EQ(copy(bad, source_address(), 8), handle_null);
        EXPECT_EQ(copy(target_address(), bad, 8), handle_null);
    }
    expect_untouched();
}

TEST_F(InlineAccessTest, leaves_private_memory_of_others_and_memory_no_longer_registered) {
    std::array<char, 64> far{};
    const local::Key key = other_.add(far.data(), far.size());
    EXPECT_EQ(copy(key, source_address(), 8), handle_null);
    std::array<char, 64> own{};
    const local::Key mine = owner_.add(own.data(), own.size());
    memory::leave(*line_);
    EXPECT_NE(copy(mine, source_address(), 8), handle_null);
    EXPECT_EQ(std::string(own.data(), 8), std::string(8, 's'));
    EXPECT_EQ(owner_.remove(mine), base::Code::ok);
    EXPECT_EQ(copy(target_address(), mine, 8), handle_null);
    expect_untouched();
}

TEST_F(InlineAccessTest, names_the_addresses_of_what_it_declines) {
    const GlobalAddress wild = ~GlobalAddress{0};
    const auto expect_named = [&](GlobalAddress to, GlobalAddress from) {
        EXPECT_EQ(line_->target.load(), to);
        EXPECT_EQ(line_->source.load(), from);
        memory::leave(*line_);
    };
    EXPECT_EQ(copy(target_address(), source_address(), 8, open_floor + 1), handle_null);
    expect_named(target_address(), source_address());
    EXPECT_EQ(copy(target_address(), source_address(), 4097), handle_null);
    expect_named(target_address(), source_address());
    EXPECT_EQ(copy(wild, source_address(), 8), handle_null);
    expect_named(wild, source_address());
    std::array<char, 8> own{};
    const auto get = [&](std::uint64_t bytes, Handle order) {
        return pointer_inline<fence, true>(fast_, *line_, source_address(), {own.data(), bytes},
                                           order, decline_);
    };
    EXPECT_EQ(get(8, open_floor + 1), handle_null);
    expect_named(source_address(), source_address());
    EXPECT_EQ(declined_, 4);
    fast_.view.pointer_bytes_max = 4;
    EXPECT_EQ(get(8, 0), handle_null);
    expect_named(source_address(), source_address());
    EXPECT_EQ(declined_, 5);
    expect_untouched();
    EXPECT_EQ(get(4, 0), open_floor + 4);
    EXPECT_EQ(std::string(own.data(), 8), std::string("ssss") + std::string(4, '\0'));
    EXPECT_EQ(declined_, 5);
}

TEST_F(InlineAccessTest, does_nothing_while_it_is_closed) {
    FastPath closed;
    EXPECT_EQ(
        copy_inline<fence>(closed, *line_, {target_address(), source_address()}, 8, 0, decline_),
        handle_null);
    EXPECT_EQ(declined_, 1);
    expect_untouched();
}

TEST_F(InlineAccessTest,
       atomics_without_a_target_change_their_word_and_leave_unaligned_ones_alone) {
    const std::uint64_t before = 40;
    std::memcpy(source(), &before, sizeof before);
    std::uint64_t old = 0;
    const auto add = [&](GlobalAddress word, Handle order = 0) {
        return fetch_inline<fence, std::uint64_t, Operation::add>(fast_, *line_, word, {2, 0},
                                                                  order, old);
    };
    EXPECT_EQ(add(source_address()), open_floor + 4);
    EXPECT_EQ(old, 40U);
    EXPECT_EQ(line_->target.load(), 0U);
    EXPECT_EQ(line_->bytes.load(), 8U);
    EXPECT_EQ(add(source_address() + 4), handle_null);
    EXPECT_EQ(line_->target.load(), 0U) << "a call that declines leaves the line";
    EXPECT_EQ(add(0), handle_null);
    EXPECT_EQ(add(source_address(), open_floor + 1), handle_null);
    std::uint64_t after = 0;
    std::memcpy(&after, source(), sizeof after);
    EXPECT_EQ(after, 42U);
    EXPECT_EQ(std::string(source() + 8, 8184), std::string(8184, 's'));
    EXPECT_EQ(std::string(target(), 8192), std::string(8192, 't'));
}

TEST_F(InlineAccessTest, atomics_store_the_old_value_and_leave_unaligned_words_alone) {
    const std::uint64_t before = 40;
    std::memcpy(source(), &before, sizeof before);
    const auto add = [&](GlobalAddress to, GlobalAddress word) {
        return atomic_inline<fence, std::uint64_t, Operation::add>(fast_, *line_, to, word, 2, 0,
                                                                   0);
    };
    EXPECT_EQ(add(target_address() + 4, source_address()), handle_null);
    EXPECT_EQ(add(target_address(), source_address() + 4), handle_null);
    EXPECT_EQ(add(target_address() + 8, source_address()), open_floor + 4);
    std::uint64_t old = 0;
    std::uint64_t now = 0;
    std::memcpy(&old, target() + 8, sizeof old);
    std::memcpy(&now, source(), sizeof now);
    EXPECT_EQ(old, 40U);
    EXPECT_EQ(now, 42U);
    EXPECT_EQ(target()[0], 't');
}

}  // namespace
}  // namespace acp::gma::test
