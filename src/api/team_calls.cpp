// SPDX-License-Identifier: BSD-3-Clause
// Messages about invalid arguments.
#include "api/team_calls.hpp"

namespace acp::api {

using base::Code;
using base::Status;

Status null_buffer(const char* name, std::uint64_t bytes) {
    return {Code::argument,
            std::string(name) + " is NULL, and is of " + std::to_string(bytes) + " bytes"};
}

Status too_many_bytes(std::uint64_t count, std::uint64_t size) {
    return {Code::argument,
            std::to_string(count) + " times " + std::to_string(size) + " bytes are not below 2^61"};
}

Status no_member(const team::Membership& members, const char* name, int rank) {
    return {Code::argument, std::string(name) + " " + std::to_string(rank) +
                                " is not one of the members 0 to " +
                                std::to_string(members.size() - 1)};
}

}  // namespace acp::api
