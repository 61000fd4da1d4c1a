// SPDX-License-Identifier: BSD-3-Clause
// Calls on one key of a container that do not wait: each issues a numbered operation, whose result
// goes to the caller's acp_reply_t. Any thread. Tests: tests/conformance/hashed_test.cpp.
#pragma once

#include "api/hashed.hpp"

#include <acp/access.h>

namespace acp::api {

// Issues the operation. Errors: limit (key and value do not fit into one message), argument, those
// of Hashed::at_table.
[[nodiscard]] base::Result<acp_handle_t> start_call(data::Hashed& hashed,
                                                    const ContainerName& name,
                                                    BatchKind kind,
                                                    const acp_entry_t& entry,
                                                    acp_reply_t& reply);

inline acp_handle_t start(const char* call,
                          const acp_map_t& handle,
                          BatchKind kind,
                          const acp_entry_t* entry,
                          acp_reply_t* reply) noexcept {
    return call_hashed(
        call, acp_handle_t{ACP_HANDLE_NULL}, handle,
        [&](data::Hashed& hashed, const ContainerName& name) -> base::Result<acp_handle_t> {
            if (entry == nullptr) return base::Status(base::Code::argument, "entry is NULL");
            if (reply == nullptr) return base::Status(base::Code::argument, "reply is NULL");
            if (entry->key == nullptr && entry->key_size != 0)
                return null_bytes("entry->key", "entry->key_size", entry->key_size);
            if (is_in_shared_range(reply)) return in_shared_range("reply");
            if (auto status = check_shared(*entry); !status.is_ok()) return status;
            return start_call(hashed, name, kind, *entry, *reply);
        });
}

}  // namespace acp::api
