#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Defects planted into the views that a thread keeps of containers."""
import sys

from plants import Plants

HEADER = "table_view.hpp"
SOURCE = "table_view.cpp"
LAYERS = ("data", "gma", "remote", "allocator", "mailbox", "local", "node", "hash", "os", "base")

IS_OF = "        return epoch == now && directory == name.directory && id == name.id && kind == name.kind;\n"
LOOK = "        if (head.mark.load(std::memory_order_acquire) != view.mark) [[unlikely]]\n"
PLACE_LOOK = "view != nullptr && view->head->mark.load(std::memory_order_acquire) == view->mark;\n"
TABLE_IS = "view.container == container.number && view.index == index ? &view : nullptr"
BEGIN = "                if (place.begin()) [[likely]] {\n"
FIND_BEGIN = """\
        if (is_busy_) [[unlikely]]
            return Found::unknown;
        set_busy(true);
"""
PLACE_BEGIN = """\
        if (is_busy_) [[unlikely]]
            return false;
        set_busy(true);
"""

# name: (file, text, instead)
MUTANTS = {
    "no epoch in the key": (HEADER, IS_OF, IS_OF.replace("epoch == now && ", "now != 0 && ")),
    "any epoch after the view's": (HEADER, IS_OF, IS_OF.replace("epoch == now", "epoch <= now")),
    "no comparison of identities": (HEADER, IS_OF, IS_OF.replace(" && id == name.id", "")),
    "no comparison of directories": (HEADER, IS_OF, IS_OF.replace(" && directory == name.directory", "")),
    "no comparison of kinds": (HEADER, IS_OF, IS_OF.replace(" && kind == name.kind", "")),
    "a find in a destroyed table": (HEADER, LOOK, LOOK.replace("!= view.mark", "== 0")),
    "a place in a destroyed table": (HEADER, PLACE_LOOK, PLACE_LOOK.replace("== view->mark", "!= 0")),
    "a mark without the identity": (SOURCE, "mark_of(place.block, place.id);", "mark_of(place.block, 0);"),
    "a find in the midst of a find": (HEADER, FIND_BEGIN, "        set_busy(true);\n"),
    "a place in the midst of a find": (HEADER, PLACE_BEGIN, "        set_busy(true);\n"),
    "a find that is not shown to signal handlers": (HEADER, FIND_BEGIN, FIND_BEGIN.replace("true", "false")),
    "a find that never ends": (HEADER, "        set_busy(false);\n        return found;\n", "        return found;\n"),
    "a view is changed in the midst of a find": (SOURCE, "    if (is_busy_) return;\n", ""),
    "a find by a place in the heap that is in use": (
        HEADER, BEGIN, BEGIN.replace("place.begin()", "(static_cast<void>(place.begin()), true)")),
    "the place in the heap stays in use": (HEADER, "                    place.end();\n", ""),
    "the root of an earlier container": (SOURCE, "    view.root.emplace();\n", "    if (!view.root) view.root.emplace();\n"),
    "a view of a table of any view of its container": (HEADER, TABLE_IS, TABLE_IS.replace("view.container == container.number && ", "")),
    "a view of any table of the container": (HEADER, TABLE_IS, TABLE_IS.replace(" && view.index == index", "")),
    "views of a container have one number": (SOURCE, "    view.number = ++numbers_;\n", "    view.number = 1;\n"),
    "the identity of a container's tables does not matter": (SOURCE, " && view.table_id == place.id", ""),
    "any number of slots is a power of two": (SOURCE, "std::has_single_bit(place.slots) &&", "place.slots != 0 &&"),
    "too few tables": (SOURCE, "? place.tables - 1 :", "? (place.tables - 1) >> 1 :"),
    "the slots are not left out": (HEADER, "return hash >> shift & mask;", "return hash & mask;"),
    "always the first table": (HEADER, "                place.index = view->index;\n", "                place.index = 0;\n"),
    "a view gives way at once": (SOURCE, "++rivals_ % patience == 0", "++rivals_ != 0"),
    "a view never gives way": (SOURCE, "++rivals_ % patience == 0", "++rivals_ == 0"),
    "the view of an earlier epoch stays": (SOURCE, "container.epoch == epoch && container.directory", "container.epoch != 0 && container.directory"),
    "slots of the table at first are none": (SOURCE, "    view.slots = place.slots;\n", "    view.slots = 0;\n"),
    "a table gives way at once": (SOURCE, "if (!is_others(view, epoch, container, place.index) || gives_way())", "if (true)"),
    "a table never gives way": (SOURCE, "place.index) || gives_way())", "place.index))"),
    "a view of what has no identity": (SOURCE, " || name.id == 0) return;\n", ") return;\n"),
    "another hash function": (SOURCE, "    view.function = place.function;\n", "    view.function = hash::HashFunction::crc64;\n"),
    "another seed": (SOURCE, "    view.seed = place.seed;\n", "    view.seed = place.seed + 1;\n"),
}

if __name__ == "__main__":
    sys.exit(Plants("data", ["tests/unit/data/table_view_test.cpp", "tests/unit/data/table_views_test.cpp"], MUTANTS, (SOURCE,), LAYERS).main())
