"""Mistakes that newcomers make, and what every answer to one has to hold."""

from __future__ import annotations

from pathlib import Path

MISTAKES = tuple(
    line
    for line in """
sutler pakc
sutler paks .
sutler Pack
sutler lst
sutler help pakc
sutler pack nowhere
sutler pack nowhere/at/all.py
sutler pack --goal fix the login -o task.md
sutler rank fix the login
sutler pack --max-tokens 5k, -o pack.md
sutler pack . tokens
sutler pack --since main..HEAD -o pack.md
sutler pack --since yesterday
sutler pack --format=yaml
sutler pack -i /tmp
sutler pack --tier gpt4
sutler pack --report -o pack.md
sutler pack file:///nowhere
sutler pack git@github.com:
sutler config set max_tokens 5k
sutler version
sutler -v
sutler --verbose pack
sutler update
sutler read README.md 1-5
sutler search
sutler search word --include '*.py'
sutler mcp install --client cursr
sutler call read_lines path=README.md
sutler call read_lines '{"file": "README.md"}'
sutler receipt show 1
sutler rollback README.md
sutler tree 1
sutler ui --port 99999
sutler log --since yesterday
sutler pack ''
sutler pack README.md nowhere
sutler pack --nothing
sutler pack --max-token 5k
sutler pack --max-tokens
sutler pack --max-tokens five
sutler pack --max-tokens -5
sutler pack --max-tokens 5.5k
sutler pack --max-tokens 10 README.md
sutler pack --max-tokens 5k --max-chars 5k
sutler pack --no-budget --max-tokens 5k
sutler pack --tier medium
sutler pack --counter gpt-4
sutler pack --format pdf
sutler pack --format XML
sutler pack -f marckdown
sutler pack --type short
sutler pack --style xml
sutler pack --remote
sutler pack -o ''
sutler pack -o nowhere/pack.md
sutler pack -o src
sutler pack -o pack.md --copy
sutler pack --report '' -o pack.md
sutler pack --split 10 -o part.md
sutler pack --watch
sutler pack --watch -o -
sutler pack --goal - --stdin
sutler pack --stdin
sutler pack --profile nothing
sutler pack --task nowhere.yaml
sutler pack --since nothing
sutler pack --log many
sutler pack -i '*.nothing'
sutler pack -i '[a-'
sutler pack -e '*'
sutler pack empty
sutler pack empty -f json
sutler pack /
sutler pack .env
sutler pack --mode careful
sutler pack --cut-over big
sutler why
sutler why nowhere
sutler why ..
sutler rank
sutler rank src
sutler rank --goal
sutler tree -L 0
sutler tree -L two
sutler outline nowhere.py
sutler outline src
sutler unpack nowhere.md
sutler unpack README.md
sutler diff-packs README.md
sutler diff-packs README.md README.md
sutler verify README.md
sutler report README.md -o report.html
sutler read nowhere.py
sutler read README.md:9-1
sutler read /etc/passwd
sutler edit README.md nothing something
sutler run nothing
sutler goals show nothing
sutler call nothing '{}'
sutler call read_file 'path=README.md'
sutler call read_file '{}'
sutler config nothing
sutler schema nothing
sutler completion fish
sutler receipt show nothing
sutler approve nothing
sutler mcp install --client nothing
sutler init --nothing
sutler cache empty
sutler pack owner/name/with/too/many
sutler --remote owner/name
sutler cat README.md
sutler grep WHEELS
sutler undo
sutler 'fix the wheels'
sutler fix the wheels
sutler '*.py'
sutler pack 'fix the wheels'
sutler pack 'src/**/*.py'
sutler pack src/cart.py:1-1
sutler pack –goal wheels
sutler pack -maxtokens 5k
sutler pack --max_tokens 5k
sutler pack --budget 5k
sutler pack --files-from list.txt
sutler pack --lang py
sutler pack -i py
sutler pack -t 4000
sutler pack -l
sutler pack -c
sutler pack -g wheels
sutler pack --version
sutler pack --verbose
sutler pack --counter claude
sutler pack --counter cl100k
sutler pack --format md
sutler pack --format html
sutler pack --goal
sutler pack --goal ''
sutler pack --max-tokens 1e3
sutler pack --max-tokens 10%
sutler pack --depth -1
sutler pack --max-files none
sutler pack --skip-over 1XB
sutler pack --stop 3 --goal wheels
sutler pack --cite
sutler pack --fill
sutler pack --stop 0.2
sutler pack --stable-order
sutler pack --provider-limit small=1k
sutler mcp --port 9000
sutler mcp --no-token
sutler pack --compress --review
sutler pack --detail full
sutler pack --detail 'src=all'
sutler pack --rest everything
sutler pack --template nothing.tera
sutler pack --instructions nothing.md
sutler pack --task 'fix the wheels'
sutler pack --type summary -f xml
sutler pack --diff HEAD~1
sutler pack ./src ../outside
sutler pack owner/name src
sutler pack github.com
sutler pack gitlab:owner/name
sutler pack https://github.com
sutler pack file://src
echo nothing.py | sutler pack --stdin
echo README.md | sutler pack -
sutler report
sutler report nothing.md
sutler pack -q -o pack.md && sutler report pack.md -o pack.md
sutler pick --max-tokens five
sutler ui --port 80000
sutler ui --open
sutler tree --level 1
sutler tokens README.md nothing.md
sutler tokens --counter none
sutler tokens --model gpt-4o
sutler rank ''
sutler rank WHEELS -k 0
sutler rank WHEELS -k many
sutler rank WHEELS nothing
sutler outline .env
sutler unpack README.md -d copy
sutler unpack --output copy
sutler receipt
sutler read .env
sutler read src
sutler read README.md --lines 1-1
sutler ls /
sutler write
sutler write .git/config < README.md
sutler edit README.md Cart
sutler patch nothing.diff
sutler patch < README.md
sutler apply < README.md
sutler diff nothing
sutler log -n many
sutler session --close
sutler run explain -c nothing.py
sutler run explain -c README.md --to gpt
sutler gather ''
sutler config max_tokens=5k
sutler completion
sutler mcp install
sutler mcp --tools nothing
sutler mcp --root nowhere
sutler call read_file '{"file": "README.md"}'
sutler call pack '{"max_tokens": "many"}'
sutler contract check nothing.yaml
sutler store status
sutler token create
cd src && sutler pack README.md
cd / && sutler pack
SUTLER_MAX_TOKENS=many sutler pack
SUTLER_FORMAT=pdf sutler pack
""".strip().splitlines()
)


def prepared(folder: Path) -> None:
    """A small project to make mistakes in."""
    (folder / "src").mkdir(parents=True)
    (folder / "empty").mkdir()
    (folder / "README.md").write_text("# Cart\n")
    (folder / ".env").write_text("NAME=value\n")
    (folder / "src/cart.py").write_text("WHEELS = 4\n")


def wrong(line: str, code: int, output: str) -> str:
    """What is wrong with the answer to a mistake; "" if nothing is."""
    if "Traceback" in output or "please report" in output.lower():
        return f"{line}: a traceback\n{output}"
    if not 1 <= code <= 6:
        return f"{line}: exit code {code}\n{output}"
    if "sutler: " not in output or "next: " not in output:
        return f"{line}: does not say what happened and what to do next\n{output}"
    if code == 3 and "rule: " not in output:
        return f"{line}: refused without a rule\n{output}"
    return ""
