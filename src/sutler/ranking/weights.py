"""Every number that decides a ranking, in one table.

Signals are scaled to [0, 1] per query, multiplied by these weights and summed; the sum is
multiplied by the prior of the file's class. Tuned on the `tune` instances of the selection bench
alone. A weight of 0 switches the signal off, which is how the bench measures its value."""

from __future__ import annotations

from msgspec import Struct


class Weights(Struct, frozen=True):
    lexical: float = 0.5  # zoned BM25F over body, symbols, docs and path
    passage: float = 0.8  # its best region: many of the task's words in one place
    path: float = 0.3  # the path field alone
    symbols: float = 0.3  # the names of definitions alone
    title_path: float = 0.225  # the same for the words of the title
    title_body: float = 0.2
    ticked: float = 0.2  # words in back-ticks
    # a path of the project in the title: the subject of the task, whatever its kind
    named: float = 3.0
    mention: float = 1.9  # a path that the task names
    frame: float = 0.5  # a stack frame in the file
    qualified: float = 0.3  # a qualified name leads to the file through its folders and owners
    namesake: float = 0.3  # its own name is one that the task uses
    scope: float = 0.4  # belongs to the component that the title names
    spelled: float = 0.4  # a definition is named in words of the task
    defines: float = 0.3  # defines a name the task uses; the rarer the name, the stronger
    title_defines: float = 0.1
    phrase: float = 0.3  # holds a string literal that the task quotes
    imports: float = 0.05  # imports a file that scores high
    tested: float = 0.2  # is exercised by a matching test, example or document
    message: float = 0.45  # was touched by commits whose message resembles the task
    recent: float = 0.3  # was touched recently and often
    beside: float = 0.2  # is in the folder of one of the very best files
    twin: float = 0.3  # has the name of one of the best files
    needed: float = (
        0.35  # the best file of code imports it; never lifts a file past the second best
    )
    priors: float = 1.0  # 0 switches class priors off
    zones: float = 1.0  # 0 makes every zone of the task weigh the same
    compounds: float = 0.5  # names made of neighbouring words, as a share of their zone's weight


WEIGHTS = Weights()

PRIORS = {
    "source": 1.0,
    "test": 0.15,
    "doc": 0.08,
    "example": 0.4,
    "bench": 0.3,
    "build": 0.5,
    "data": 0.25,
    "vendor": 0.4,
    "generated": 0.1,
    "ci": 0.1,
}
"""Factor of a file's score by its class."""

DECLARATIONS = 0.5
"""Factor of TypeScript's declaration files: they hold the words of code that others implement."""

ABOUT_PRIORS = {"test": 0.6, "doc": 0.4, "example": 0.8, "bench": 0.8, "ci": 0.8, "build": 1.0}
"""Factor by class if the title of the task is about that class, or the task names the file
itself."""

# Fields of BM25F: (weight, length normalisation), for body, symbols, docs, path
FIELDS = ((1.0, 0.5), (3.0, 0.4), (1.5, 0.4), (4.0, 0.3))
K1 = 1.2
