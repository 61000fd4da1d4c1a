// SPDX-License-Identifier: BSD-3-Clause
// Gives memory of copies back to the kernel, in the file that all processes of the node map. Where the
// kernel refuses, the memory stays in use. Any thread, signal handlers included.
// Tests: tests/conformance/dsm_cache_test.cpp.
#pragma once

#include "dsm/window.hpp"
#include "os/mapping.hpp"

namespace acp::dsm {

// Gives back the memory of twins, whose bytes are then zero. Returns false if the kernel refuses.
inline bool give_back_twins(const Window& window, PageRange pages) noexcept {
    return os::give_back_shared(window.twin(pages.first).data(), pages.count * pages::page_bytes);
}

// Gives back the memory of pages and of their twins. The pages become absent in the mappings of all processes, so the caller
// holds their words, or all processes are in a barrier.
inline void give_back_copies(const Window& window, PageRange pages) noexcept {
    (void)os::give_back_shared(window.plain(pages.first).data(), pages.count * pages::page_bytes);
    (void)give_back_twins(window, pages);
}

}  // namespace acp::dsm
