// SPDX-License-Identifier: BSD-3-Clause
// Which build a tool is of, see version.hpp.
#include "common/version.hpp"

#include "base/version.hpp"

namespace acp::tool {

const char* build_description() noexcept {
    return base::build_description;
}

}  // namespace acp::tool
