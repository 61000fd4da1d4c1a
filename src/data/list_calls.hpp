// SPDX-License-Identifier: BSD-3-Clause
// How calls on lists reach the heap of a list, wherever that is: operations on it (allocator/list_operations.hpp), with failures in words,
// and copies of an element's bytes. Any thread; blocks where another node is asked.
// Tests: tests/conformance/list_container_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/status.hpp"
#include "data/ask.hpp"
#include "data/list_names.hpp"
#include "data/remote_call.hpp"
#include "gma/gma.hpp"

#include "allocator/list_operations.hpp"

namespace acp::data {

class ListCalls {
public:
    //   all outlive this
    ListCalls(gma::Gma& gma, Allocator& allocator, const ListNames& names) noexcept
        : gma_(gma), allocator_(allocator), names_(names) {}

    ~ListCalls() = default;
    ListCalls(const ListCalls&) = delete;
    ListCalls& operator=(const ListCalls&) = delete;

    [[nodiscard]] const ListNames& names() const noexcept { return names_; }

    // Runs an operation on the list that its input names; what it brings and what comes back, as RemoteCall::run().
    // Errors: address (no heap is there), stale (no list is there), and those of the operation
    template <typename Operation>
    [[nodiscard]] auto run(const typename Operation::Input& input,
                           local::Bytes tail = {},
                           std::span<std::byte> room = {}) const
        -> base::Result<typename RemoteCall<Operation>::Returned> {
        auto home = names_.home_of(input.list);
        if (!home.is_ok()) return std::move(home).failure();
        return run_at<Operation>(home.value(), input, tail, room);
    }

    // run() on a list whose home is known.
    template <typename Operation>
    [[nodiscard]] auto run_at(std::uint32_t home,
                              const typename Operation::Input& input,
                              local::Bytes tail = {},
                              std::span<std::byte> room = {}) const
        -> base::Result<typename RemoteCall<Operation>::Returned> {
        auto returned = RemoteCall<Operation>(gma_, allocator_).run(home, input, tail, room);
        if (returned.is_ok()) return returned;
        auto failure = std::move(returned).failure();
        if (failure.code() != base::Code::stale) return failure;
        return names_.failure(acp::list::ListEffect::no_list, {input.list, input.list, 0});
    }

    // Allocates a block for bytes of an element that lie apart: on loan to this process if it is in
    // the list's heap (is_lent). Errors: memory, unsupported, peer
    [[nodiscard]] base::Result<allocator::LentBlock> block_apart(std::uint32_t process,
                                                                 std::uint64_t bytes,
                                                                 bool is_lent) const {
        if (is_lent) return allocator_.borrow(process, bytes);
        auto made = allocator_.allocate(process, bytes, allocator::alignment_least,
                                        allocator::BlockOwner::separate);
        if (!made.is_ok()) return std::move(made).failure();
        return allocator::LentBlock{made.value(), allocator::NodeHeap::nobody};
    }

    // Copies bytes of an element that lie apart.
    [[nodiscard]] base::Status get(void* to, GlobalAddress from, std::uint64_t bytes) const {
        return bytes != 0 ? data::get(gma_, to, from, bytes) : base::Status();
    }

private:
    gma::Gma& gma_;
    Allocator& allocator_;
    const ListNames& names_;
};

}  // namespace acp::data
