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
#include "data/list_calls.hpp"
#include "data/list_names.hpp"

#include "allocator/list_operations.hpp"

namespace acp::data {

class ListTaking {
public:
    //   all outlive this
    ListTaking(const local::Space& space, Allocator& allocator, const ListCalls& calls) noexcept
        : space_(space), allocator_(allocator), calls_(calls), names_(calls.names()) {}

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

    // The request of TakeElement that takes an element, for a caller that runs it itself.
    base::Result<allocator::ListTake> request(const ListPlace& at,
                                              allocator::TakeWhich which,
                                              std::uint64_t room_bytes) const;

    // What take() does after TakeElement has returned.
    base::Result<Taken> finish(const ListPlace& at,
                               allocator::TakeWhich which,
                               const allocator::ListTaken& taken,
                               std::span<std::byte> room);

private:
    base::Status fetch(GlobalAddress list,
                       allocator::TakeWhich which,
                       const allocator::ListTaken& taken,
                       std::span<std::byte> room);
    bool put_back(GlobalAddress list,
                  allocator::TakeWhich which,
                  const allocator::ListTaken& taken);

    const local::Space& space_;
    Allocator& allocator_;
    const ListCalls& calls_;
    const ListNames& names_;
};

}  // namespace acp::data
