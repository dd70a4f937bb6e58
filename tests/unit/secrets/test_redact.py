from __future__ import annotations

from zlib import crc32

import pytest

from sutler.secrets.checksums import base62
from sutler.secrets.engines import stdlib_engine
from sutler.secrets.explain import listing
from sutler.secrets.markers import LOOK_ALIKE, MARKER, own_spans
from sutler.secrets.redactor import Allow, find, redact

KEY = b"an installation's key, 32 bytes."
TOKEN = "ghp_" + "q7Rk2LmZ9xTv4Bn8Wc3Ys6Hd1Jf5Gp0aEuQi"
PEM_BODY = [
    "MIIEpAIBAAKCAQEAx7Qk2LmZ9xTv4Bn8Wc3Ys6Hd1Jf5Gp0aEuQiq7Rk2LmZ9xTv",
    "4Bn8Wc3Ys6Hd1Jf5Gp0aEuQi==",
]
PEM = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *PEM_BODY, "-----END RSA PRIVATE KEY-----"])


def clean(text: str, path: str = "notes.txt") -> str:
    return redact(text, path, key=KEY).text


@pytest.mark.parametrize(
    ("path", "line", "secret"),
    [
        ("a.py", 'password = "tr0ub4dor&3"', "tr0ub4dor&3"),
        ("a.py", "client.login(user='bob', password='zxkwqvbn')", "zxkwqvbn"),
        ("a.py", "user.set_password('kq8Zr2vLx')", "kq8Zr2vLx"),
        ("a.py", 'os.environ.get("SECRET_KEY", "k2j4h5g6f7d8s9a0q1w2")', "k2j4h5g6f7d8s9a0q1w2"),
        (
            "a.js",
            "const cfg = { clientSecret: 'a8f5f167f44f4964e6c998dee827110c' };",
            "a8f5f167f44f4964e6c998dee827110c",
        ),
        ("a.js", "password: process.env.PASS || 'kq8Zr2vLx'", "kq8Zr2vLx"),
        (
            "a.go",
            'apiKey := "a8f5f167f44f4964e6c998dee827110c"',
            "a8f5f167f44f4964e6c998dee827110c",
        ),
        ("a.java", 'props.put("db.password", "kq8Zr2vLx");', "kq8Zr2vLx"),
        ("a.kt", 'const val DB_PASSWORD: String = "kq8Zr2vLx"', "kq8Zr2vLx"),
        ("a.scala", 'password = Some("kq8Zr2vLx"),', "kq8Zr2vLx"),
        ("a.rb", "password: 'kq8Zr2vLx',", "kq8Zr2vLx"),
        ("a.php", "define('DB_PASSWORD', 'kq8Zr2vLx');", "kq8Zr2vLx"),
        (
            "a.cs",
            '<add key="ApiSecret" value="a8f5f167f44f4964e6c998dee827110c"/>',
            "a8f5f167f44f4964e6c998dee827110c",
        ),
        ("a.yml", "  db_password: kq8Zr2vLx", "kq8Zr2vLx"),
        ("a.yml", "- name: DB_PASSWORD\n  value: kq8Zr2vLx", "kq8Zr2vLx"),
        (
            "a.toml",
            'token = "a8f5f167f44f4964e6c998dee827110c"',
            "a8f5f167f44f4964e6c998dee827110c",
        ),
        ("a.properties", "spring.datasource.password=kq8Zr2vLx", "kq8Zr2vLx"),
        ("a.json", '{"name": "password", "value": "kq8Zr2vLx"}', "kq8Zr2vLx"),
        ("a.json", '"body": "{\\"password\\": \\"kq8Zr2vLx\\"}"', "kq8Zr2vLx"),
        ("a.json", '{"tokens": ["e8a0eff3633a7c3f", "42a135da966f1a2b"]}', "42a135da966f1a2b"),
        ("a.html", "{&#34;password&#34;: &#34;kq8Zr2vLx&#34;}", "kq8Zr2vLx"),
        ("a.xml", "<password>kq8Zr2vLx</password>", "kq8Zr2vLx"),
        (".env", "DB_PASS=kq8Zr2vLx", "kq8Zr2vLx"),
        (
            "a.sh",
            "export API_TOKEN=a8f5f167f44f4964e6c998dee827110c",
            "a8f5f167f44f4964e6c998dee827110c",
        ),
        ("a.sh", "mysql -u root -pkq8Zr2vLx app", "kq8Zr2vLx"),
        ("a.sh", "curl -u bob:kq8Zr2vLx https://x.test/", "kq8Zr2vLx"),
        ("a.sh", "tool --password kq8Zr2vLx", "kq8Zr2vLx"),
        ("Dockerfile", "ENV DB_PASSWORD kq8Zr2vLx", "kq8Zr2vLx"),
        ("a.sql", "CREATE USER a IDENTIFIED BY 'kq8Zr2vLx';", "kq8Zr2vLx"),
        (
            "a.md",
            "Authorization: Bearer a8f5f167f44f4964e6c998dee827110c",
            "a8f5f167f44f4964e6c998dee827110c",
        ),
        ("a.md", "Authorization: Basic Ym9iOmtxOFpyMnZMeA==", "Ym9iOmtxOFpyMnZMeA=="),
        ("a.md", "postgres://bob:kq8Zr2vLx@db.internal/app", "kq8Zr2vLx"),
        ("a.md", "bob:kq8Zr2vLx@tcp(db:3306)/app", "kq8Zr2vLx"),
        ("a.txt", f"x\\n{TOKEN}\\n", TOKEN),
        (".netrc", "machine h login bob password kq8Zr2vLx", "kq8Zr2vLx"),
        (".pgpass", "db.internal:5432:app:bob:kq8Zr2vLx", "kq8Zr2vLx"),
        (".npmrc", "//registry.internal/:_authToken=kq8Zr2vLx", "kq8Zr2vLx"),
        (".htpasswd", "bob:$apr1$Zr2vLx8k$Wq8Zr2vLxkq8Zr2vLxkq8Z", "Wq8Zr2vLxkq8Zr2vLxkq8Z"),
        (
            "shadow",
            "bob:$6$Zr2vLx8k$Wq8Zr2vLxkq8Zr2vLxkq8ZabcdE:18000:0:::",
            "Wq8Zr2vLxkq8Zr2vLxkq8ZabcdE",
        ),
        ("s.yaml", "kind: Secret\ndata:\n  pw: a3E4WnIydkx4\n", "a3E4WnIydkx4"),
    ],
)
def test_a_secret_goes_and_its_line_stays(path: str, line: str, secret: str) -> None:
    shown = clean(line, path)
    assert secret not in shown
    assert MARKER.search(shown)
    assert shown.count("\n") == line.count("\n")


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("a.py", "password = get_password()"),
        ("a.py", "token = request.headers['token']"),
        ("a.py", 'password = "<your password>"'),
        ("a.py", 'password = "${DB_PASSWORD}"'),
        ("a.py", 'secret_key = "changeme"'),
        ("a.py", "def login(user, password='password'):"),
        ("a.py", "keys = ['alpha', 'beta', 'gamma']"),
        ("a.py", "def test(): pass"),
        ("de.yml", 'password: "{{ vault_password }}"'),
        ("a.yml", "token_url: https://auth.internal/token"),
        ("a.yml", "password: ((db-password))"),
        (
            "a.json",
            '"integrity": "sha512-MSjYzcWNOA0ewAHpz0MxpYFvwg6yjy1NG3xteoqz644VCo/RPgnr1/GGt+ic3iJTzQ8Eu3TdM14SawnVUmGE6A=="',
        ),
        ("a.json", '"id": "5239056c-4766-4e39-80bd-16454245574b"'),
        ("go.sum", "github.com/a/b v1.0.0 h1:a8f5f167f44f4964e6c998dee827110ca8f5f167f44="),
        ("a.txt", "commit 5239056c4766e39f40bd16454245574b52390aa1"),
        ("a.md", "pass the key to the author of the token"),
        ("a.md", "http://localhost:8080/a@b"),
        ("a.js", "import { passport } from 'passport'"),
    ],
)
def test_what_is_no_secret_stays(path: str, line: str) -> None:
    assert clean(line, path) == line


