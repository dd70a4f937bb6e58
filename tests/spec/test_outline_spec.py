"""An outline never loses an import or a public name, and is small."""

from __future__ import annotations

import ast
import importlib.util
import os
import re

import pytest

from sutler.languages.extract import extract
from sutler.languages.outline import outline, render_outline

PACKAGES = ["asyncio", "email", "unittest"]


def sources(package: str) -> list[tuple[str, str]]:
    found = importlib.util.find_spec(package)
    assert found is not None
    assert found.submodule_search_locations is not None
    folder = found.submodule_search_locations[0]
    texts = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".py"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                texts.append((name, file.read()))
    return texts


def public_names(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            plain = [t for target in node.targets for t in getattr(target, "elts", [target])]
            names |= {target.id for target in plain if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return {name for name in names if not name.startswith("_") or name == "__all__"}


def imported(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.name for alias in node.names}
            if isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module)
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_python_outlines_keep_every_import_and_public_name(package: str) -> None:
    """Checked against `ast` on real packages: every import anywhere, every public top-level
    definition.
    """
    for name, text in sources(package):
        shown = render_outline(outline(extract(name, text), text))
        words = {word.lstrip(".") for word in re.findall(r"[\w.]+", shown)}
        tree = ast.parse(text)
        missing = {found for found in imported(tree) if found != "*" and found not in words}
        missing |= {
            found for found in public_names(tree) if found not in set(re.findall(r"\w+", shown))
        }
        assert not missing, (package, name)


@pytest.mark.parametrize("package", PACKAGES)
def test_python_outlines_cost_at_most_35_percent(package: str) -> None:
    """Counted in tokens of o200k over the whole package."""
    import splintr

    tokenizer = splintr.Tokenizer.from_pretrained("o200k_base")
    whole = small = 0
    for name, text in sources(package):
        whole += len(tokenizer.encode(text))
        small += len(tokenizer.encode(render_outline(outline(extract(name, text), text))))
    assert small <= 0.35 * whole


GO = """package shop

import (
	"context"
	"fmt"
)

// Limit is the limit.
const Limit = 3

type Cart struct {
	Items []string
	total int
}

// Total adds up.
func (c *Cart) Total(ctx context.Context) (int, error) {
	fmt.Println("a", "b")
	return c.total, nil
}

func New(name string) *Cart {
	return &Cart{}
}

type Store interface {
	Get(id string) (*Cart, error)
}
"""

TYPESCRIPT = """import { readFile } from "node:fs/promises";
import type { Id } from "./id";

/** What a shop sells. */
export interface Item {
  id: Id;
  price(): number;
}

export type Basket = Item[];

export enum State {
  Open,
  Closed,
}

export class Cart<T extends Item> {
  private items: T[] = [];

  constructor(readonly name: string) {}

  /** Adds up. */
  total(rate = 1): number {
    return this.items.reduce((sum, item) => sum + item.price(), 0) * rate;
  }
}

export const load = async (path: string): Promise<Basket> => {
  return JSON.parse(await readFile(path, "utf8"));
};
"""

HAND_CHECKED = [
    ("shop.go", GO, ["context", "fmt", "Limit", "Cart", "Items", "Total", "New", "Store", "Get"]),
    (
        "shop.ts",
        TYPESCRIPT,
        [
            "readFile",
            "node:fs/promises",
            "Id",
            "./id",
            "Item",
            "price",
            "Basket",
            "State",
            "Cart",
            "total",
            "load",
        ],
    ),
]


@pytest.mark.parametrize(("path", "text", "names"), HAND_CHECKED, ids=["go", "typescript"])
def test_other_languages_keep_every_import_and_public_name(
    path: str, text: str, names: list[str]
) -> None:
    """Hand-checked lists."""
    shown = render_outline(outline(extract(path, text), text))
    assert [name for name in names if name not in shown] == []
