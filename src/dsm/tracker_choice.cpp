// SPDX-License-Identifier: BSD-3-Clause
// The probe takes faults in a range of its own, with the trackers and the fault service of the job.
#include "dsm/tracker_choice.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "dsm/fault_service.hpp"
#include "os/clock.hpp"
#include "os/mapping.hpp"
#include "os/memory_file.hpp"
#include "os/thread.hpp"

namespace acp::dsm {

namespace {

using base::Code;
using base::Result;
using base::Status;

// Ten microseconds a write, as on the slower ones of the processors measured, make 1 ms of all.
constexpr std::uint64_t probe_writes = 8;
constexpr int probe_rounds = 6;
constexpr std::uint64_t probe_pages = probe_writes * Tracker::block_pages;

// Pages whose bytes are all there.
class ReadyPages final : public PageSource {
public:
    void bring(PageRange /*pages*/) noexcept override {}

    void bring_with(pages::PageNumber /*page*/,
                    std::span<const PageRange> /*others*/) noexcept override {}

    [[nodiscard]] bool try_bring(pages::PageNumber /*page*/) noexcept override { return true; }

    [[nodiscard]] bool is_untracked(pages::PageNumber /*page*/) const noexcept override {
        return false;
    }
};

class ForgottenPages final : public WrittenPages {
public:
    void add(PageRange /*pages*/) noexcept override {}
};

// A tracker of one kind on pages of its own, all of them protected.
class ProbeScene {
public:
    static Result<std::unique_ptr<ProbeScene>> open(TrackerKind kind) {
        const std::uint64_t bytes = probe_pages * pages::page_bytes;
        auto file = os::create_memory_file("acp-probe", bytes);
        if (!file.is_ok()) return std::move(file).failure();
        if (Status status = os::commit(file.value().get(), 0, bytes); !status.is_ok())
            return status;
        auto mapping = os::Mapping::map_shared(file.value().get(), bytes);
        if (!mapping.is_ok()) return std::move(mapping).failure();
        auto scene = std::make_unique<ProbeScene>(std::move(mapping).value());
        auto tracker = Tracker::start(kind, scene->memory(), scene->mapped_);
        if (!tracker.is_ok()) return std::move(tracker).failure();
        scene->tracker_ = std::move(tracker).value();
        if (Status status = scene->service_.start(*scene->tracker_); !status.is_ok()) return status;
        const os::PageOutcome mapped = scene->tracker_->map({0, probe_pages}, MapAs::reader);
        if (!mapped.is_ok()) return mapped.status();
        return scene;
    }

    explicit ProbeScene(os::Mapping mapping) noexcept
        : mapping_(std::move(mapping)),
          mapped_(probe_pages),
          service_(memory(), mapped_, source_, counters_) {}

    ProbeScene(const ProbeScene&) = delete;
    ProbeScene& operator=(const ProbeScene&) = delete;
    ~ProbeScene() = default;

    // One round: a write to a page of each block, which is protected before.
    Result<double> measure() {
        ForgottenPages written;
        if (Status status = tracker_->harvest(written); !status.is_ok()) return status;
        const std::uint64_t begin = os::now_ns();
        for (std::uint64_t i = 0; i < probe_writes; ++i) {
            *static_cast<volatile char*>(memory().at(i * Tracker::block_pages)) = 1;
        }
        return static_cast<double>(os::now_ns() - begin) / static_cast<double>(probe_writes);
    }

private:
    [[nodiscard]] TrackedMemory memory() const noexcept { return {mapping_.data(), probe_pages}; }

