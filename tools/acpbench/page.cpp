// SPDX-License-Identifier: BSD-3-Clause
// The frame of the report page: style, head, what was measured where, and how to measure again.
// Pure; any thread.
#include "page.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

#include "glance.hpp"
#include "plot.hpp"

namespace acp::bench {

namespace {

constexpr const char* style = R"css(
:root { color-scheme:light dark; --bg:#fcfcfb; --card:#ffffff; --ink:#1c2024; --dim:#60666e; --line:#e3e5e8; --axis:#9aa1a9;
  --c0:#b3261e; --c1:#d9730d; --c2:#a67c00; --c3:#5f8f1f; --c4:#0f8a68; --c5:#1577b8; --c6:#4f5bd5; --c7:#8a3ab9;
  --c8:#7a5c46; --good:#0f7b4f; --goodbg:#e2f4ea; --bad:#a4311f; --badbg:#fbe6e2; --doubt:#6b5200; --doubtbg:#f7efcf; }
@media (prefers-color-scheme: dark) {
:root { --bg:#15181c; --card:#1c2026; --ink:#e6e8ea; --dim:#9aa3ad; --line:#2e343c; --axis:#6b747e;
  --c0:#ff7b72; --c1:#ffa657; --c2:#e3c04b; --c3:#9ccc65; --c4:#4dd0a5; --c5:#62b6f2; --c6:#99a3ff; --c7:#cf9bf0;
  --c8:#c7a78f; --good:#5fd39b; --goodbg:#173327; --bad:#ff9d8a; --badbg:#3d1f1a; --doubt:#e3cf83; --doubtbg:#37301a; } }
* { box-sizing:border-box }
body { margin:0; background:var(--bg); color:var(--ink); font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif }
main { max-width:1480px; margin:0 auto; padding:28px 24px 60px }
h1 { font-size:27px; margin:0 0 4px; letter-spacing:-.01em } h2 { font-size:20px; margin:44px 0 6px }
h3 { font-size:16px; margin:26px 0 8px } p { max-width:88ch; margin:6px 0 12px } .dim { color:var(--dim) } p.dim { max-width:none }
nav { margin:14px 0 0 } nav a { color:var(--c5); margin-right:16px; text-decoration:none } nav a:hover { text-decoration:underline }
.pair { display:grid; grid-template-columns:repeat(auto-fit,minmax(min(100%,520px),1fr)); gap:14px; margin-bottom:14px }
.glance { display:grid; grid-template-columns:repeat(auto-fill,minmax(min(100%,300px),1fr)); gap:12px; margin:12px 0 }
.card { background:var(--card); border:1px solid var(--line); border-radius:8px; padding:12px 14px }
.card p { margin:0 } .card .what { color:var(--dim) } .card .ours { font-size:25px; font-weight:650; letter-spacing:-.01em }
.card .ratio { font-weight:600 } .card .why { font-size:13px; color:var(--doubt); margin-top:4px }
figure { margin:0; min-width:0; background:var(--card); border:1px solid var(--line); border-radius:8px; padding:8px }
.crop { overflow:hidden } .legend { display:none; margin:4px 4px 0; max-width:none; font-size:13px; line-height:1.6 }
.legend span { display:inline-block; margin-right:12px; font-weight:600 } .legend span::before { content:""; display:inline-block;
  width:16px; border-top:3px solid currentColor; margin-right:5px; vertical-align:middle } .legend .yard::before { border-top-style:dotted }
svg { display:block; width:100%; height:auto; font:12px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif }
svg .grid { stroke:var(--line) } svg .axis { stroke:var(--axis) } svg .tick { fill:var(--dim); font-size:11.5px }
svg .title { fill:var(--ink); font-size:13.5px; font-weight:600 } svg .name { fill:currentColor; font-weight:600 }
svg g { color:var(--axis) } svg path { fill:none; stroke:currentColor; stroke-width:2; stroke-linejoin:round }
svg circle { fill:currentColor } svg .leader { stroke:currentColor; stroke-width:.8; opacity:.55 }
svg .yard path { stroke-dasharray:2 4; stroke-width:2.4 } svg .yard circle { opacity:0 }
svg .mark { stroke:currentColor; stroke-width:1.6; stroke-dasharray:5 3 }
svg .diamond { fill:var(--card); stroke:currentColor; stroke-width:1.6 }
svg .paper { fill:currentColor; font-size:11px; font-style:italic; paint-order:stroke; stroke:var(--card); stroke-width:5px }
.c0 { color:var(--c0)!important } .c1 { color:var(--c1)!important } .c2 { color:var(--c2)!important }
.c3 { color:var(--c3)!important } .c4 { color:var(--c4)!important } .c5 { color:var(--c5)!important }
.c6 { color:var(--c6)!important } .c7 { color:var(--c7)!important } .c8 { color:var(--c8)!important }
.yard { color:var(--dim)!important }
.plans { display:grid; grid-template-columns:repeat(auto-fill,minmax(150px,1fr)); gap:8px; align-content:start; color:var(--ink) }
.plans svg { font-size:24px }
.heat { max-width:380px } svg .heat path { stroke:none; fill:var(--c1) }
table { border-collapse:collapse; font-size:13px; font-variant-numeric:tabular-nums; width:100% }
caption { text-align:left; font-weight:600; padding:0 0 4px } th { text-align:left; color:var(--dim); font-weight:600 }
th,td { padding:4px 10px 4px 0; border-bottom:1px solid var(--line); white-space:nowrap } .n { text-align:right } td.w { white-space:normal; min-width:20ch } td.t { white-space:normal; min-width:13ch } .pill { white-space:nowrap } tr.first td { border-top:2px solid var(--axis) } .bold { font-weight:600 }
.scroll { overflow-x:auto } details { margin-top:10px } summary { cursor:pointer; color:var(--dim) }
.pill { padding:1px 8px; border-radius:9px; font-size:12px } .good { color:var(--good); background:var(--goodbg) }
.bad { color:var(--bad); background:var(--badbg) } .doubt { color:var(--doubt); background:var(--doubtbg) }
pre { background:var(--card); border:1px solid var(--line); border-radius:8px; padding:12px 14px; overflow-x:auto; font-size:13px }
nav { display:flex; flex-wrap:wrap; gap:2px 16px } nav a { margin:0!important } code { overflow-wrap:anywhere }
@media (max-width:640px) { main { padding:18px 12px 40px } h1 { font-size:23px } figure { padding:6px 4px }
  .crop svg { width:124% } svg .end { display:none } .legend { display:block }
  svg .tick { font-size:13.5px } svg .title { font-size:16px } svg .paper { font-size:13px }
  /* Tables too wide for a phone: a row becomes a paragraph, each cell behind its column's title. */
  .flow thead { display:none } .flow, .flow tbody { display:block } .flow tr { display:block; padding:7px 0; border-bottom:1px solid var(--line) }
  .flow td { display:inline-block; border:0!important; padding:0; margin-right:9px; line-height:1.75; max-width:100% }
  .flow td.w, .flow td.t, .flow td:first-child { white-space:normal; min-width:0 } .flow td.n { text-align:left }
  .flow td:empty { display:none } .flow td:first-child { display:block; font-weight:600 }
  .flow td[data-l]::before { content:attr(data-l) " "; color:var(--dim); font-weight:400 } }
)css";

// Links to the sections of a page, in its order.
std::string navigation(const std::string& body) {
    constexpr std::string_view opening = "<section id=\"";
    std::string html = "<nav>";
    for (std::size_t at = body.find(opening); at != std::string::npos;
         at = body.find(opening, at + 1)) {
        const std::size_t start = at + opening.size();
        const std::string id = body.substr(start, body.find('"', start) - start);
        constexpr std::string_view heading = "<h2>";
        const std::size_t title = body.find(heading, start) + heading.size();
        html.append("<a href=\"#").append(id).append("\">");
        html.append(body, title, body.find("</h2>", title) - title).append("</a>");
    }
    return html + "</nav>\n";
}

std::string where(const std::vector<Header>& headers) {
    if (headers.empty()) return "<p class=dim>No results yet.</p>\n";
    const Header& last = headers.back();
    std::string html = "<p class=dim>" + escape_html(last.machine) + "; " +
                       escape_html(last.kernel) + "; ACP " + escape_html(last.version) + "; " +
                       escape_html(last.date) + "</p>\n";
    std::set<std::string> machines;
    for (const Header& header : headers) machines.insert(header.machine);
    if (machines.size() > 1) {
        html += "<p><span class=\"pill doubt\">The files come from " +
                std::to_string(machines.size()) +
                " different machines; do not compare across them.</span></p>\n";
    }
    return html;
}

constexpr const char* how_to_read =
    R"html(<p>Every figure below was measured beside a yardstick of the machine itself, in turns of milliseconds within
one run, and only turns at the same distance of the two cores (<i>near</i>, <i>far</i>) are compared: on virtual
machines that distance changes while a run goes on. The ratio is of times below 4 KiB (less is better) and of bandwidths
above (more is better). Times are medians of rounds. <span class="pill good">met</span> and
<span class="pill bad">missed</span> say how a figure stands to its target.
<span class="pill doubt">disturbed</span> means that a measurement contradicts itself, for instance a put that took less
time than the datagrams it is made of, usually because other programs used the processors: such a figure has no
verdict.</p>
)html";

std::string card(const Figure& figure) {
    const bool is_disturbed = figure.judgement.verdict == Verdict::disturbed;
    std::string html = "<div class=\"card\"><p class=\"what\">" + escape_html(figure.what) +
                       "</p><p class=\"ours\">" + escape_html(figure.ours) +
                       "</p><p class=\"ratio\">";
    html += is_disturbed ? verdict_html(figure.judgement) : escape_html(figure.ratio);
    html += "</p><p class=\"dim\">limit: " + escape_html(figure.limit) + ", " +
            escape_html(figure.limit_is) + "</p>";
    if (is_disturbed) html += "<p class=\"why\">" + escape_html(figure.judgement.reason) + "</p>";
    return html + "</div>\n";
}

std::string glance(const std::vector<Row>& rows) {
    const std::vector<Figure> figures = glance_at(rows);
    if (figures.empty()) return {};
    std::string html = std::string("<section id=\"glance\"><h2>How fast here</h2>\n<p>") +
                       glance_explained() + "</p>\n<div class=\"glance\">\n";
    for (const Figure& figure : figures) html += card(figure);
    return html + "</div></section>\n";
}

// Whether the user set this variable: it has a value, and is none of those by which acprun gives a
// rank its place in the job.
bool is_choice(std::string_view name, std::string_view value) {
    constexpr std::string_view told[] = {"ACP_JOB_ID", "ACP_NODE",      "ACP_PROCS",
                                         "ACP_RANK",   "ACP_SINGLETON", "ACP_SLOT"};
    return !value.empty() && std::none_of(std::begin(told), std::end(told),
                                          [&](auto its) { return name.starts_with(its); });
}

std::string again(const std::vector<Header>& headers) {
    std::set<std::string> settings;
    for (const Header& header : headers) {
        for (const auto& [name, value] : header.configuration) {
            if (is_choice(name, value))
                settings.insert(std::string(name).append("=").append(value));
        }
    }
    std::string html =
        "<section id=\"again\"><h2>Measure again</h2><pre>make run      # what this page needs at "
        "least, in a minute\n"
        "make bench    # every experiment\n"
        "acpbench copy --all-modes --json build/report/copy.json\n"
        "acprun -n 2 --starter-size 16M acpbench copy --fine --json build/report/copy-fine.json\n"
        "acprun -n 2 acpbench sync --json build/report/sync.json\n"
        "acprun -n 2 --nodes 2 --starter-size 16M acpbench net --json build/report/net.json\n"
        "acprun -n 2 acpbench flag --json build/report/flag.json\n"
        "acpbench laplace --json build/report/laplace.json\n"
        "acprun -n 2 --nodes 2 acpbench dsm --json build/report/dsm.json\n"
        "acpbench report --in build/report\n</pre>\n";
    if (!settings.empty()) {
        html += "<p class=dim>Variables that were set:";
        for (const std::string& setting : settings)
            html += " <code>" + escape_html(setting) + "</code>";
        html += "</p>\n";
    }
    return html + "</section>\n";
}

}  // namespace

std::string make_page(const std::vector<Header>& headers, const std::vector<Row>& rows) {
    const std::string body = copy_section(rows) + other_sections(rows) + laplace_section(rows) +
                             halo_plan_section(rows) + again(headers);
    const std::string details = "<section id=\"details\"><h2>How to read the rest</h2>" +
                                std::string(how_to_read) + "</section>\n";
    return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>ACP: how fast "
           "it is here</title>\n"
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<style>" +
           std::string(style) +
           "</style></head>\n<body><main>\n<h1>ACP: how fast it is here</h1>\n" + where(headers) +
           navigation(body) + glance(rows) + details + body + "</main></body></html>\n";
}

}  // namespace acp::bench
