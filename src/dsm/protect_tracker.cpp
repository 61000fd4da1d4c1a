// SPDX-License-Identifier: BSD-3-Clause
// The tracker without userfaultfd: rights by mprotect(), faults by SIGSEGV. The pages of a block have
// their rights in common, so that 10^5 scattered pages stay below vm.max_map_count:
//   none        if a page of it is absent
//   read        if a page of it is protected
//   read_write  if all of them are written or untracked
// A write to a page therefore makes all protected pages of the block written ones; the differences of
// those that no thread wrote are empty. Two threads may set the rights of a block in any order: the
// states allow the wider ones of the two, and a thread that finds too narrow ones faults again.
#include <algorithm>

#include "dsm/page_runs.hpp"
#include "dsm/page_states.hpp"
#include "dsm/watched_pages.hpp"
#include "os/page_rights.hpp"

namespace acp::dsm {

namespace {

class ProtectTracker final : public Tracker {
public:
    ProtectTracker(TrackedMemory memory, MappedPages<>& mapped) noexcept
        : memory_(memory), mapped_(mapped) {}

    ProtectTracker(const ProtectTracker&) = delete;
    ProtectTracker& operator=(const ProtectTracker&) = delete;

    ~ProtectTracker() override { (void)set_rights({0, memory_.pages}, os::PageRights::read_write); }

    os::PageOutcome map(PageRange pages, MapAs as) noexcept override {
        map_states(mapped_, pages, as);
        return match_rights(pages);
    }

    os::PageOutcome admit(pages::PageNumber page, os::FaultAccess access) noexcept override {
        const PageRange block = blocks_of({page, 1});
        if (access != os::FaultAccess::read) admit_writes(mapped_, block);
        return match_rights(block);
    }

    os::PageOutcome unmap(PageRange pages) noexcept override {
        set_states(mapped_, pages, MappedState::absent);
        return set_rights(blocks_of(pages), os::PageRights::none);
    }

    os::PageOutcome arm(PageRange pages) noexcept override {
        os::PageOutcome outcome;
        const auto is_untracked = [](MappedState state) { return state == MappedState::untracked; };
        for_each_run(mapped_, pages, is_untracked, [&](PageRange run) {
            set_states(mapped_, run, MappedState::is_protected);
            outcome = match_rights(run);
            if (!outcome.is_ok()) admit_writes(mapped_, run);
            return outcome.is_ok();
        });
        return outcome;
    }

    base::Status harvest(WrittenPages& written) noexcept override;

    base::Status find_written(PageRange pages, WrittenPages& written) const noexcept override {
        find_written_states(mapped_, pages, written);
        return {};
    }

    [[nodiscard]] TrackerKind kind() const noexcept override { return TrackerKind::protect; }

    [[nodiscard]] bool maps_whole_blocks() const noexcept override { return true; }

private:
    // The pages of all blocks that have a page of the range.
    [[nodiscard]] PageRange blocks_of(PageRange pages) const noexcept {
        const std::uint64_t first = pages.first / block_pages * block_pages;
        const std::uint64_t end = (pages.first + pages.count + block_pages - 1) / block_pages;
        return {first, std::min(end * block_pages, memory_.pages) - first};
    }

    [[nodiscard]] os::PageRights rights_of(PageRange block) const noexcept {
        os::PageRights rights = os::PageRights::read_write;
        for (std::uint64_t i = 0; i < block.count; ++i) {
            const MappedState state = mapped_.state(block.first + i);
            if (state == MappedState::absent) return os::PageRights::none;
            if (state == MappedState::is_protected) rights = os::PageRights::read;
        }
        return rights;
    }

    os::PageOutcome set_rights(PageRange blocks, os::PageRights rights) const noexcept {
        return os::set_page_rights(memory_.at(blocks.first), blocks.count * pages::page_bytes,
                                   rights);
    }

    // Gives the blocks of the range the rights that the states of their pages allow; successive
    // blocks with the same ones by one call.
    os::PageOutcome match_rights(PageRange pages) const noexcept {
        const PageRange all = blocks_of(pages);
        PageRange run{all.first, 0};
        os::PageRights rights{};
        for (pages::PageNumber page = all.first; page < all.first + all.count;) {
            const PageRange block = blocks_of({page, 1});
            const os::PageRights wanted = rights_of(block);
            if (run.count != 0 && wanted != rights) {
                const os::PageOutcome outcome = set_rights(run, rights);
                if (!outcome.is_ok()) return outcome;
                run = {page, 0};
            }
            rights = wanted;
            run.count += block.count;
            page += block.count;
        }
        return set_rights(run, rights);
    }

    TrackedMemory memory_;
    MappedPages<>& mapped_;
};

base::Status ProtectTracker::harvest(WrittenPages& written) noexcept {
    const auto is_written = [](MappedState state) { return state == MappedState::written; };
    const auto may_join = [](MappedState) { return true; };
    base::Status status;
    // Runs that are not joined lie in different blocks.
    for_each_run(mapped_, {0, memory_.pages}, is_written, may_join, block_pages,
                 [&](PageRange run) {
                     report_written(mapped_, run, written);
                     const os::PageOutcome outcome = match_rights(run);
                     if (!outcome.is_ok()) admit_writes(mapped_, run);
                     status = outcome.status();
                     return outcome.is_ok();
                 });
    return status;
}

}  // namespace

base::Result<std::unique_ptr<Tracker>> start_protect(TrackedMemory memory, MappedPages<>& mapped) {
    const std::uint64_t bytes = memory.pages * pages::page_bytes;
    if (auto status = os::keep_from_children(memory.begin, bytes); !status.is_ok()) return status;
    const os::PageOutcome closed = os::set_page_rights(memory.begin, bytes, os::PageRights::none);
    if (!closed.is_ok()) return closed.status();
    return std::unique_ptr<Tracker>(std::make_unique<ProtectTracker>(memory, mapped));
}

}  // namespace acp::dsm
