"""Every spelling of `spellings`, by both engines; and lines that must stay as they are."""

from __future__ import annotations

import ast

import pytest

from sutler.secrets.engines import Engine, compile_database, hyperscan_engine, stdlib_engine
from sutler.secrets.redactor import redact
from tests.unit.secrets.harmless_lines import HARMLESS
from tests.unit.secrets.spellings import SPELLINGS, planted

KEY = b"k" * 32
FAMILIES = sorted({one.family for one in SPELLINGS} | {"bytes", "hashes", "unwrapped"})


@pytest.fixture(scope="module", params=["stdlib", "hyperscan"])
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "stdlib":
        return stdlib_engine()
    return hyperscan_engine(compile_database())


@pytest.mark.parametrize("family", FAMILIES)
def test_no_spelling_leaves_a_part_of_the_value(family: str, engine: Engine) -> None:
    for seed in range(5):
        for one in planted(seed):
            if one.family != family:
                continue
            shown = redact(one.text, one.path, key=KEY, engine=engine).text
            assert not [part for part in one.parts if part in shown], (one.path, one.text, shown)
            assert shown.count("\n") == one.text.count("\n")


@pytest.mark.parametrize(("path", "text"), HARMLESS)
def test_a_harmless_line_stays(path: str, text: str, engine: Engine) -> None:
    assert redact(text, path, key=KEY, engine=engine).text == text


def test_python_still_parses_after_redaction(engine: Engine) -> None:
    for seed in range(5):
        for one in planted(seed):
            if one.path.endswith(".py") and one.family in ("joined", "names", "queries"):
                try:
                    ast.parse(one.text)
                except SyntaxError:
                    continue
                ast.parse(redact(one.text, one.path, key=KEY, engine=engine).text)


@pytest.mark.parametrize(
    ("path", "text", "part"),
    [
        ("a.java", 'String CLIENT_SECRET = "!kwQ4Y^ym9I~hUmBe~";\n', "ym9I"),
        ("a.yaml", "client_secret: fSCs.AQsnFtO3\n", "AQsn"),
        ("a.py", 'token = "i8R2kKjWqL4zMO3q*!" + "8*4UOswD_d_gvUwjFr9"\n', "gvUw"),
        ("a.py", 'db_password = "qxLzfvWjJbK.LM^a" \\\n    ".HoRPk5VhA7a~be7"\n', "HoRP"),
        ("a.swift", 'let privateKeyBase64Url = "d1H3_dcg0V3XyAuZW2TE5Z3rhY20M-4Y"\n', "rhY20M"),
        ("web/lang/lang.sk-sk.json", '"password": "q8Lz4vWjJb",\n', "q8Lz"),
        ("a.ini", "client_secret = ~vI.Hyan2p^uMP0\n", "Hyan"),
        ("a.toml", 'auth_token = "W._LA~5JAN^uUf7"\n', "5JAN"),
        ("a.properties", "app.auth_token=PsevVg.YXf1N9\n", "YXf1"),
        ("a.ini", "api_token = BedgEDuk0uER3\n", "Duk0"),
        ("a.php", "'root_password' => 'GyfiOBeKqwR-5',\n", "OBeK"),
        ("Dockerfile", "ENV DB_PASSWORD !PeJXrFkJZMcwyJ8\n", "rFkJ"),
        ("Dockerfile", "ENV CLIENT_SECRET -qKx5mgpldFeSe9hq9XNg5C_5m6\n", "FeSe"),
        ("a.py", 'secret_key = ("d69Y41I8yk-lvn*"\n    "ZQu6v6*DnrCmtj2")\n', "DnrC"),
        ("a.js", "token: 'kqzx-evwqjm',\n", "kqzx"),
        ("a.go", 'Token: "873ab81f4c",\n', "873a"),
        ("a.java", 'login.setToken("sypp-lhoe-jfxa-blsz");\n', "lhoe"),
        ("a.py", 'os.environ.setdefault("SMTP_PASSWORD", "ucrokv")\n', "ucro"),
        ("a.yml", "URL: amqp://worker:worker@127.0.0.1:5672\n", ":worker@"),
        (
            "a.md",
            "Authorization: Bearer eyJ0eXAiOiAiVENWMiJ9.UTlaUm5sYzQtRUZ0.MWY2NjI4MmQt\n",
            "UTla",
        ),
        (
            "a.md",
            "Cookie: ID=f7b1398a0fdc189b;ECS[password]=445ac05c4ae0555ed091;ECS[id]=3\n",
            "445a",
        ),
        (
            "app.config",
            '<setting name="ApiToken" serializeAs="String">\n  <value>h7Gk2Lp9QwXz4</value>\n</setting>\n',
            "Gk2L",
        ),
        ("a.rst", "Location: oauth:uri#access_token=2YotnFZFEjr1zCsicMWpAA&type=bearer\n", "Yotn"),
        ("a.rb", "authentication_string = 'z0pjExBYbzbupUByZRrQvC6kRCcE8n'\n", "zbup"),
        ("a.sh", "openssl pkcs12 -in a.p12 -passin pass:kestrel -nodes\n", "kestrel"),
    ],
)
def test_marks_in_a_value_do_not_end_it(path: str, text: str, part: str, engine: Engine) -> None:
    assert part not in redact(text, path, key=KEY, engine=engine).text
