"""Spellings of secrets that the redactor must see: a seeded generator, one row for each way to write.

`{v}` is a whole value. `{a}` and `{b}` are its halves, for literals that are put together from parts.
"""

from __future__ import annotations

import random
import string
from base64 import b64encode
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote

_WORDS = string.ascii_letters + string.digits


class Spelling(NamedTuple):
    """A family of ways to write, a path, and a template."""

    family: str
    path: str
    text: str


class Planted(NamedTuple):
    family: str
    path: str
    text: str
    parts: tuple[str, ...]
    """None of these may be left in the text."""


def _rows(family: str, path: str, *texts: str) -> list[Spelling]:
    return [Spelling(family, path, text) for text in texts]


SPELLINGS = (
    *_rows(
        "blanks, defaults and sentences",
        "docs/setup.md",
        "$config[ 'db_password' ] = '{v}';\n",
        "password: ${{OAUTH_USER_PASSWORD:{v}}}\n",
        "The default password is `{v}`.\n",
        "Log in as `admin` with the password `{v}`.\n",
        "openssl req -new -passin pass:{v} -passout pass:{v}\n",
        "keytool -list -keystore a.jks -storepass {v} -keypass {v}\n",
    ),
    *_rows(
        "bare in code",
        "app/settings.py",
        "aws_secret_access_key={v}\n",
        'CONF = """\n[default]\naws_secret_access_key={v}\n"""\n',
        "CONF = '''\n[db]\npassword = {v}\n'''\n",
        'def env():\n    """Example:\n\n        export API_TOKEN={v}\n    """\n',
        "# DB_PASSWORD={v}\n",
        'x = "host=db user=app password={v}"\n',
    ),
    *_rows("bare in code", "web/env.js", "const env = `\nDB_PASSWORD={v}\nDEBUG=1\n`;\n"),
    *_rows("bare in code", "cmd/env.go", "const env = `\nAPI_TOKEN={v}\n`\n"),
    *_rows("bare in code", "lib/env.rb", "ENV_FILE = <<~EOS\n  SECRET_TOKEN={v}\nEOS\n"),
    *_rows("bare in code", "lib/env.php", "$e = <<<EOT\nDB_PASSWORD={v}\nEOT;\n"),
    *_rows("bare in code", "run.sh", "cat > .env <<EOF\nDB_PASSWORD={v}\nEOF\n"),
    *_rows(
        "joined",
        "app/main.py",
        'token = "{a}" + "{b}"\n',
        "token = '{a}' + '{b}'\n",
        'token = ("{a}"\n         "{b}")\n',
        'token = "{a}" \\\n    "{b}"\n',
        'token = "{a}\\\n{b}"\n',
        "token = f\"{'{a}'}{b}\"\n".replace("{'{a}'}", "{{'{a}'}}"),
        'token = "".join(["{a}", "{b}"])\n',
    ),
    *_rows(
        "joined",
        "app/main.js",
        'const token = "{a}" + "{b}";\n',
        'const token =\n  "{a}" +\n  "{b}";\n',
        "const token = `${{'{a}'}}{b}`;\n",
        'const token = ["{a}", "{b}"].join("");\n',
        'const token = "{a}".concat("{b}");\n',
    ),
    *_rows(
        "joined",
        "app/main.js",
        "const token = `${{'{a}'}}${{'{b}'}}`;\n",
        'const token = `${{ "{a}" }}${{ "{b}" }}`;\n',
    ),
    *_rows("joined", "app/main.cs", 'var token = $"{{"{a}"}}{{"{b}"}}";\n'),
    *_rows("joined", "app/main.rb", "token = \"#{{'{a}'}}#{{'{b}'}}\"\n"),
    *_rows("joined", "app/main.r", 'token <- paste0("{a}", "{b}")\n'),
    *_rows("short in a literal of several lines", "a.py", 'X = """\n[db]\npassword = {s}\nhost = x\n"""\n'),
    *_rows("short in a literal of several lines", "a.js", "const e = `\nDB_PASSWORD={s}\nX=1\n`;\n"),
    *_rows("short in a literal of several lines", "a.rb", "X = <<~EOS\n  password: {s}\nEOS\n"),
    *_rows("short in a literal of several lines", "a.php", "$e = <<<EOT\nDB_PASSWORD={s}\nEOT;\n"),
    *_rows("short in a literal of several lines", "a.java", 'String s = """\n  token: {s}\n  """;\n'),
    *_rows("short in a literal of several lines", "a.groovy", "sh '''\nexport TOKEN={s}\n'''\n"),
    *_rows("joined", "app/main.php", "$token = '{a}' . '{b}';\n"),
    *_rows("joined", "app/main.lua", 'token = "{a}" .. "{b}"\n'),
    *_rows("joined", "app/main.vb", 'token = "{a}" & "{b}"\n'),
    *_rows("joined", "app/main.c", 'const char *token = "{a}"\n    "{b}";\n'),
    *_rows("joined", "app/main.java", 'String token = "{a}" +\n    "{b}";\n'),
    *_rows("joined", "app/main.ex", 'token = "{a}" <> "{b}"\n'),
    *_rows("joined", "run.sh", 'TOKEN="{a}"\\\n"{b}"\n', "TOKEN='{a}''{b}'\n"),
    *_rows(
        "name apart",
        "config.json",
        '{{"db_password": {{"value": "{v}"}}}}\n',
        '{{\n  "db_password": {{\n    "type": "string",\n    "value": "{v}"\n  }}\n}}\n',
        '{{"name": "DB_PASSWORD", "value": "{v}"}}\n',
        '{{"value": "{v}", "name": "DB_PASSWORD"}}\n',
        '[{{"key": "API_TOKEN",\n  "type": "text",\n  "value": "{v}"}}]\n',
    ),
    *_rows(
        "name apart",
        "main.tf",
        'variable "db_password" {{\n  type    = string\n  default = "{v}"\n}}\n',
        'variable "db_password" {{\n  description = "for the database"\n  default     = "{v}"\n}}\n',
    ),
    *_rows(
        "name apart",
        "deploy.yaml",
        "env:\n  - name: API_TOKEN\n    value: {v}\n",
        'env:\n  - name: API_TOKEN\n    value: "{v}"\n',
        "env:\n  - value: {v}\n    name: API_TOKEN\n",
        "db_password:\n  value: {v}\n",
        "db_password:\n  description: of the database\n  default: '{v}'\n",
    ),
    *_rows(
        "name apart",
        "web.config",
        '<add key="DbPassword" value="{v}" />\n',
        '<add value="{v}" key="DbPassword" />\n',
        '<property name="password">{v}</property>\n',
        '<user name="app" password="{v}"/>\n',
    ),
    *_rows(
        "name apart",
        "users.csv",
        "id,login,password\n1,bob,{v}\n",
        'id;login;password;mail\n1;bob;"{v}";b@x.org\n',
    ),
    *_rows(
        "name apart",
        "seed.sql",
        "INSERT INTO users (id, login, password) VALUES (1, 'bob', '{v}');\n",
        "INSERT INTO users (login, password, mail)\nVALUES\n  ('bob', '{v}', 'b@x.org');\n",
    ),
    *_rows(
        "name apart",
        "README.md",
        "| name | value |\n|---|---|\n| DB_PASSWORD | {v} |\n",
        "| name | value |\n|---|---|\n| `DB_PASSWORD` | `{v}` |\n",
        "| user | password |\n|---|---|\n| bob | {v} |\n",
        "- **Password**: `{v}`\n",
    ),
    *_rows(
        "commands",
        "setup.ps1",
        '$p = ConvertTo-SecureString "{v}" -AsPlainText -Force\n',
        "$p = ConvertTo-SecureString -String '{v}' -AsPlainText -Force\n",
        "ConvertTo-SecureString -AsPlainText -Force -String '{v}'\n",
        "ConvertTo-SecureString {v} -AsPlainText -Force\n",
    ),
    *_rows(
        "commands",
        "docs/setup.md",
        "machine api.corp.net login bob password {v}\n",
        "machine api.corp.net\n  login bob\n  password {v}\n",
        "default login bob password {v}\n",
    ),
    *_rows(
        "queries",
        "client.py",
        'URL = "https://git.corp.net/api?private_token={v}"\n',
        'URL = "https://git.corp.net/api?x=1&token={v}&y=2"\n',
        'URL = "https://a.blob.core.windows.net/c?sv=2021-08-06&sig={v}{v}%3D"\n',
        'URL = "https://a.corp.net/?access_token={v}"\n',
    ),
    *_rows("queries", "notes.txt", "https://git.corp.net/api?private_token={v}\n", "sig={v}{v}%3D&se=2026\n"),
    *_rows(
        "calls",
        "src/Sign.java",
        'Key k = new SecretKeySpec("{v}".getBytes(UTF_8), "HmacSHA256");\n',
        'SecretKey k = SecretKey.fromString("{v}");\n',
        'SecretKey k = Keys.hmacShaKeyFor("{v}".getBytes());\n',
        'return Jwts.builder().signWith(SignatureAlgorithm.HS256, "{v}").compact();\n',
        'Algorithm a = Algorithm.HMAC256("{v}");\n',
        'c = DriverManager.getConnection(url, "root", "{v}");\n',
        'provider.set(ANY, new UsernamePasswordCredentials("bob", "{v}"));\n',
        'return new PasswordAuthentication("bob", "{v}".toCharArray());\n',
    ),
    *_rows(
        "calls",
        "src/sign.js",
        "crypto.createHmac('sha256', '{v}').update(body)\n",
        "crypto.createCipheriv('aes-256-cbc', '{v}', iv)\n",
        "const t = jwt.sign(payload, '{v}');\n",
        "jwt.sign({{ id: user.id, role }}, '{v}', {{ expiresIn: '1h' }})\n",
        "jwt.verify(req.headers.x, '{v}')\n",
        "await login('admin', '{v}');\n",
        "app.use(cookieParser('{v}'))\n",
    ),
    *_rows(
        "calls",
        "src/sign.py",
        'jwt.encode(payload, "{v}", algorithm="HS256")\n',
        'hmac.new(b"{v}", body, hashlib.sha256)\n',
        'box = Fernet(b"{v}")\n',
        'client.login("admin", "{v}")\n',
        'session.authenticate("admin", "{v}")\n',
        'db.connect("localhost", "root", "{v}", "shop")\n',
        'requests.get(url, auth=("bob", "{v}"))\n',
        'requests.get(url, auth=HTTPBasicAuth("bob", "{v}"))\n',
    ),
    *_rows(
        "calls",
        "Sign.cs",
        'byte[] secretBytes = Encoding.UTF8.GetBytes("{v}");\n',
        'using var h = new HMACSHA256(Encoding.UTF8.GetBytes("{v}"));\n',
        'var key = new SymmetricSecurityKey(Encoding.UTF8.GetBytes("{v}"));\n',
        'client.Credentials = new NetworkCredential("bob", "{v}");\n',
    ),
    *_rows(
        "calls",
        "sign.go",
        'jwtKey := []byte("{v}")\n',
        'mac := hmac.New(sha256.New, []byte("{v}"))\n',
        'return token.SignedString([]byte("{v}"))\n',
        'req.SetBasicAuth("bob", "{v}")\n',
        'auth := smtp.PlainAuth("", "bob", "{v}", host)\n',
    ),
    *_rows(
        "calls",
        "sign.php",
        "$h = hash_hmac('sha256', $body, '{v}');\n",
        "$t = JWT::encode($payload, '{v}', 'HS256');\n",
        "$db = mysqli_connect('localhost', 'root', '{v}', 'shop');\n",
        "$db = new PDO($dsn, 'root', '{v}');\n",
    ),
    *_rows("names", "env.txt", "DB_PW={v}\n", "export ADMIN_PW='{v}'\n", "ROOT_PW: {v}\n"),
    *_rows("names", "app.py", 'DB_PW = "{v}"\n', 'connect(user="a", pw="{v}")\n', 'GITHUB_PAT = "{v}"\n'),
)  # fmt: skip


