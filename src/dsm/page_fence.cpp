// SPDX-License-Identifier: BSD-3-Clause
// Gets the pages of one claim together, and merges them one after the other.
#include "dsm/page_fence.hpp"

#include <array>
#include <span>
#include <string>
#include <utility>

#include "base/fence.hpp"
#include "dsm/race_check.hpp"

#include "pages/page_merge.hpp"

namespace acp::dsm {

using base::Status;

// Merges what the homes have into pages that were flushed.
class PageFence::Merger final : public SentPages {
public:
    //   left  the range whose bytes a dead holder left here, or nullptr
    explicit Merger(const PageParts& parts, const BoundRange* left = nullptr) noexcept
        : parts_(parts), left_(left) {}

    Status take(std::span<const pages::PageNumber> pages) override;

private:
    Status merge(pages::PageNumber page, std::size_t index, gma::Handle get);

    const PageParts& parts_;
    const BoundRange* left_;
};

Status PageFence::synchronize(PageRange pages) {
    // seq_cst, here and below: the accesses of this thread to pages whose home is this node, before
    // and behind the call; partners: the fences of ranks of this node
    base::fence(std::memory_order_seq_cst);
    Merger merger(parts_);
    Status status = flusher_.flush_copies(pages, merger);
    Status ended = end_writes(pages);
    if (status.is_ok()) status = std::move(ended);
    base::fence(std::memory_order_seq_cst);
    return status;
}

Status PageFence::refresh(const BoundRange& range, PageRange pages) {
    Merger merger(parts_, parts_.is_left_by_dead(range) ? &range : nullptr);
    return flusher_.flush_copies(pages, merger);
}

Status PageFence::Merger::take(std::span<const pages::PageNumber> pages) {
    const PageJournal journal = parts_.journals.of(parts_.slot);
    std::array<gma::Handle, PageJournal::pages_max> gets{};
    for (std::size_t i = 0; i < pages.size(); ++i) {
        gets[i] =
            parts_.link.get_into(journal.copy(i), pages[i], parts_.window.homes().home(pages[i]));
    }
    Status first;
    for (std::size_t i = 0; i < pages.size(); ++i) {
        Status status = merge(pages[i], i, gets[i]);
        if (first.is_ok()) first = std::move(status);
    }
    return first;
}

// Includes pages of which this node has dropped its copy.
Status PageFence::end_writes(PageRange pages) {
    if (parts_.races == nullptr) return {};
    parts_.races->fences().fetch_add(1, std::memory_order_relaxed);
    parts_.races->end_own_writes(pages);
    const pages::HomeTable<> homes = parts_.window.homes();
    Status first;
    for (const pages::PageNumber end = pages.first + pages.count; pages.first < end;) {
        const pages::NodeNumber home = homes.home(pages.first);
        pages.count = 1;
        while (pages.first + pages.count < end && pages.count < operations::end_pages_max &&
               homes.home(pages.first + pages.count) == home)
            ++pages.count;
        if (home != pages::no_node && home != parts_.window.node()) {
            Status status = parts_.link.wait(parts_.link.end_writes(pages, home));
            if (first.is_ok()) first = std::move(status);
        }
        pages.first += pages.count;
    }
    return first;
}

Status PageFence::Merger::merge(pages::PageNumber page, std::size_t index, gma::Handle get) {
    const Status status = parts_.link.wait(get);
    if (!status.is_ok()) {
        return Status::worded(status.code(), [&] {
            return "what other nodes wrote to shared page " + std::to_string(page) +
                   " cannot be fetched from its home, node " +
                   std::to_string(parts_.window.homes().home(page)) + ": " +
                   std::string(status.message());
        });
    }
    const PageJournal journal = parts_.journals.of(parts_.slot);
    parts_.leave_out_travelling(page, journal.copy(index));
    // No thread has the bytes. A difference has none of them, until the caller has refreshed all pages.
    if (left_ != nullptr)
        copy_bound(*left_, page, parts_.window.plain(page), parts_.window.twin(page));
    journal.begin(index, JournalStep::merging, page);
    const pages::PageMerge<> merge(
        pages::words_of(parts_.window.plain(page)), pages::words_of(parts_.window.twin(page)),
        reinterpret_cast<const std::uint64_t*>(journal.copy(index).data()));
    (void)merge.merge();
    journal.end(index);
    return {};
}

}  // namespace acp::dsm
