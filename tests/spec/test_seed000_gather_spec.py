"""Seed 000: the loop in which a model asks for files, with real programs as models."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sutler.errors import ModelCommandError, RefusedError, UsageError
from sutler.goals.answers import Answer, Unreadable, read_answer, read_original
from sutler.goals.ceiling import ceiling_of
from sutler.goals.context_files import unchanged
from sutler.goals.gather import Gathering, Ground, UnreadableAnswerError, gather
from sutler.goals.gather_options import Options, constraints_section, parse_input
from sutler.goals.gather_prompt import list_directory
from sutler.goals.model_command import command_model
from sutler.goals.send import Target
from sutler.pack.project import Project
from sutler.pack.receipts import receipts
from sutler.pack.why import verdict
from sutler.paths import RelPath
from sutler.scan.root import Root
from tests.conftest import Plant
from tests.goalkit import Capture, Files, cli, program

TREE: Files = {
    "a.py": "AAA",
    "b.py": "BBB",
    "c.md": "CCC",
    "src": {"d.py": "DDD", "e": {"f.py": "FFF"}},
}
DONE = '{"done": true, "files": [], "reason": "enough"}'


def wants(*files: str) -> str:
    return json.dumps({"done": False, "files": files, "reason": "need"})


class Scripted:
    """A model in this process that gives prepared answers and keeps the prompts it was asked."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.prompts: list[str] = []

    def __call__(self, prompt: str) -> str:
        self.prompts.append(prompt)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def loop(
    folder: Path,
    text: str,
    model: Callable[[str], str],
    max_chars: int | None = None,
    compat: bool = False,
) -> Gathering:
    ceiling = ceiling_of(max_chars, "chars", "none")
    return gather(text, Ground(str(folder), unchanged, ceiling, compat=compat), model)


# The option syntax


@pytest.mark.parametrize(
    ("text", "prompt", "options"),
    [
        ("explain it", "explain it", Options()),
        ("x options: dir: src", "x", Options(dir="src")),
        ("x Options : maxDepth: 3 filter: '*.py'", "x", Options(max_depth=3, filter="*.py")),
        ("x options: include: a include: 'b c'", "x", Options(include=("a", "b c"))),
        (
            "x options: maxFiles: 2.5 maxFileSize: 1e3",
            "x",
            Options(max_files=2.5, max_file_size=1000),
        ),
        ("x options: maxFiles: 0 maxDepth: -2 maxFileSize: Infinity", "x", Options()),
        ("x options: maxDepth: abc", "x", Options()),
        ("x options: noise dir: src more", "x", Options(dir="src")),
        ('x options: exclude: "a\\tb\\q"', "x", Options(exclude="a\tbq")),
        ("x options:", "x", Options()),
        ("x options: dir: src dependsOn: other", "x", Options(dir="src")),
        ("x dependsOn: y options: dir: src", "x", Options()),
        ("x options: dir: a dir: b", "x", Options(dir="b")),
    ],
)
def test_the_option_syntax(text: str, prompt: str, options: Options) -> None:
    """The text before the first `options:` is the request; keys end in a colon, the next word is
    the value.
    """
    parsed = parse_input(text)
    assert (parsed.prompt, parsed.options, parsed.error) == (prompt, options, "")


@pytest.mark.parametrize(
    ("tail", "error"),
    [
        ("maxFiles: 3 color: red", "Invalid options: unknown key color."),
        ("maxFiles: 3 dir:", "Invalid options: missing value for dir."),
        ("dir: 'open", "Unterminated string literal in options."),
        ("dir: 'x\\", "Invalid escape sequence in options."),
        ("dir:src", "Invalid options: no valid key-value pairs found."),
        ("please", "Invalid options: no valid key-value pairs found."),
        ('{"dir": "src"}', 'Invalid options: unknown key {"dir".'),
    ],
)
def test_bad_options_mean_all_defaults(tail: str, error: str) -> None:
    """Any mistake in the options puts all of them back to their defaults, and says what it was."""
    parsed = parse_input(f"x options: {tail}")
    assert (parsed.prompt, parsed.options) == ("x", Options())
    assert parsed.error == error


