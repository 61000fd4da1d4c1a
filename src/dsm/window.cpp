// SPDX-License-Identifier: BSD-3-Clause
// The layout of a node's block.
#include "dsm/window.hpp"

#include <algorithm>
#include <utility>

namespace acp::dsm {

namespace {

std::uint64_t whole_pages(std::uint64_t bytes) noexcept {
    return (bytes + pages::page_bytes - 1) / pages::page_bytes * pages::page_bytes;
}

}  // namespace

WindowLayout WindowLayout::of(std::uint64_t pages,
                              pages::NodeNumber nodes,
                              std::uint64_t state) noexcept {
    WindowLayout layout;
    const std::uint64_t bytes = pages * pages::page_bytes;
    layout.bytes = bytes;
    if (nodes == 1) return layout;
    layout.twins = bytes;
    layout.page_words = layout.twins + bytes;
    layout.homes = layout.page_words + whole_pages(pages::PageWords<>::bytes(pages));
    layout.sharers = layout.homes + whole_pages(pages * sizeof(pages::HomeTable<>::Word));
    layout.clock = layout.sharers + whole_pages(pages::Sharers<>::bytes(pages, nodes));
    layout.state = layout.clock + whole_pages(pages::CacheClock<>::bytes(pages));
    layout.bytes = layout.state + whole_pages(state);
    return layout;
}

Window::Window(WindowPlaces places)
    : places_(std::move(places)),
      layout_(WindowLayout::of(places_.pages, nodes(), places_.state_bytes)),
      begin_(reinterpret_cast<std::uintptr_t>(places_.tracked)),
      bytes_(places_.pages * pages::page_bytes) {}

PageRange Window::pages_of(const void* address, std::uint64_t bytes) const noexcept {
    const auto first = reinterpret_cast<std::uintptr_t>(address);
    const std::uint64_t from = first - begin_ < bytes_ ? first - begin_ : 0;
    const std::uint64_t left_out = first - begin_ < bytes_ ? 0 : begin_ - first;
    const std::uint64_t last = from + std::min(bytes - left_out, bytes_ - from) - 1;
    const pages::PageNumber page = from / pages::page_bytes;
    return {page, last / pages::page_bytes - page + 1};
}

}  // namespace acp::dsm
