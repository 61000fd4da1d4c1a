// SPDX-License-Identifier: BSD-3-Clause
// Numbers, and what they name.
#include "offload/device_table.hpp"

#include <csignal>
#include <utility>
#include <vector>

#include "os/child.hpp"
#include "os/mapping.hpp"
#include "os/window_places.hpp"

namespace acp::offload {

namespace {

using base::Code;

// What a number names in a map; stale if it names nothing.
template <typename Object>
Result<Object> find_in(const std::map<std::uint64_t, Object>& objects,
                       std::uint64_t number,
                       const char* kind) {
    const auto found = objects.find(number);
    if (found != objects.end()) return found->second;
    return Status(Code::stale, std::string("there is no ") + kind + " " + std::to_string(number) +
                                   ", or it has ended");
}

// Maps a file at an address at which nothing lies in programs of any kind, so that the device
// processes have it free too.
Result<os::Mapping> map_at_a_place(int file, std::uint64_t bytes) {
    for (const std::uintptr_t place : os::window_places) {
        auto mapped = os::Mapping::map_shared_at(place, call::worker_pages(bytes), file, 0);
        if (mapped.is_ok() || mapped.failure().code() != Code::state) return mapped;
    }
    return os::Mapping::map_shared(file, bytes);
}

}  // namespace

DeviceTable::~DeviceTable() {
    end_all();
}

void DeviceTable::end_all() noexcept {
    const std::lock_guard lock(mutex_);
    for (const auto& [number, process] : processes_) {
        if (!process->end().has_ended()) os::send_signal(process->process(), SIGKILL);
    }
}

// Maps the device memory unless it is mapped, and enters its address into the plan.
Status DeviceTable::map_window(StartPlan& plan) {
    if (plan.device < 0) return {};
    const std::lock_guard lock(mutex_);
    if (window_.data() == nullptr) {
        auto mapped = map_at_a_place(plan.device, plan.device_bytes);
        if (!mapped.is_ok()) return std::move(mapped).failure();
        window_ = std::move(mapped).value();
    }
    plan.device_address = reinterpret_cast<std::uintptr_t>(window_.data());
    return {};
}

char* DeviceTable::device_memory() const {
    const std::lock_guard lock(mutex_);
    return window_.data();
}

Result<std::uint64_t> DeviceTable::create_process(StartPlan plan) {
    if (Status status = map_window(plan); !status.is_ok()) return status;
    auto started = WorkerProcess::start(plan);
    if (!started.is_ok()) return std::move(started).failure();
    const std::lock_guard lock(mutex_);
    processes_.emplace(numbers_given_ + 1, std::move(started).value());
    return ++numbers_given_;
}

Result<std::optional<os::WaitStatus>> DeviceTable::destroy_process(std::uint64_t number) {
    std::vector<OpenContext> open;
    std::shared_ptr<WorkerProcess> ending;
    {
        const std::lock_guard lock(mutex_);
        auto found = find_in(processes_, number, "device process");
        if (!found.is_ok()) return std::move(found).failure();
        ending = std::move(found).value();
        processes_.erase(number);
        std::erase_if(contexts_, [&](const auto& entry) {
            const bool is_of_process = entry.second.process == ending;
            if (is_of_process) open.push_back(entry.second);
            return is_of_process;
        });
    }
    // Failures: the process has ended, or another thread closes the context; nothing is left to do.
    for (const OpenContext& each : open) (void)ending->close_context(*each.context);
    (void)ending->leave();
    return ending->end().status();
}

Result<std::uint64_t> DeviceTable::open_context(std::uint64_t number) {
    auto found = process(number);
    if (!found.is_ok()) return std::move(found).failure();
    auto opened = found.value()->open_context();
    if (!opened.is_ok()) return std::move(opened).failure();
    const std::lock_guard lock(mutex_);
    contexts_.emplace(numbers_given_ + 1,
                      OpenContext{std::move(found).value(), std::move(opened).value()});
    return ++numbers_given_;
}

Status DeviceTable::close_context(std::uint64_t number) {
    auto found = context(number);
    if (!found.is_ok()) return std::move(found).failure();
    const OpenContext closing = std::move(found).value();
    Status status = closing.process->close_context(*closing.context);
    const std::lock_guard lock(mutex_);
    contexts_.erase(number);
    return status;
}

Result<std::uint64_t> DeviceTable::create_arguments() {
    auto made = std::make_shared<call::CallArguments>();
    const std::lock_guard lock(mutex_);
    arguments_.emplace(numbers_given_ + 1, std::move(made));
    return ++numbers_given_;
}

Status DeviceTable::free_arguments(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    auto found = find_in(arguments_, number, "list of arguments");
    if (!found.is_ok()) return std::move(found).failure();
    arguments_.erase(number);
    return {};
}

Result<std::shared_ptr<WorkerProcess>> DeviceTable::process(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    return find_in(processes_, number, "device process");
}

Result<OpenContext> DeviceTable::context(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    return find_in(contexts_, number, "context");
}

Result<std::shared_ptr<call::CallArguments>> DeviceTable::arguments(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    return find_in(arguments_, number, "list of arguments");
}

std::uint64_t DeviceTable::numbers_given() const {
    const std::lock_guard lock(mutex_);
    return numbers_given_;
}

}  // namespace acp::offload