def test_constraints_in_their_order() -> None:
    """Only active constraints are named, in the specified order and words."""
    assert constraints_section(Options()) == ""
    options = Options(dir="src", filter="*.py", exclude="*_test*", max_files=3, include=("a", "b"))
    assert constraints_section(options) == (
        "\n## Active Constraints\n"
        "- ONLY select files whose name matches the pattern: *.py\n"
        "- Do NOT select files whose name matches the pattern: *_test*\n"
        "- Maximum 3 files can be read in total. Be selective.\n"
        "- The following files are already force-included and loaded. Do NOT request them again: a, b\n"
        "- Only select files within the directory: src\n"
    )


# The listing


def test_listing_depth_and_order(plant: Plant) -> None:
    """Depth 1 is the direct entries, the default is 2; directories are listed too; sorted."""
    folder = plant(TREE)
    assert list_directory(str(folder), Options()) == [
        "a.py",
        "b.py",
        "c.md",
        "src",
        "src/d.py",
        "src/e",
    ]
    assert "src/e/f.py" in list_directory(str(folder), Options(max_depth=3))
    assert list_directory(str(folder), Options(dir="src", max_depth=1)) == ["d.py", "e"]


def test_listing_exclusions(plant: Plant) -> None:
    """Well-known folders and hidden folders are left out, hidden files are not; asking for one
    shows it.
    """
    folder = plant(
        {"node_modules": {"m.js": ""}, "dist": {"x": ""}, ".hid": {"y": ""}, ".rc": "", "a": ""}
    )
    assert list_directory(str(folder), Options()) == [".rc", "a"]
    assert list_directory(str(folder), Options(dir="node_modules")) == ["m.js"]


def test_listing_filter_and_exclude(plant: Plant) -> None:
    """`filter` is for file names, `exclude` for files and folders."""
    folder = plant(TREE)
    assert list_directory(str(folder), Options(filter="*.py")) == [
        "a.py",
        "b.py",
        "src",
        "src/d.py",
        "src/e",
    ]
    assert list_directory(str(folder), Options(exclude="src")) == ["a.py", "b.py", "c.md"]
    assert list_directory(str(folder), Options(dir="gone")) == []


def test_listing_leaves_links_out(plant: Plant, tmp_path: Path) -> None:
    """A link can lead outside, so it is not offered."""
    folder = plant({"a": ""})
    os.symlink(tmp_path, folder / "up")
    assert list_directory(str(folder), Options()) == ["a"]


# The loop


def test_an_empty_request_is_an_error(plant: Plant) -> None:
    """Nothing to ask for is refused in the original's words."""
    with pytest.raises(UsageError, match=r"No input provided for context-loader\."):
        loop(plant(TREE), "  options: dir: src", Scripted(DONE))


def test_done_at_once(plant: Plant) -> None:
    """A model that needs nothing is asked once and nothing is read."""
    model = Scripted(DONE)
    result = loop(plant(TREE), "x", model)
    assert (result.text, len(model.prompts), result.files) == ("", 1, {})


def test_files_come_round_by_round(plant: Plant) -> None:
    """Each round reads what was asked for; the next question carries everything known."""
    model = Scripted(wants("a.py"), wants("src/d.py"), DONE)
    result = loop(plant(TREE), "x", model)
    assert list(result.files) == ["a.py", "src/d.py"]
    assert "AAA" not in model.prompts[0]
    assert "AAA" in model.prompts[1]
    assert "DDD" in model.prompts[2]
    assert [step.known for step in result.rounds] == [0, 1, 2]


def test_at_most_six_questions_and_five_rounds(plant: Plant) -> None:
    """A model that never ends is asked six times. What its last answer asks for is read, and the
    limit is reported; the original drops it.
    """
    folder = plant({f"{n}.txt": str(n) for n in range(9)})
    for compat, files in ((False, 6), (True, 5)):
        model = Scripted(*(wants(f"{n}.txt") for n in range(9)))
        result = loop(folder, "x", model, compat=compat)
        assert len(model.prompts) == 6
        assert list(result.files) == [f"{n}.txt" for n in range(files)]
        assert any("limit of 6 questions" in note for note in result.notes) is not compat


def test_max_files_ends_the_loop(plant: Plant) -> None:
    """At the cap the loop ends without another question; the original asks one more."""
    for compat, questions in ((False, 1), (True, 2)):
        model = Scripted(wants("a.py", "b.py", "c.md"), wants("src/d.py"), DONE)
        result = loop(plant(TREE), "x options: maxFiles: 2", model, compat=compat)
        assert list(result.files) == ["a.py", "b.py"]
        assert len(model.prompts) == questions


