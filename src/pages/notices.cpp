// SPDX-License-Identifier: BSD-3-Clause
// The words of notices, and a sweep over the begins and ends of all runs.
#include "pages/notices.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <iterator>
#include <utility>

namespace acp::pages {

namespace {

static_assert(std::endian::native == std::endian::little, "words are sent as they are in memory");

constexpr int kind_bits = 2;
constexpr int count_shift = 40;
constexpr int kinds_shift = 61;

std::uint64_t word_of(const NoticeRun& run) noexcept {
    return run.first | (run.count - 1) << count_shift | std::uint64_t{run.kinds} << kinds_shift;
}

NoticeRun run_of(std::uint64_t word) noexcept {
    return {word & (notice_pages_max - 1), (word >> count_shift & (notice_run_pages_max - 1)) + 1,
            static_cast<NoticeKinds>(word >> kinds_shift)};
}

// The runs that cover a page while a sweep passes over it.
class Cover {
public:
    //   step  +1: a run begins; -1: it ends
    void change(NoticeKinds kinds, NodeNumber node, std::int32_t step) noexcept {
        for (int bit = 0; bit < kind_bits; ++bit) {
            if ((kinds >> bit & 1) != 0) counts_[static_cast<std::size_t>(bit)] += step;
        }
        // With one writer the sum is its number.
        if ((kinds & notice_written) != 0) writers_ += std::int64_t{step} * node;
    }

    [[nodiscard]] NoticeKinds kinds() const noexcept {
        NoticeKinds kinds = 0;
        for (int bit = 0; bit < kind_bits; ++bit) {
            if (counts_[static_cast<std::size_t>(bit)] != 0) {
                kinds = static_cast<NoticeKinds>(kinds | 1U << bit);
            }
        }
        return kinds;
    }

    [[nodiscard]] NodeNumber writer() const noexcept {
        if (counts_[0] == 0) return no_node;
        return counts_[0] == 1 ? static_cast<NodeNumber>(writers_) : several_nodes;
    }

private:
    std::array<std::int64_t, kind_bits> counts_{};
    std::int64_t writers_ = 0;
};

static_assert(notice_written == 1, "the writers are counted by bit 0");

}  // namespace

std::optional<Notices> Notices::parse(std::span<const std::byte> bytes,
                                      std::uint64_t pages) noexcept {
    if (bytes.size() % notice_bytes != 0) return std::nullopt;
    const Notices notices(bytes);
    NoticeRun before;
    for (std::size_t i = 0; i < notices.count(); ++i) {
        const NoticeRun run = notices[i];
        const PageNumber end = before.first + before.count;
        if (run.kinds == 0 || run.kinds > notice_kinds_all) return std::nullopt;
        if (run.first < end) return std::nullopt;
        if (run.count > pages || run.first > pages - run.count) return std::nullopt;
        const bool is_cut = run.first == end && run.kinds == before.kinds;
        if (is_cut && before.count != notice_run_pages_max) return std::nullopt;
        before = run;
    }
    return notices;
}

NoticeRun Notices::operator[](std::size_t index) const noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes_.data() + index * notice_bytes, sizeof word);
    return run_of(word);
}

void NoticeMerger::add(const NoticeRun& run, NodeNumber node) {
    if (edges_.empty() || run.first < edges_.back().page) {
        sequences_.push_back(edges_.size());
    } else if (Edge& end = edges_.back();
               end.page == run.first && end.kinds == run.kinds && end.node == node) {
        end.page += run.count;
        return;
    }
    edges_.push_back({run.first, 1, run.kinds, node});
    edges_.push_back({run.first + run.count, -1, run.kinds, node});
}

void NoticeMerger::add(Notices notices, NodeNumber node) {
    for (std::size_t i = 0; i < notices.count(); ++i) add(notices[i], node);
}

// Merges the sequences in pairs until there is one.
void NoticeMerger::sort_edges() {
    const auto is_before = [](const Edge& one, const Edge& other) { return one.page < other.page; };
    while (sequences_.size() > 1) {
        sorted_.clear();
        std::size_t count = 0;
        for (std::size_t i = 0; i < sequences_.size(); i += 2) {
            const auto at = [&](std::size_t sequence) {
                const std::size_t begin =
                    sequence < sequences_.size() ? sequences_[sequence] : edges_.size();
                return edges_.begin() + static_cast<std::ptrdiff_t>(begin);
            };
            const std::size_t begin = sorted_.size();
            std::merge(at(i), at(i + 1), at(i + 1), at(i + 2), std::back_inserter(sorted_),
                       is_before);
            sequences_[count++] = begin;
        }
        sequences_.resize(count);
        std::swap(edges_, sorted_);
    }
}

std::span<const MergedRun> NoticeMerger::merge() {
    sort_edges();
    merged_.clear();
    Cover cover;
    for (std::size_t i = 0; i < edges_.size();) {
        const PageNumber page = edges_[i].page;
        for (; i < edges_.size() && edges_[i].page == page; ++i) {
            cover.change(edges_[i].kinds, edges_[i].node, edges_[i].step);
        }
        if (cover.kinds() == 0) continue;
        // Some run is open, so an edge follows.
        const MergedRun run{page, edges_[i].page - page, cover.kinds(), cover.writer()};
        MergedRun* const before = merged_.empty() ? nullptr : &merged_.back();
        if (before != nullptr && before->first + before->count == run.first &&
            before->kinds == run.kinds && before->writer == run.writer) {
            before->count += run.count;
        } else {
            merged_.push_back(run);
        }
    }
    return merged_;
}

std::span<const std::byte> NoticeMerger::encode() {
    (void)merge();
    encoded_.clear();
    for (std::size_t i = 0; i < merged_.size();) {
        // Neighbours with the same kinds may differ in their writers.
        NoticeRun run{merged_[i].first, merged_[i].count, merged_[i].kinds};
        for (++i; i < merged_.size() && merged_[i].first == run.first + run.count &&
                  merged_[i].kinds == run.kinds;
             ++i) {
            run.count += merged_[i].count;
        }
        for (std::uint64_t rest = run.count; rest != 0; rest -= run.count) {
            run.count = std::min(rest, notice_run_pages_max);
            const std::uint64_t word = word_of(run);
            const std::size_t end = encoded_.size();
            encoded_.resize(end + notice_bytes);
            std::memcpy(encoded_.data() + end, &word, sizeof word);
            run.first += run.count;
        }
    }
    return encoded_;
}

}  // namespace acp::pages