def test_a_key_block_is_replaced_line_by_line() -> None:
    text = f"before\n{PEM}\nafter\n"
    shown = clean(text)
    assert shown.count("\n") == text.count("\n")
    assert not any(line in shown for line in PEM_BODY)
    assert shown.startswith("before\n-----BEGIN RSA PRIVATE KEY-----[REDACTED:private-key:")
    assert shown.endswith("-----END RSA PRIVATE KEY-----\nafter\n")


@pytest.mark.parametrize("prefix", ["+", "-", "    ", "# ", '  "', "> "])
def test_a_key_block_in_a_diff_a_comment_or_a_string(prefix: str) -> None:
    shown = clean("\n".join(prefix + line for line in PEM.split("\n")))
    assert not any(line in shown for line in PEM_BODY)
    assert all(line.startswith(prefix) for line in shown.split("\n"))


def test_every_slice_of_a_cleaned_key_block_is_clean() -> None:
    shown = clean(f"x\n{PEM}\ny")
    for start in range(len(shown)):
        assert not any(line[:12] in shown[start : start + 200] for line in PEM_BODY)


@pytest.mark.parametrize("encoded", ["base64", "percent", "escape", "utf-16"])
def test_one_level_of_encoding_does_not_hide_a_key(encoded: str) -> None:
    import base64

    value = {
        "base64": base64.b64encode(f"token={TOKEN}\n".encode()).decode(),
        "percent": TOKEN.replace("_", "%5F").replace("q", "%71", 1),
        "escape": "".join(f"\\u{ord(char):04x}" for char in TOKEN),
        "utf-16": base64.b64encode(f"$t = '{TOKEN}'".encode("utf-16-le")).decode(),
    }[encoded]
    assert value not in clean(f"data: {value} end")


