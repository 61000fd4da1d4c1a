// SPDX-License-Identifier: BSD-3-Clause
// The fixture of the tests of operations on tables: their arguments as bytes, and a heap on which
// they run.
#pragma once

#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "allocator/entry_operations.hpp"
#include "allocator/heap_operations.hpp"
#include "allocator/table_operations.hpp"
#include "support/hash.hpp"
#include "unit/local/test_owner.hpp"

namespace acp::allocator::test {

using base::Code;
using table::Effect;
using table::PutMode;

constexpr std::uint64_t heap_bytes = 4 * heap::area_bytes;

template <typename Operation>
inline constexpr local::NumberedOperation row_of = local::row_of<Operation>();

// Assembles the arguments of an operation.
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

// What follows the EntryRequest of a BlockToPut.
struct BlockWords {
    PutWords put;
    LentBlock block;
};

class TableOperationsTest : public testing::Test {
protected:
    template <typename Operation>
    Code run(const Message& message) {
        return run(row_of<Operation>, message);
    }

    Code run(const local::NumberedOperation& row, const Message& message) {
        result_.assign(row.result_bytes_max, std::byte{0xee});
        local::OperationContext context(owner_.space, owner_.hazards, *owner_.hazards.own_line(), 0,
                                        thread_);
        const auto ran = local::run_operation(row, context, message.bytes(), result_);
        later_.assign(context.later().begin(), context.later().end());
        result_.resize(ran.result_bytes);
        return ran.code;
    }

    std::uint64_t make(std::uint64_t slots = 4) {
        EXPECT_EQ(run<MakeTable>(Message().add(TableToMake{slots, 1, 0, id})), Code::ok);
        return told<std::uint64_t>();
    }

    Code destroy(std::uint64_t table) {
        return run<DestroyTable>(Message().add(TableName{table, id}));
    }

    [[nodiscard]] bool destroy_more(std::uint64_t table) {
        return run<DestroyMore>(Message().add(TableName{table, id})) == Code::ok;
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
        return {{table, id},
                hash_of(key),
                static_cast<std::uint32_t>(key.size()),
                static_cast<std::uint32_t>(value_bytes)};
    }

    static std::uint64_t hash_of(const std::string& key) {
        return acp::test::hash_of(key) & table::hash_mask;
    }

    Effect put(std::uint64_t table,
               const std::string& key,
               const std::string& value,
               PutMode mode,
               const std::string& expected = "") {
        PutWords words;
        words.mode = mode;
        words.expected_bytes = static_cast<std::uint32_t>(expected.size());
        EXPECT_EQ(run<PutEntry>(Message()
                                    .add(request_of(table, key, value.size()))
                                    .add(words)
                                    .add_text(key)
                                    .add_text(value)
                                    .add_text(expected)),
                  Code::ok);
        return told<EntryResult>().effect;
    }

    EntryResult find(std::uint64_t table, const std::string& key, std::size_t room = 500) {
        EXPECT_EQ(run<FindEntry>(Message().add(request_of(table, key, room)).add_text(key)),
                  Code::ok);
        return told<EntryResult>();
    }

    Effect erase(std::uint64_t table, const std::string& key) {
        EXPECT_EQ(run<EraseEntry>(Message().add(request_of(table, key, 0)).add_text(key)),
                  Code::ok);
        return told<EntryResult>().effect;
    }

    EntryResult change(std::uint64_t table, const std::string& key, const ChangeWords& words) {
        EXPECT_EQ(
            run<ChangeEntry>(Message().add(request_of(table, key, 0)).add(words).add_text(key)),
            Code::ok);
        return told<EntryResult>();
    }

    [[nodiscard]] std::string value_found() const {
        const auto* start = reinterpret_cast<const char*>(result_.data()) + sizeof(EntryResult);
        return {start, result_.size() - sizeof(EntryResult)};
    }

    static constexpr std::uint64_t id = 0x1d;

    node::Segment node_ = local::test::make_node(2, 2, heap_bytes);
    local::test::Owner owner_{node_, 0};
    std::uint32_t thread_ = 0;  // runs the operations
    std::vector<std::byte> result_;
    std::vector<std::uint32_t> later_;  // what the last operation asked for
};

}  // namespace acp::allocator::test