def test_include_comes_first_and_passes_the_filter(plant: Plant) -> None:
    """Include files are read before the model is asked, and the filter does not touch them."""
    model = Scripted(wants("a.py", "c.md"), DONE)
    result = loop(plant(TREE), "x options: filter: *.py include: c.md", model)
    assert list(result.files) == ["c.md", "a.py"]
    assert "already force-included and loaded. Do NOT request them again: c.md" in model.prompts[0]


def test_the_filter_guards_against_the_model(plant: Plant) -> None:
    """A file that does not match the filter is skipped silently."""
    result = loop(plant(TREE), "x options: filter: *.md", Scripted(wants("a.py", "c.md"), DONE))
    assert list(result.files) == ["c.md"]


def test_bad_options_use_defaults_and_say_so(plant: Plant) -> None:
    """Options that cannot be read do not stop the loop."""
    result = loop(plant(TREE), "x options: colour: red", Scripted(wants("a.py"), DONE))
    assert list(result.files) == ["a.py"]
    assert "unknown key colour" in result.notes[0]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (DONE, Answer(True, (), "enough")),
        ('Sure:\n```json\n{"done": false, "files": ["a"]}\n```', Answer(False, ("a",))),
        ('{"done": "no"}', Answer(True)),
        ('{"done": 0, "files": ["a", "", "  ", 5, null]}', Answer(False, ("a",))),
        ('{"done": [], "files": "a"}', Answer(True)),
        ('{"files": ["a"], "reason": 5}', Answer(False, ("a",))),
        ("no json", Answer(True, (), "Could not parse LLM response.")),
        ("{broken", Answer(True, (), "Could not parse LLM response.")),
        ('{"a": 1} and {"b": 2}', Answer(True, (), "Could not parse LLM response.")),
        ("{" * 100_000 + "}" * 100_000, Answer(True, (), "Could not parse LLM response.")),
        ("", Answer(True, (), "Could not parse LLM response.")),
    ],
)
def test_answers_are_read_as_the_original_reads_them(text: str, answer: Answer) -> None:
    """The outermost braces are the answer; what cannot be parsed ends the loop."""
    assert read_original(text) == answer


REASON = '{"done": false, "files": ["a"], "reason": "r"}'


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (REASON, Answer(False, ("a",), "r")),
        (f"Sure, here it is:\n{REASON}\nShout if you need more.", Answer(False, ("a",), "r")),
        (f"```json\n{REASON}\n```", Answer(False, ("a",), "r")),
        (f"<think>maybe {DONE}?</think>\n{REASON}", Answer(False, ("a",), "r")),
        (f"they want {DONE}\n</think>{REASON}", Answer(False, ("a",), "r")),
        (f"{REASON} and {DONE}", Answer(False, ("a",), "r")),
        (f'{{"note": 1}} {{"answer": {REASON}}}', Answer(False, ("a",), "r")),
        (f"[{REASON}]", Answer(False, ("a",), "r")),
        ('{"done": "false", "files": "a"}', Answer(False, ("a",))),
        ('{"files": [{"path": "a"}, "b", "a"]}', Answer(False, ("a", "b"))),
        ('{"done": true, "files": ["a"]}', Answer(True, ("a",))),
        ('{"done": true, "reason": "the </think> tag"}', Answer(True, (), "the </think> tag")),
        ("\ufeff{a: 1} {" + DONE, Answer(True, (), "enough")),
    ],
)
def test_the_first_valid_object_anywhere(text: str, answer: Answer) -> None:
    """Prose, fences, reasoning and wrappers around an answer do not hide it."""
    assert read_answer(text) == answer


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "the answer was empty"),
        ("I cannot help with that.", "there was no JSON object in the answer"),
        ("{broken", "the object is not JSON: Expecting property name"),
        ('{"files": ["a",]}', "the object is not JSON"),
        ('{"paths": ["a"]}', 'the object has neither "done" nor "files"'),
        ('{"files": {"a": 1}}', '"files" is not a list of paths'),
        ('{"files": [5]}', '"files" holds no path'),
        (f"<think>{DONE}</think>", "there was no JSON object in the answer"),
        ("{" * 100_000 + "}" * 100_000, "the object is not JSON"),
        ('{"a":' * 100_000, "the object is nested too deep"),
    ],
)
def test_an_unreadable_answer_has_a_complaint(text: str, complaint: str) -> None:
    """What is wrong is said exactly, so that the model can correct it."""
    answer = read_answer(text)
    assert isinstance(answer, Unreadable)
    assert answer.complaint.startswith(complaint)


