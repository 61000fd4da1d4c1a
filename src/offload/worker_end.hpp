// SPDX-License-Identifier: BSD-3-Clause
// Whether and how a worker process has ended. Written once, by the thread that waits for the end;
// read by any thread. Tests: tests/unit/offload/worker_process_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "base/status.hpp"
#include "os/child.hpp"

namespace acp::offload {

class WorkerEnd {
public:
    explicit WorkerEnd(int process) noexcept : process_(process) {}

    [[nodiscard]] int process() const noexcept { return process_; }

    [[nodiscard]] bool has_ended() const noexcept {
        // acquire: partner is note(); the status is there
        return state_.load(std::memory_order_acquire) != running;
    }

    //   status      nullopt: another thread of the program has taken it by a wait of its own
    //   was_silent  the process had let go of its owner while it ran on, and was killed for that
    void note(const std::optional<os::WaitStatus>& status, bool was_silent) noexcept {
        raw_ = status ? status->raw() : 0;
        was_silent_ = was_silent;
        state_.store(status ? ended : ended_unknown, std::memory_order_release);
    }

    // Valid after has_ended(). nullopt: as above.
    [[nodiscard]] std::optional<os::WaitStatus> status() const noexcept {
        if (state_.load(std::memory_order_acquire) != ended) return std::nullopt;
        return os::WaitStatus(raw_);
    }

    // "process 4711 was killed by signal 9", as a failure of code peer.
    [[nodiscard]] base::Status failure() const {
        std::string text = "process " + std::to_string(process_) + " of the device ";
        const auto how = status();
        if (!how) {
            text += "has ended; a wait of the program itself has taken its exit status";
        } else if (how->is_exit()) {
            text += "has ended with exit code " + std::to_string(how->exit_code());
        } else {
            text += "was killed by signal " + std::to_string(how->signal());
        }
        if (was_silent_) {
            text +=
                ", because it runs another program since an exec, or has closed the descriptors "
                "that it was given";
        }
        return {base::Code::peer, text};
    }

private:
    enum State : std::uint32_t { running, ended, ended_unknown };

    int process_;
    std::uint32_t raw_ = 0;
    bool was_silent_ = false;
    std::atomic<std::uint32_t> state_{running};
};

}  // namespace acp::offload
