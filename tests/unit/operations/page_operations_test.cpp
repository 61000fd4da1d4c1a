// SPDX-License-Identifier: BSD-3-Clause
// Writes and marks of other nodes reach the pages and the words of a block that has them, and
// nothing else: another block, a place behind the block, and bytes that are no difference are refused.
#include "operations/page_operations.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "operations/library_operations.hpp"
#include "pages/notices.hpp"
#include "pages/sharers.hpp"
#include "pages/writer_masks.hpp"
#include "unit/local/test_owner.hpp"

namespace acp::operations::test {
namespace {

using base::Code;
using Bytes = std::vector<std::byte>;

constexpr std::uint64_t pages_count = 3;
constexpr std::uint32_t nodes = 2;
constexpr std::uint64_t sharers_at = 2 * pages_count * pages::page_bytes;  // behind the twins
constexpr std::uint64_t masks_at = sharers_at + pages::Sharers<>::bytes(pages_count, nodes);

class PageOperations : public testing::Test {
protected:
    PageOperations() {
        heap_.emplace(node_, owner_.space.slot_of(0), owner_.hazards);
        block_ = allocate(allocator::BlockOwner::separate);
        std::memset(memory(block_), 0, bytes());
    }

    [[nodiscard]] static std::uint64_t bytes() {
        return masks_at + pages::WriterMasks<>::bytes(pages_count, pages_count);
    }

    std::uint64_t allocate(allocator::BlockOwner owner) {
        const heap::Offset block = heap_->allocate(0, bytes(), pages::page_bytes, owner);
        EXPECT_NE(block, heap::no_block);
        return owner_.space.claimed_address(0, node::heap_blocks) + block;
    }

    [[nodiscard]] char* memory(std::uint64_t address) const {
        return node_.claimed(0, node::heap_blocks) +
               (address - owner_.space.claimed_address(0, node::heap_blocks));
    }

    [[nodiscard]] pages::PageSpan page(std::uint64_t number) const {
        auto* const bytes =
            reinterpret_cast<std::byte*>(memory(block_) + number * pages::page_bytes);
        return pages::PageSpan(bytes, pages::page_bytes);
    }

    [[nodiscard]] pages::Sharers<> sharers() const {
        return {reinterpret_cast<pages::Sharers<>::Word*>(memory(block_) + sharers_at), pages_count,
                nodes};
    }

    [[nodiscard]] pages::WriterMasks<> masks() const {
        return {reinterpret_cast<pages::WriterMasks<>::Word*>(memory(block_) + masks_at),
                pages_count, pages_count};
    }

    // A write of node 1 to a page of node 0.
    [[nodiscard]] CheckedPages checked(std::uint64_t page) const {
        return {block_, pages_count, masks_at, pages_count, page, 0, 1};
    }

    // The difference that sets some bytes of a page of zeros.
    [[nodiscard]] static Bytes difference(const std::vector<std::size_t>& places) {
        std::array<std::byte, pages::page_bytes> zeros{};
        std::array<std::byte, pages::page_bytes> changed{};
        for (const std::size_t place : places) changed[place] = std::byte{7};
        pages::DifferenceRoom room{};
        const auto made = difference_code().make(room, changed, zeros);
        return {made.bytes().begin(), made.bytes().end()};
    }

    template <typename Operation>
    Code run(const typename Operation::Input& input, const Bytes& tail = {}) {
        Bytes arguments(sizeof input + tail.size());
        std::memcpy(arguments.data(), &input, sizeof input);
        if (!tail.empty()) std::memcpy(arguments.data() + sizeof input, tail.data(), tail.size());
        local::OperationContext context(owner_.space, owner_.hazards, *owner_.hazards.own_line(),
                                        0);
        std::array<std::byte, sizeof(MarkedPages)> result{};
        const auto& row = *library_operations().find(local::operation_number<Operation>);
        const auto ran = local::run_operation(row, context, arguments,
                                              std::span(result).first(row.result_bytes_max));
        std::memcpy(&marked_, result.data(), sizeof marked_);
        return ran.code;
    }

    Code apply(std::uint64_t block, std::uint64_t page, const Bytes& bytes) {
        return run<ApplyDifference>({block, page}, bytes);
    }

    [[nodiscard]] PagesToMark mark() const {
        return {block_, sharers_at, pages_count, 0, 1, 1, nodes, 0};
    }

