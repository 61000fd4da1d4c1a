// SPDX-License-Identifier: BSD-3-Clause
// Agrees on the place, allocates and maps.
#include "dsm/window_memory.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "node/heap_limit.hpp"
#include "os/window_places.hpp"
#include "team/collectives.hpp"

#include "pages/allocated_pages.hpp"

namespace acp::dsm {

namespace {

using base::Code;
using base::Result;
using base::Status;
using memory::GlobalAddress;

constexpr auto places = os::window_places;
constexpr std::uint64_t all_places = (std::uint64_t{1} << places.size()) - 1;

// What each rank contributes.
struct Offer {
    std::uint64_t bytes = 0;   // the size of the window
    std::uint64_t places = 0;  // a bit for each place that is free
    std::uint64_t check = 0;   // a base::PageCheck
    std::uint64_t code = 0;    // why the rank failed; 0: it did not
    GlobalAddress block = 0;   // a leader's; 0: the heaps of its node have no room
    std::uint64_t left = 0;    // then: the bytes that the emptiest heap of the node has left
};

std::string hexadecimal(std::uintptr_t number) {
    std::string text;
    for (; number != 0; number >>= 4) text.insert(text.begin(), "0123456789abcdef"[number & 15]);
    return "0x" + text;
}

//   bytes  whole pages
void make_zero(char* start, std::uint64_t bytes) noexcept {
    if (!os::give_back_shared(start, bytes)) std::memset(start, 0, bytes);
}

std::uint64_t most_ranks_of_a_node(const team::Membership& members) {
    std::vector<std::uint64_t> ranks(members.nodes());
    for (std::uint32_t rank = 0; rank < members.size(); ++rank) ++ranks[members.node_of(rank)];
    return *std::max_element(ranks.begin(), ranks.end());
}

struct Opened {
    GlobalAddress own_block = 0;
    os::Mapping tracked;
    WindowPlaces places;
};

// One call of open(), on one rank.
class Opening {
public:
    Opening(team::Team& team,
            data::Allocator& allocator,
            const node::Segment& segment,
            const WindowPlan& plan)
        : team_(team),
          members_(team.members()),
          allocator_(allocator),
          segment_(segment),
          plan_(plan),
          pages_(pages::AllocatedPages::window_pages(plan.bytes / pages::page_bytes)),
          state_bytes_(plan.state_bytes + plan.rank_bytes * most_ranks_of_a_node(members_)),
          layout_(WindowLayout::of(pages_, members_.nodes(), state_bytes_)),
          offers_(members_.size()) {}

    Result<Opened> run() {
        Status status = prepare();
        if (!gather(status)) return team_.failure();
        if (Status refusal = verdict(std::move(status)); !refusal.is_ok())
            return fail(std::move(refusal));
        // Before the gather behind which ranks use the block.
        if (own_.block != 0) make_zero(own_block(), layout_.bytes);
        while (const std::uint64_t free = free_everywhere()) {
            os::Mapping tracked;
            status = map(free, tracked);
            if (!gather(status)) return team_.failure();
            if (Status refusal = verdict(std::move(status)); !refusal.is_ok())
                return fail(std::move(refusal));
            if (free_everywhere() == free) return made(std::move(tracked));
        }
        return fail(no_place());
    }

private:
    Status prepare() {
        if (os::page_bytes() != pages::page_bytes) {
            return {Code::unsupported, "shared pages are " + std::to_string(pages::page_bytes) +
                                           " bytes long, but the pages of this system " +
                                           std::to_string(os::page_bytes())};
        }
        if (!segment_.has_file()) {
            return {Code::state,
                    "the descriptor of the node segment is not there any more: a program that "
                    "closes descriptors must leave those it did not open"};
        }
        if (layout_.bytes > segment_.shape().heap_bytes && segment_.shape().heap_bytes != 0)
            return too_large();
        if (Status status = find_places(); !status.is_ok()) return status;
        return members_.is_leader() ? allocate() : Status();
    }

    Status find_places() {
        for (std::size_t i = 0; i < places.size(); ++i) {
            const Status status = os::check_free(places[i], window_bytes());
            if (status.is_ok()) {
                own_.places |= std::uint64_t{1} << i;
            } else if (status.code() != Code::state) {
                return {status.code(), std::string(status.message())};
            }
        }
        return {};
    }

