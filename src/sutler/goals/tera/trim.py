"""White space control: what `{%-` and `-%}` eat, done once after parsing."""

from __future__ import annotations

from msgspec.structs import replace

from sutler.goals.tera.nodes import Block, Branch, Filter, For, If, Macro, Node, Raw, Super, Text, Trim

WHITE = "\t\n\x0b\x0c\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
"""Unicode's White_Space, which is what Tera trims; Python's own strip() eats four control characters more."""


def trim(nodes: tuple[Node, ...], edge: Trim | None = None) -> tuple[Node, ...]:
    """Apply every tag's trimming to the texts around it. `edge` is the tag around these nodes: its `left`
    eats at their start, its `right` at their end."""
    done: list[Node] = []
    after_text = False
    eat = edge.left if edge else False
    for node in nodes:
        if isinstance(node, Text):
            after_text = True
            text = node.text.lstrip(WHITE) if eat else node.text
            eat = False
            if text:
                done.append(Text(text))
            continue
        left, eat = _sides(node, eat)
        if left and after_text:
            _eat_end(done)
        after_text = False
        done.append(_inside(node))
    if edge and edge.right:
        _eat_end(done)
    return tuple(done)


def _sides(node: Node, eat: bool) -> tuple[bool, bool]:
    """Whether a node eats to its left, and whether the text behind it loses its start."""
    match node:
        case If():
            return node.branches[0].trim.left, node.end.right
        case Raw() | For() | Macro() | Filter() | Block():
            return node.start.left, node.end.right
        case Super() | Text():
            return False, eat
        case _:
            return node.trim.left, node.trim.right


def _inside(node: Node) -> Node:
    match node:
        case Raw():
            text = node.text.lstrip(WHITE) if node.start.right else node.text
            return replace(node, text=text.rstrip(WHITE) if node.end.left else text)
        case For() | Macro() | Filter() | Block():
            # The `else` body of a loop is left as written: Tera does not trim it.
            return replace(node, body=trim(node.body, Trim(node.start.right, node.end.left)))
        case If():
            return replace(node, branches=_branches(node))
        case _:
            return node


def _branches(node: If) -> tuple[Branch, ...]:
    done: list[Branch] = []
    for number, branch in enumerate(node.branches):
        following = node.branches[number + 1].trim if number + 1 < len(node.branches) else node.end
        body = list(trim(branch.body, Trim(left=branch.trim.right)))
        if following.left:
            _eat_end(body)
        done.append(Branch(branch.trim, branch.test, tuple(body)))
    return tuple(done)


def _eat_end(nodes: list[Node]) -> None:
    if nodes and isinstance(last := nodes[-1], Text):
        nodes.pop()
        if text := last.text.rstrip(WHITE):
            nodes.append(Text(text))