    node::Segment node_ = local::test::make_node(2, 2, 2 * heap::area_bytes);
    local::test::Owner owner_{node_, 0};
    std::optional<allocator::NodeHeap> heap_;
    std::uint64_t block_ = 0;
    MarkedPages marked_;
};

TEST_F(PageOperations, write_the_changed_bytes_of_a_page_alone) {
    page(2)[8] = std::byte{1};
    ASSERT_EQ(apply(block_, 2, difference({0, 9, 4095})), Code::ok);
    for (std::size_t i = 0; i < pages::page_bytes; ++i) {
        const bool is_changed = i == 0 || i == 9 || i == 4095;
        const int expected = is_changed ? 7 : i == 8 ? 1 : 0;
        EXPECT_EQ(std::to_integer<int>(page(2)[i]), expected) << i;
    }
    EXPECT_EQ(std::to_integer<int>(page(1)[4095]), 0);
}

TEST_F(PageOperations, apply_parts_that_fill_an_operation) {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < pages::page_bytes; i += 2) places.push_back(i);
    const Bytes whole = difference(places);
    const auto parsed = pages::Difference::parse(whole);
    ASSERT_TRUE(parsed.has_value());
    pages::DifferenceParts parts(*parsed);
    Bytes room(page_patch_bytes_max);
    for (auto part = parts.next(room); !part.is_empty(); part = parts.next(room)) {
        EXPECT_EQ(apply(block_, 1, {part.bytes().begin(), part.bytes().end()}), Code::ok);
    }
    for (std::size_t i = 0; i < pages::page_bytes; ++i) {
        EXPECT_EQ(std::to_integer<int>(page(1)[i]), i % 2 == 0 ? 7 : 0) << i;
    }
}

TEST_F(PageOperations, refuse_bytes_that_are_no_difference) {
    Bytes cut = difference({0, 9});
    cut.pop_back();
    EXPECT_EQ(apply(block_, 0, cut), Code::argument);
}

TEST_F(PageOperations, refuse_pages_that_are_in_no_separate_block) {
    const Bytes bytes = difference({5});
    EXPECT_EQ(apply(block_, 16, bytes), Code::address) << "behind it";
    EXPECT_EQ(apply(block_ + pages::page_bytes, 0, bytes), Code::address)
        << "no block begins there";
    EXPECT_EQ(apply(block_ + 64, 0, bytes), Code::argument);
    EXPECT_EQ(apply(block_, ~std::uint64_t{0}, bytes), Code::argument);
    EXPECT_EQ(apply(0, 0, bytes), Code::address);
    EXPECT_EQ(apply(allocate(allocator::BlockOwner::program), 0, bytes), Code::address);
    EXPECT_EQ(apply(owner_.space.claimed_address(1, node::heap_blocks), 0, bytes), Code::address);
}

TEST_F(PageOperations, mark_a_run_of_pages) {
    PagesToMark request = mark();
    request.first = 1;
    request.count = 2;
    sharers().take(6, [](pages::PageNumber, pages::NodeNumber) {});
    ASSERT_EQ(run<MarkSharer>(request), Code::ok);
    EXPECT_EQ(marked_.last_take, 6U);
    EXPECT_FALSE(sharers().has(0, 1));
    EXPECT_TRUE(sharers().has(1, 1));
    EXPECT_TRUE(sharers().has(2, 1));
    EXPECT_FALSE(sharers().has(2, 0));
}

TEST_F(PageOperations, refuse_marks_with_a_field_out_of_its_range) {
    const auto expect_argument = [this](const auto& change) {
        PagesToMark request = mark();
        change(request);
        EXPECT_EQ(run<MarkSharer>(request), Code::argument);
    };
    expect_argument([](PagesToMark& request) { request.count = 0; });
    expect_argument([](PagesToMark& request) { request.count = pages_count + 1; });
    expect_argument([](PagesToMark& request) { request.first = pages_count; });
    expect_argument([](PagesToMark& request) { request.first = ~std::uint64_t{0}; });
    expect_argument([](PagesToMark& request) { request.node = nodes; });
    expect_argument([](PagesToMark& request) { request.nodes = 3; });
    expect_argument([](PagesToMark& request) { request.sharers += 4; });
    expect_argument([](PagesToMark& request) {
        request.pages = pages::notice_pages_max;
        request.count = mark_pages_max + 1;
    });
}

TEST_F(PageOperations, refuse_marks_behind_the_block) {
    PagesToMark request = mark();
    request.pages = 4096;
    EXPECT_EQ(run<MarkSharer>(request), Code::address);
    request = mark();
    request.sharers = ~std::uint64_t{7};
    EXPECT_EQ(run<MarkSharer>(request), Code::address);
    request = mark();
    request.block = 0;
    EXPECT_EQ(run<MarkSharer>(request), Code::address);
}

TEST_F(PageOperations, note_the_writer_and_the_bytes_of_a_checked_difference) {
    page(2)[9] = std::byte{1};  // written by the home
    ASSERT_EQ(run<ApplyChecked>({checked(2), 5, 0}, difference({0, 9, 4095})), Code::ok);
    for (const std::uint64_t number : {std::uint64_t{2}, pages_count + 2}) {
        for (const std::size_t place : {std::size_t{0}, std::size_t{9}, std::size_t{4095}})
            EXPECT_EQ(page(number)[place], std::byte{7}) << number << " " << place;
        EXPECT_EQ(page(number)[1], std::byte{0});
    }
    std::vector<std::array<std::uint64_t, 3>> found;
    masks().for_each_writer(2, [&](const pages::PageWriter& writer, const auto& bytes) {
        found.push_back({writer.node, writer.rank_next, bytes.count()});
    });
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, (std::vector<std::array<std::uint64_t, 3>>{{0, 0, 1}, {1, 5, 3}}));
    ASSERT_EQ(run<EndWrites>({checked(0), 3, 0}), Code::ok);
    masks().for_each_writer(2, [&](const pages::PageWriter& writer, const auto& bytes) {
        EXPECT_EQ(bytes.count(), writer.node == 0 ? 1U : 0U);
    });
}

