// SPDX-License-Identifier: BSD-3-Clause
// Two heaps of one node, of process 1 and of process 2, each with a container of every kind, blocks
// of the program, a loan and a separate block; and a valid request of every numbered operation on
// the first heap. Requests may change the first heap; the second one is a bystander. One thread.
#pragma once

#include <array>
#include <cstring>
#include <gtest/gtest.h>
#include <span>
#include <string>
#include <vector>

#include "sync/lease_desk.hpp"

#include "allocator/directory_operations.hpp"
#include "allocator/entry_operations.hpp"
#include "allocator/heap_operations.hpp"
#include "allocator/list_operations.hpp"
#include "allocator/sequence_operations.hpp"
#include "allocator/table_operations.hpp"
#include "operations/leased_put.hpp"
#include "operations/library_operations.hpp"
#include "operations/lock_operations.hpp"
#include "operations/page_operations.hpp"
#include "operations/put_signal.hpp"
#include "pages/sharers.hpp"
#include "pages/writer_masks.hpp"
#include "support/hash.hpp"
#include "unit/local/test_owner.hpp"

namespace acp::operations::test {

using base::Code;
using Bytes = std::vector<std::byte>;

template <typename... Values>
[[nodiscard]] Bytes bytes_of(const Values&... values) {
    Bytes bytes;
    const auto add = [&bytes](const auto& value) {
        const auto* from = reinterpret_cast<const std::byte*>(&value);
        bytes.insert(bytes.end(), from, from + sizeof value);
    };
    (add(values), ...);
    return bytes;
}

// Bound to each lock.
inline constexpr std::uint64_t bound_bytes = 40;

struct Request {
    std::uint32_t number = 0;
    Bytes bytes;
};

// The blocks and containers in the heap of one process.
struct HeapContent {
    // Blocks of the program, filled with a pattern.
    std::vector<std::uint64_t> blocks;
    std::uint64_t separate = 0;
    allocator::LentBlock lent;
    std::array<std::uint64_t, 2> lists{};
    // Elements of the first list.
    std::vector<list::Position> elements;
    // Elements of the second list.
    std::vector<list::Position> others;
    allocator::TableName table;
    allocator::TableName many;
    // The record of the table's first key.
    std::uint64_t record = 0;
    std::uint64_t mark = 0;  // the mark of that record
    allocator::DirectoryName directory;
    allocator::SequenceName vector;
    allocator::SequenceName deque;
    // A held lock for which process 2 waits, and a free one.
    std::array<std::uint64_t, 2> locks{};
    std::uint32_t ticket = 0;
    // A separate block of two shared pages, their twins, and the words of their sharers and writers.
    std::uint64_t shared_pages = 0;
};

class HostileScene {
public:
    static constexpr std::uint32_t target = 1;  // the process on whose memory requests run
    static constexpr std::uint32_t bystander = 2;
    static constexpr std::uint64_t id = 0x1d;
    static constexpr std::uint32_t elements = 8;
    static constexpr std::uint64_t shared_pages = 2;
    // Offsets in their block.
    static constexpr std::uint64_t sharers_at = 2 * shared_pages * pages::page_bytes;
    static constexpr std::uint64_t masks_at = sharers_at + pages::Sharers<>::bytes(shared_pages, 2);
    // Offset in the starter memory.
    static constexpr std::uint64_t desk_at = 1'024;

    explicit HostileScene(std::uint32_t heap_areas = 4)
        : heap_bytes_(heap_areas * heap::area_bytes),
          target_content_(fill(target)),
          bystander_content_(fill(bystander)) {
        make_desk();
    }

    // Runs a request as the gateway does.
    Code run(const Request& request, std::uint32_t process = target) {
        const local::NumberedOperation& row = *library_operations().find(request.number);
        result_.assign(row.result_bytes_max + 64, std::byte{0xee});
        const std::span<std::byte> room = std::span(result_).first(row.result_bytes_max);
        local::OperationContext context(owner_.space, owner_.hazards, *owner_.hazards.own_line(),
                                        process, local::OperationContext::gateway_thread);
        const auto ran = local::run_operation(row, context, request.bytes, room);
        for (std::size_t i = row.result_bytes_max; i < result_.size(); ++i)
            EXPECT_EQ(result_[i], std::byte{0xee}) << "behind the result";
        result_.resize(ran.result_bytes);
        return ran.code;
    }

