// SPDX-License-Identifier: BSD-3-Clause
// The operations on hash tables as bytes, which may come from another node: what they do, and that what is malformed is refused and
// changes nothing.
#include "allocator/table_operations.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "allocator/operations.hpp"
#include "support/hash.hpp"
#include "unit/local/test_owner.hpp"

namespace acp::allocator::test {
namespace {

using base::Code;
using table::Effect;

constexpr std::uint64_t heap_bytes = 4 * heap::area_bytes;

const local::NumberedOperation& row_of(std::uint32_t number) {
    for (const local::NumberedOperation& row : table_operations()) {
        if (row.number == number) return row;
    }
    ADD_FAILURE() << number;
    return table_operations().front();
}

// Arguments, put together.
class Message {
public:
    template <typename Value>
    Message& add(const Value& value) {
        const auto* bytes = reinterpret_cast<const std::byte*>(&value);
        bytes_.insert(bytes_.end(), bytes, bytes + sizeof value);
        return *this;
    }

    Message& add_text(const std::string& text) {
        const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
        bytes_.insert(bytes_.end(), bytes, bytes + text.size());
        return *this;
    }

    [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

private:
    std::vector<std::byte> bytes_;
};

class TableOperationsTest : public testing::Test {
protected:
    Code run(std::uint32_t number, const Message& message) {
        const local::NumberedOperation& row = row_of(number);
        result_.assign(row.result_bytes_max, std::byte{0xee});
        local::OperationContext context(owner_.space, owner_.hazards, *owner_.hazards.own_line(),
                                        0);
        const auto ran = local::run_operation(row, context, message.bytes(), result_);
        result_.resize(ran.result_bytes);
        return ran.code;
    }

    std::uint64_t make(std::uint64_t slots = 4) {
        EXPECT_EQ(run(table_make_number, Message().add(TableRequest{slots, 1})), Code::ok);
        return told<std::uint64_t>();
    }

    template <typename Value>
    [[nodiscard]] Value told() const {
        Value value{};
        EXPECT_GE(result_.size(), sizeof value);
        std::memcpy(&value, result_.data(), std::min(result_.size(), sizeof value));
        return value;
    }

    static EntryRequest request_of(std::uint64_t table,
                                   const std::string& key,
                                   std::size_t value_bytes) {
        return {table, acp::test::hash_of(key), static_cast<std::uint32_t>(key.size()),
                static_cast<std::uint32_t>(value_bytes)};
    }

    Effect put(std::uint64_t table,
               const std::string& key,
               const std::string& value,
               PutMode mode) {
        EXPECT_EQ(run(table_put_number, Message()
                                            .add(request_of(table, key, value.size()))
                                            .add(mode)
                                            .add_text(key)
                                            .add_text(value)),
                  Code::ok);
        return told<Effect>();
    }

    EntryResult find(std::uint64_t table, const std::string& key, std::size_t room = 500) {
        EXPECT_EQ(run(table_find_number, Message().add(request_of(table, key, room)).add_text(key)),
                  Code::ok);
        return told<EntryResult>();
    }

    Effect erase(std::uint64_t table, const std::string& key) {
        EXPECT_EQ(run(table_erase_number, Message().add(request_of(table, key, 0)).add_text(key)),
                  Code::ok);
        return told<Effect>();
    }

    [[nodiscard]] std::string value_found() const {
        const auto* start = reinterpret_cast<const char*>(result_.data()) + sizeof(EntryResult);
        return {start, result_.size() - sizeof(EntryResult)};
    }