def test_findings_say_where_and_never_what() -> None:
    made = redact(f"a\nb\ntoken {TOKEN}\n", "x.txt", key=KEY)
    (finding,) = made.findings
    assert (finding.rule, finding.line) == ("github-pat", 3)
    assert TOKEN not in repr(made)


def test_a_checksum_makes_certain() -> None:
    body = "q7Rk2LmZ9xTv4Bn8Wc3Ys6Hd1Jf5Gp"
    good = "ghp_" + body + base62(crc32(body.encode()), 6)
    assert (
        redact(good, "x", key=KEY).findings[0].confidence
        > redact(TOKEN, "x", key=KEY).findings[0].confidence
    )


def test_the_tag_depends_on_the_key_and_the_value_only_and_not_on_the_length() -> None:
    first, second = (
        redact(f"t {TOKEN} {TOKEN}", "x", key=key).findings for key in (KEY, b"another")
    )
    assert first[0].tag == first[1].tag != second[0].tag
    assert len(first[0].tag) == len(redact(PEM, "x", key=KEY).findings[1].tag)


def test_a_look_alike_is_set_apart_and_our_own_marker_is_known() -> None:
    fake = "[REDACTED:github-pat:0123456789ab]"
    shown = redact(f"{fake} {TOKEN}", "x", key=KEY)
    assert shown.text.startswith(LOOK_ALIKE)
    assert [found.rule for found in shown.findings] == ["github-pat", "marker-look-alike"]
    assert len(own_spans(shown.text, KEY)) == 1
    assert own_spans(shown.text, b"another") == []


def test_the_user_may_allow_by_tag_or_by_marker() -> None:
    tag = redact(TOKEN, "x", key=KEY).findings[0].tag[:8]
    assert redact(TOKEN, "x", key=KEY, allow=Allow(tags=frozenset({tag}))).text == TOKEN
    line = f"{TOKEN}  # fixture"
    assert redact(line, "x", key=KEY, allow=Allow(markers=("# fixture",))).text == line
    assert redact(line, "x", key=KEY).text != line


def test_the_listing_is_masked() -> None:
    made = redact(f"a = '{TOKEN}'\n", "x.py", key=KEY)
    (row,) = listing("x.py", made.text, made.findings)
    assert (row.path, row.line, row.rule) == ("x.py", 1, "github-pat")
    assert TOKEN not in repr(row)


def test_hits_never_cross_a_line() -> None:
    text = f"password: kq8Zr2vLx\n{PEM}\ntoken {TOKEN}"
    assert all(
        "\n" not in text[hit.start : hit.end] for hit in find(text, "a.yml", stdlib_engine())
    )


def test_the_operator_behind_a_line_of_a_key_stays() -> None:
    rows = " ..\n".join(f'    "{line}\\n"' for line in PEM.split("\n"))
    shown = clean(f"local key =\n{rows}\n", "a.lua").split("\n")
    assert all(line.endswith('\\n" ..') for line in shown[1:4])


def test_threads_share_one_engine() -> None:
    from concurrent.futures import ThreadPoolExecutor

    from sutler.secrets.engines import compile_database, hyperscan_engine

    engine = hyperscan_engine(compile_database())
    texts = [f"{'x ' * number}{TOKEN}\n" for number in range(200)]
    with ThreadPoolExecutor(4) as pool:
        shown = list(
            pool.map(lambda text: redact(text, "a.txt", key=KEY, engine=engine).text, texts)
        )
    assert not any(TOKEN in text for text in shown)


def test_a_broken_database_fails_at_once() -> None:
    import hyperscan

    from sutler.secrets.engines import compile_database, hyperscan_engine

    with pytest.raises(hyperscan.HyperscanError):
        hyperscan_engine(b"\0" * len(compile_database()))
