// SPDX-License-Identifier: BSD-3-Clause
// What a rank pays for shared pages by each tracker that the kernel has, beside the bytes: a fault on
// an absent page, the first write to a protected one, and the harvest, as nanoseconds and as
// multiples of F, the kernel's own minor fault. With one and two threads, each with its part of the
// blocks; a fault takes one page of each block. All rows take turns in short rounds, so that a noisy
// machine disturbs all alike.
//   tracker_cost [blocks of 16 pages, default 256]
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "dsm/fault_service.hpp"
#include "dsm/tracker.hpp"
#include "os/clock.hpp"
#include "os/mapping.hpp"
#include "os/memory_file.hpp"
#include "os/page_faults.hpp"

#include "rounds.hpp"
#include "threads_time.hpp"

namespace {

using namespace acp;
using bench::Row;
using bench::time_of;
using dsm::MapAs;
using dsm::PageRange;
using dsm::TrackerKind;

constexpr std::uint64_t block_pages = dsm::Tracker::block_pages;

void must(const base::Status& status) {
    if (status.is_ok()) return;
    std::fprintf(stderr, "tracker_cost: %s\n", std::string(status.message()).c_str());
    std::exit(1);
}

template <typename T>
T must(base::Result<T> result) {
    if (!result.is_ok()) must(std::move(result).failure());
    return std::move(result).value();
}

// The bytes of all pages are there; neighbours are not mapped with a page.
class ReadyPages final : public dsm::PageSource {
public:
    void bring(PageRange /*pages*/) noexcept override {}

    void bring_with(pages::PageNumber /*page*/,
                    std::span<const dsm::PageRange> /*others*/) noexcept override {}

    [[nodiscard]] bool try_bring(pages::PageNumber /*page*/) noexcept override {
        return has_blocks;
    }

    [[nodiscard]] bool is_untracked(pages::PageNumber /*page*/) const noexcept override {
        return false;
    }

    bool has_blocks = false;  // written between rounds
};

class CountedPages final : public dsm::WrittenPages {
public:
    void add(PageRange pages) noexcept override { count += pages.count; }

    std::uint64_t count = 0;
};

// A tracker on pages of its own, and the same pages mapped plainly.
class Scene {
public:
    Scene(TrackerKind kind, std::uint64_t count)
        : count_(count),
          file_(must(os::create_memory_file("acp-bench", count * pages::page_bytes))),
          plain_(must(os::Mapping::map_shared(file_.get(), count * pages::page_bytes))),
          tracked_(must(os::Mapping::map_shared(file_.get(), count * pages::page_bytes))),
          mapped_(count) {
        must(os::commit(file_.get(), 0, count * pages::page_bytes));
        tracker_ = must(dsm::Tracker::start(kind, {tracked_.data(), count}, mapped_));
        service_ = std::make_unique<dsm::FaultService>(dsm::TrackedMemory{tracked_.data(), count},
                                                       mapped_, source_, counters_);
        must(service_->start(*tracker_));
    }

    [[nodiscard]] std::uint64_t blocks() const { return count_ / block_pages; }

    // The first page of a block. All blocks in an order without a stream, of which faults would map the
    // next pages too.
    [[nodiscard]] std::uint64_t scattered(std::uint64_t i) const {
        std::uint64_t step = std::max<std::uint64_t>(blocks() * 618 / 1000, 1);
        while (std::gcd(step, blocks()) != 1) ++step;
        return i * step % blocks() * block_pages;
    }

    [[nodiscard]] volatile char* page(std::uint64_t i) const {
        return tracked_.data() + i * pages::page_bytes;
    }

    [[nodiscard]] volatile char* plain(std::uint64_t i) const {
        return plain_.data() + i * pages::page_bytes;
    }

    void make_absent(bool has_blocks) {
        source_.has_blocks = has_blocks;
        must(tracker_->unmap({0, count_}).status());
    }

    void make_protected() {
        must(tracker_->map({0, count_}, MapAs::reader).status());
        (void)harvest();
    }

    void unmap_plain() const {
        must(os::PageFaults::unmap_pages(plain_.data(), count_ * pages::page_bytes).status());
    }

