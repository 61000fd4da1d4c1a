// SPDX-License-Identifier: BSD-3-Clause
// Operations and copies by which containers and the allocator reach other nodes: each call waits
// for its own commands and never for the program's. Any thread; each call blocks. Tests:
// tests/conformance/heap_test.cpp, hashed_test.cpp.
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

// Runs an operation on memory of a process of any node. Errors: as Gma::issue_invoke.
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

// Several operations and copies in flight at once. Arguments may be discarded after add(); results,
// and the memory of copies, only after wait().
class Asks {
public:
    //   gma  outlives this
    explicit Asks(gma::Gma& gma) noexcept : gma_(gma) {}

    ~Asks() { (void)wait(); }

    Asks(const Asks&) = delete;
    Asks& operator=(const Asks&) = delete;

    // Issues an operation. Throws std::bad_alloc, before anything was issued.
    void add(const gma::Invocation& call) {
        note([&] { return gma_.issue_invoke(call, gma::handle_null); });
    }

    // Does so, but without memory wait() returns that failure: for operations whose results say
    // what must be undone.
    void add_or_fail(const gma::Invocation& call) noexcept {
        try {
            add(call);
        } catch (const std::bad_alloc&) {
            is_refused_ = true;
        }
    }

    // Issues a copy, like add().
    void add_copy(memory::GlobalAddress target, memory::GlobalAddress source, std::uint64_t bytes) {
        note([&] { return copy_within(gma_, target, source, bytes); });
    }

    // The number of commands that wait() waits for.
    [[nodiscard]] std::size_t size() const noexcept { return handles_.size(); }

    // Waits until all have ended. Returns the first failure whose code is not in `unheeded`.
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
    // The handle that issue() returns. An odd one has succeeded already.
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
