// SPDX-License-Identifier: BSD-3-Clause
// Writes who moved each byte: one line per run command, to a file per rank (ACP_TRACE=PREFIX writes
// PREFIX.RANK). Fields: microseconds since the trace began, this rank (the mover), the initiator's
// rank, operation, bytes, path, target, source. A line is in the file before the next command runs,
// however the process ends; where it cannot be written, that is said once. While it is on, nothing
// runs inline. Any thread.
// Tests: tests/unit/gma/trace_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "memory/command.hpp"

namespace acp::gma {

class Trace {
public:
    //   is_continued  adds to the file; else it begins anew
    // Errors: config (the file cannot be made).
    static base::Result<std::unique_ptr<Trace>> open(const std::string& prefix,
                                                     std::uint32_t rank,
                                                     bool is_continued = false);
    ~Trace();
    Trace(const Trace&) = delete;
    Trace& operator=(const Trace&) = delete;

    void record(const memory::Command& command, const char* path, std::uint32_t initiator);

    // A command that a layer above carries out begins: operation "call", path "layer", no bytes or
    // addresses, and a ninth field to the end of the line, what LayerCommand::describe() writes.
    void record_layer(std::string_view text);

private:
    Trace(std::FILE* file, std::string name, std::uint32_t rank) noexcept;
    void note(int written) noexcept;

    std::FILE* file_;
    std::string name_;
    std::atomic<bool> is_cut_short_{false};
    std::uint32_t rank_;
    std::uint64_t start_ns_;
};

}  // namespace acp::gma