def test_an_unreadable_answer_is_asked_for_once_more(plant: Plant) -> None:
    """The second question repeats the first and adds the complaint."""
    model = Scripted("no idea", wants("a.py"), DONE)
    result = loop(plant(TREE), "x", model)
    assert list(result.files) == ["a.py"]
    assert "It could not be read: there was no JSON object in the answer." in model.prompts[1]
    assert len(model.prompts) == 3


def test_two_unreadable_answers_are_refused_with_what_is_known(plant: Plant) -> None:
    """Never an empty success; the files so far are not lost."""
    model = Scripted(wants("a.py"), "hm", "hm hm")
    with pytest.raises(UnreadableAnswerError, match="answer: hm hm") as caught:
        loop(plant(TREE), "x", model)
    assert caught.value.exit_code == 3
    assert list(caught.value.partial.files) == ["a.py"]
    result = loop(plant(TREE), "x", Scripted("hm"), compat=True)
    assert (result.files, result.rounds[0].answer.done) == ({}, True)


def test_files_of_a_last_answer_are_loaded(plant: Plant) -> None:
    """`done: true` beside files is both; the original forgets the files."""
    last = '{"done": true, "files": ["a.py"]}'
    assert list(loop(plant(TREE), "x", Scripted(last)).files) == ["a.py"]
    assert loop(plant(TREE), "x", Scripted(last), compat=True).files == {}


@pytest.mark.parametrize("again", [wants("a.py"), wants(), wants("nothing.md")])
def test_nothing_new_ends_the_loop(plant: Plant, again: str) -> None:
    """A model that repeats itself is not asked again."""
    model = Scripted(wants("a.py"), again)
    result = loop(plant(TREE), "x options: filter: *.py", model)
    assert len(model.prompts) == 2
    assert result.notes == ("the model asked for nothing new",)


def test_an_absolute_dir_inside_the_root(plant: Plant) -> None:
    """`dir` may be absolute; outside the root it is refused."""
    folder = plant(TREE)
    model = Scripted(wants("d.py"), DONE)
    result = loop(folder, f"x options: dir: {folder}/src", model)
    assert result.files == {"d.py": "DDD"}
    assert result.paths == ("src/d.py",)
    assert "\nd.py\n" in model.prompts[0]
    with pytest.raises(RefusedError, match="outside the project"):
        loop(folder, "x options: dir: /etc", model)


def test_a_ceiling_binds_every_question(plant: Plant) -> None:
    """The whole prompt counts, its listing included; a file that does not fit leaves a message,
    which is not charged.
    """
    tree: Files = {f"some_rather_long_name_{n:03}.py": "" for n in range(300)}
    folder = plant({**tree, "a": "x" * 60, "b": "y" * 5000, "c": "z" * 10})
    model = Scripted(wants("a", "b", "c"), DONE)
    result = loop(folder, "x", model, max_chars=2000)
    assert [len(prompt) <= 2000 for prompt in model.prompts] == [True, True]
    assert "more, not listed here]" in model.prompts[0]
    assert (result.files["a"], result.files["c"]) == ("x" * 60, "z" * 10)
    assert (
        result.files["b"]
        == "[Skipped: 5,000 characters do not fit in the ceiling of 2,000 characters]"
    )
    assert "## Too Large To Load\nb\n" in model.prompts[1]


def test_a_ceiling_that_nothing_fits_is_refused(plant: Plant) -> None:
    """A question without any listing is the least; below it nothing is sent."""
    model = Scripted(DONE)
    with pytest.raises(RefusedError, match="above the ceiling of 100 characters"):
        loop(plant(TREE), "x", model, max_chars=100)
    assert model.prompts == []


