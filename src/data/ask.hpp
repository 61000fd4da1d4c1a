// SPDX-License-Identifier: BSD-3-Clause
// How containers and the allocator reach other nodes: each waits for its own commands and never for those of the program. Any
// thread; each call blocks. Tests: tests/conformance/heap_test.cpp, hashed_test.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <new>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "gma/gma.hpp"

namespace acp::data {

// Has an operation run on memory of a process, wherever that is. Errors: as Gma::issue_invoke.
inline base::Status ask(gma::Gma& gma, const gma::Invocation& call) {
    return gma.wait_for_one(gma.issue_invoke(call, gma::handle_null));
}

// Issues a copy that a call makes for itself.
inline gma::Handle copy_within(gma::Gma& gma,
                               memory::GlobalAddress target,
                               memory::GlobalAddress source,
                               std::uint64_t bytes) {
    return gma.issue({.target = target,
                      .source = source,
                      .bytes = bytes,
                      .expected = memory::Command::note(memory::IssuedBy::move)},
                     gma::handle_null);
}

// Several operations and copies under way at once. Arguments may go when they were added; results, and the memory of copies, may not
// before wait().
class Asks {
public:
    //   gma  outlives this
    explicit Asks(gma::Gma& gma) noexcept : gma_(gma) {}

    ~Asks() { (void)wait(); }

    Asks(const Asks&) = delete;
    Asks& operator=(const Asks&) = delete;

    // Throws std::bad_alloc, and has begun nothing then.
    void add(const gma::Invocation& call) {
        note([&] { return gma_.issue_invoke(call, gma::handle_null); });
    }

    // The same, but where there is no memory wait() fails with that: for operations whose results say what is to be undone.
    void add_or_fail(const gma::Invocation& call) noexcept {
        try {
            add(call);
        } catch (const std::bad_alloc&) {
            is_refused_ = true;
        }
    }

    // As add(), of a copy.
    void add_copy(memory::GlobalAddress target, memory::GlobalAddress source, std::uint64_t bytes) {
        note([&] { return copy_within(gma_, target, source, bytes); });
    }

    // Those that wait() waits for.
    [[nodiscard]] std::size_t size() const noexcept { return handles_.size(); }

    // Waits until all are over. The first failure that is of none of these codes.
    base::Status wait(std::initializer_list<base::Code> unheeded = {}) {
        base::Status first;
        if (is_refused_) first = base::Status::bare(base::Code::memory);
        is_refused_ = false;
        for (const gma::Handle handle : handles_) {
            if (handle == gma::handle_null) continue;
            auto status = gma_.wait_for_one(handle);
            const bool is_heeded =
                std::find(unheeded.begin(), unheeded.end(), status.code()) == unheeded.end();
            if (first.is_ok() && is_heeded) first = std::move(status);
        }
        handles_.clear();
        return first;
    }

private:
    // The handle that issue() returns. One that is odd has ended well.
    template <typename Issue>
    void note(const Issue& issue) {
        handles_.push_back(gma::handle_null);
        handles_.back() = issue();
        if (handles_.back() % 2 != 0) handles_.pop_back();
    }

    gma::Gma& gma_;
    std::vector<gma::Handle> handles_;
    bool is_refused_ = false;
};

// Copies between a plain pointer and an address. Errors: of a copy.
inline base::Status get(gma::Gma& gma,
                        void* into,
                        memory::GlobalAddress from,
                        std::uint64_t bytes) {
    return gma.wait_for_one(gma.issue_pointer(
        {from, {static_cast<char*>(into), bytes, true}, memory::IssuedBy::read}, gma::handle_null));
}

inline base::Status put(gma::Gma& gma,
                        memory::GlobalAddress into,
                        const void* from,
                        std::uint64_t bytes) {
    // A put only reads from the pointer.
    auto* const source = static_cast<char*>(const_cast<void*>(from));
    return gma.wait_for_one(gma.issue_pointer(
        {into, {source, bytes, false}, memory::IssuedBy::write}, gma::handle_null));
}

}  // namespace acp::data
