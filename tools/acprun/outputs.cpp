// SPDX-License-Identifier: BSD-3-Clause
// Runs two output threads, and makes the pipes that lead to them.
#include "outputs.hpp"

#include <algorithm>
#include <cerrno>

#include "os/pipe.hpp"
#include "os/standard_streams.hpp"

namespace acp::run {

using base::Result;
using base::Status;

namespace {

constexpr std::array<int, 2> targets{os::standard_output, os::standard_error};
constexpr std::array<const char*, 2> thread_names{"acp-stdout", "acp-stderr"};

}  // namespace

Status Outputs::prepare(os::PollSet& poll, std::uint64_t token) {
    for (std::size_t i = 0; i < carriers_.size(); ++i) {
        const bool is_for_messages = os::are_same_file(targets[i], os::standard_error);
        auto made = agent::OutputThread::create(thread_names[i], targets[i],
                                                is_for_messages ? &message_line_ : nullptr);
        if (!made.is_ok()) return std::move(made).failure();
        carriers_[i] = std::move(made).value();
        if (auto status = poll.add(carriers_[i]->news_fd(), token); !status.is_ok()) return status;
    }
    return {};
}

Result<AgentStreams> Outputs::add(agent::Passing passing, const std::string& from) {
    AgentStreams streams;
    std::array<os::FileDescriptor*, 2> ends{&streams.output, &streams.error};
    for (std::size_t i = 0; i < ends.size(); ++i) {
        auto pipe = os::make_pipe();
        if (!pipe.is_ok()) return std::move(pipe).failure();
        if (auto status = carriers_[i]->add(std::move(pipe.value().reading),
                                            {"", "[" + from + ", rest of a line] "}, passing);
            !status.is_ok()) {
            return status;
        }
        *ends[i] = std::move(pipe.value().writing);
    }
    return streams;
}

Status Outputs::start() {
    for (const auto& carrier : carriers_) {
        if (carrier == nullptr) continue;
        if (auto status = carrier->start(); !status.is_ok()) return status;
    }
    return {};
}

void Outputs::finish() noexcept {
    for (const auto& carrier : carriers_) {
        if (carrier != nullptr) carrier->finish();
    }
}

void Outputs::take_news() noexcept {
    for (const auto& carrier : carriers_) {
        if (carrier != nullptr) carrier->take_news();
    }
}

bool Outputs::is_complete() const noexcept {
    return std::all_of(carriers_.begin(), carriers_.end(), [](const auto& carrier) {
        return carrier == nullptr || carrier->is_done();
    });
}

bool Outputs::end_open_line() noexcept {
    const bool is_open = message_line_.is_open();
    message_line_.end_line();
    return is_open;
}

Outputs::FlushRequests Outputs::request_flush(const LeftLines& left) {
    FlushRequests requests{};
    for (std::size_t i = 0; i < carriers_.size(); ++i) {
        if (carriers_[i] != nullptr) requests[i] = carriers_[i]->request_flush(left[i]);
    }
    return requests;
}

bool Outputs::has_flushed(const FlushRequests& requests) const noexcept {
    for (std::size_t i = 0; i < carriers_.size(); ++i) {
        if (carriers_[i] != nullptr && carriers_[i]->flushed() < requests[i]) return false;
    }
    return true;
}

std::optional<agent::OutputFailure> Outputs::failure() const {
    return agent::find_output_failure(carriers_);
}

void Outputs::abandon() noexcept {
    for (const auto& carrier : carriers_) {
        if (carrier != nullptr) carrier->abandon();
    }
}

}  // namespace acp::run
