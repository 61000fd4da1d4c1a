// SPDX-License-Identifier: BSD-3-Clause
// Noting and taking failures.
#include "gma/failure_book.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

namespace acp::gma {

namespace {

constexpr std::size_t untold_first = 64;  // noted one by one without further memory
constexpr std::size_t told_room = 2 * failures_remembered_max;

base::Status copy_of(const base::Status& failure) noexcept {
    return base::Status::worded(failure.code(), [&] { return std::string(failure.message()); });
}

}  // namespace

FailureBook::FailureBook() {
    untold_.reserve(untold_first);
    told_list_.reserve(told_room);
    remembered_.reserve(failures_remembered_max);
}

FailureBook::~FailureBook() {
    if (shown_in_) shown_in_->clear();
}

void FailureBook::remember(std::uint64_t number, base::Code code) noexcept {
    if (remembered_.size() == failures_remembered_max) {
        if (number < remembered_.front().number) {
            return;
        }
        remembered_.erase(remembered_.begin());
    }
    // Nearly always at the end. There is room: see the constructor.
    remembered_.insert(remembered_from(number), {number, code});
}

// The first that is remembered of this number and those after it.
std::vector<FailureBook::Remembered>::const_iterator FailureBook::remembered_from(
    std::uint64_t number) const noexcept {
    return std::lower_bound(
        remembered_.begin(), remembered_.end(), number,
        [](const Remembered& one, std::uint64_t wanted) { return one.number < wanted; });
}

// Makes room for one more in untold_, by forgetting those that were taken or by memory.
bool FailureBook::make_room() noexcept {
    if (untold_.size() < untold_.capacity()) {
        return true;
    }
    if (told_ > untold_.size() / 2) {
        untold_.erase(untold_.begin(), untold_.begin() + static_cast<std::ptrdiff_t>(told_));
        told_ = 0;
        return true;
    }
    try {
        untold_.reserve(2 * untold_.capacity());
        return true;
    } catch (const std::bad_alloc&) {
        if (told_ == 0) {
            return false;
        }
    }
    untold_.erase(untold_.begin(), untold_.begin() + static_cast<std::ptrdiff_t>(told_));
    told_ = 0;
    return true;
}

// Merges the older half of the unreported failures: that is cheap for each, and the newest stay
// apart for the threads that wait for these commands.
void FailureBook::merge_oldest() noexcept {
    const std::size_t end = told_ + failures_apart_max / 2;
    for (std::size_t i = told_; i < end; ++i)
        add_to_rest(untold_[i].number, std::move(untold_[i].failure));
    untold_.erase(untold_.begin(), untold_.begin() + static_cast<std::ptrdiff_t>(end));
    told_ = 0;
}

void FailureBook::add_to_rest(std::uint64_t number, base::Status failure) noexcept {
    if (rest_.first == 0) {
        rest_ = {number, number, 1, false, std::move(failure)};
        return;
    }
    rest_.first = std::min(rest_.first, number);
    rest_.last = std::max(rest_.last, number);
    ++rest_.count;
}

void FailureBook::note(std::uint64_t number, base::Status failure) noexcept {
    remember(number, failure.code());
    if (untold_.size() - told_ == failures_apart_max) merge_oldest();
    if (!make_room()) {
        add_to_rest(number, std::move(failure));
        show();
        return;
    }
    const auto first = untold_.begin() + static_cast<std::ptrdiff_t>(told_);
    const auto at = std::upper_bound(
        first, untold_.end(), number,
        [](std::uint64_t wanted, const Untold& one) { return wanted < one.number; });
    untold_.insert(at, Untold{number, std::move(failure)});
    show();
}

base::Status FailureBook::Rest::report(base::Code code) const noexcept {
    return base::Status::worded(code, [&] {
        const bool has_message = code == failure.code();
        std::string one(has_message ? failure.message() : base::phrase(code));
        if (count == 1 && !is_partly_told) return one;
        return (is_partly_told ? "up to " : "") + std::to_string(count) + " commands failed, and " +
               (has_message ? "only this message of theirs" : "no message of theirs") +
               " was kept (each of the newest " + std::to_string(failures_remembered_max) +
               " unreported failures keeps its own, unless memory is short): " + one;
    });
}

// Failures that may have numbers above `number` stay unreported: reporting one twice is better than
// never.
base::Status FailureBook::take_rest(std::uint64_t number, std::uint64_t thread) noexcept {
    const std::uint64_t last = std::min(number, rest_.last);
    const auto one = remembered_from(rest_.first);
    const bool is_remembered = one != remembered_.end() && one->number <= last;
    base::Status failure = rest_.report(is_remembered ? one->code : rest_.failure.code());
    note_rest_told(last, number, thread);
    if (number < rest_.last) {
        rest_.first = number + 2;
        rest_.count = std::min(rest_.count, (rest_.last - rest_.first) / 2 + 1);
        rest_.is_partly_told = true;
    } else {
        rest_ = {};
    }
    show();
    return failure;
}

// Notes that the numbers of rest_ up to `last` are reported to a thread that waited for `number`.
void FailureBook::note_rest_told(std::uint64_t last,
                                 std::uint64_t number,
                                 std::uint64_t thread) noexcept {
    ToldRest& told = told_rest_;
    told.first = told.first == 0 ? rest_.first : std::min(told.first, rest_.first);
    told.last = std::max(told.last, last);
    ToldRest::Listener& one = listener(thread);
    one.up_to = std::max(one.up_to, number);
}

// The entry of a thread, or else a reused entry, the one with the oldest number: its former thread
// may get a failure twice.
FailureBook::ToldRest::Listener& FailureBook::listener(std::uint64_t thread) noexcept {
    auto& all = told_rest_.listeners;
    auto found = std::find_if(all.begin(), all.end(),
                              [&](const ToldRest::Listener& one) { return one.thread == thread; });
    if (found == all.end()) {
        found =
            std::min_element(all.begin(), all.end(),
                             [](const ToldRest::Listener& left, const ToldRest::Listener& right) {
                                 return left.up_to < right.up_to;
                             });
        *found = {thread, 0};
    }
    return *found;
}

std::optional<base::Status> FailureBook::told_rest_to_others(std::uint64_t number,
                                                             std::uint64_t thread) noexcept {
    if (told_rest_.first == 0 || number < told_rest_.first || number > told_rest_.last) {
        return std::nullopt;
    }
    const auto failed = remembered_from(number);
    if (failed == remembered_.end() || failed->number != number) return std::nullopt;
    ToldRest::Listener& one = listener(thread);
    if (number <= one.up_to) return std::nullopt;
    one.up_to = number;
    return base::Status::bare(failed->code);
}

void FailureBook::note_told(Untold one, std::uint64_t thread) noexcept {
    if (told_list_.size() == told_room) {  // the older half at once: that is cheap for each
        told_list_.erase(told_list_.begin(),
                         told_list_.begin() + static_cast<std::ptrdiff_t>(failures_remembered_max));
    }
    Told told;
    told.number = one.number;
    told.failure = std::move(one.failure);
    told.threads[0] = thread;
    const auto at = std::upper_bound(
        told_list_.begin(), told_list_.end(), one.number,
        [](std::uint64_t wanted, const Told& other) { return wanted < other.number; });
    told_list_.insert(at, std::move(told));
}

std::optional<base::Status> FailureBook::told_to_others(std::uint64_t number,
                                                        std::uint64_t thread) noexcept {
    const auto found =
        std::lower_bound(told_list_.begin(), told_list_.end(), number,
                         [](const Told& one, std::uint64_t wanted) { return one.number < wanted; });
    if (found == told_list_.end() || found->number != number) {
        return told_rest_to_others(number, thread);
    }
    const auto place = std::find_if(found->threads.begin(), found->threads.end(),
                                    [&](std::uint64_t one) { return one == 0 || one == thread; });
    if (place == found->threads.end() || *place == thread) {
        return std::nullopt;
    }
    *place = thread;
    return copy_of(found->failure);
}

std::optional<base::Status> FailureBook::take(std::uint64_t number, std::uint64_t thread) noexcept {
    const std::uint64_t first = first_untold();
    if (first == 0 || first > number) {
        return std::nullopt;
    }
    if (told_ == untold_.size() || first < untold_[told_].number) {
        return take_rest(number, thread);
    }
    std::optional<base::Status> failure = copy_of(untold_[told_].failure);
    note_told(std::move(untold_[told_]), thread);
    if (++told_ == untold_.size()) {
        untold_.clear();
        told_ = 0;
    }
    show();
    return failure;
}

std::optional<base::Status> FailureBook::take_of(std::uint64_t number,
                                                 std::uint64_t thread) noexcept {
    const auto at = std::lower_bound(
        untold_.begin() + static_cast<std::ptrdiff_t>(told_), untold_.end(), number,
        [](const Untold& one, std::uint64_t wanted) { return one.number < wanted; });
    if (at == untold_.end() || at->number != number) {
        // Among the numbers of a merged failure, from first to last, some succeeded.
        const bool is_of_rest = is_untold(number) && is_remembered(number);
        return is_of_rest ? take_rest(number, thread) : told_to_others(number, thread);
    }
    std::optional<base::Status> failure = copy_of(at->failure);
    note_told(std::move(*at), thread);
    untold_.erase(at);
    if (told_ == untold_.size()) {
        untold_.clear();
        told_ = 0;
    }
    show();
    return failure;
}

void FailureBook::show_in(const node::UnreportedPlace& place) noexcept {
    shown_in_.emplace(place);
    shown_first_ = 0;
    show();
}

void FailureBook::show() noexcept {
    if (!shown_in_) return;
    const std::uint64_t first = first_untold();
    const std::uint64_t shown = std::exchange(shown_first_, first);
    if (first == 0) {
        shown_in_->clear();
    } else if (first == shown) {
        shown_in_->write_count(untold_count());
    } else {
        shown_in_->write(untold_count(), first_message());
    }
}

std::string_view FailureBook::first_message() const noexcept {
    const std::uint64_t first = first_untold();
    const bool is_listed = told_ < untold_.size() && untold_[told_].number == first;
    return (is_listed ? untold_[told_].failure : rest_.failure).message();
}

std::uint64_t FailureBook::first_untold() const noexcept {
    const std::uint64_t listed = told_ < untold_.size() ? untold_[told_].number : 0;
    return listed == 0 || (rest_.first != 0 && rest_.first < listed) ? rest_.first : listed;
}

bool FailureBook::is_untold(std::uint64_t number) const noexcept {
    if (rest_.first != 0 && number >= rest_.first && number <= rest_.last) {
        return true;  // perhaps: a command too many that does not run does no harm
    }
    const auto first = untold_.begin() + static_cast<std::ptrdiff_t>(told_);
    const auto at = std::lower_bound(
        first, untold_.end(), number,
        [](const Untold& one, std::uint64_t wanted) { return one.number < wanted; });
    return at != untold_.end() && at->number == number;
}

bool FailureBook::is_remembered(std::uint64_t number) const noexcept {
    const auto at = remembered_from(number);
    return at != remembered_.end() && at->number == number;
}

}  // namespace acp::gma