TEST_F(PageOperations, refuse_checked_writes_out_of_their_range) {
    const Bytes bytes = difference({5});
    const auto apply_at = [&](const auto& edit) {
        CheckedPatch input{checked(1), 1, 0};
        edit(input.pages);
        return run<ApplyChecked>(input, bytes);
    };
    EXPECT_EQ(apply_at([](CheckedPages& at) { at.page = pages_count; }), Code::argument);
    EXPECT_EQ(apply_at([](CheckedPages& at) { at.node = 0; }), Code::argument);
    EXPECT_EQ(apply_at([](CheckedPages& at) { at.node = 2; }), Code::argument);
    EXPECT_EQ(apply_at([](CheckedPages& at) { at.home = 2; }), Code::argument);
    EXPECT_EQ(apply_at([](CheckedPages& at) { at.masks += 4; }), Code::argument);
    EXPECT_EQ(apply_at([](CheckedPages& at) { at.pages = ~std::uint64_t{0}; }), Code::argument);
    EXPECT_EQ(apply_at([](CheckedPages& at) { at.entries = ~std::uint64_t{0}; }), Code::argument);
    EXPECT_EQ(apply_at([](CheckedPages& at) { at.entries += 100'000; }), Code::address);
    EXPECT_EQ(apply_at([](CheckedPages& at) { at.masks += 1 << 20; }), Code::address);
    EXPECT_EQ(run<ApplyChecked>({checked(1), 1, 0}, Bytes(17)), Code::argument);
    EXPECT_EQ(run<EndWrites>({checked(1), 3, 0}), Code::argument) << "behind the last page";
    EXPECT_EQ(run<EndWrites>({checked(1), 0, 0}), Code::argument);
    EXPECT_EQ(run<EndWrites>({checked(0), end_pages_max + 1, 0}), Code::argument);
}

TEST_F(PageOperations, note_the_bytes_that_a_rank_touched) {
    const auto bytes_of = [](const std::vector<TouchedByte>& touches) {
        Bytes bytes(touches.size() * sizeof(TouchedByte));
        std::memcpy(bytes.data(), touches.data(), bytes.size());
        return bytes;
    };
    ASSERT_EQ(run<NoteTouches>({checked(0), 5, 0}, bytes_of({{0, 4095}, {2, 0}, {2, 9}})),
              Code::ok);
    std::uint32_t count = 0;
    for (const std::uint64_t page : {0U, 2U}) {
        masks().for_each_writer(page, [&](const pages::PageWriter& writer, const auto& bytes) {
            EXPECT_TRUE(writer.has_touched);
            EXPECT_EQ(writer.node, 1U);
            EXPECT_EQ(writer.rank_next, 5U);
            count += bytes.count();
        });
    }
    EXPECT_EQ(count, 3U);
    for (const TouchedByte wrong : {TouchedByte{3, 0}, TouchedByte{0, 4096}})
        EXPECT_EQ(run<NoteTouches>({checked(0), 5, 0}, bytes_of({wrong})), Code::argument);
    EXPECT_EQ(run<NoteTouches>({checked(0), 5, 0}, Bytes(7)), Code::argument);
    EXPECT_EQ(run<NoteTouches>({checked(0), 5, 0}), Code::argument);
}

}  // namespace
}  // namespace acp::operations::test
