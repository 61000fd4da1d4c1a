// SPDX-License-Identifier: BSD-3-Clause
// How a model tells of a difference.
#include <acp.h>

#include "containers/model.hpp"

namespace acp::test {

void must(bool is_so, std::string_view what) {
    if (!is_so) throw Mismatch{std::string(what) + " (" + acp_error_message() + ")"};
}

}  // namespace acp::test
