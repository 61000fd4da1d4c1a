// SPDX-License-Identifier: BSD-3-Clause
// Requests as typed operations and copies.
#include "dsm/home_link.hpp"

#include "data/ask.hpp"
#include "data/remote_call.hpp"
#include "local/typed_operation.hpp"

namespace acp::dsm {

namespace {

std::uint32_t process_of(gma::Gma& gma, memory::GlobalAddress address) {
    return static_cast<std::uint32_t>(gma.space().layout().process(address));
}

}  // namespace

gma::Handle GmaHomeLink::apply(pages::PageNumber page,
                               pages::NodeNumber home,
                               std::span<const std::byte> difference) {
    const operations::PageToPatch input{window_.address_of(0, home), page};
    gma::Invocation call;
    call.process = process_of(gma_, input.block);
    call.operation = local::operation_number<operations::ApplyDifference>;
    call.arguments = data::wire_of(input);
    call.tail[0] = difference;
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
