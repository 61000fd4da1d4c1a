// SPDX-License-Identifier: BSD-3-Clause
// Programs of ACP 3.0 pass bytes by global addresses. Fetches them into local memory, before the
// present function is called. Any thread; blocks.
// Tests: tests/conformance/compat3_list_test.cpp, compat3_sequence_test.cpp, tests/compat3.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "api/boundary.hpp"
#include "api/library.hpp"
#include "base/format.hpp"
#include "data/ask.hpp"
#include "gma/commands.hpp"

#include <acp/memory.h>

namespace acp::api {

// The status of a copy of these bytes, naming the call.
[[nodiscard]] inline base::Status told_of_bytes(const char* call,
                                                acp_ga_t ga,
                                                std::size_t size,
                                                base::Status status) {
    if (status.is_ok()) return status;
    return std::move(status).within(std::string(call) + "(" + base::in_bytes(size) + " at " +
                                    base::hex(ga) + ")" + gma::by_rank(library().member->rank()));
}

// Fetches bytes. false: they cannot be fetched, and the failure is kept.
[[nodiscard]] inline bool fetch_bytes(const char* call,
                                      acp_ga_t ga,
                                      std::size_t size,
                                      std::vector<std::byte>& bytes) noexcept {
    return run<Gravity::misuse_ends>(call, false, [&]() -> base::Status {
        if (size > bytes.max_size()) {
            return told_of_bytes(call, ga, size, {base::Code::memory, "no memory holds so many"});
        }
        bytes.resize(size);
        if (size == 0) return {};
        return told_of_bytes(call, ga, size, data::get(*library().gma, bytes.data(), ga, size));
    });
}

// Calls use(bytes) with the bytes of an element; returns `failed` if they cannot be fetched.
template <typename Element, typename Result, typename Use>
Result with_bytes(const char* call,
                  const Element& element,
                  Result failed,
                  const Use& use) noexcept {
    std::vector<std::byte> bytes;
    return fetch_bytes(call, element.ga, element.size, bytes) ? use(bytes) : failed;
}

}  // namespace acp::api
