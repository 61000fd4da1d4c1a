// SPDX-License-Identifier: BSD-3-Clause
// When which line is due, and its text.
#include "start_progress.hpp"

#include <algorithm>
#include <string_view>

#include "base/parse.hpp"
#include "os/pipe.hpp"
#include "os/standard_streams.hpp"

#include "launcher.hpp"

namespace acp::run {

namespace {

constexpr std::string_view remove_line = "\r\033[K";

void write_raw(std::string_view text) noexcept {
    (void)os::write_some(os::standard_error, text);  // a lost progress line is no loss
}

}  // namespace

void StartProgress::begin(const Settings& settings, std::uint64_t now_ns) noexcept {
    settings_ = settings;
    begin_ns_ = now_ns;
    settle_due(now_ns);
}

void StartProgress::settle_due(std::uint64_t now_ns) noexcept {
    due_ns_ = os::poll_forever;
    if (settings_.is_quiet) return;
    if (settings_.is_terminal) {
        due_ns_ = std::max(begin_ns_ + first_shown_ns, now_ns + shown_again_ns);
    } else if (!has_said_) {
        due_ns_ = begin_ns_ + first_said_ns;
    }
    if (!has_warned_ && settings_.hang_timeout_ns != 0) {
        due_ns_ = std::min(due_ns_, begin_ns_ + settings_.hang_timeout_ns);
    }
}

void StartProgress::look(std::uint64_t now_ns,
                         std::uint32_t started,
                         std::uint32_t ready,
                         const std::string& missing) {
    if (!is_due(now_ns)) return;
    const std::uint64_t waited_ns = now_ns - begin_ns_;
    std::string text =
        std::to_string(ready) + " of " + std::to_string(settings_.nodes) + " nodes are ready";
    if (started != settings_.nodes) {
        text += ", " + std::to_string(started) + " agents have been started";
    }
    if (!has_warned_ && settings_.hang_timeout_ns != 0 && waited_ns >= settings_.hang_timeout_ns) {
        has_warned_ = true;
        has_said_ = true;
        clear();
        say("the start has taken " + base::seconds_text(waited_ns / 100'000'000 * 100'000'000) +
            " s: " + text + (missing.empty() ? "" : "; no answer yet from " + missing));
    } else if (!settings_.is_terminal && !has_said_ && waited_ns >= first_said_ns) {
        has_said_ = true;
        say("the job is being started: " + text + " after " +
            base::seconds_text(waited_ns / 1'000'000'000 * 1'000'000'000) + " s");
    }
    if (settings_.is_terminal && waited_ns >= first_shown_ns) {
        write_raw(std::string(remove_line) + "acprun: starting: " + text);
        is_shown_ = true;
    }
    settle_due(now_ns);
}

void StartProgress::clear() noexcept {
    if (is_shown_) write_raw(remove_line);
    is_shown_ = false;
}

void StartProgress::end() noexcept {
    clear();
    due_ns_ = os::poll_forever;
}

}  // namespace acp::run
