// SPDX-License-Identifier: BSD-3-Clause
// What the kernel's mechanisms for shared pages cost on one page, as nanoseconds and as multiples
// of its own minor fault: a fault that a signal handler repairs, the first write to a protected
// page by either way of tracking, and the scan that lists written pages. One and two threads, each
// with a part of the pages; all rows take turns in short rounds, so that a noisy machine disturbs
// all alike.
//   page_faults [pages, default 4096]
#include "os/page_faults.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "os/clock.hpp"
#include "os/fault_handler.hpp"
#include "os/mapping.hpp"
#include "os/memory_file.hpp"
#include "os/page_scan.hpp"

#include "rounds.hpp"

namespace {

using namespace acp;
using bench::Row;
using bench::time_of;

constexpr std::uint64_t batch_pages = 16;

void must(const base::Status& status) {
    if (status.is_ok()) return;
    std::fprintf(stderr, "page_faults: %s\n", std::string(status.message()).c_str());
    std::exit(1);
}

template <typename T>
T must(base::Result<T> result) {
    if (!result.is_ok()) must(std::move(result).failure());
    return std::move(result).value();
}

// Pages of one file, mapped without a watch and watched. A fault maps the page protected, or makes
// it writable if it is mapped.
class Pages {
public:
    Pages(os::WriteTracking tracking, std::uint64_t count)
        : page_(os::page_bytes()),
          bytes_(count * page_),
          file_(must(os::create_memory_file("acp-bench", bytes_))),
          plain_(must(os::Mapping::map_shared(file_.get(), bytes_))),
          watched_(must(os::Mapping::map_shared(file_.get(), bytes_))),
          faults_(must(os::PageFaults::open(tracking))) {
        must(os::commit(file_.get(), 0, bytes_));
        must(faults_.watch(watched_.data(), bytes_));
        range_ = must(os::FaultRange::create(watched_.data(), bytes_, repair, this));
    }

    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    ~Pages() = default;

    [[nodiscard]] std::uint64_t page() const { return page_; }

    [[nodiscard]] char* plain(std::uint64_t i) const { return plain_.data() + i * page_; }

    [[nodiscard]] char* watched(std::uint64_t i) const { return watched_.data() + i * page_; }

    // All pages of the watched mapping: absent, protected, or of the plain one: not mapped.
    void make_absent() {
        is_mapped_ = false;
        must(os::PageFaults::unmap_pages(watched(0), bytes_).status());
    }

    void make_protected() {
        must(faults_.map_pages(watched(0), bytes_, true).status());
        must(faults_.protect(watched(0), bytes_).status());
        is_mapped_ = true;
    }

    void unmap_plain() const { must(os::PageFaults::unmap_pages(plain(0), bytes_).status()); }

    void map(std::uint64_t i, std::uint64_t count) const {
        must(faults_.map_pages(watched(i), count * page_, true).status());
    }

private:
    static bool repair(void* owner, const os::MemoryFault& fault) noexcept {
        const auto& self = *static_cast<Pages*>(owner);
        const auto offset = static_cast<std::uint64_t>(fault.address - self.watched_.data());
        char* const at = self.watched(offset / self.page_);
        if (self.is_mapped_) return self.faults_.unprotect(at, self.page_).is_ok();
        return self.faults_.map_pages(at, self.page_, true).is_ok();
    }

