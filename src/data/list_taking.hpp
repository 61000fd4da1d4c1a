// SPDX-License-Identifier: BSD-3-Clause
// Takes elements out of lists: in one step here or by the gateway of the list's node, then copies
// bytes from a separate block. If these cannot be read the element is put back into the list. Any
// thread; blocks while it waits for other nodes.
// Tests: tests/conformance/list_container_test.cpp, tests/leaks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "data/allocator.hpp"
#include "data/list_asks.hpp"
#include "data/list_names.hpp"

#include "allocator/list_operations.hpp"

namespace acp::data {

class ListTaking {
public:
    //   all outlive this
    ListTaking(gma::Gma& gma, Allocator& allocator, const ListAsks& asks) noexcept
        : gma_(gma), allocator_(allocator), asks_(asks), names_(asks.names()) {}

    ~ListTaking() = default;
    ListTaking(const ListTaking&) = delete;
    ListTaking& operator=(const ListTaking&) = delete;

    struct Taken {
        bool is_there = false;    // false: the list was empty
        std::uint64_t bytes = 0;  // length of the whole element
        ListPlace next;           // the place that followed it
    };

    //   at    the end of the list, if the first or last element is taken
    //   room  for its first bytes
    // Errors: argument (at the end), stale, address, unsupported, peer (the list's rank or that of
    // the bytes is lost; the element stays)
    base::Result<Taken> take(const ListPlace& at,
                             allocator::TakeWhich which,
                             std::span<std::byte> room);

private:
    base::Status take_there(const allocator::ListTake& request,
                            std::uint32_t home,
                            allocator::ListTaken& taken,
                            std::span<std::byte> room);
    base::Status fetch(std::uint32_t home,
                       GlobalAddress list,
                       allocator::TakeWhich which,
                       const allocator::ListTaken& taken,
                       std::span<std::byte> room);
    bool put_back(std::uint32_t home,
                  GlobalAddress list,
                  allocator::TakeWhich which,
                  const allocator::ListTaken& taken);

    gma::Gma& gma_;
    Allocator& allocator_;
    const ListAsks& asks_;
    const ListNames& names_;
};

}  // namespace acp::data