DENIED: Files = {
    ".gitignore": "ignored/\n*.log\n",
    ".aiexclude": "denied.py\n",
    "denied.py": "CANARY",
    "ignored": {"x.py": "CANARY"},
    "a.log": "CANARY",
    ".env": "CANARY",
    "id_rsa": "CANARY",
    "node_modules": {"m.js": "CANARY"},
    "src": {"ok.py": "fine", ".env.local": "CANARY"},
}


def test_a_hostile_model_gets_no_denied_file(plant: Plant) -> None:
    """Two hundred spellings of denied files: no byte of them leaves, and no listing names one."""
    folder = plant(DENIED)
    (folder / ".git").mkdir()
    paths = ["denied.py", "ignored/x.py", "a.log", ".env", "id_rsa", "node_modules/m.js"]
    paths += ["src/.env.local"]
    frames = ["{}", "./{}", "src/../{}", "//{}", "{}/", "src//../{}", ".//{}", str(folder) + "/{}"]
    frames += ["{}/.", "./src/.././{}", "src/./../{}", "ignored/../{}", "{}//", "././{}"]
    asked = [frame.format(path) for path in paths for frame in frames]
    asked += [f"{path}{tail}" for path in paths for tail in ("\0", "%00", " ", "\n", "*", "?", "~")]
    asked += [path.upper() for path in paths] + [f"../{folder.name}/{path}" for path in paths]
    asked += [path.replace("/", "\\") for path in paths] + [f"file://{path}" for path in paths]
    asked += (
        [f"{path}:1-5" for path in paths]
        + [f"./././{path}" for path in paths]
        + [f"~/{path}" for path in paths]
    )
    asked += [f"./{path}/../{path.rsplit('/')[-1]}" for path in paths] + [f"\t{p}" for p in paths]
    asked = list(dict.fromkeys(asked))
    assert len(asked) >= 200
    with Root(str(folder)) as root:
        for path in paths:
            assert verdict(Project(folder), root, RelPath(path), "gather").state == "out"
    model = Scripted(wants(*asked), DONE)
    result = loop(folder, "x", model)
    assert not any("CANARY" in prompt for prompt in model.prompts)
    assert "CANARY" not in result.text
    listing = model.prompts[0].split("<listing>")[1].split("</listing>")[0].split()
    assert listing == [".aiexclude", ".gitignore", "src", "src/ok.py"]
    assert not [path for path in listing if path in paths]
    assert result.paths == ()


def test_naming_a_folder_lifts_only_what_closes_it(plant: Plant) -> None:
    """The user's `dir` opens an excluded folder; a credential in it stays out."""
    folder = plant({"node_modules": {"m.js": "M", ".env": "CANARY"}})
    model = Scripted(wants("m.js", ".env"), DONE)
    result = loop(folder, "x options: dir: node_modules", model)
    assert result.files["m.js"] == "M"
    assert "CANARY" not in result.text
    assert ".env" not in model.prompts[0]


def test_a_model_cannot_leave_the_root(plant: Plant, tmp_path: Path) -> None:
    """What the model asks for outside the project, it does not get."""
    (tmp_path / "out.txt").write_text("SECRET")
    result = loop(
        plant(TREE),
        "x",
        Scripted(wants("../out.txt", "/etc/passwd", str(tmp_path / "out.txt")), DONE),
    )
    assert "SECRET" not in result.text
    assert "root:" not in result.text
    with pytest.raises(RefusedError, match="outside the project"):
        loop(plant(TREE), "x options: dir: ../..", Scripted(DONE))


def test_everything_that_leaves_is_cleaned(plant: Plant) -> None:
    """The request and the files pass the redactor before the model sees them."""
    model = Scripted(wants("k.txt"), DONE)
    ground = Ground(
        str(plant({"k.txt": "key s3cret"})), lambda text, path: text.replace("s3cret", "***")
    )
    result = gather("about s3cret", ground, model)
    assert not any("s3cret" in prompt for prompt in model.prompts)
    assert "key ***" in result.text


def test_a_first_batch_can_be_proposed(plant: Plant) -> None:
    """Ranking may read files before the first question."""
    model = Scripted(DONE)
    result = gather("x", Ground(str(plant(TREE))), model, first=lambda request: ["b.py"])
    assert list(result.files) == ["b.py"]
    assert "BBB" in model.prompts[0]


# Real programs as models


