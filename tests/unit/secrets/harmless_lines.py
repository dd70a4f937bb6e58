"""Lines of real projects that hold no secret, with the path that they stand under."""

from __future__ import annotations

HARMLESS: tuple[tuple[str, str], ...] = (
    # encodings and codecs
    ("auth.py", 'password = password.encode("utf8")\n'),
    ("auth.py", 'password = password.encode("latin1")\n'),
    ("auth.py", "newpassword = newpassword.decode('UTF-8', 'replace')\n"),
    ("Auth.java", 'byte[] token = secret.getBytes("ISO-8859-1");\n'),
    # addresses without credentials
    ("settings.py", 'DSN = "postgresql://localhost:5432/shop"\n'),
    ("settings.py", 'SENTRY_DSN = "https://sentry.corp.net/42"\n'),
    ("app.env", "BROKER_DSN=redis://127.0.0.1:6379/0\n"),
    ("docker-compose.yml", "      DATABASE_DSN: mysql://db:3306/app\n"),
    # prose
    ("notes.md", "Second pass: Summarise\n"),
    ("notes.md", "First pass: Read everything, then write.\n"),
    ("notes.md", "The key: patience.\n"),
    ("prompt.txt", "Token: Explain what it means.\n"),
    ("deferred.js", "// in a finished component (from this or a prior pass): nothing to do.\n"),
    # names of things
    ("oids.py", '"1.2.840.113549.1.9.7": ("challengePassword", "Challenge Password"),\n'),
    ("oids.go", 'attr := "challengePassword"\n'),
    ("forms.py", 'widgets = {"password": "PasswordInput", "token": "token_field"}\n'),
    ("main.tf", '  sid     = "VPCFlowLogs"\n'),
    # vocabulary of language models
    ("peers.py", '    "tokens": ("--no-config", "--tokens", "4000000k", "TREE"),\n'),
    ("count.py", 'encoding = tiktoken.get_encoding("cl100k_base")\n'),
    ("count.py", 'token_counter("o200k_base")\n'),
    (
        "peers.py",
        '    "cl100k_base.tiktoken": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",\n',
    ),
    ("run.sh", "sutler pack --max-tokens 4000000\n"),
    ("config.yaml", "max_tokens: 4096\n"),
    # checksums, algorithms, public values
    ("CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n"),
    ("Crypt.java", 'Cipher cipher = Cipher.getInstance("AES/CBC/PKCS5Padding");\n'),
    ("auth.md", "**password** (`md5` and `scram-sha-256` only)\n"),
    ("ws.py", 'SEC_WEBSOCKET_KEY = "dGhlIHNhbXBsZSBub25jZQ=="\n'),
    ("Common.props", "<StrongNamePublicKey>002400000480000094000000060200000024000052534131</StrongNamePublicKey>\n"),
    ("package-lock.json", '      "integrity": "sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvj5FvSg==",\n'),
    # patterns and positions
    ("spelling.txt", "apiKey: '[a-f0-9]+'\n"),
    ("rules.py", 'PASSWORD = r"^(?=.*[A-Z])[A-Za-z0-9]{8,}$"\n'),
    ("lint.txt", "unnecessary-pass:7:4:7:8::Unnecessary pass statement\n"),
    ("lint.txt", "duplicate-key:23:13:28:1::Duplicate key 'tea' in dictionary\n"),
    ("grammar.py", 'DSN = r":(?P<value>[^\\s@]{1,80})@(?:tcp|unix)"\n'),
    ("fit.py", "pairs = sorted(zip(regions, odds, strict=True), key=lambda pair: -pair[1])\n"),
    # templates
    ("helpers.tpl", "{{- $password := index .Values.basicAuthUsers $user }}\n"),
    ("session.rb", "secret: 'CHANGEMEaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'\n"),
    # tables and lists that only look like name and value
    ("api.md", "| password | string | required |\n"),
    ("types.ts", "type Credentials = { token: string | null; secret?: Secret | undefined };\n"),
    ("schema.json", '{"password": {"type": "string", "default": "", "minLength": 8}}\n'),
    ("i18n.json", '{"key": "password", "value": "Contraseña"}\n'),
    ("schema.sql", "INSERT INTO labels (id, password) VALUES (1, NULL);\n"),
    ("data.py", "ROW = [103, 104, 112, 95, 54, 50, 49, 65, 88, 51, 113, 53]\n"),
    ("log.py", 'raise ValueError("no such user in table2" "and no group in table3")\n'),
    ("login.md", "Enter login and password fields, then press return.\n"),
)  # fmt: skip
