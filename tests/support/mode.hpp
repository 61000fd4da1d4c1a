// SPDX-License-Identifier: BSD-3-Clause
// The abilities of the mode in which a test runs (ACP_INTRANODE, ACP_ATTACH, ACP_MAILBOX in the
// environment), as the documentation promises them, and the number of nodes of its job, so that one
// suite serves every mode. Any thread.
#pragma once

#include <string>

namespace acp::test {

struct Mode {
    std::string intranode = "auto";  // auto, direct, attach, mailbox, udp
    std::string mailbox = "mpsc";    // mpsc, pairs, bitmap
    bool is_attach_off = false;
    int nodes = 1;

    // Registered memory of another rank can be copied and worked on; else ACP_ERR_UNSUPPORTED.
    [[nodiscard]] bool reaches_private_memory() const { return intranode != "direct"; }

    // Starter memory is served while its owner is stopped.
    [[nodiscard]] bool is_shared_one_sided() const {
        return intranode != "mailbox" && intranode != "udp";
    }

    // Registered memory is copied while its owner is stopped.
    [[nodiscard]] bool is_private_one_sided() const {
        return (intranode == "auto" || intranode == "attach") && !is_attach_off;
    }

    // Commands pass through threads of other processes, each of which may wait for a core, or over
    // the network.
    [[nodiscard]] bool is_slow() const {
        return !is_shared_one_sided() || is_attach_off || nodes > 1;
    }
};

// The mode of this process's environment.
[[nodiscard]] const Mode& mode();

}  // namespace acp::test
