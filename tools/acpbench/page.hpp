// SPDX-License-Identifier: BSD-3-Clause
// The report page from rows: sections with plots and tables, in one HTML text that needs nothing
// from outside. Knows no files. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "row.hpp"
#include "verdict.hpp"

namespace acp::bench {

// The whole page. `headers` are those of all files that were merged, newest last.
[[nodiscard]] std::string make_page(const std::vector<Header>& headers,
                                    const std::vector<Row>& rows);

// A section about copies: the paper's effects, then plots per direction with the paper's figures.
[[nodiscard]] std::string copy_section(const std::vector<Row>& rows);

// The sections of all other experiments there are rows of.
[[nodiscard]] std::string other_sections(const std::vector<Row>& rows);

// The plans and curves of paper 003's figures 3 to 14, from rows of `halo-plan`; "" without them.
[[nodiscard]] std::string halo_plan_section(const std::vector<Row>& rows);

// Figure 5 of paper 001, and the plate that its program computes, from rows of `laplace`; ""
// without them.
[[nodiscard]] std::string laplace_section(const std::vector<Row>& rows);

// A table of rows as people read it.
[[nodiscard]] std::string rows_table(const std::vector<const Row*>& rows);

// A verdict as a coloured word, red for what missed its target and nothing else, with its reason
// where the pointer rests; "" for none.
[[nodiscard]] std::string verdict_html(const Judgement& judgement);

// Rows of one experiment.
[[nodiscard]] std::vector<const Row*> rows_of(const std::vector<Row>& rows,
                                              const std::string& experiment);

// The CSS class of an implementation's colour, the same on the whole page.
[[nodiscard]] std::string colour_of(const std::string& mode);

}  // namespace acp::bench
