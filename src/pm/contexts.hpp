// SPDX-License-Identifier: BSD-3-Clause
// The contexts of PM messages of a process, by number and by handle. One object per epoch. Any
// thread may open and close; one thread at a time uses a context. Tests:
// tests/unit/pm/contexts_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/status.hpp"
#include "data/allocator.hpp"
#include "gma/gma.hpp"

#include "pm/context.hpp"
#include "pm/registrations.hpp"

namespace acp::pm {

// The lower 8 bits: the number of the context plus 1. Above: how many contexts were opened. 0: none.
using ContextHandle = std::uint64_t;

class Contexts {
public:
    //   gma, allocator  must outlive this
    //   opened          opened() of the epoch before this one
    Contexts(gma::Gma& gma, data::Allocator& allocator, std::uint64_t opened) noexcept
        : gma_(gma), allocator_(allocator), registrations_(gma), opened_(opened) {}

    ~Contexts() { settle_sent(); }

    Contexts(const Contexts&) = delete;
    Contexts& operator=(const Contexts&) = delete;

    //   number  < pm_contexts
    // Errors: state (it is open), memory, unsupported. Throws std::bad_alloc.
    base::Result<ContextHandle> open(std::uint32_t number);

    // Closes a context. Its block stays until the epoch ends: other processes may be about to write
    // into it. False: there is no such context.
    [[nodiscard]] bool close(ContextHandle handle) noexcept;

    // The number with which a context was opened that has or had this handle; pm_contexts or more: it
    // never was a handle.
    [[nodiscard]] static std::uint64_t number_of(ContextHandle handle) noexcept {
        return (handle & index_mask) - std::uint64_t{1};
    }

    // nullptr: no open context has this handle.
    [[nodiscard]] Context* find(ContextHandle handle) const noexcept {
        const std::uint64_t index = number_of(handle);
        if (index >= pm_contexts || entries_[index].handle != handle) return nullptr;
        return entries_[index].context.get();
    }

    // Shared by all contexts.
    [[nodiscard]] Registrations& registrations() noexcept { return registrations_; }

    // Waits until all sends have ended; failures that were not reported are discarded.
    void settle_sent() noexcept;

    [[nodiscard]] std::uint64_t opened() const noexcept { return opened_; }

private:
    static constexpr ContextHandle index_mask = 255;

    struct ContextEntry {
        ContextHandle handle = 0;          // 0: not open
        std::unique_ptr<Context> context;  // kept after close()
    };

    gma::Gma& gma_;
    data::Allocator& allocator_;
    Registrations registrations_;
    std::mutex mutex_;
    std::uint64_t opened_;
    std::array<ContextEntry, pm_contexts> entries_;
};

}  // namespace acp::pm