    // Maps the window at the first of the free places.
    Status map(std::uint64_t free, os::Mapping& tracked) {
        const auto place = places[static_cast<std::size_t>(std::countr_zero(free))];
        auto mapped =
            os::Mapping::map_shared_at(place, window_bytes(), segment_.file(), offset_of_block());
        own_.places = mapped.is_ok() ? free : free & (free - 1);
        if (mapped.is_ok()) {
            tracked = std::move(mapped).value();
            return {};
        }
        if (mapped.failure().code() == Code::state) return {};
        return std::move(mapped).failure();
    }

    // In the first heap of the node that has room.
    Status allocate() {
        for (const std::uint32_t rank : members_.near()) {
            auto block = allocator_.allocate(members_.process(rank), layout_.bytes,
                                             pages::page_bytes, allocator::BlockOwner::separate);
            if (block.is_ok()) {
                own_.block = block.value();
                return {};
            }
            if (block.failure().code() != Code::memory) return std::move(block).failure();
            const auto usage = allocator_.usage(members_.process(rank));
            if (!usage.is_ok()) continue;
            const std::uint64_t used = usage.value().unit_bytes;
            own_.left = std::max(own_.left, usage.value().limit_bytes - used);
        }
        return {};  // verdict() has the words
    }

    bool gather(const Status& status) {
        own_.bytes = plan_.bytes;
        own_.check = static_cast<std::uint64_t>(plan_.check);
        own_.code = static_cast<std::uint64_t>(status.code());
        return team::all_gather(team_, reinterpret_cast<const char*>(&own_),
                                reinterpret_cast<char*>(offers_.data()), sizeof own_);
    }

    // The first failure of any rank, in the same words on all of them but the one that failed.
    Status verdict(Status own) const {
        for (std::uint32_t rank = 0; rank < members_.size(); ++rank) {
            if (offers_[rank].bytes == offers_[0].bytes) continue;
            return {Code::argument, "rank 0 asks for " + std::to_string(offers_[0].bytes) +
                                        " bytes of shared pages, and rank " + std::to_string(rank) +
                                        " for " + std::to_string(offers_[rank].bytes) +
                                        ": all ranks give the same size"};
        }
        for (std::uint32_t rank = 0; rank < members_.size(); ++rank) {
            if (offers_[rank].check == offers_[0].check) continue;
            return {Code::config, "rank 0 has another value of ACP_DSM_CHECK than rank " +
                                      std::to_string(rank) + ": give it to all ranks alike"};
        }
        if (!own.is_ok()) return own;
        for (std::uint32_t rank = 0; rank < members_.size(); ++rank) {
            if (offers_[rank].code == 0) continue;
            const auto code = static_cast<Code>(offers_[rank].code);
            return {code, "rank " + std::to_string(rank) + " cannot open the shared pages (" +
                              base::phrase(code) + "), and has the reason in its own message"};
        }
        for (std::uint32_t node = 0; node < members_.nodes(); ++node)
            if (block_of(node) == 0) return no_room(node);
        return {};
    }

    // "8192 bytes of shared pages take 8192 bytes of one heap of each node"
    [[nodiscard]] std::string need() const {
        return base::in_bytes(plan_.bytes) + " of shared pages take " +
               base::in_bytes(layout_.bytes) + " of one heap of each node";
    }

    // What decided the size of the heaps, and the remedy.
    [[nodiscard]] std::string remedy() const {
        const node::Shape& shape = segment_.shape();
        const auto bound = static_cast<node::HeapBound>(shape.heap_bound);
        if (layout_.bytes > node::heap_bytes_max) {
            return "; no heap may have more than " + base::in_bytes(node::heap_bytes_max);
        }
        if (bound == node::HeapBound::configured)
            return "; enlarge the heaps by --heap-size or ACP_HEAP_SIZE";
        return "; " + node::text_of(bound);
    }

    // On all ranks alike.
    [[nodiscard]] Status too_large() const {
        return {Code::memory, need() + ", but on node 0 (rank " +
                                  std::to_string(members_.leader(0)) +
                                  " and others) and on all others a heap has " +
                                  base::in_bytes(segment_.shape().heap_bytes) + remedy()};
    }

