"""Ruby."""

from __future__ import annotations

from sutler.languages import base
from sutler.languages.facts import Symbol

_QUERY = """
(class name: (_) @n) @d.class
(module name: (_) @n) @d.class
(method name: (_) @n) @d.method
(singleton_method name: (_) @n) @d.method
(assignment left: (constant) @n) @d.constant
(call method: (identifier) @_a arguments: (argument_list (simple_symbol) @n)
  (#match? @_a "^attr_")) @d.field
(call method: (identifier) @_r arguments: (argument_list . (string))
  (#any-of? @_r "require" "require_relative" "load" "autoload")) @i
"""


def _public(symbol: Symbol) -> bool:
    return symbol.kind == "class" or base.top(symbol)


RUBY = base.Language(
    display="Ruby",
    name="ruby",
    kind="program",
    suffixes=("rb", "rake", "gemspec", "ru", "podspec", "rbw"),
    files=base.words(
        "vagrantfile rakefile gemfile guardfile podfile fastfile capfile brewfile dangerfile"
    ),
    shebangs=("ruby", "jruby"),
    comments=base.Comments(("#",), (("=begin", "=end"),)),
    grammar=base.Grammar("tree_sitter_ruby", _QUERY, base.quoted, base.offered(_public)),
    shapes=None,
    tests=base.Tests(
        stem=f"{base.AFFIX}|{base.SPEC}|{base.CAMEL}",
        spec_folder=True,
        frameworks=((r"Minitest|minitest", "minitest"), (r"RSpec\.describe|\bdescribe\b", "rspec")),
    ),
    entries=base.Entries(
        names=("config.ru",),
        routes=(
            r"^[ \t]*(get|post|put|patch|delete|resources|resource|root|mount)"
            r"\s+[\"':]([^\"'\s,]+)",
        ),
        commands=(
            r"^[ \t]*desc\s+[\"']([\w:-]+)[^,\n]*,",  # Thor
            r"^[ \t]*task[\s(]+[:\"']?([\w-]+(?::\w[\w-]*)*)",
        ),
    ),
    uses=base.Uses(
        imports=(
            r"(?m)(?:\brequire(?:_relative)?[ (]+|\bautoload[ (]+:?\w+,\s*)"
            r"[\"']([\w./-]+)[\"']"
        ),
        definitions=r"\b(?:class|module)\s+(?:\w+::)*([A-Z]\w+)",
        beside=True,
    ),
    manifests=("gemfile", "rakefile", "vagrantfile"),
    ecosystems=("ruby",),
)
