// SPDX-License-Identifier: BSD-3-Clause
// Operations on whole lists and ranges: each is a sequence of operations of data::Lists, each of
// which is atomic. Other calls may change the lists between two steps: elements that they insert
// may be skipped, elements that they take out are skipped, and no element is ever in two lists or
// in none, except in copies between heaps. Stateless. Any thread; blocks while it waits for other
// nodes.
// Tests: tests/conformance/list_container_test.cpp, list_iterator_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "data/lists.hpp"

namespace acp::data {

class ListAlgorithms {
public:
    explicit ListAlgorithms(Lists& lists, Allocator& allocator) noexcept
        : lists_(lists), allocator_(allocator) {}

    // < 0, 0 or > 0, like memcmp.
    using Compare = std::function<int(const Lists::Content& one, const Lists::Content& other)>;

    // The elements from `first` up to `end`, both in one list; both may be its end. Errors:
    // argument (of different lists; `end` does not come behind `first`), stale (one of them was
    // taken out).
    base::Result<std::vector<Lists::Met>> range(const ListPlace& first,
                                                const ListPlace& end,
                                                std::uint32_t room_bytes = 0);
    base::Result<std::vector<Lists::Met>> all(GlobalAddress list, std::uint32_t room_bytes = 0);

    // Replaces a list's elements by copies, each on the process of its original. The old elements
    // are taken out after the new ones were read.
    base::Status assign(GlobalAddress list, const ListPlace& first, const ListPlace& end);

    // Puts copies before a place. Returns the place of the first one.
    base::Result<ListPlace> insert(const ListPlace& before,
                                   const ListPlace& first,
                                   const ListPlace& end);

    base::Status erase(const ListPlace& first, const ListPlace& end);

    // Takes out all elements with these bytes; or all that equal the element before them.
    base::Status remove(GlobalAddress list, std::span<const std::byte> bytes);
    base::Status unique(GlobalAddress list);

    base::Status reverse(GlobalAddress list);
    base::Status sort(GlobalAddress list, const Compare& compare);

    // Moves the elements of a sorted list into another one; of equal ones those of `to` come first.
    // If both are the same list, this and exchange() change nothing.
    base::Status merge(GlobalAddress to, GlobalAddress from, const Compare& compare);

    // Errors: argument (`before` is in the range)
    base::Status splice(const ListPlace& before, const ListPlace& first, const ListPlace& end);

    base::Status exchange(GlobalAddress one, GlobalAddress other);

    // Advances by `steps` elements, or back; stops at the end, or at the first element.
    base::Result<ListPlace> advance(const ListPlace& from, std::int64_t steps);

    // The number of steps from one place to a later one.
    base::Result<std::uint64_t> distance(const ListPlace& first, const ListPlace& end);

private:
    base::Status look_for(GlobalAddress list);
    base::Status look_for(const ListPlace& at);
    using Places = std::vector<ListPlace>;

    // Elements with their bytes.
    struct Copied {
        std::vector<std::byte> bytes;
        std::uint32_t process;
    };

    base::Result<std::vector<Copied>> copies(const ListPlace& first, const ListPlace& end);
    base::Result<ListPlace> put(const ListPlace& before, std::span<const Copied> copies);
    base::Result<std::vector<std::byte>> bytes_of(const Lists::Met& met);
    base::Status append(GlobalAddress to, const Places& elements);
    [[nodiscard]] bool is_one_heap(GlobalAddress one, GlobalAddress other) const;

    Lists& lists_;
    Allocator& allocator_;
};

}  // namespace acp::data
