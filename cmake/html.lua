-- SPDX-License-Identifier: BSD-3-Clause
-- A filter of pandoc for the HTML pages: "**acp_copy**(3)" becomes a link to its page, a link to another document one to
-- its HTML page. What has no page among those installed stays as text. The file that the metadata field "names" names
-- lists which page each name has: "name section page".
local pages = {}

local function read_names(meta)
    for line in io.lines(pandoc.utils.stringify(meta.names)) do
        local name, section, page = line:match("^(%S+) (%d) (%S+)$")
        if name then
            pages[name .. "(" .. section .. ")"] = "../man/" .. page .. ".html"
        end
    end
    meta.names = nil
    return meta
end

local function link_names(inlines)
    for i = 1, #inlines - 1 do
        local name, section = inlines[i], inlines[i + 1]
        if name.t == "Strong" and section.t == "Str" then
            local number, rest = section.text:match("^(%(%d%))(.*)$")
            local page = number and pages[pandoc.utils.stringify(name) .. number]
            if page then
                inlines[i] = pandoc.Link({ name, pandoc.Str(number) }, page)
                inlines[i + 1] = pandoc.Str(rest)
            end
        end
    end
    return inlines
end

local function link_documents(link)
    if link.target:match("^%a+:") or link.target:match("^#") then
        return link
    end
    local folder, stem, part = link.target:match("^%.?%.?/?([%a]*)/?([%w_.-]+)%.md(#?.*)$")
    if stem and (folder == "" or folder == "guide" or folder == "spec" or folder == "man") then
        link.target = link.target:gsub("%.md", ".html", 1)
        return link
    end
    return link.content
end

return { { Meta = read_names }, { Inlines = link_names, Link = link_documents } }
