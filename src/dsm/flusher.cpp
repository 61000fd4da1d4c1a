// SPDX-License-Identifier: BSD-3-Clause
// Groups of pages, claimed one after the other.
#include "dsm/flusher.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "base/assert.hpp"

namespace acp::dsm {

namespace {

using base::Status;
using pages::NodeNumber;
using pages::PageNumber;

constexpr std::uint64_t group_pages = NodeState<>::group_pages;

// The pages of a group that are in a range, a bit each.
std::uint64_t mask_of(std::uint64_t group, PageRange pages) noexcept {
    const PageNumber first = group * group_pages;
    const PageNumber begin = std::max(first, pages.first);
    const PageNumber end = std::min(first + group_pages, pages.first + pages.count);
    const std::uint64_t count = end - begin;
    const std::uint64_t ones =
        count == group_pages ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
    return ones << (begin - first);
}

}  // namespace

Status Flusher::flush(PageRange pages) {
    if (pages.count == 0) return {};
    Status first;
    const std::uint64_t groups_end = (pages.first + pages.count - 1) / group_pages + 1;
    for (std::uint64_t group = pages.first / group_pages; group < groups_end; ++group) {
        const std::uint64_t mask = mask_of(group, pages);
        if ((parts_.node.to_flush(group) & mask) == 0) continue;
        const auto is_dead = [this](pages::SlotNumber slot) { return parts_.peers.is_dead(slot); };
        if (!parts_.node.claim(group, parts_.slot, is_dead)) continue;
        Status status = flush_group(group, mask);
        parts_.node.release_claim(group);
        if (first.is_ok()) first = std::move(status);
    }
    return first;
}

Status Flusher::flush_group(std::uint64_t group, std::uint64_t mask) {
    Status first;
    std::uint64_t pages = parts_.node.to_flush(group) & mask;
    for (; pages != 0; pages &= pages - 1) {
        if (sending_count_ == in_flight_max) {
            Status status = finish_all();
            if (first.is_ok()) first = std::move(status);
        }
        begin(group * group_pages + static_cast<std::uint64_t>(std::countr_zero(pages)));
    }
    Status status = finish_all();
    return first.is_ok() ? std::move(status) : std::move(first);
}

void Flusher::begin(PageNumber page) {
    const NodeState<>& node = parts_.node;
    const Window& window = parts_.window;
    const NodeNumber home = window.homes().home(page);
    node.begin_flush(page);
    if (home == pages::no_node) {  // it was written outside of all allocations
        node.end_flush(page);
        return;
    }
    if (home == window.node()) {
        node.add_flushed(page);
        window.page_words().note_write(page, node.next_epoch());
        node.end_flush(page);
        return;
    }
    PageFlush& sending = sending_[sending_count_];
    sending.difference = difference_of(page, sending.room);
    if (sending.difference.is_empty()) {
        node.end_flush(page);
        return;
    }
    node.add_flushed(page);
    window.page_words().note_write(page, node.next_epoch());
    sending.page = page;
    sending.home = home;
    sending.requests_count = 0;
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): next() writes it
    std::array<std::byte, operations::page_patch_bytes_max> room;
    pages::DifferenceParts parts(sending.difference);
    for (pages::Difference part = parts.next(room); !part.is_empty(); part = parts.next(room)) {
        ACP_ASSERT(sending.requests_count < parts_max);
        sending.requests[sending.requests_count] = parts_.link.apply(page, home, part.bytes());
        ++sending.requests_count;
    }
    FlushCounts& counts = parts_.counters.flushes;
    counts.pages.fetch_add(1, std::memory_order_relaxed);
    counts.bytes.fetch_add(sending.difference.bytes().size(), std::memory_order_relaxed);
    ++sending_count_;
}

// Leaves out the bytes that are bound to locks: other threads change them in page and twin at any time.
pages::Difference Flusher::difference_of(PageNumber page, pages::DifferenceRoom& room) {
    const Window& window = parts_.window;
    if (parts_.bound == nullptr || parts_.bound->first_in({page, 1}) == nullptr)
        return code_.make(room, window.plain(page), window.twin(page));
    std::memcpy(twin_copy_.data(), window.twin(page).data(), pages::page_bytes);
    std::memcpy(plain_copy_.data(), window.plain(page).data(), pages::page_bytes);
    const std::uint64_t begin = page * pages::page_bytes;
    parts_.bound->for_each_in({page, 1}, [&](const BoundRange& range) {
        const std::uint64_t first = std::max(range.first, begin) - begin;
        const std::uint64_t end = std::min(range.end(), begin + pages::page_bytes) - begin;
        std::memcpy(plain_copy_.data() + first, twin_copy_.data() + first, end - first);
    });
    return code_.make(room, plain_copy_, twin_copy_);
}

// The twin changes when the home has changed: until then a rank that repeats this finds the writes.
Status Flusher::finish(PageFlush& sending) {
    Status first;
    for (std::size_t i = 0; i < sending.requests_count; ++i) {
        Status status = parts_.link.wait(sending.requests[i]);
        if (first.is_ok()) first = std::move(status);
    }
    if (!first.is_ok()) {
        parts_.node.add_written({sending.page, 1});
        return Status::worded(first.code(), [&] {
            return "the writes to shared page " + std::to_string(sending.page) +
                   " did not reach its home, node " + std::to_string(sending.home) + ": " +
                   std::string(first.message());
        });
    }
    code_.apply(parts_.window.twin(sending.page), sending.difference);
    parts_.node.end_flush(sending.page);
    return {};
}

Status Flusher::finish_all() {
    Status first;
    for (std::size_t i = 0; i < sending_count_; ++i) {
        Status status = finish(sending_[i]);
        if (first.is_ok()) first = std::move(status);
    }
    sending_count_ = 0;
    return first;
}

}  // namespace acp::dsm
