"""Templates made of fragments: our engine and Tera agree, and nothing but a TemplateError ever comes out."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sutler.goals.template import TemplateError, render

FUZZ = int(os.environ.get("SUTLER_FUZZ", "1"))
CONTEXT = {
    "a": 1,
    "b": "two",
    "c": [1, 2, 3],
    "d": {"k": "v", "n": 5},
    "t": True,
    "z": None,
    "f": 2.5,
    "e": "",
}

NAMES = st.sampled_from(["a", "b", "c", "d", "d.k", "d['k']", "c[0]", "c[9]", "t", "z", "f", "e", "nope", "loop.index"])
ATOMS = NAMES | st.sampled_from(
    ["1", "-2", "0", "1.5", "'x'", '"y"', "true", "false", "[]", "[1, 'a']", "range(end=3)"]
)
FILTERS = st.sampled_from(
    [
        "upper",
        "length",
        "default(value='q')",
        "first",
        "json_encode",
        "reverse",
        "int",
        "join(sep='-')",
        "abs",
        "trim",
    ]
)
TESTS = st.sampled_from(
    ["defined", "undefined", "odd", "string", "number", "iterable", "containing('x')", "not defined"]
)
OPS = st.sampled_from(["+", "-", "*", "/", "%", "==", "!=", "<", ">=", "and", "or", "~", "in", "not in"])


def expressions() -> st.SearchStrategy[str]:
    def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.tuples(inner, OPS, inner).map(" ".join),
            st.tuples(inner, FILTERS).map(" | ".join),
            st.tuples(NAMES, TESTS).map(" is ".join),
            inner.map(lambda text: f"({text})"),
            inner.map(lambda text: f"not {text}"),
        )

    return st.recursive(ATOMS, grow, max_leaves=5)


def templates() -> st.SearchStrategy[str]:
    expression = expressions()
    mark = st.sampled_from(["", "-"])
    text = st.sampled_from(["", " ", "\n", " x ", "{", "}}", "%", "\n\n  y"])
    leaf = st.one_of(
        text,
        st.tuples(mark, expression, mark).map(lambda p: f"{{{{{p[0]} {p[1]} {p[2]}}}}}"),
        st.tuples(mark, expression, mark).map(lambda p: f"{{%{p[0]} set s = {p[1]} {p[2]}%}}{{{{ s }}}}"),
        st.just("{# c #}"),
        st.just("{% raw %}{{ r }}{% endraw %}"),
    )

    def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.tuples(inner, inner).map("".join),
            st.tuples(mark, expression, mark, inner, inner).map(
                lambda p: f"{{%{p[0]} if {p[1]} {p[2]}%}}{p[3]}{{%{p[2]} else {p[0]}%}}{p[4]}{{% endif %}}"
            ),
            st.tuples(mark, expression, inner).map(
                lambda p: f"{{% for i in {p[1]} {p[0]}%}}{p[2]}{{{{ i }}}}{{%{p[0]} endfor %}}"
            ),
            inner.map(lambda body: f"{{% filter upper %}}{body}{{% endfilter %}}"),
        )

    return st.recursive(leaf, grow, max_leaves=6)


def ours(template: str) -> str | None:
    try:
        return render(template, CONTEXT)  # type: ignore[arg-type]  # typed loosely here
    except TemplateError:
        return None


@settings(max_examples=100 * FUZZ, deadline=None)
@given(templates())
def test_generated_templates_render_as_tera(template: str) -> None:
    pytera = pytest.importorskip("pytera", reason="compared with Tera itself")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "prompt").write_text(template, "utf-8", newline="")
        try:
            expected = str(pytera.PyTera(f"{folder}/*").render_template("prompt", **CONTEXT))
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # a panic in Rust is not an Exception
            expected = None
    assert ours(template) == expected


@settings(max_examples=100 * FUZZ, deadline=None)
@given(st.text(alphabet="{}%#-_.|()[]'\"~=<>!+*/ \nabcdefioltnsr0123456789", max_size=80))
def test_noise_is_text_or_a_template_error(template: str) -> None:
    ours(template)
    ours("{{ " + template + " }}")
    ours("{% if " + template + " %}x{% endif %}")
