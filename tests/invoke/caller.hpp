// SPDX-License-Identifier: BSD-3-Clause
// Calls of the test library's operations by a rank of a job, through the library's own instance, as
// a layer above global memory access makes them. Any thread.
#pragma once

#include <cstdint>
#include <string>

#include "api/library.hpp"

#include "support/operation_library.hpp"

namespace acp::test {

inline gma::Gma& global_memory() {
    return *api::library().gma;
}

inline std::uint32_t process_of(int rank) {
    return global_memory().space().segment().process_of(static_cast<std::uint32_t>(rank));
}

template <typename Arguments, typename Result>
gma::Handle invoke(int rank,
                   std::uint32_t number,
                   const Arguments& arguments,
                   Result& result,
                   gma::Handle order = gma::handle_null) {
    return global_memory().issue_invoke(
        {process_of(rank), number, bytes_of(arguments), room_in(result)}, order);
}

inline base::Status wait_for(gma::Handle handle) {
    return global_memory().wait(handle, node::for_ever, false);
}

inline std::string text_of(const base::Status& status) {
    return std::string(status.message());
}

}  // namespace acp::test