def value(draw: random.Random, length: int = 22) -> str:
    """A generated value: letters of either case and digits, as a password manager makes it."""
    while True:
        made = "".join(draw.choice(_WORDS) for _ in range(length))
        if sum(map(str.isdigit, made)) >= 3 and made[: length // 2].lower() != made[: length // 2]:
            return made


def planted(seed: int, count: int = 1) -> Iterator[Planted]:
    """Every spelling `count` times, each with a value of its own."""
    draw = random.Random(seed)
    for family, path, text in SPELLINGS:
        for _ in range(count):
            whole = f"ghs_{value(draw, 36)}" if family == "joined" else value(draw)
            half = len(whole) // 2
            first, second = whole[:half], whole[half:]
            parts = (first[4:], second) if "{a}" in text else (whole,)
            if "{s}" in text:
                parts = (short := value(draw, 9),)
                text = text.replace("{s}", short)
            yield Planted(family, path, text.format(v=whole, a=first, b=second), parts)
    yield from _unwrapped(draw)
    yield from _encoded(draw)


def _unwrapped(draw: random.Random) -> Iterator[Planted]:
    """Private keys whose first and last line are missing."""
    key = b64encode(bytes.fromhex("308204a40201000282010100") + draw.randbytes(700)).decode()
    rows = [key[at : at + 64] for at in range(0, len(key), 64)]
    for path, before, text in (
        ("key.txt", "", "\n".join(rows)),
        ("key.yml", "key: |\n", "\n".join(f"  {row}" for row in rows)),
        ("Key.java", "String k =\n", " +\n".join(f'    "{row}\\n"' for row in rows) + ";"),
        ("key.diff", "", "\n".join(f"+{row}" for row in rows)),
    ):
        yield Planted(
            "unwrapped", path, f"{before}{text}\nnext line\n", tuple(row[:40] for row in rows)
        )


def _encoded(draw: random.Random) -> Iterator[Planted]:
    token = f"ghp_{value(draw, 36)}"
    codes = token.encode()
    for path, text in (
        ("key.go", f"var k = []byte{{{', '.join(f'{one:#04x}' for one in codes)}}}\n"),
        ("Key.java", f"byte[] k = {{{', '.join(map(str, codes))}}};\n"),
        ("key.py", f"K = bytes([{', '.join(map(str, codes))}])\n"),
        ("key.c", f"char k[] = {{\n  {', '.join(f'0x{one:02X}' for one in codes)}\n}};\n"),
    ):
        listed = text[text.index("{" if "{" in text else "[") + 1 :][:80]
        yield Planted("bytes", path, text, (listed.strip(),))
    digest = f"{draw.getrandbits(159) + 2**159:040x}"
    for path, text in (
        ("dump.sql", "INSERT INTO t VALUES (1, 'bob', '*{up}');\n"),
        ("seed.sql", "INSERT INTO t (id, password_hash)\nVALUES (1, '{low}');\n"),
        ("app.yaml", "password_hash: {low}\n"),
        ("users.php", "'passwordHash' => '{low}',\n"),
    ):
        written = text.format(low=digest, up=digest.upper())
        yield Planted("hashes", path, written, (digest, digest.upper()))
    body = "".join(draw.choice(_WORDS) for _ in range(64))
    pem = f"-----BEGIN RSA PRIVATE KEY-----\nMIIE{body}\n-----END RSA PRIVATE KEY-----\n"
    yield Planted("queries", "req.http", f"key={quote(pem, safe='')}\n", (body,))
    yield Planted("queries", "req.txt", f"key={quote(pem)}\n", (body,))
    d, q = value(draw, 43), value(draw, 43)
    for path, text in (
        (
            "jwk.js",
            f'const k = {{kty: "EC", crv: "P-256", x: "{value(draw, 43)}", d: "{d}", q: "{q}"}};\n',
        ),
        ("jwk.json", f'{{\n  "kty": "RSA",\n  "d": "{d}",\n  "q": "{q}"\n}}\n'),
        ("jwk.yaml", f"keys:\n  - kty: oct\n    k: {q}\n    d: {d}\n"),
        ("jwk.cs", f'var k = @"{{""kty"": ""RSA"", ""d"": ""{d}"", ""q"": ""{q}""}}";\n'),
        ("jwk.py", f"KEY = {{'d': '{d}', 'kty': 'oct', 'k': '{q}'}}\n"),
    ):
        yield Planted("names", path, text, (d, q))