def asked(folder: Path, bin_: Path, body: str, seconds: float = 20.0) -> Gathering:
    fake = program(bin_, "model", body)
    model = command_model(
        Target(str(fake), ""), cwd=str(folder), environ=dict(os.environ), seconds=seconds
    )
    return gather("x", Ground(str(folder)), model)


def test_a_program_answers(plant: Plant, tmp_path: Path) -> None:
    """Any program that reads a prompt and prints an answer is a model."""
    body = f"if grep -q AAA; then echo '{DONE}'; else echo '{wants('a.py')}'; fi"
    assert list(asked(plant(TREE), tmp_path / "bin", body).files) == ["a.py"]


def test_a_program_that_prints_garbage(plant: Plant, tmp_path: Path) -> None:
    """Garbage, even bytes that are no text, is refused after a second question."""
    with pytest.raises(UnreadableAnswerError, match="the object is not JSON"):
        asked(plant(TREE), tmp_path / "bin", "printf '\\377\\376 no { json'")


@pytest.mark.parametrize(
    ("body", "seconds", "message"),
    [
        ("exit 3", 20.0, "exit status: 3"),
        ("echo broken >&2; exit 1", 20.0, "broken"),
        ("kill -9 $$", 20.0, "SIGKILL"),
        ("sleep 600", 0.3, "gave no answer in 0.3 seconds"),
        ("trap '' TERM INT; while :; do sleep 600; done", 0.3, "gave no answer"),
        ("yes flood", 20.0, "printed more than 8 MiB"),
        ("yes flood >&2", 20.0, "printed more than 8 MiB"),
    ],
)
def test_a_program_that_fails(
    plant: Plant, tmp_path: Path, body: str, seconds: float, message: str
) -> None:
    """A program that dies, hangs or floods is a clear error with exit code 6."""
    with pytest.raises(ModelCommandError, match=message) as caught:
        asked(plant(TREE), tmp_path / "bin", body, seconds)
    assert caught.value.exit_code == 6


def test_a_program_that_is_missing(plant: Plant) -> None:
    """A command that is not there is named."""
    model = command_model(Target("no-such-model"), cwd="/", environ=dict(os.environ))
    with pytest.raises(
        ModelCommandError, match="LLM command 'no-such-model' not found in your PATH"
    ):
        gather("x", Ground(str(plant(TREE))), model)


def test_the_command_line(plant: Plant, tmp_path: Path, capfdbinary: Capture) -> None:
    """`sutler gather` prints assign lines to stdout and each round to stderr."""
    body = f"if grep -q AAA; then echo '{DONE}'; else echo '{wants('a.py')}'; fi"
    fake = program(tmp_path / "bin", "model", body)
    ran = cli(capfdbinary, plant(TREE), "gather", "what", "is", "a", "--command", str(fake))
    assert ran.code == 0
    assert ran.text.startswith('@spec_a assign "a.py"\n@spec_aContent assign\n--begin-context-')
    assert "round 0: 0 files known, asks for a.py (need)" in ran.err
    assert "round 1: 1 files known, done (enough)" in ran.err


def test_every_round_leaves_a_receipt_before_it_is_asked(
    plant: Plant, tmp_path: Path, capfdbinary: Capture
) -> None:
    """One receipt for each prompt that went to the model, with the files in it, and one for the
    result.
    """
    folder = plant(TREE)
    body = f"if grep -q AAA; then echo '{DONE}'; else echo '{wants('a.py')}'; fi"
    fake = program(tmp_path / "bin", "model", body)
    assert cli(capfdbinary, folder, "gather", "what", "is", "a", "--command", str(fake)).code == 0
    found = {
        row.project: [one.path for one in row.files] for row in receipts(str(folder), os.environ)
    }
    assert found == {"gather, round 0": [], "gather, round 1": ["a.py"], "gather": ["a.py"]}


def test_a_round_that_fails_has_its_receipt(
    plant: Plant, tmp_path: Path, capfdbinary: Capture
) -> None:
    """A program that dies has read the prompt all the same."""
    folder = plant(TREE)
    fake = program(tmp_path / "bin", "model", "cat >/dev/null; exit 3")
    assert cli(capfdbinary, folder, "gather", "what", "--command", str(fake)).code == 6
    assert [row.project for row in receipts(str(folder), os.environ)] == ["gather, round 0"]