    Status no_room(std::uint32_t node) const {
        const std::uint32_t leader = members_.leader(node);
        return {Code::memory,
                need() + ", which no heap of node " + std::to_string(node) + " (rank " +
                    std::to_string(leader) + " and others) has in one piece: of " +
                    base::in_bytes(segment_.shape().heap_bytes) + " the emptiest has " +
                    base::in_bytes(offers_[leader].left) + " left" + remedy()};
    }

    [[nodiscard]] std::uint64_t window_bytes() const noexcept { return pages_ * pages::page_bytes; }

    [[nodiscard]] std::uint64_t free_everywhere() const noexcept {
        std::uint64_t free = all_places;
        for (const Offer& offer : offers_) free &= offer.places;
        return free;
    }

    // For each place the first rank that has something there.
    Status no_place() const {
        std::string refusals;
        for (std::size_t i = 0; i < places.size(); ++i) {
            const auto has_it = [i](const Offer& offer) { return (offer.places >> i & 1) == 0; };
            const auto refused = std::find_if(offers_.begin(), offers_.end(), has_it);
            refusals += (i == 0 ? "at " : ", at ") + hexadecimal(places[i]) + " rank " +
                        std::to_string(refused - offers_.begin());
        }
        return {Code::limit, "no range of " + std::to_string(window_bytes()) +
                                 " bytes of addresses is free on all ranks; in use are those " +
                                 refusals};
    }

    Status fail(Status status) {
        if (own_.block != 0) (void)allocator_.free(own_.block, allocator::BlockOwner::separate);
        return status;
    }

    [[nodiscard]] GlobalAddress block_of(std::uint32_t node) const noexcept {
        return offers_[members_.leader(node)].block;
    }

    [[nodiscard]] char* own_block() const noexcept {
        const GlobalAddress block = block_of(members_.own_node());
        for (const std::uint32_t rank : members_.near()) {
            const std::uint32_t process = members_.process(rank);
            const std::uint64_t offset = block - allocator_.start_of(process);
            if (offset >= segment_.shape().heap_bytes) continue;
            return segment_.claimed(process - segment_.shape().first_process, node::heap_blocks) +
                   offset;
        }
        return nullptr;
    }

    [[nodiscard]] std::uint64_t offset_of_block() const noexcept {
        return static_cast<std::uint64_t>(own_block() - segment_.base());
    }

    Opened made(os::Mapping tracked) {
        WindowPlaces found;
        found.tracked = tracked.data();
        found.block = own_block();
        found.pages = pages_;
        found.state_bytes = state_bytes_;
        found.node = members_.own_node();
        for (std::uint32_t node = 0; node < members_.nodes(); ++node)
            found.blocks.push_back(block_of(node));
        return {own_.block, std::move(tracked), std::move(found)};
    }

    team::Team& team_;
    const team::Membership& members_;
    data::Allocator& allocator_;
    const node::Segment& segment_;
    const WindowPlan& plan_;
    std::uint64_t pages_;  // the number of pages in the window
    std::uint64_t state_bytes_;
    WindowLayout layout_;
    std::vector<Offer> offers_;  // one of each rank, in the order of the ranks
    Offer own_;
};

}  // namespace

WindowMemory::WindowMemory(data::Allocator& allocator,
                           GlobalAddress own_block,
                           os::Mapping tracked,
                           WindowPlaces where)
    : allocator_(allocator),
      own_block_(own_block),
      tracked_(std::move(tracked)),
      window_(std::move(where)) {}

Result<std::unique_ptr<WindowMemory>> WindowMemory::open(team::Team& team,
                                                         data::Allocator& allocator,
                                                         const node::Segment& segment,
                                                         const WindowPlan& plan) {
    auto opened = Opening(team, allocator, segment, plan).run();
    if (!opened.is_ok()) return std::move(opened).failure();
    Opened found = std::move(opened).value();
    return std::unique_ptr<WindowMemory>(new WindowMemory(
        allocator, found.own_block, std::move(found.tracked), std::move(found.places)));
}

void WindowMemory::clear(PageRange pages) const noexcept {
    make_zero(reinterpret_cast<char*>(window_.plain(pages.first).data()),
              pages.count * pages::page_bytes);
}

void WindowMemory::free_block() noexcept {
    if (own_block_ == 0) return;
    (void)allocator_.free(own_block_, allocator::BlockOwner::separate);
    own_block_ = 0;
}

}  // namespace acp::dsm
