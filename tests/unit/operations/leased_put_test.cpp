// SPDX-License-Identifier: BSD-3-Clause
// The operations by which a process of another node takes a lease and writes under it: a write
// under a revoked lease changes nothing.
#include "operations/leased_put.hpp"

#include <cstring>
#include <string>
#include <vector>

#include "sync/lease_desk.hpp"

#include "operations/library_operations.hpp"
#include "unit/local/test_owner.hpp"

namespace acp::operations::test {
namespace {

using base::Code;

constexpr std::uint32_t lines = 4;
constexpr std::uint64_t desk_at = 1024;
constexpr std::uint64_t lines_at = sizeof(sync::LeaseDesk<>);
constexpr std::uint64_t data_at = 4096;
constexpr std::uint64_t place = 77;

class LeasedPutTest : public testing::Test {
protected:
    void SetUp() override {
        new (starter() + desk_at) sync::LeaseDesk<>;
        for (std::uint32_t i = 0; i < lines; ++i) {
            new (&line(i)) sync::LeasedLine<>;
            lease(i).make_free(9);
        }
        set_word(base_ + desk_at);
    }

    void set_word(std::uint64_t value) { std::memcpy(starter(), &value, sizeof value); }

    Code run(std::uint32_t number, std::span<const std::byte> arguments) {
        local::OperationContext context(owner_.space, owner_.hazards, *owner_.hazards.own_line(),
                                        0);
        return local::run_operation(*library_operations().find(number), context, arguments,
                                    std::as_writable_bytes(std::span(&taken_, 1)))
            .code;
    }

    Code take(std::uint32_t first, std::uint32_t holder) {
        TakeLease wanted;
        wanted.desk_word = base_;
        wanted.lines_offset = lines_at;
        wanted.lines = lines;
        wanted.first = first;
        wanted.holder = holder;
        taken_ = {};
        return run(take_lease_number, std::as_bytes(std::span(&wanted, 1)));
    }

    [[nodiscard]] LeasedPut put_of_taken() const {
        LeasedPut put;
        put.desk = taken_.desk;
        put.line = taken_.desk + lines_at + taken_.lease * sizeof(sync::LeasedLine<>);
        put.state = taken_.state;
        put.place = place;
        put.target = base_ + data_at + 8;
        put.signal = base_ + data_at;
        put.value = 5;
        put.units = 3;
        put.lease = static_cast<std::uint8_t>(taken_.lease);
        return put;
    }

    Code write(const LeasedPut& put, const std::string& bytes) {
        std::vector<std::byte> arguments(sizeof put + bytes.size());
        std::memcpy(arguments.data(), &put, sizeof put);
        std::memcpy(arguments.data() + sizeof put, bytes.data(), bytes.size());
        return run(leased_put_number, arguments);
    }

    [[nodiscard]] std::uint64_t signal() const {
        std::uint64_t word = 0;
        std::memcpy(&word, starter() + data_at, sizeof word);
        return word;
    }

    [[nodiscard]] char* starter() const { return owner_.segment.starter(0); }

    [[nodiscard]] sync::LeaseDesk<>& desk() const {
        return *reinterpret_cast<sync::LeaseDesk<>*>(starter() + desk_at);
    }

    [[nodiscard]] sync::LeasedLine<>& line(std::uint32_t index) const {
        return reinterpret_cast<sync::LeasedLine<>*>(starter() + desk_at + lines_at)[index];
    }

    [[nodiscard]] sync::WriteLease<> lease(std::uint32_t index) const {
        return sync::WriteLease<>(line(index).words, index);
    }