    std::uint64_t page_;
    std::uint64_t bytes_;
    os::FileDescriptor file_;
    os::Mapping plain_;
    os::Mapping watched_;
    os::PageFaults faults_;
    os::FaultRange range_;
    bool is_mapped_ = false;  // written between rounds
};

void write_to(char* address) {
    *static_cast<volatile char*>(address) = 1;
}

void read_from(const char* address) {
    (void)*static_cast<const volatile char*>(address);
}

// The rows of one and of two threads; the first one is the yardstick.
std::vector<Row> rows_of(Pages& async, Pages& sync, std::uint64_t pages) {
    std::vector<Row> rows;
    for (const int threads : {1, 2}) {
        const std::string with = threads == 1 ? ", 1 thread" : ", 2 threads";
        rows.push_back({"minor fault of the kernel (F)" + with, [&async, pages, threads] {
                            async.unmap_plain();
                            return time_of(threads, pages,
                                           [&](std::uint64_t i) { write_to(async.plain(i)); });
                        }});
        rows.push_back({"read fault: SIGBUS, map protected (S)" + with, [&async, pages, threads] {
                            async.make_absent();
                            return time_of(threads, pages,
                                           [&](std::uint64_t i) { read_from(async.watched(i)); });
                        }});
        rows.push_back({"first write, async (B)" + with, [&async, pages, threads] {
                            async.make_protected();
                            return time_of(threads, pages,
                                           [&](std::uint64_t i) { write_to(async.watched(i)); });
                        }});
        rows.push_back({"first write, sync: SIGBUS, unprotect" + with, [&sync, pages, threads] {
                            sync.make_protected();
                            return time_of(threads, pages,
                                           [&](std::uint64_t i) { write_to(sync.watched(i)); });
                        }});
    }
    for (const std::uint64_t batch : {std::uint64_t{1}, batch_pages}) {
        rows.push_back(
            {"map protected, " + std::to_string(batch) + " a call", [&async, pages, batch] {
                 async.make_absent();
                 const auto map = [&](std::uint64_t i) { async.map(i * batch, batch); };
                 return time_of(1, pages / batch, map) / static_cast<double>(batch);
             }});
    }
    return rows;
}

// A scan of all pages after a write to one in `stride` of them, 0: to none.
Row scan_row(const std::string& name, Pages& pages, std::uint64_t count, std::uint64_t stride) {
    return {name, [&pages, count, stride] {
                static const os::PageScan scan = must(os::PageScan::open());
                std::array<os::PageRun, 256> runs{};
                pages.make_protected();
                std::uint64_t written = 0;
                for (std::uint64_t i = 0; stride != 0 && i < count; i += stride) {
                    write_to(pages.watched(i));
                    ++written;
                }
                const std::uint64_t begin = os::now_ns();
                std::uint64_t found = 0;
                for (char* from = pages.watched(0); from != pages.watched(count);) {
                    const auto step = must(scan.take_written(from, pages.watched(count), runs));
                    for (const os::PageRun& run : step.runs) {
                        found += static_cast<std::uint64_t>(run.end - run.begin) / pages.page();
                    }
                    from = step.scanned_to;
                }
                const auto ns = static_cast<double>(os::now_ns() - begin);
                if (found != written) std::printf("scan: %lu of %lu pages\n", found, written);
                return ns / static_cast<double>(stride == 0 ? count : written);
            }};
}

}  // namespace

int main(int argc, char** argv) {
    const std::uint64_t asked = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 4096;
    const std::uint64_t count = std::max<std::uint64_t>(asked / 32 * 32, 32);
    const os::PageFaultSupport support = os::probe_page_faults();
    if (support.kind != os::PageFaultSupport::Kind::async) {
        std::printf("not measured: %s\n", support.reason.c_str());
        return 77;
    }
    Pages async(os::WriteTracking::async, count);
    Pages sync(os::WriteTracking::sync, count);
    std::vector<Row> rows = rows_of(async, sync, count);
    rows.push_back(scan_row("scan, all clean, of each page", async, count, 0));
    rows.push_back(scan_row("scan and protect, all written, of each page", async, count, 1));
    rows.push_back(scan_row("scan and protect, 1 of 2 written, of each written", async, count, 2));
    rows.push_back(scan_row("scan and protect, 1 of 8 written, of each written", async, count, 8));
    std::printf("%lu pages of %lu bytes, %d rounds; ns a page: median, quartiles, multiples of F\n",
                count, os::page_bytes(), bench::rounds);
    bench::run_rounds(rows);
    return 0;
}
