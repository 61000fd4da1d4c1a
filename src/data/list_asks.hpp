// SPDX-License-Identifier: BSD-3-Clause
// Operations on a list's process, on any node, and copies of an element's bytes. Each call waits
// for its own commands alone. Any thread; blocks while it waits for other nodes.
// Tests: tests/conformance/list_container_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "data/list_names.hpp"
#include "gma/gma.hpp"

namespace acp::data {

class ListAsks {
public:
    //   both outlive this
    ListAsks(gma::Gma& gma, const ListNames& names) noexcept : gma_(gma), names_(names) {}

    ~ListAsks() = default;
    ListAsks(const ListAsks&) = delete;
    ListAsks& operator=(const ListAsks&) = delete;

    [[nodiscard]] const ListNames& names() const noexcept { return names_; }

    // Runs an operation; returns the bytes of its result.
    //   list  the operation's list; 0: it has none. Errors: stale (the list is not there)
    base::Result<std::size_t> ask(GlobalAddress list,
                                  std::uint32_t home,
                                  std::uint32_t operation,
                                  std::span<const std::byte> arguments,
                                  std::span<std::byte> result) const;

    base::Status get(void* to, GlobalAddress from, std::uint64_t bytes) const;

private:
    gma::Gma& gma_;
    const ListNames& names_;
};

}  // namespace acp::data
