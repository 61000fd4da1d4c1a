// SPDX-License-Identifier: BSD-3-Clause
// How lists, elements and places in them are named: by global addresses to callers, by blocks of a heap to operations. Keeps nothing,
// and asks nobody but for what is there where no list is. Any thread.
// Tests: tests/conformance/list_container_test.cpp.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "data/allocator.hpp"
#include "gma/gma.hpp"

#include "allocator/node_lists.hpp"

namespace acp::data {

// Where in a list.
struct ListPlace {
    GlobalAddress list = 0;
    GlobalAddress element = 0;  // of the end: the list
    std::uint64_t mark = 0;     // of the element; of the end: 0

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

    // As an operation names a place. Errors: argument (it lies in another heap than the list).
    [[nodiscard]] base::Result<acp::list::Position> position(const ListPlace& at) const;
    [[nodiscard]] ListPlace place(GlobalAddress list, const acp::list::Position& at) const;

    // Of a block in which the bytes of an element lie apart.
    [[nodiscard]] GlobalAddress address_of(std::uint64_t apart) const noexcept;
    [[nodiscard]] std::uint64_t apart_of(std::uint32_t process, GlobalAddress block) const noexcept;

    // What an operation has told of a place, but for done and no_room, in words. Of no_list: where a container of another kind is there,
    // argument.
    [[nodiscard]] base::Status failure(acp::list::ListEffect effect, const ListPlace& at) const;

private:
    gma::Gma& gma_;
    const local::Space& space_;
    const Allocator& allocator_;
};

}  // namespace acp::data
