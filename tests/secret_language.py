"""Labelled text in the language of configuration, code, infrastructure and documents.

Each sample is a line or a few lines of one of 25 languages with a secret under a telling name, or
with a decoy that must stay. The same seed gives the same samples.
"""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable, Iterator
from typing import NamedTuple

from tests.secret_places import PLACES

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"


class Sample(NamedTuple):
    """A text, the file it stands in, and the secret that must go; empty for a decoy."""

    language: str
    kind: str
    path: str
    text: str
    secret: str


# `{n}` is a name in snake case, `{N}` in capitals, `{c}` in camel case, `{v}` the value.
TEMPLATES: dict[str, tuple[str, ...]] = {
    "x.py": (
        '{n} = "{v}"',
        "{N} = '{v}'",
        'client = Client({n}="{v}", timeout=3)',
        'settings["{n}"] = "{v}"',
        'os.environ["{N}"] = "{v}"',
        'os.environ.setdefault("{N}", "{v}")',
        '{n}: str = "{v}"  # rotate',
        'config = {{"host": "db", "{n}": "{v}"}}',
        'if {n} == "{v}":\n    pass',
        '{n} = os.getenv("{N}", "{v}")',
        'TEXT = """\n{n}={v}\n"""',
        'parser.add_argument("--{n}", default="{v}")',
    ),
    "x.js": (
        'const {c} = "{v}";',
        "let {c} = '{v}'",
        "module.exports = {{ {c}: '{v}', port: 1 }}",
        "process.env.{N} = '{v}';",
        "const {c} = process.env.{N} || '{v}';",
        "app.set('{c}', '{v}');",
        "fetch(url, {{ headers: {{ 'X-Thing': 1 }}, {c}: `{v}` }})",
        'this.{c} = "{v}"',
    ),
    "x.ts": (
        'private readonly {c}: string = "{v}";',
        "export const {N}: string = '{v}'",
        "const o = {{ {c}: '{v}' as string }};",
        "{c} = process.env.{N} ?? '{v}';",
    ),
    "x.java": (
        'private static final String {N} = "{v}";',
        'builder.{c}("{v}").build();',
        'props.setProperty("{n}", "{v}");',
        'map.put("{c}", "{v}");',
        '@Value("${{{n}:{v}}}")',
        'user.set{C}("{v}");',
    ),
    "x.kt": ('val {c} = "{v}"', 'const val {N} = "{v}"', 'mapOf("{n}" to "{v}")', '{c} = "{v}",'),
    "x.go": (
        '{c} := "{v}"',
        'const {c} = "{v}"',
        'cfg := Config{{{C}: "{v}", Port: 1}}',
        'os.Setenv("{N}", "{v}")',
        'var {c} string = "{v}"',
        'm := map[string]string{{"{n}": "{v}"}}',
        'flag.String("{n}", "{v}", "help")',
    ),
    "x.rb": (
        "{n} = '{v}'",
        "config.{n} = '{v}'",
        "{n}: '{v}',",
        ":{n} => '{v}',",
        "ENV['{N}'] ||= '{v}'",
        "ENV.fetch('{N}', '{v}')",
    ),
    "x.php": (
        "${n} = '{v}';",
        "'{n}' => '{v}',",
        "define('{N}', '{v}');",
        "putenv('{N}={v}');",
        "env('{N}', '{v}')",
        "$config['{n}'] = \"{v}\";",
        "$config[ '{n}' ] = '{v}';",
    ),
    "x.cs": (
        'string {c} = "{v}";',
        'public const string {C} = "{v}";',
        '{C} = "{v}",',
        'config["{C}"] = "{v}";',
        'var s = "Server=db;User Id=sa;{C}={v};Timeout=3";',
    ),
    "x.rs": (
        'let {n} = "{v}";',
        'const {N}: &str = "{v}";',
        '{n}: "{v}".to_string(),',
        'env::set_var("{N}", "{v}");',
        '.{n}("{v}")',
    ),
    "x.swift": ('let {c} = "{v}"', 'static let {c}: String = "{v}"', '"{n}": "{v}",'),
    "x.scala": ('val {c} = "{v}"', '"{n}" -> "{v}",', '{c} = Some("{v}")'),
    "x.c": ('#define {N} "{v}"', 'const char *{n} = "{v}";', 'static char {n}[] = "{v}";'),
    "x.cpp": ('std::string {n} = "{v}";', 'auto {c} = "{v}"s;', '{{"{n}", "{v}"}},'),
    "x.sh": (
        "{N}={v}",
        'export {N}="{v}"',
        "export {N}='{v}'",
        ": ${{{N}:={v}}}",
        '{N}=${{{N}:-"{v}"}}',
        "curl -d '{n}={v}' $URL",
        "tool --{d} {v} run",
        "tool --{d}={v}",
        "cat > f <<EOF\n{n} = {v}\nEOF",
    ),
    "x.ps1": ('${c} = "{v}"', "$env:{N} = '{v}'", 'tool -{C} "{v}"', "Set-Item env:{N} '{v}'"),
    "x.sql": (
        "ALTER USER app IDENTIFIED BY '{v}';",
        "CREATE ROLE app LOGIN PASSWORD '{v}';",
        "INSERT INTO t (id, {n}) VALUES (1, '{v}');",
        "SET {n} = '{v}';",
    ),
    "x.yaml": (
        "{n}: {v}",
        '{n}: "{v}"',
        "db:\n  {n}: {v}\n  host: x",
        "- name: {N}\n  value: {v}",
        '- name: {N}\n  value: "{v}"',
        "environment:\n  - {N}={v}",
        "{d}: '{v}' # note",
        "{n}: ${{APP_{N}:{v}}}",
    ),
    "x.json": (
        '{{"{n}": "{v}"}}',
        '  "{c}": "{v}",',
        '{{"name": "{n}", "value": "{v}"}}',
        '"{n}":{{"value":"{v}"}}',
        '{{"key": "{n}", "value": "{v}", "type": "string"}}',
    ),
    "x.toml": ('{n} = "{v}"', "{d} = '{v}'", '[auth]\n{n} = "{v}"', 't = {{ {n} = "{v}" }}'),
    "x.ini": ("{n}={v}", "{n} = {v}", "{N}: {v}", "[db]\n{n}={v}\nport=1"),
    "x.properties": (
        "app.{n}={v}",
        "spring.datasource.{n} = {v}",
        "{d}={v}",
        "app.{n}: {v}",
        "{n}=${{APP_{N}:{v}}}",
    ),
    "x.tf": (
        '{n} = "{v}"',
        'variable "{n}" {{\n  type = string\n  default = "{v}"\n}}',
        'environment = {{\n  {N} = "{v}"\n}}',
    ),
    "Dockerfile": ("ENV {N} {v}", "ENV {N}={v}", "ARG {N}={v}", "RUN login --{d} {v}"),
    "x.xml": (
        "<{n}>{v}</{n}>",
        '<property name="{n}" value="{v}"/>',
        '<add key="{C}" value="{v}" />',
        '<conn {c}="{v}" host="x"/>',
        '<entry key="{n}">{v}</entry>',
        '<string name="{n}">{v}</string>',
    ),
    "x.md": (
        "Set `{N}={v}` first.",
        "    {n}: {v}",
        "| {n} | {v} |",
        "```\nexport {N}={v}\n```",
        '{n} = "{v}"',
        "* {n}: `{v}`",
        "The {n} is `{v}`.",
        "Log in as `admin` with the {n} `{v}`.",
    ),
    "x.ex": ('{n}: "{v}"', 'config :app, {n}: "{v}"', '@{n} "{v}"'),
    "x.lua": ('local {n} = "{v}"', "{n} = '{v}',", "ngx.var.{n} = '{v}'"),
    "x.pl": ("my ${n} = '{v}';", "{n} => '{v}',", "$ENV{{{N}}} = '{v}';"),
    "x.groovy": ("def {c} = '{v}'", "{c} '{v}'", "{c}: '{v}',", '{c} = "{v}"'),
    "x.dart": ("const {c} = '{v}';", "final String {c} = '{v}';", "'{n}': '{v}',"),
}

