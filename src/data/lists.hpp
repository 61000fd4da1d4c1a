// SPDX-License-Identifier: BSD-3-Clause
// Lists on the heap of any rank: each operation runs in the calling thread if the list's heap is
// mapped here, and else in the gateway of its node, in one round trip. A short element on the
// list's own rank is stored in its node, any other in a separate block, which is written before the
// element is linked. data/list_algorithms.hpp has calls on whole lists. One object per epoch. Any
// thread; blocks while it waits for other nodes.
// Tests: tests/conformance/list_container_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "data/allocator.hpp"
#include "data/list_calls.hpp"
#include "data/list_moving.hpp"
#include "data/list_names.hpp"
#include "data/list_taking.hpp"
#include "gma/gma.hpp"

#include "allocator/list_operations.hpp"

namespace acp::data {

class Lists {
public:
    //   both outlive this
    Lists(gma::Gma& gma, Allocator& allocator) noexcept
        : gma_(gma),
          space_(gma.space()),
          allocator_(allocator),
          names_(gma, allocator),
          calls_(gma, allocator, names_) {}

    ~Lists() = default;
    Lists(const Lists&) = delete;
    Lists& operator=(const Lists&) = delete;

    // A list on the heap of a process (< procs). Errors: memory, unsupported, peer.
    base::Result<GlobalAddress> make(std::uint32_t process);

    // Errors, here and in all calls below: stale (no list is there, or it was destroyed; the
    // element was taken out, or is in another list), address (no address of a heap), unsupported,
    // peer.
    base::Status destroy(GlobalAddress list);

    // The end of a list; the list need not exist.
    [[nodiscard]] static ListPlace end_of(GlobalAddress list) noexcept { return {list, list, 0}; }

    // The process on whose heap a list is, if one may be there.
    [[nodiscard]] base::Result<std::uint32_t> home_of(GlobalAddress list) const {
        return names_.home_of(list);
    }

    // An element to insert.
    struct Element {
        const void* data = nullptr;
        std::uint64_t bytes = 0;
        std::uint32_t process = 0;  // the process whose heap gets its bytes
    };

    // Puts an element before a place. Errors: memory (the list is as it was).
    base::Result<ListPlace> insert(const ListPlace& before, const Element& element);
    base::Result<ListPlace> push_front(GlobalAddress list, const Element& element);

    using Taken = ListTaking::Taken;

    // Takes an element out and copies its first bytes, room_bytes at most. If these are on a lost
    // rank the element stays in the list: peer.   at  not the end: argument
    base::Result<Taken> take(const ListPlace& at, void* to, std::uint64_t room_bytes);
    base::Result<Taken> take_first(GlobalAddress list, void* to, std::uint64_t room_bytes);
    base::Result<Taken> take_last(GlobalAddress list, void* to, std::uint64_t room_bytes);

    // Moves an element before a place: in one step if both lists are on one heap, else as
    // data/list_moving.hpp says. A failed call leaves the element in its list, or inserts it there
    // again if the node of the other list was lost.
    base::Result<ListPlace> move(const ListPlace& before, const ListPlace& element);

    // The neighbour of a place; the end precedes the first element and follows the last one.
    base::Result<ListPlace> neighbour(const ListPlace& from, bool is_backward);

    // The location of an element's bytes, valid while it is in the list.
    struct Content {
        GlobalAddress address = 0;
        std::uint64_t bytes = 0;
    };

    base::Result<Content> content(const ListPlace& at);

    // Copies an element's first bytes, room_bytes at most; returns how many it has.
    base::Result<std::uint64_t> read(const ListPlace& at, void* to, std::uint64_t room_bytes);

    base::Result<std::uint64_t> size(GlobalAddress list);

    // An element that a walk visits.
    struct Met {
        ListPlace at;
        Content content;
        std::vector<std::byte>
            bytes;  // the first bytes, up to the number requested; empty if has_bytes is false
        bool has_bytes = false;
    };

    // The elements behind a place, at most `most`, and whether the end follows them.
    struct Stretch {
        std::vector<Met> elements;
        bool is_at_end = false;
    };

    //   room_bytes  bytes wanted of each element, if they are in its node
    base::Result<Stretch> stretch(const ListPlace& from,
                                  bool is_backward,
                                  std::uint32_t most,
                                  std::uint32_t room_bytes = 0);

    // Moves elements to the end of a list one by one, from it and from lists of the same heap;
    // skips elements that were taken out.
    base::Status gather(GlobalAddress to, std::span<const ListPlace> elements);

    // Takes out elements of one list one by one; skips those that are gone.
    base::Status erase(GlobalAddress list, std::span<const ListPlace> elements);

    // Takes the first elements out, at most `most`. Returns how many.
    base::Result<std::uint64_t> clear(GlobalAddress list, std::uint64_t most);

private:
    base::Result<ListPlace> put(const ListPlace& before, bool is_front, const Element& element);
    base::Result<allocator::LentBlock> put_apart(const Element& element, bool is_lent);
    base::Result<allocator::ListPlaced> put_with_block(const allocator::ListInsert& request,
                                                       std::uint32_t home,
                                                       const Element& element);
    base::Result<allocator::ListPlaced> put_on_node(allocator::NodeHeap& heap,
                                                    const allocator::ListInsert& request,
                                                    const Element& element,
                                                    std::uint32_t& without_room);
    base::Result<allocator::ListRead> look(const ListPlace& at, void* to, std::uint64_t room_bytes);
    base::Result<ListPlace> move_between_heaps(const ListPlace& before, const ListPlace& element);
    base::Status free_left(local::Bytes left);

    gma::Gma& gma_;
    const local::Space& space_;
    Allocator& allocator_;
    ListNames names_;
    ListCalls calls_;
};

}  // namespace acp::data
