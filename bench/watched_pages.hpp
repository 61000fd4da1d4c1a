// SPDX-License-Identifier: BSD-3-Clause
// Pages of a memory file, mapped once plainly and once watched by a userfaultfd whose faults a
// signal handler repairs: what shared pages of several nodes do in the kernel, and nothing of the
// library. A fault maps the page protected, or makes it writable if it is mapped. Any thread
// touches pages; one thread at a time calls the rest.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "base/status.hpp"
#include "os/fault_handler.hpp"
#include "os/file_descriptor.hpp"
#include "os/mapping.hpp"
#include "os/memory_file.hpp"
#include "os/page_faults.hpp"

namespace acp::bench {

class WatchedPages {
public:
    // Errors: those of the kernel's calls.
    static base::Result<std::unique_ptr<WatchedPages>> open(os::WriteTracking tracking,
                                                            std::uint64_t count) {
        std::unique_ptr<WatchedPages> pages(new WatchedPages(count));
        if (base::Status status = pages->map(tracking); !status.is_ok()) return status;
        return pages;
    }

    WatchedPages(const WatchedPages&) = delete;
    WatchedPages& operator=(const WatchedPages&) = delete;
    ~WatchedPages() = default;

    [[nodiscard]] std::uint64_t page() const { return page_; }

    [[nodiscard]] char* plain(std::uint64_t i) const { return plain_.data() + i * page_; }

    [[nodiscard]] char* watched(std::uint64_t i) const { return watched_.data() + i * page_; }

    // All pages of the watched mapping: absent, or protected.
    base::Status make_absent() {
        is_mapped_ = false;
        return os::PageFaults::unmap_pages(watched(0), bytes_).status();
    }

    base::Status make_protected() {
        is_mapped_ = true;
        base::Status status = faults_->map_pages(watched(0), bytes_, true).status();
        return status.is_ok() ? faults_->protect(watched(0), bytes_).status() : std::move(status);
    }

    // Each page of the plain mapping raises the kernel's minor fault at its next touch.
    base::Status unmap_plain() const {
        return os::PageFaults::unmap_pages(plain(0), bytes_).status();
    }

    // Maps pages of the watched mapping protected.
    base::Status map(std::uint64_t i, std::uint64_t count) const {
        return faults_->map_pages(watched(i), count * page_, true).status();
    }

private:
    explicit WatchedPages(std::uint64_t count) : page_(os::page_bytes()), bytes_(count * page_) {}

    base::Status map(os::WriteTracking tracking) {
        auto file = os::create_memory_file("acp-bench", bytes_);
        if (!file.is_ok()) return std::move(file).failure();
        if (base::Status status = os::commit(file.value().get(), 0, bytes_); !status.is_ok())
            return status;
        auto plain = os::Mapping::map_shared(file.value().get(), bytes_);
        if (!plain.is_ok()) return std::move(plain).failure();
        plain_ = std::move(plain).value();
        auto watched = os::Mapping::map_shared(file.value().get(), bytes_);
        if (!watched.is_ok()) return std::move(watched).failure();
        watched_ = std::move(watched).value();
        auto faults = os::PageFaults::open(tracking);
        if (!faults.is_ok()) return std::move(faults).failure();
        faults_ = std::make_unique<os::PageFaults>(std::move(faults).value());
        if (base::Status status = faults_->watch(watched_.data(), bytes_); !status.is_ok())
            return status;
        auto range = os::FaultRange::create(watched_.data(), bytes_, repair, this);
        if (!range.is_ok()) return std::move(range).failure();
        range_ = std::move(range).value();
        return {};
    }

    static bool repair(void* owner, const os::MemoryFault& fault) noexcept {
        const auto& self = *static_cast<WatchedPages*>(owner);
        const auto offset = static_cast<std::uint64_t>(fault.address - self.watched_.data());
        char* const at = self.watched(offset / self.page_);
        if (self.is_mapped_) return self.faults_->unprotect(at, self.page_).is_ok();
        return self.faults_->map_pages(at, self.page_, true).is_ok();
    }

    std::uint64_t page_;
    std::uint64_t bytes_;
    os::Mapping plain_;
    os::Mapping watched_;
    std::unique_ptr<os::PageFaults> faults_;
    os::FaultRange range_;
    bool is_mapped_ = false;  // written between rounds
};

}  // namespace acp::bench
