// SPDX-License-Identifier: BSD-3-Clause
// Requests as typed operations and copies.
#include "dsm/home_link.hpp"

#include "data/ask.hpp"
#include "data/remote_call.hpp"
#include "local/typed_operation.hpp"
#include "node/segment.hpp"

#include "pages/writer_masks.hpp"

namespace acp::dsm {

namespace {

std::uint32_t process_of(gma::Gma& gma, memory::GlobalAddress address) {
    return static_cast<std::uint32_t>(gma.space().layout().process(address));
}

}  // namespace

gma::Handle GmaHomeLink::apply(pages::PageNumber page,
                               pages::NodeNumber home,
                               std::span<const std::byte> difference) {
    if (masks_ != 0) return apply_checked(page, home, difference);
    const operations::PageToPatch input{window_.address_of(0, home), page};
    gma::Invocation call;
    call.process = process_of(gma_, input.block);
    call.operation = local::operation_number<operations::ApplyDifference>;
    call.arguments = data::wire_of(input);
    call.tail[0] = difference;
    return gma_.issue_invoke(call, gma::handle_null);
}

gma::Handle GmaHomeLink::apply_checked(pages::PageNumber page,
                                       pages::NodeNumber home,
                                       std::span<const std::byte> difference) {
    const operations::CheckedPatch input{checked_pages(page, home), writer_of(page), 0};
    gma::Invocation call;
    call.process = process_of(gma_, input.pages.block);
    call.operation = local::operation_number<operations::ApplyChecked>;
    call.arguments = data::wire_of(input);
    call.tail[0] = difference;
    return gma_.issue_invoke(call, gma::handle_null);
}

operations::CheckedPages GmaHomeLink::checked_pages(pages::PageNumber first,
                                                    pages::NodeNumber home) const noexcept {
    const std::uint64_t pages = window_.page_count();
    return {window_.address_of(0, home), pages, masks_, entries_, first, home, window_.node()};
}

// Returns a value of pages::PageWriter::rank_next.
std::uint32_t GmaHomeLink::writer_of(pages::PageNumber page) const noexcept {
    const std::uint32_t who = window_.page_words().read(page).who;
    if (who == pages::PageWord::none) return pages::PageWriter::unknown;
    if (who == pages::PageWord::several) return pages::PageWriter::several;
    const node::Segment& segment = gma_.space().segment();
    return segment.rank_of(segment.shape().first_process + who - 1) + 1;
}

gma::Handle GmaHomeLink::end_writes(PageRange pages, pages::NodeNumber home) {
    const operations::PagesToEnd input{checked_pages(pages.first, home),
                                       static_cast<std::uint32_t>(pages.count), 0};
    gma::Invocation call;
    call.process = process_of(gma_, input.pages.block);
    call.operation = local::operation_number<operations::EndWrites>;
    call.arguments = data::wire_of(input);
    return gma_.issue_invoke(call, gma::handle_null);
}

gma::Handle GmaHomeLink::note_touches(std::span<const operations::TouchedByte> touches,
                                      pages::NodeNumber home) {
    const operations::CheckedPatch input{checked_pages(0, home), gma_.space().rank() + 1, 0};
    gma::Invocation call;
    call.process = process_of(gma_, input.pages.block);
    call.operation = local::operation_number<operations::NoteTouches>;
    call.arguments = data::wire_of(input);
    call.tail[0] = std::as_bytes(touches);
    return gma_.issue_invoke(call, gma::handle_null);
}

gma::Handle GmaHomeLink::mark(PageRange pages,
                              pages::NodeNumber home,
                              operations::MarkedPages& answer) {
    const memory::GlobalAddress block = window_.address_of(0, home);
    const operations::PagesToMark input{block,
                                        window_.sharers_address_of(home) - block,
                                        window_.page_count(),
                                        pages.first,
                                        static_cast<std::uint32_t>(pages.count),
                                        window_.node(),
                                        window_.nodes(),
                                        0};
    gma::Invocation call;
    call.process = process_of(gma_, block);
    call.operation = local::operation_number<operations::MarkSharer>;
    call.arguments = data::wire_of(input);
    call.result = data::wire_of(answer);
    return gma_.issue_invoke(call, gma::handle_null);
}

gma::Handle GmaHomeLink::get(PageRange pages, pages::NodeNumber home) {
    return data::copy_within(gma_, window_.twin_address_of(pages.first),
                             window_.address_of(pages.first, home),
                             pages.count * pages::page_bytes);
}

gma::Handle GmaHomeLink::get_into(pages::PageSpan target,
                                  pages::PageNumber page,
                                  pages::NodeNumber home) {
    return data::copy_within(gma_, window_.own_address_of(target), window_.address_of(page, home),
                             pages::page_bytes);
}

base::Status GmaHomeLink::wait(gma::Handle request) {
    return gma_.wait_for_one(request);
}

}  // namespace acp::dsm
