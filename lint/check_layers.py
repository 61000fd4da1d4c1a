#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fails when a file under src/ includes a layer that its own layer may not see, or names one that stands above, and when a
layer that is built may see one that none of its files includes.

What a lower layer must not name in its code: a namespace of a layer above ("team::"); such a layer's own word in an
identifier ("awaited_team_call"), where that word means nothing else (TELLING); a call of the interface in a text
("acp_send_ch"), where its object belongs to a layer above (OBJECTS). Comments may.
Tests: tests/tools/check_layers_test.py.

The allowed edges are read from src/LAYERS ("layer: dep dep ..."; a layer sees none that stands below it), so the
picture in docs/architecture.md, the CMake targets and this check share one file.
Only os/ may include the kernel's headers.
"""
import pathlib
import re
import sys

import sources
from check_classes import NOT_CODE, code_of

INCLUDE = re.compile(r'^\s*#\s*include\s*"([a-z_]+)/', re.M)
SYSTEM = re.compile(
    r"^\s*#\s*include\s*<((?:sys|linux|netinet|arpa|net)/[^>]+|unistd\.h|pthread\.h|sched\.h|poll\.h)>",
    re.M)

DIRECTIVE = re.compile(r"^[ \t]*#[^\n]*", re.M)
ALL_SEEING = "api"  # may include every layer above it, those to come too

NAMESPACE = re.compile(r"\b([a-z_]+)::")
IDENTIFIER = re.compile(r"\b[A-Za-z_]\w*+(?!::)")
WORD_OF_IDENTIFIER = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
# Layers whose name is no word for anything else. The others' names are, in lower layers, words of the field: a node has a
# list of neighbours, a datagram carries a message.
TELLING = {"allocator", "dsm", "gma", "launch", "pm", "sim", "team"}
# The layer of the object that the last word of a call names: of acp_wait_team team. Patterns are compiled and plans freed by
# collective calls on a team.
OBJECTS = {"ch": "message", "segbuf": "message", "pm": "pm", "team": "team", "lock": "lock", "pattern": "team",
           "plan": "team", "ws": "data", "map": "data", "multimap": "data", "set": "data", "multiset": "data",
           "list": "data", "vector": "data", "deque": "data"}
CALL = re.compile(r"\bacp_(?:\w*_)?(" + "|".join(OBJECTS) + r")\b")


def without_comments(text: str) -> str:
    """The text, line for line, with its literals."""
    return NOT_CODE.sub(lambda found: "\n" * found.group().count("\n") if found.group().startswith("/") else found.group(),
                        text)


def line_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def names_of(text: str) -> list[tuple[int, str, str]]:
    """What a file names: (line, the layer, the name)."""
    code = DIRECTIVE.sub("", code_of(text))
    found = [(line_of(code, name.start()), name[1], name.group()) for name in NAMESPACE.finditer(code)]
    for name in IDENTIFIER.finditer(code):
        for word in {word.lower() for word in WORD_OF_IDENTIFIER.findall(name.group())}:
            if word in TELLING or word.removesuffix("s") in TELLING:
                found.append((line_of(code, name.start()), word if word in TELLING else word[:-1], name.group()))
    texts = without_comments(text)
    found += [(line_of(texts, call.start()), OBJECTS[call[1]], call.group()) for call in CALL.finditer(texts)]
    return found


def read_layers(path: pathlib.Path) -> dict[str, set[str]]:
    """Returns {layer: direct dependencies}; raises ValueError on a forward edge."""
    layers: dict[str, set[str]] = {}
    for line in path.read_text().splitlines():
        line = line.split("#")[0].strip()
        if not line:
            continue
        name, _, dependencies = line.partition(":")
        wanted = set(layers) if dependencies.strip() == "*" else set(dependencies.split())
        if not wanted <= set(layers):
            raise ValueError(f"{name}: depends on a later layer: {sorted(wanted - set(layers))}")
        layers[name.strip()] = wanted
    return layers


def main(root: pathlib.Path) -> int:
    source = root / "src"
    layers, bad = read_layers(source / "LAYERS"), 0
    included: dict[str, set[str]] = {}
    height = {layer: at for at, layer in enumerate(layers)}
    for file in sorted(p for p in source.rglob("*") if p.suffix in {".hpp", ".cpp", ".h"}):
        own, text = file.relative_to(source).parts[0], file.read_text()
        if own not in layers:
            print(f"{file}: folder '{own}' is not a layer of src/LAYERS")
            bad += 1
            continue
        included.setdefault(own, set()).update(INCLUDE.findall(text))
        for used in INCLUDE.findall(text):
            if used != own and used in layers and used not in layers[own]:
                print(f"{file}: layer '{own}' may not include layer '{used}'")
                bad += 1
        for line, layer, name in names_of(text):
            if layer in height and height[layer] > height[own]:
                print(f"{file}:{line}: layer '{own}' names '{name}', which belongs to layer '{layer}' above it")
                bad += 1
        if own != "os":
            for header in SYSTEM.findall(text):
                print(f"{file}: <{header}> belongs into layer 'os'")
                bad += 1
    for layer, used in included.items():
        for unused in sorted(layers[layer] - used) if layer != ALL_SEEING else []:
            print(f"src/LAYERS: layer '{layer}' may include '{unused}', and nothing in it does")
            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sources.root_given()))
