#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fails when a file under src/ includes a layer that its own layer may not see, and when a layer that is built may see
one that none of its files includes.

The allowed edges are read from src/LAYERS ("layer: dep dep ..."; a layer sees none that stands below it), so the
picture in docs/architecture.md, the CMake targets and this check share one file.
Only os/ may include the kernel's headers.
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*"([a-z_]+)/', re.M)
SYSTEM = re.compile(
    r"^\s*#\s*include\s*<((?:sys|linux|netinet|arpa|net)/[^>]+|unistd\.h|pthread\.h|sched\.h|poll\.h)>",
    re.M)

ALL_SEEING = "api"  # may include every layer above it, those to come too


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
    sys.exit(main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
