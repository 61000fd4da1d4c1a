// SPDX-License-Identifier: BSD-3-Clause
// The names of lists, elements and places: global addresses for callers, heap blocks for
// operations. Stateless; makes no request, except to find what is at an address without a list. Any
// thread.
// Tests: tests/conformance/list_container_test.cpp.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "data/allocator.hpp"
#include "gma/gma.hpp"

#include "allocator/node_lists.hpp"

namespace acp::data {

// A place in a list.
struct ListPlace {
    GlobalAddress list = 0;
    GlobalAddress element = 0;  // the end's: the list
    std::uint64_t mark = 0;     // the element's; 0: the end

    [[nodiscard]] bool is_end() const noexcept { return element == list; }

    friend bool operator==(const ListPlace&, const ListPlace&) = default;
};

class ListNames {
public:
    //   both outlive this
    ListNames(gma::Gma& gma, const Allocator& allocator) noexcept
        : gma_(gma), space_(gma.space()), allocator_(allocator) {}

    // The process on whose heap a list is, if one may be there. Errors: address.
    [[nodiscard]] base::Result<std::uint32_t> home_of(GlobalAddress list) const;

    // Converts a place to an operation's position. Errors: argument (it is in another heap than the
    // list).
    [[nodiscard]] base::Result<acp::list::Position> position(const ListPlace& at) const;
    [[nodiscard]] ListPlace place(GlobalAddress list, const acp::list::Position& at) const;

    // Both convert the name of an element's separate payload block.
    [[nodiscard]] GlobalAddress address_of(std::uint64_t apart) const noexcept;
    [[nodiscard]] std::uint64_t apart_of(std::uint32_t process, GlobalAddress block) const noexcept;

    // The failure for an operation's effect on a place, except done and no_room. no_list becomes
    // argument if a container of another kind is there.
    [[nodiscard]] base::Status failure(acp::list::ListEffect effect, const ListPlace& at) const;

private:
    gma::Gma& gma_;
    const local::Space& space_;
    const Allocator& allocator_;
};

}  // namespace acp::data
