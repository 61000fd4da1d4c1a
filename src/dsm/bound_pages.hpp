// SPDX-License-Identifier: BSD-3-Clause
// Bytes of shared pages that travel with locks, in a job of several nodes: moves them between a lock's
// record (operations/lock_operations.hpp) and the pages of this node.
//
// The rule that keeps them right in every order: the lock's record alone has the newest bytes. No
// difference has bound bytes (dsm/flusher.hpp), so no flush, early or late, carries old ones over newer
// ones. A thread that gets the lock stores the record's bytes into the page of its node, and the
// release copies them back. A barrier that follows a release has two meetings. In the first all nodes
// drop the copies of the page that other nodes wrote, since the release reported the page as
// written. When all ranks have arrived at the second, no thread can release: each node reads the
// records of those pages that it still has (it is the home, or wrote them alone), and no rank leaves
// before all nodes have done so. Therefore any copy that is fetched afterwards has the newest bytes
// too. A rank that holds a lock across the barrier saves its bytes before and puts them back behind it.
//
// Threads: report() and store() by any thread that holds the lock of the range; all other calls in a
// collective call.
// Tests: tests/conformance/dsm_locks_test.cpp, dsm_lock_random_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "dsm/bound_ranges.hpp"
#include "dsm/fetcher.hpp"
#include "gma/gma.hpp"
#include "team/collectives.hpp"

#include "operations/lock_operations.hpp"

namespace acp::dsm {

class BoundPages {
public:
    //   all outlive this
    BoundPages(gma::Gma& gma, const PageParts& parts, PageFetcher& fetcher) noexcept
        : gma_(gma), parts_(parts), fetcher_(fetcher) {}

    // The calling thread has got the lock: its bytes come into the pages of this node.
    // Errors: as PageFetcher::fetch.
    base::Status store(const BoundRange& range, std::span<const std::byte> bytes);

    // The bytes in the plain mapping.
    [[nodiscard]] std::span<std::byte> bytes_of(const BoundRange& range) const noexcept {
        return {parts_.window.plain(0).data() + range.first, range.bytes};
    }

    // Whether the node has the pages, which then say that this rank maps them.
    [[nodiscard]] bool has_pages(const BoundRange& range) const noexcept {
        const PageRange pages = range.pages();
        bool has_all = true;
        for (std::uint64_t i = 0; i < pages.count; ++i)
            has_all = parts_.window.page_words().try_map(pages.first + i, parts_.slot) && has_all;
        return has_all;
    }

    // The calling thread is about to release the lock: reports the pages as written.
    void report(const BoundRange& range) const noexcept {
        const PageRange pages = range.pages();
        for (std::uint64_t i = 0; i < pages.count; ++i) {
            parts_.node.add_flushed(pages.first + i);
            parts_.window.page_words().note_write(pages.first + i, parts_.node.next_epoch());
        }
        parts_.node.note_released();
    }

    // The second meeting of a barrier: each node reads the records of the ranges, as far as it has their
    // pages; the twins become equal. Returns false if the team is broken.
    //   ranges  used by the leaders
    //   status  the failure of a node, on all ranks. Errors: peer (the node of a lock is lost), mismatch
    bool meet(team::Team& team, std::span<const BoundRange* const> ranges, base::Status& status);

    // Keeps the bytes of those ranges whose locks threads of this rank hold. Throws std::bad_alloc.
    void save_held(const BoundRanges& ranges);

    // Puts them back. Errors: as PageFetcher::fetch.
    base::Status restore_held();

private:
    class Meeting;

    static constexpr std::size_t reads_max = 16;  // requests in flight

    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): the answer of the lock's node fills room
    struct Read {
        const BoundRange* range = nullptr;
        gma::Handle request = gma::handle_null;
        operations::LockReply answer;
        std::uint32_t bytes = 0;  // the length of the answer and its tail
        std::array<std::byte, operations::lock_bytes_max> room;
    };

    struct Saved {
        const BoundRange* range = nullptr;
        std::vector<std::byte> bytes;
    };

    base::Status refresh(std::span<const BoundRange* const> ranges);
    void begin(Read& read);
    base::Status finish(Read& read);
    [[nodiscard]] bool has_page(pages::PageNumber page) const noexcept;
    [[nodiscard]] bool has_any_page(PageRange pages) const noexcept;

    gma::Gma& gma_;
    PageParts parts_;
    PageFetcher& fetcher_;
    std::vector<Saved> saved_;
};

}  // namespace acp::dsm
