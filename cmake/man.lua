-- SPDX-License-Identifier: BSD-3-Clause
-- A filter of pandoc for the man pages: a table keeps to the width of a terminal of 80 columns. Left alone, pandoc makes a
-- table whose lines are long in the source 70 columns wide, and the gaps besides, which is more than man has room for.
local room_of_page = 71 -- man fills 78 of 80 columns, and text begins at the 8th
local gap = 3
local whole = 70 -- the columns that a column of the relative width 1 has in the writer of pandoc

-- The columns that the widest cell of each column takes.
local function widths_of(simple)
    local widths = {}
    local rows = pandoc.List({ simple.headers }) .. simple.rows
    for _, row in ipairs(rows) do
        for i, cell in ipairs(row) do
            widths[i] = math.max(widths[i] or 1, utf8.len(pandoc.utils.stringify(cell)))
        end
    end
    return widths
end

-- A narrow column gets what it needs; the others share what is left.
function Table(element)
    local simple = pandoc.utils.to_simple_table(element)
    local widths = widths_of(simple)
    local order = {}
    for i in ipairs(widths) do order[i] = i end
    table.sort(order, function(a, b) return widths[a] < widths[b] end)
    local room = room_of_page - gap * (#widths - 1)
    for place, i in ipairs(order) do
        local width = math.min(widths[i], room // (#order - place + 1))
        room = room - width
        simple.widths[i] = width / whole
    end
    return pandoc.utils.from_simple_table(simple)
end
