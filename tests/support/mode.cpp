// SPDX-License-Identifier: BSD-3-Clause
// Reads the mode once.
#include "support/mode.hpp"

#include <cstdlib>
#include <string_view>

#include "support/nodes.hpp"

namespace acp::test {
namespace {

Mode read_mode() {
    const auto value = [](const char* name, const char* otherwise) {
        const char* text = std::getenv(name);
        return std::string(text == nullptr || *text == '\0' ? otherwise : text);
    };
    Mode mode;
    mode.intranode = value("ACP_INTRANODE", "auto");
    mode.mailbox = value("ACP_MAILBOX", "mpsc");
    mode.nodes = nodes_of_job();
    mode.is_attach_off = value("ACP_ATTACH", "auto") == "off";
    return mode;
}

}  // namespace

const Mode& mode() {
    static const Mode the_mode = read_mode();
    return the_mode;
}

}  // namespace acp::test