NAMES: dict[str, tuple[str, ...]] = {
    "password": (
        "password", "db_password", "smtp_password", "root_password", "redis_passwd", "user_pwd",
        "ldap_bind_password", "keystore_password", "passphrase", "admin_pass", "mysql_pwd",
    ),
    "token": (
        "access_token", "api_token", "auth_token", "bot_token", "refresh_token", "deploy_token",
        "slack_token", "ci_job_token", "personal_access_token", "npm_auth_token",
    ),
    "secret": (
        "client_secret", "app_secret", "jwt_secret", "webhook_secret", "session_secret",
        "consumer_secret", "shared_secret", "signing_secret", "oauth_client_secret",
    ),
    "key": (
        "api_key", "secret_key", "access_key", "encryption_key", "private_key", "storage_account_key",
        "aws_secret_access_key", "google_api_key", "master_key", "service_api_key",
    ),
}  # fmt: skip

DECOYS: tuple[str, ...] = (
    "changeme", "your-{d}-here", "<{d}>", "xxxxxxxxxxxx", "${{{N}}}", "$({N})", "{{{{ {n} }}}}",
    "%({n})s", "********", "", "null", "None", "example", "TODO", "placeholder", "REPLACE_ME",
    "#{{{n}}}", "...", "test", "secret", "not-a-real-value", "{N}", "my_{n}", "enter your {n}",
)  # fmt: skip