    os::Mapping mapping_;
    MappedPages<> mapped_;
    ReadyPages source_;
    std::unique_ptr<Tracker> tracker_;
    PageFaultCounters counters_;
    FaultService service_;
};

// A thread that runs and touches none of the pages.
class Companion {
public:
    static Result<std::unique_ptr<Companion>> start() {
        auto companion = std::make_unique<Companion>();
        auto thread = os::Thread::start("acp-probe", [self = companion.get()] {
            // relaxed: no data hangs on it
            while (!self->has_ended_.load(std::memory_order_relaxed)) {
            }
        });
        if (!thread.is_ok()) return std::move(thread).failure();
        companion->thread_ = std::move(thread).value();
        return companion;
    }

    Companion() noexcept = default;
    Companion(const Companion&) = delete;
    Companion& operator=(const Companion&) = delete;

    ~Companion() { has_ended_.store(true, std::memory_order_relaxed); }

private:
    std::atomic<bool> has_ended_{false};
    os::Thread thread_;  // joined first
};

std::string microseconds(double ns) {
    const auto tenths = std::llround(ns / 100);
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " us";
}

TrackerKind kind_of(base::PageFaultWay wish) noexcept {
    switch (wish) {
        case base::PageFaultWay::automatic:
        case base::PageFaultWay::none:
            break;
        case base::PageFaultWay::async:
            return TrackerKind::async;
        case base::PageFaultWay::sync:
            return TrackerKind::sync;
        case base::PageFaultWay::protect:
            return TrackerKind::protect;
    }
    return TrackerKind::none;
}

// Where the kernel has sync, and no async.
TrackerChoice choose_by_probe(const std::string& reason) {
    auto cost = measure_first_writes();
    if (!cost.is_ok()) return {TrackerKind::sync, reason};
    const auto [sync_ns, protect_ns] = cost.value();
    return {sync_ns <= protect_ns ? TrackerKind::sync : TrackerKind::protect,
            reason + "; a first write takes " + microseconds(sync_ns) + " with sync and " +
                microseconds(protect_ns) + " with protect"};
}

}  // namespace

Result<FirstWriteCost> measure_first_writes() {
    auto companion = Companion::start();
    if (!companion.is_ok()) return std::move(companion).failure();
    auto sync = ProbeScene::open(TrackerKind::sync);
    if (!sync.is_ok()) return std::move(sync).failure();
    auto protect = ProbeScene::open(TrackerKind::protect);
    if (!protect.is_ok()) return std::move(protect).failure();
    FirstWriteCost least{};
    for (int round = 0; round < probe_rounds; ++round) {
        auto sync_ns = sync.value()->measure();
        if (!sync_ns.is_ok()) return std::move(sync_ns).failure();
        auto protect_ns = protect.value()->measure();
        if (!protect_ns.is_ok()) return std::move(protect_ns).failure();
        least.sync_ns = round == 0 ? sync_ns.value() : std::min(least.sync_ns, sync_ns.value());
        least.protect_ns =
            round == 0 ? protect_ns.value() : std::min(least.protect_ns, protect_ns.value());
    }
    return least;
}

Result<TrackerChoice> choose_tracker(bool is_one_node, base::PageFaultWay wish) {
    if (wish != base::PageFaultWay::automatic) {
        const TrackerKind kind = kind_of(wish);
        if (kind == TrackerKind::none && !is_one_node) {
            return Status(Code::argument,
                          "ACP_DSM_FAULTS=none: pages of other nodes cannot be fetched without "
                          "faults; it is for jobs on one node");
        }
        return TrackerChoice{kind, std::string("ACP_DSM_FAULTS=") + name_of(kind)};
    }
    if (is_one_node) return TrackerChoice{TrackerKind::none, "all ranks are on one node"};
    const os::PageFaultSupport support = os::probe_page_faults();
    switch (support.kind) {
        case os::PageFaultSupport::Kind::async:
            break;
        case os::PageFaultSupport::Kind::sync:
            return choose_by_probe(support.reason);
        case os::PageFaultSupport::Kind::none:
            return TrackerChoice{TrackerKind::protect, support.reason};
    }
    return TrackerChoice{TrackerKind::async, "the kernel records writes itself"};
}

}  // namespace acp::dsm