    // Returns the pages that it found.
    std::uint64_t harvest() {
        CountedPages written;
        must(tracker_->harvest(written));
        return written.count;
    }

private:
    std::uint64_t count_;
    os::FileDescriptor file_;
    os::Mapping plain_;
    os::Mapping tracked_;
    dsm::MappedPages<> mapped_;
    ReadyPages source_;
    std::unique_ptr<dsm::Tracker> tracker_;
    dsm::PageFaultCounters counters_;
    std::unique_ptr<dsm::FaultService> service_;
};

void add_yardstick(std::vector<Row>& rows, Scene& scene, int threads) {
    rows.push_back({"minor fault of the kernel (F), " + std::to_string(threads) + " threads",
                    [&scene, threads] {
                        scene.unmap_plain();
                        return time_of(threads, scene.blocks(),
                                       [&](std::uint64_t i) { *scene.plain(i * block_pages) = 1; });
                    }});
}

void add_faults(std::vector<Row>& rows, const std::string& kind, Scene& scene, int threads) {
    const std::string with = ", " + std::to_string(threads) + " threads";
    for (const bool has_blocks : {false, true}) {
        rows.push_back(
            {kind + ": fault on an absent page" + (has_blocks ? ", block maps" : "") + with,
             [&scene, threads, has_blocks] {
                 scene.make_absent(has_blocks);
                 return time_of(threads, scene.blocks(),
                                [&](std::uint64_t i) { (void)*scene.page(scene.scattered(i)); });
             }});
    }
    rows.push_back({kind + ": first write (B)" + with, [&scene, threads] {
                        scene.make_protected();
                        return time_of(threads, scene.blocks(),
                                       [&](std::uint64_t i) { *scene.page(i * block_pages) = 1; });
                    }});
}

// The harvest after writes to one page in `stride`, for each page that it reports; 0: no writes, for
// each page.
void add_harvest(std::vector<Row>& rows,
                 const std::string& name,
                 Scene& scene,
                 std::uint64_t stride) {
    rows.push_back({name, [&scene, stride] {
                        const std::uint64_t pages = scene.blocks() * block_pages;
                        scene.make_protected();
                        for (std::uint64_t i = 0; stride != 0 && i < pages; i += stride) {
                            *scene.page(i) = 1;
                        }
                        const std::uint64_t begin = os::now_ns();
                        const std::uint64_t found = scene.harvest();
                        const auto ns = static_cast<double>(os::now_ns() - begin);
                        return ns / static_cast<double>(stride == 0 ? pages : found);
                    }});
}

}  // namespace

int main(int argc, char** argv) {
    const std::uint64_t asked = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 256;
    const std::uint64_t blocks = std::max<std::uint64_t>(asked / 2 * 2, 2);
    std::vector<std::pair<std::string, std::unique_ptr<Scene>>> scenes;
    for (const TrackerKind kind : {TrackerKind::async, TrackerKind::sync, TrackerKind::protect}) {
        Scene probe(TrackerKind::none, 1);
        dsm::MappedPages<> mapped(1);
        auto tracker = dsm::Tracker::start(kind, {const_cast<char*>(probe.page(0)), 1},
                                           mapped);  // whether the kernel has it
        if (!tracker.is_ok()) {
            std::printf("%s: %s\n", dsm::name_of(kind),
                        std::string(tracker.failure().message()).c_str());
            continue;
        }
        scenes.emplace_back(dsm::name_of(kind),
                            std::make_unique<Scene>(kind, blocks * block_pages));
    }
    std::vector<Row> rows;
    for (const int threads : {1, 2}) {
        add_yardstick(rows, *scenes.front().second, threads);
        for (auto& [kind, scene] : scenes) add_faults(rows, kind, *scene, threads);
    }
    for (auto& [kind, scene] : scenes) {
        add_harvest(rows, kind + ": harvest, all clean, of each page", *scene, 0);
        add_harvest(rows, kind + ": harvest, all written, of each page", *scene, 1);
        add_harvest(rows, kind + ": harvest, 1 of 2 written, of each", *scene, 2);
        add_harvest(rows, kind + ": harvest, 1 of 16 written, of each", *scene, 16);
    }
    std::printf("%lu blocks of %lu pages, %d rounds; ns: median, quartiles, multiples of F\n",
                blocks, block_pages, bench::rounds);
    bench::run_rounds(rows);
    return 0;
}
