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

// "size 4611686018427387904 times 3 (members) is not below 2^61 bytes"
Status too_many_bytes(const Product& product) {
    std::string text = std::string(product.name) + " " + std::to_string(product.value);
    if (*product.factor_unit != '\0')
        text += " times " + std::to_string(product.factor) + " (" + product.factor_unit + ")";
    return {Code::argument, text + " is not below 2^61 bytes"};
}

Status no_member(const team::Membership& members, const char* name, int rank) {
    return {Code::argument, std::string(name) + " " + std::to_string(rank) +
                                " is not one of the members 0 to " +
                                std::to_string(members.size() - 1)};
}

}  // namespace acp::api
