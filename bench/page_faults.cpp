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
#include "os/page_scan.hpp"

#include "rounds.hpp"
#include "threads_time.hpp"
#include "watched_pages.hpp"

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

using Pages = bench::WatchedPages;

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
                            must(async.unmap_plain());
                            return time_of(threads, pages,
                                           [&](std::uint64_t i) { write_to(async.plain(i)); });
                        }});
        rows.push_back({"read fault: SIGBUS, map protected (S)" + with, [&async, pages, threads] {
                            must(async.make_absent());
                            return time_of(threads, pages,
                                           [&](std::uint64_t i) { read_from(async.watched(i)); });
                        }});
        rows.push_back({"first write, async (B)" + with, [&async, pages, threads] {
                            must(async.make_protected());
                            return time_of(threads, pages,
                                           [&](std::uint64_t i) { write_to(async.watched(i)); });
                        }});
        rows.push_back({"first write, sync: SIGBUS, unprotect" + with, [&sync, pages, threads] {
                            must(sync.make_protected());
                            return time_of(threads, pages,
                                           [&](std::uint64_t i) { write_to(sync.watched(i)); });
                        }});
    }
    for (const std::uint64_t batch : {std::uint64_t{1}, batch_pages}) {
        rows.push_back(
            {"map protected, " + std::to_string(batch) + " a call", [&async, pages, batch] {
                 must(async.make_absent());
                 const auto map = [&](std::uint64_t i) { must(async.map(i * batch, batch)); };
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
                must(pages.make_protected());
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
    const auto async_pages = must(Pages::open(os::WriteTracking::async, count));
    const auto sync_pages = must(Pages::open(os::WriteTracking::sync, count));
    Pages& async = *async_pages;
    std::vector<Row> rows = rows_of(async, *sync_pages, count);
    rows.push_back(scan_row("scan, all clean, of each page", async, count, 0));
    rows.push_back(scan_row("scan and protect, all written, of each page", async, count, 1));
    rows.push_back(scan_row("scan and protect, 1 of 2 written, of each written", async, count, 2));
    rows.push_back(scan_row("scan and protect, 1 of 8 written, of each written", async, count, 8));
    std::printf("%lu pages of %lu bytes, %d rounds; ns a page: median, quartiles, multiples of F\n",
                count, os::page_bytes(), bench::rounds);
    bench::run_rounds(rows);
    return 0;
}
