// SPDX-License-Identifier: BSD-3-Clause
// The pairs of pages and nodes in one sorted list: new pairs are merged into it once an epoch.
#include "pages/learned.hpp"

#include <algorithm>

namespace acp::pages {

LearnedSharers::Sharer* LearnedSharers::find(PageNumber page, NodeNumber node) noexcept {
    const Sharer wanted{page, node};
    const auto found = std::lower_bound(sharers_.begin(), sharers_.end(), wanted, is_before);
    return found != sharers_.end() && found->page == page && found->node == node ? &*found
                                                                                 : nullptr;
}

void LearnedSharers::note_writer(PageNumber page, NodeNumber node) {
    Sharer* sharer = find(page, node);
    if (sharer == nullptr) {
        new_.push_back({page, node});
        add_new();
        sharer = find(page, node);
    }
    if (sharer == nullptr) {
        is_closed_ = true;
        return;
    }
    *sharer = {page, node, 0, false, true};
}

void LearnedSharers::forget(PageNumber page, NodeNumber node) noexcept {
    Sharer* const sharer = find(page, node);
    if (sharer == nullptr) return;
    sharer->fetches = 0;
    sharer->has_fetched = false;
}

void LearnedSharers::forget_pages(PageNumber first, std::uint64_t count) noexcept {
    const auto is_of_them = [&](const auto& pair) {
        return pair.page >= first && pair.page - first < count;
    };
    std::erase_if(sharers_, is_of_them);
    std::erase_if(fetched_, is_of_them);
}

std::span<const PushRun> LearnedSharers::end_epoch(std::span<const MergedRun> written) {
    take_fetches();
    pushes_.clear();
    for (const MergedRun& run : written) {
        auto sharer =
            std::lower_bound(sharers_.begin(), sharers_.end(), Sharer{run.first, 0}, is_before);
        for (; sharer != sharers_.end() && sharer->page - run.first < run.count; ++sharer) {
            if (!sharer->is_learned()) {
                const int fetches = sharer->has_fetched ? sharer->fetches + 1 : 0;
                sharer->fetches = static_cast<std::uint8_t>(fetches);
            }
            sharer->has_fetched = false;
            if (sharer->is_learned()) pushes_.push_back({sharer->node, sharer->page, 1});
        }
    }
    join_pushes();
    return pushes_;
}

void LearnedSharers::join_pushes() {
    std::sort(pushes_.begin(), pushes_.end(), [](const PushRun& one, const PushRun& other) {
        return one.node != other.node ? one.node < other.node : one.first < other.first;
    });
    std::size_t kept = 0;
    for (const PushRun& run : pushes_) {
        PushRun* const before = kept == 0 ? nullptr : &pushes_[kept - 1];
        if (before != nullptr && before->node == run.node &&
            before->first + before->count == run.first) {
            before->count += run.count;
        } else {
            pushes_[kept++] = run;
        }
    }
    pushes_.resize(kept);
}

void LearnedSharers::take_fetches() {
    for (const Fetch& fetch : fetched_) {
        Sharer* const sharer = find(fetch.page, fetch.node);
        if (sharer == nullptr) {
            if (!is_closed_) new_.push_back({fetch.page, fetch.node, 0, true});
        } else {
            sharer->has_fetched = !sharer->is_writer;
        }
    }
    fetched_.clear();
    if (!new_.empty()) add_new();
}

void LearnedSharers::add_new() {
    std::sort(new_.begin(), new_.end(), is_before);
    const auto is_same = [](const Sharer& one, const Sharer& other) {
        return one.page == other.page && one.node == other.node;
    };
    new_.erase(std::unique(new_.begin(), new_.end(), is_same), new_.end());
    if (sharers_.size() + new_.size() > sharers_max_) {
        std::erase_if(sharers_, [](const Sharer& sharer) { return sharer.is_idle(); });
    }
    new_.resize(std::min(new_.size(), sharers_max_ - sharers_.size()));
    const auto middle = static_cast<std::ptrdiff_t>(sharers_.size());
    sharers_.insert(sharers_.end(), new_.begin(), new_.end());
    std::inplace_merge(sharers_.begin(), sharers_.begin() + middle, sharers_.end(), is_before);
    new_.clear();
}

}  // namespace acp::pages