    node::Segment node_ = local::test::make_node(2, 2, heap_bytes);
    local::test::Owner owner_{node_, 0};
    std::vector<std::byte> result_;
};

TEST_F(TableOperationsTest, insert_find_replace_and_erase) {
    const std::uint64_t table = make();
    EXPECT_EQ(put(table, "a", "first", PutMode::insert), Effect::done);
    EXPECT_EQ(put(table, "a", "second", PutMode::insert), Effect::present);
    EXPECT_EQ(find(table, "a").effect, Effect::done);
    EXPECT_EQ(value_found(), "first");
    EXPECT_EQ(put(table, "a", "second", PutMode::assign), Effect::done);
    const EntryResult cut = find(table, "a", 3);
    EXPECT_EQ(cut.value_bytes, 6U);
    EXPECT_EQ(cut.is_whole, 0);
    EXPECT_EQ(value_found(), "sec");
    EXPECT_EQ(erase(table, "a"), Effect::done);
    EXPECT_EQ(erase(table, "a"), Effect::absent);
    EXPECT_EQ(find(table, "a").effect, Effect::absent);
    EXPECT_EQ(run(table_destroy_number, Message().add(table)), Code::ok);
}

TEST_F(TableOperationsTest, change_numbers) {
    const std::uint64_t table = make();
    EXPECT_EQ(put(table, "n", std::string(8, '\0'), PutMode::insert), Effect::done);
    const auto change = [&](const ChangeRequest& request) {
        EXPECT_EQ(run(table_change_number,
                      Message().add(request_of(table, "n", 0)).add(request).add_text("n")),
                  Code::ok);
        return told<ChangeResult>();
    };
    EXPECT_EQ(change({0, 5, 0}).old, 0U);
    EXPECT_EQ(change({0, 2, 0}).old, 5U);
    const ChangeResult refused = change({1, 100, 6});
    EXPECT_EQ(refused.effect, Effect::present);
    EXPECT_EQ(refused.old, 7U);
    EXPECT_EQ(change({1, 100, 7}).effect, Effect::done);
    EXPECT_EQ(change({0, 0, 0}).old, 100U);
}

TEST_F(TableOperationsTest, malformed_arguments_are_refused) {
    const std::uint64_t table = make();
    ASSERT_EQ(put(table, "key", "value", PutMode::insert), Effect::done);
    for (const std::uint32_t number :
         {table_find_number, table_put_number, table_erase_number, table_change_number}) {
        EXPECT_EQ(run(number, Message()), Code::argument) << number;
        EXPECT_EQ(run(number, Message().add(std::uint64_t{1})), Code::argument) << number;
        EntryRequest longer = request_of(table, "key", 5);
        longer.key_bytes = ~0U;
        EXPECT_EQ(run(number, Message().add(longer).add(ChangeRequest()).add_text("key")),
                  Code::argument)
            << number;
        EXPECT_EQ(run(number, Message()
                                  .add(request_of(table, "key", 5))
                                  .add(ChangeRequest())
                                  .add_text("key and more, 123456")),
                  Code::argument)
            << number;
    }
    EXPECT_EQ(run(table_make_number, Message().add(TableRequest{0, 1})), Code::argument);
    EXPECT_EQ(run(table_make_number, Message().add(TableRequest{1, 2})), Code::argument);
    EXPECT_EQ(run(table_make_number, Message().add(TableRequest{table_slots_max + 1, 1})),
              Code::argument);
    EXPECT_EQ(find(table, "key").effect, Effect::done);
}

TEST_F(TableOperationsTest, what_is_no_table_is_stale) {
    const std::uint64_t table = make();
    ASSERT_EQ(run(table_destroy_number, Message().add(table)), Code::ok);
    const std::uint64_t start = owner_.space.claimed_address(0, node::Claim::heap_blocks);
    for (const std::uint64_t address :
         {table, table + 64, std::uint64_t{0}, start + heap_bytes - 64, ~std::uint64_t{0},
          owner_.space.claimed_address(1, node::Claim::heap_blocks)}) {
        EXPECT_EQ(run(table_destroy_number, Message().add(address)), Code::stale) << address;
        EXPECT_EQ(run(table_find_number, Message().add(request_of(address, "k", 9)).add_text("k")),
                  Code::stale);
        EXPECT_EQ(run(table_erase_number, Message().add(request_of(address, "k", 0)).add_text("k")),
                  Code::stale);
    }
}

TEST_F(TableOperationsTest, a_table_larger_than_the_heap_is_not_made) {
    EXPECT_EQ(make(1U << 20), 0U);
    EXPECT_EQ(make(table_slots_max), 0U);
    EXPECT_NE(make(1U << 10), 0U);
}

TEST_F(TableOperationsTest, a_full_heap_is_told_and_nothing_is_changed) {
    const std::uint64_t table = make();
    const std::string value(900, 'v');
    std::uint32_t count = 0;
    while (put(table, "key " + std::to_string(count), value, PutMode::insert) == Effect::done)
        ++count;
    EXPECT_EQ(told<Effect>(), Effect::no_room);
    EXPECT_GT(count, 1'000U);
    EXPECT_EQ(find(table, "key " + std::to_string(count)).effect, Effect::absent);
    for (std::uint32_t i = 0; i < count; ++i) {
        ASSERT_EQ(find(table, "key " + std::to_string(i), 900).effect, Effect::done) << i;
        ASSERT_EQ(value_found(), value);
    }
    EXPECT_EQ(run(table_destroy_number, Message().add(table)), Code::ok);
    EXPECT_NE(make(1U << 10), 0U);
}

TEST_F(TableOperationsTest, say_that_there_is_no_heap) {
    const node::Segment without = local::test::make_node(1, 1);
    local::test::Owner owner(without, 0);
    for (const local::NumberedOperation& row : table_operations()) {
        Message message;
        if (row.number == table_make_number) {
            message.add(TableRequest());
        } else if (row.number == table_destroy_number) {
            message.add(std::uint64_t{5});
        } else {
            message.add(request_of(5, "k", 0));
            if (row.number == table_put_number) message.add(PutMode::insert);
            if (row.number == table_change_number) message.add(ChangeRequest());
            message.add_text("k");
        }
        result_.resize(row.result_bytes_max);
        local::OperationContext context(owner.space, owner.hazards, *owner.hazards.own_line(), 0);
        EXPECT_EQ(local::run_operation(row, context, message.bytes(), result_).code,
                  Code::unsupported)
            << row.number;
    }
}

}  // namespace
}  // namespace acp::allocator::test