    node::Segment node_ = local::test::make_node(1, 1);
    local::test::Owner owner_{node_, 0};
    memory::GlobalAddress base_ = owner_.space.starter_address(0);
    TakenLease taken_;
};

TEST_F(LeasedPutTest, takes_each_free_lease_once_and_then_wants_one) {
    for (std::uint32_t i = 0; i < lines; ++i) {
        ASSERT_EQ(take(2, 11), Code::ok);
        EXPECT_EQ(taken_.lease, (2 + i) % lines);
        EXPECT_EQ(taken_.generation, 9U);
        EXPECT_EQ(taken_.desk, base_ + desk_at);
        EXPECT_EQ(lease(taken_.lease).state().holder(), 11U);
    }
    EXPECT_EQ(desk().wanted.load(), 0U);
    ASSERT_EQ(take(2, 11), Code::ok);
    EXPECT_EQ(taken_.state, 0U);
    EXPECT_EQ(desk().wanted.load(), 1U);
}

TEST_F(LeasedPutTest, finds_no_desk_where_the_word_names_none) {
    for (const std::uint64_t word : {std::uint64_t{0}, base_ + desk_at + 1}) {
        set_word(word);
        ASSERT_EQ(take(0, 11), Code::ok);
        EXPECT_EQ(taken_.state, 0U);
        EXPECT_EQ(taken_.desk, word);
    }
    set_word(base_ + local::test::test_starter_bytes);
    EXPECT_NE(take(0, 11), Code::ok);
}

TEST_F(LeasedPutTest, writes_counts_and_calls) {
    ASSERT_EQ(take(1, 11), Code::ok);
    EXPECT_EQ(write(put_of_taken(), "content"), Code::ok);
    EXPECT_EQ(std::string(starter() + data_at + 8, 7), "content");
    EXPECT_EQ(signal(), 5U);
    EXPECT_TRUE(lease(1).is_used_up(3)) << "as many units as it counts for";
    EXPECT_EQ(desk().calls.load(), 2U);
    EXPECT_FALSE(desk().gateway.says(place)) << "it has left";
    // Counts of pieces are added; a watched place gets no call.
    desk().calls.store(0);
    line(1).is_watched.store(1);
    EXPECT_EQ(write(put_of_taken(), ""), Code::ok);
    EXPECT_EQ(signal(), 10U);
    EXPECT_EQ(desk().calls.load(), 0U);
    LeasedPut set = put_of_taken();
    set.write = LeasedWrite::set;
    set.units = 0;
    EXPECT_EQ(write(set, ""), Code::ok);
    EXPECT_EQ(signal(), 5U);
    EXPECT_TRUE(lease(1).is_used_up(6));
}

TEST_F(LeasedPutTest, writes_nothing_under_a_lease_that_is_not_the_callers) {
    ASSERT_EQ(take(0, 11), Code::ok);
    ASSERT_TRUE(lease(0).begin_revoke(lease(0).state(), 9));
    EXPECT_EQ(write(put_of_taken(), "content"), Code::timeout) << "the owner is about to decide";
    lease(0).make_free(10);
    EXPECT_EQ(write(put_of_taken(), "content"), Code::stale);
    EXPECT_EQ(signal(), 0U);
    EXPECT_EQ(starter()[data_at + 8], 0);
    EXPECT_TRUE(lease(0).is_used_up(0));
}

TEST_F(LeasedPutTest, refuses_what_is_no_desk_no_word_and_no_lease) {
    ASSERT_EQ(take(0, 11), Code::ok);
    const auto refused = [&](auto change, Code code) {
        LeasedPut put = put_of_taken();
        change(put);
        EXPECT_EQ(write(put, "content"), code);
        EXPECT_EQ(signal(), 0U);
    };
    refused([](LeasedPut& put) { put.lease = 64; }, Code::argument);
    refused([](LeasedPut& put) { put.place = 0; }, Code::argument);
    refused([](LeasedPut& put) { put.desk += 8; }, Code::alignment);
    refused([](LeasedPut& put) { put.line += 8; }, Code::alignment);
    refused([](LeasedPut& put) { put.signal += 4; }, Code::alignment);
    refused([&](LeasedPut& put) { put.target = base_ + local::test::test_starter_bytes - 4; },
            Code::address);
    EXPECT_EQ(run(leased_put_number, {}), Code::argument);
    EXPECT_EQ(run(take_lease_number, {}), Code::argument);
}

}  // namespace
}  // namespace acp::operations::test
