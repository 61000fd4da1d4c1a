// SPDX-License-Identifier: BSD-3-Clause
// Copies between records and pages, and the second meeting of a barrier.
#include "dsm/bound_pages.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "data/remote_call.hpp"
#include "local/typed_operation.hpp"

namespace acp::dsm {

using base::Code;
using base::Status;
using pages::PageNumber;
using pages::PageState;

// The leaders of the nodes read the records, and learn whether all have succeeded.
class BoundPages::Meeting final : public team::LeaderMeeting {
public:
    Meeting(BoundPages& bound, std::span<const BoundRange* const> ranges) noexcept
        : bound_(bound), ranges_(ranges) {}

    [[nodiscard]] std::uint64_t bytes_max() const noexcept override { return sizeof code_; }

    std::span<const char> notice() override {
        failure_ = bound_.refresh(ranges_);
        code_ = static_cast<std::uint64_t>(failure_.code());
        return {reinterpret_cast<const char*>(&code_), sizeof code_};
    }

    void settle(std::span<const std::span<const char>> notices) override {
        Code first = Code::ok;
        for (const std::span<const char> notice : notices) {
            auto code = static_cast<std::uint64_t>(Code::mismatch);
            if (notice.size() == sizeof code) std::memcpy(&code, notice.data(), sizeof code);
            if (code >= base::code_count) code = static_cast<std::uint64_t>(Code::mismatch);
            if (first == Code::ok) first = static_cast<Code>(code);
        }
        bound_.parts_.node.set_outcome(first);
    }

    [[nodiscard]] Status take_failure() noexcept { return std::move(failure_); }

private:
    BoundPages& bound_;
    std::span<const BoundRange* const> ranges_;
    Status failure_;
    std::uint64_t code_ = 0;
};

bool BoundPages::meet(team::Team& team, std::span<const BoundRange* const> ranges, Status& status) {
    Meeting meeting(*this, ranges);
    if (!team::synchronize_with_leaders(team, meeting)) return false;
    status = meeting.take_failure();
    const Code outcome = parts_.node.outcome();
    if (status.is_ok() && outcome != Code::ok) {
        status = Status::worded(outcome, [] {
            return std::string(
                "a rank could not read the bytes that are bound to a lock, and has the reason in "
                "its own message");
        });
    }
    return true;
}

bool BoundPages::has_page(PageNumber page) const noexcept {
    const PageState state = parts_.window.page_words().read(page).state;
    return state == PageState::valid || state == PageState::home;
}

bool BoundPages::has_any_page(PageRange pages) const noexcept {
    for (std::uint64_t i = 0; i < pages.count; ++i)
        if (has_page(pages.first + i)) return true;
    return false;
}

Status BoundPages::store(const BoundRange& range, std::span<const std::byte> bytes) {
    if (!has_pages(range)) {
        if (Status status = fetcher_.fetch(range.pages()); !status.is_ok()) return status;
    }
    std::memcpy(bytes_of(range).data(), bytes.data(), bytes.size());
    return {};
}

Status BoundPages::refresh(std::span<const BoundRange* const> ranges) {
    Status first;
    const auto reads = std::make_unique<std::array<Read, reads_max>>();
    for (std::size_t done = 0; done < ranges.size();) {
        std::size_t count = 0;
        for (; done < ranges.size() && count < reads_max; ++done) {
            if (!has_any_page(ranges[done]->pages())) continue;
            (*reads)[count].range = ranges[done];
            begin((*reads)[count]);
            ++count;
        }
        for (std::size_t i = 0; i < count; ++i) {
            Status status = finish((*reads)[i]);
            if (first.is_ok()) first = std::move(status);
        }
    }
    return first;
}

void BoundPages::begin(Read& read) {
    operations::LockCall input;
    input.lock = read.range->lock;
    input.process = gma_.space().process();
    gma::Invocation call;
    call.process = static_cast<std::uint32_t>(gma_.space().layout().process(input.lock));
    call.operation = local::operation_number<operations::ReadBoundBytes>;
    call.arguments = data::wire_of(std::as_const(input));
    call.result = data::wire_of(read.answer);
    call.result_tail = read.room;
    call.result_bytes = &read.bytes;
    read.request = gma_.issue_invoke(call, gma::handle_null);
}

Status BoundPages::finish(Read& read) {
    Status status = gma_.wait_for_one(read.request);
    const BoundRange& range = *read.range;
    if (status.is_ok() && read.bytes != sizeof read.answer + range.bytes) {
        status = Status(Code::mismatch, "the lock has " + std::to_string(read.bytes) +
                                            " bytes of answer and bound bytes");
    }
    if (!status.is_ok()) return status;
    const PageRange pages = range.pages();
    for (PageNumber page = pages.first; page < pages.first + pages.count; ++page) {
        if (!has_page(page)) continue;
        const std::uint64_t begin = page * pages::page_bytes;
        const std::uint64_t first = std::max(range.first, begin);
        const std::uint64_t end = std::min(range.end(), begin + pages::page_bytes);
        const std::byte* const from = read.room.data() + (first - range.first);
        std::memcpy(parts_.window.plain(page).data() + (first - begin), from, end - first);
        std::memcpy(parts_.window.twin(page).data() + (first - begin), from, end - first);
    }
    return {};
}

void BoundPages::save_held(const BoundRanges& ranges) {
    saved_.clear();
    ranges.for_each([this](const BoundRange& range) {
        if (range.way != BoundWay::travels || range.holder.load(std::memory_order_relaxed) == 0)
            return;
        const std::span<const std::byte> bytes = bytes_of(range);
        saved_.push_back({&range, {bytes.begin(), bytes.end()}});
    });
}

Status BoundPages::restore_held() {
    Status first;
    for (const Saved& saved : saved_) {
        Status status = store(*saved.range, saved.bytes);
        if (first.is_ok()) first = std::move(status);
    }
    saved_.clear();
    return first;
}

}  // namespace acp::dsm