HARMLESS: tuple[tuple[str, str], ...] = (
    ("x.py", "{c} = self.get_{n}()"),
    ("x.py", "def check(self, {n}: str) -> bool:"),
    ("x.py", '{n}.encode("utf-8")'),
    ("x.py", "{n}_field = forms.CharField(max_length=128)"),
    ("x.py", 'sha256 = "{hex64}"'),
    ("x.py", 'logger.info("{n} was changed by %s", user)'),
    ("x.js", "const {c} = req.body.{c};"),
    ("x.js", "input.type = '{n}';"),
    ("x.js", "import {c} from './{d}-utils';"),
    ("x.ts", "{c}?: string;"),
    ("x.java", "this.{c} = {c};"),
    ("x.java", 'String label = messages.get("{n}.label");'),
    ("x.go", '{c} := os.Getenv("{N}")'),
    ("x.go", 'h1 := "h1:{b64}="'),
    ("x.rb", "params.require(:{n})"),
    ("x.php", "$this->{n} = ${n};"),
    ("x.cs", "public string {C} {{ get; set; }}"),
    ("x.rs", "pub {n}: Option<String>,"),
    ("x.c", "if (!{n}) return -1;"),
    ("x.sh", 'read -s -p "Enter {n}: " {N}'),
    ("x.sh", "echo ${{{N}:?is not set}}"),
    ("x.yaml", "uses: actions/checkout@{hex40}"),
    ("x.yaml", "{n}:\n  secretKeyRef:\n    name: app\n    key: {d}"),
    ("x.yaml", "image: app@sha256:{hex64}"),
    ("package-lock.json", '"integrity": "sha512-{b64}{b64}=="'),
    ("x.json", '"{n}": {{"type": "string", "minLength": 8}}'),
    ("x.toml", 'checksum = "{hex64}"'),
    ("x.tf", "{n} = var.{n}"),
    ("x.sql", "{n} VARCHAR(255) NOT NULL,"),
    ("x.md", "The {n} is read from the environment."),
    ("x.md", "See [{n}](docs/{d}.md#rotation)."),
    ("x.php", "'{n}s' => 'users',"),
    ("x.php", "'{n}' => ['required_with:{n}_name', 'nullable', 'string', 'min:8'],"),
    ("x.php", "'{n}' => 'required|string|min:8|confirmed',"),
    ("x.repo", "{n}=file:///etc/pki/rpm-gpg/RPM-GPG-KEY-EPEL-6"),
    ("x.js", "{c}: 'api/v2/{d}/check-{d}',"),
    ("x.js", "const {c} = require('{d}');"),
    ("package.json", '"@scope/{d}": "^4.0.23",'),
    ("x.py", '("{n}", "0007_auto_20210319_0945"),'),
    ("x.py", '{n} = keyring.get_password("service", user)'),
    ("x.py", "{n} = page.locator('input[name=\"{n}1\"]')"),
    ("x.yaml", "key: {d}-cache-v2-linux"),
    ("x.yaml", "{N}_SERVERS: broker1:10091,broker2:10092"),
    ("Makefile", "docker run -v ${{PWD}}:/srv/rpmbuild/{d} builder"),
    ("x.xml", '<input type="{n}" name="{n}" id="{n}"/>'),
    ("go.sum", "example.org/mod v1.2.3 h1:{b64}="),
    ("Dockerfile", "ARG {N}"),
)
"""Lines of code and documents about secrets that hold none."""


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def _forms(name: str) -> dict[str, str]:
    camel = _camel(name)
    return {
        "n": name,
        "N": name.upper(),
        "d": name.replace("_", "-"),
        "C": camel,
        "c": camel[0].lower() + camel[1:],
    }


