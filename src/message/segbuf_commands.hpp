// SPDX-License-Identifier: BSD-3-Clause
// The commands of one end of a segmented buffer that are in flight, in the order issued, and the
// results of those that have ended. For the holder of the end's lock. Tests:
// tests/conformance/segbuf_test.cpp, tests/segbuf.
#pragma once

#include <cstdint>
#include <deque>
#include <new>
#include <utility>

#include "base/status.hpp"
#include "gma/gma.hpp"

namespace acp::message {

class SegbufCommands {
public:
    enum class Kind : std::uint8_t {
        segment,  // when it has ended, its buffer may be reused
        word,
        goodbye  // the last word to the partner
    };

    // Forgets all commands.
    //   gma  must outlive this
    void reset(gma::Gma& gma) {
        gma_ = &gma;
        under_way_.clear();
        failure_ = {};
        segments_left_ = 0;
        has_said_goodbye_ = false;
    }

    // Calls issue() and keeps its handle. If issue() throws, nothing was issued.
    template <typename Issue>
    void begin(Kind kind, const Issue& issue) {
        const bool is_alone = under_way_.empty();
        under_way_.push_back({gma::handle_null, kind});
        try {
            under_way_.back().handle = issue();
        } catch (...) {
            under_way_.pop_back();
            throw;
        }
        has_said_goodbye_ = has_said_goodbye_ || kind == Kind::goodbye;
        // An odd handle: the command ran at once and succeeded.
        if (!is_alone || under_way_.back().handle % 2 == 0) return;
        under_way_.pop_back();
        if (kind == Kind::segment) ++segments_left_;
    }

    [[nodiscard]] bool is_empty() const noexcept { return under_way_.empty(); }

    // Records the results of commands that have ended.
    void forget_ended() {
        while (!under_way_.empty() && gma_->has_ended(under_way_.front().handle)) end_oldest();
    }

    // Waits for all commands in flight.
    void settle() noexcept {
        while (!under_way_.empty()) {
            try {
                end_oldest();
            } catch (const std::bad_alloc&) {
                // No memory for the text of a failure: settle() returns none.
            }
        }
    }

    // How many segments no longer need their buffers.
    [[nodiscard]] std::uint64_t segments_left() const noexcept { return segments_left_; }

    // Whether the last word to the partner was issued.
    [[nodiscard]] bool has_said_goodbye() const noexcept { return has_said_goodbye_; }

    // The first failure.
    [[nodiscard]] const base::Status& failure() const noexcept { return failure_; }

    [[nodiscard]] base::Status take_failure() noexcept { return std::exchange(failure_, {}); }

private:
    struct UnderWay {
        gma::Handle handle;
        Kind kind;
    };

    // Waits for the oldest command.
    void end_oldest() {
        const UnderWay ended = under_way_.front();
        under_way_.pop_front();
        base::Status status = gma_->wait_for_one(ended.handle);
        if (status.is_ok()) {
            if (ended.kind == Kind::segment) ++segments_left_;
        } else if (failure_.is_ok()) {
            failure_ = std::move(status);
        }
    }

    gma::Gma* gma_ = nullptr;
    std::deque<UnderWay> under_way_;
    base::Status failure_;
    std::uint64_t segments_left_ = 0;
    bool has_said_goodbye_ = false;
};

}  // namespace acp::message
