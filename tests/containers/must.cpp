// SPDX-License-Identifier: BSD-3-Clause
// Throws a Mismatch with the library's last message.
#include <acp.h>

#include "containers/model.hpp"

namespace acp::test {

void must(bool is_so, std::string_view what) {
    if (!is_so) throw Mismatch{std::string(what) + " (" + acp_error_message() + ")"};
}

}  // namespace acp::test