    template <typename Value>
    [[nodiscard]] Value told() const {
        Value value{};
        EXPECT_GE(result_.size(), sizeof value);
        std::memcpy(&value, result_.data(), std::min(result_.size(), sizeof value));
        return value;
    }

    // The result of the last request.
    [[nodiscard]] const Bytes& result() const noexcept { return result_; }

    [[nodiscard]] const HeapContent& content() const noexcept { return target_content_; }

    [[nodiscard]] std::uint64_t heap_start(std::uint32_t process) const {
        return owner_.space.claimed_address(process, node::heap_blocks);
    }

    [[nodiscard]] std::uint64_t starter_start() const {
        return owner_.space.starter_address(target);
    }

    // The memory of the node, as the thread that runs requests has it mapped.
    [[nodiscard]] std::span<const std::byte> memory() const noexcept {
        return {reinterpret_cast<const std::byte*>(&owner_.segment.control()),
                owner_.segment.layout().total};
    }

    // A valid request of each row of the table of operations.
    [[nodiscard]] std::vector<Request> valid_requests() const;

    // Words that an operation may accept as an address, number or size.
    [[nodiscard]] std::vector<std::uint64_t> telling_words() const;

    // Checks that the bystander's heap has its initial content.
    void expect_bystander_unharmed();

    // Checks the structure of both heaps, and walks and counts each container of the target that
    // still exists, or looks at its words.
    void expect_sound();

private:
    static std::string text_of(std::uint32_t i) { return "text " + std::to_string(i); }

    static std::uint64_t hash_of(const std::string& key) {
        return acp::test::hash_of(key) & table::hash_mask;
    }

    static allocator::EntryRequest entry_request(const allocator::TableName& name,
                                                 const std::string& key,
                                                 std::size_t value_bytes) {
        return {name, hash_of(key), static_cast<std::uint32_t>(key.size()),
                static_cast<std::uint32_t>(value_bytes)};
    }

    static Bytes joined(Bytes bytes, const std::string& text) {
        const auto* from = reinterpret_cast<const std::byte*>(text.data());
        bytes.insert(bytes.end(), from, from + text.size());
        return bytes;
    }

    // Runs a request that must succeed.
    void ask(std::uint32_t process, std::uint32_t number, const Bytes& bytes) {
        EXPECT_EQ(run({number, bytes}, process), Code::ok) << number;
    }

    [[nodiscard]] char* memory_of(std::uint32_t process, std::uint64_t address) const {
        return node_.claimed(owner_.space.slot_of(process), node::heap_blocks) +
               (address - heap_start(process));
    }

    HeapContent fill(std::uint32_t process);
    void fill_blocks(std::uint32_t process, HeapContent& content);
    void fill_locks(std::uint32_t process, HeapContent& content);
    void fill_lists(std::uint32_t process, HeapContent& content);
    void fill_tables(std::uint32_t process, HeapContent& content);
    void fill_sequences(std::uint32_t process, HeapContent& content);
    void make_desk();
    void add_list_requests(std::vector<Request>& all) const;
    void add_table_requests(std::vector<Request>& all) const;
    void add_sequence_requests(std::vector<Request>& all) const;
    void add_lock_requests(std::vector<Request>& all) const;
    void add_page_requests(std::vector<Request>& all) const;
    void add_put_requests(std::vector<Request>& all) const;
    std::uint64_t walked(const allocator::TableName& name, std::uint32_t process);
    std::uint64_t walked_list(std::uint64_t list, std::uint32_t process);
    void expect_allocated(std::uint64_t container);
    void expect_list_sound(std::uint64_t list, std::uint32_t process);

    std::uint64_t heap_bytes_;
    node::Segment node_ = local::test::make_node(3, 2, heap_bytes_);
    local::test::Owner owner_{node_, 0};
    Bytes result_;
    HeapContent target_content_;
    HeapContent bystander_content_;
};

}  // namespace acp::operations::test