def _some(rng: random.Random, alphabet: str, length: int) -> str:
    return "".join(rng.choices(alphabet, k=length))


def _password(rng: random.Random) -> str:
    letters = _some(rng, ALNUM, rng.randint(8, 14))
    return f"{letters[:4]}{rng.choice('!@#*_-.')}{letters[4:]}{rng.randint(1, 9)}"


def _base64(rng: random.Random) -> str:
    return base64.b64encode(rng.randbytes(rng.choice((24, 30, 33)))).decode()


VALUES: dict[str, tuple[Callable[[random.Random], str], ...]] = {
    "password": (_password, lambda rng: _some(rng, ALNUM, rng.randint(10, 20))),
    "token": (
        lambda rng: _some(rng, ALNUM, rng.randint(20, 40)),
        lambda rng: _some(rng, HEX, 40),
    ),
    "secret": (
        lambda rng: _some(rng, HEX, 32),
        lambda rng: _some(rng, ALNUM + "-_", rng.randint(24, 43)) + "7",
        _base64,
    ),
    "key": (
        lambda rng: _some(rng, ALNUM, 32),
        lambda rng: _some(rng, HEX, 64),
        _base64,
    ),
}
"""How people and services make values of a kind."""


def _path(file: str, rng: random.Random) -> str:
    return f"{rng.choice(('src', 'config', 'deploy', 'lib'))}/{file}"


def secrets(seed: int, count: int) -> Iterator[Sample]:
    """`count` secrets for every template and place."""
    rng = random.Random(seed)
    for file, templates in TEMPLATES.items():
        for template in templates:
            for _ in range(count):
                kind = rng.choice(list(NAMES))
                if "IDENTIFIED" in template or "PASSWORD '" in template:
                    kind = "password"
                name, make = rng.choice(NAMES[kind]), rng.choice(VALUES[kind])
                value = make(rng)
                text = template.format(v=value, **_forms(name))
                yield Sample(file, kind, _path(file, rng), f"first\n{text}\nlast\n", value)
    for file, wanted, texts in PLACES:
        for template in texts:
            for _ in range(count):
                kind = rng.choice(("password", "token")) if wanted == "any" else wanted
                value = rng.choice(VALUES[kind])(rng)
                text = template.format(v=value)
                yield Sample(file, kind, _path(file, rng), f"first\n{text}\nlast\n", value)


def decoys(seed: int, count: int) -> Iterator[Sample]:
    """`count` placeholders for every template, and lines about secrets that hold none."""
    rng = random.Random(seed)
    for file, templates in TEMPLATES.items():
        for template in templates:
            for _ in range(count):
                forms = _forms(rng.choice(NAMES[rng.choice(list(NAMES))]))
                value = rng.choice(DECOYS).format(**forms)
                text = template.format(v=value, **forms)
                yield Sample(file, "placeholder", _path(file, rng), f"first\n{text}\nlast\n", "")
    for file, _, texts in PLACES:
        for template in texts:
            for value in ("changeme", "password", "null", "example"):
                text = template.format(v=value)
                if "$6$" not in text:
                    yield Sample(file, "placeholder", file, f"first\n{text}\nlast\n", "")
    for file, line in HARMLESS:
        for _ in range(count):
            forms = _forms(rng.choice(NAMES[rng.choice(list(NAMES))]))
            made = {
                "hex40": _some(rng, HEX, 40),
                "hex64": _some(rng, HEX, 64),
                "b64": _some(rng, ALNUM, 43),
            }
            text = line.format(**forms, **made)
            yield Sample(file, "harmless", _path(file, rng), f"first\n{text}\nlast\n", "")
