"""What a candidate value is worth: names, shapes, placeholders, and how much it looks like language.

Entropy alone decides nothing. A value counts because of the name it stands under and the construct it stands in; its
shape then argues for (mixed classes, digits, letters that no language puts side by side) or against (templates,
placeholders, words, paths, identifiers, calls).
"""

from __future__ import annotations

import base64
import binascii
import re
from functools import lru_cache
from itertools import pairwise
from typing import Literal

Kind = Literal["password", "secret", "weak", "none"]

# -log2 P(next letter | letter), one digit each, a to z by a to z, from English and identifiers: language scores
# about 3.5 on average, letters drawn at random about 6.
_BIGRAMS = (
    "64347648496343949332567767355536783572663684463789583756378349446727945348896935641568267466468546467869"
    "46435558698443656234756469365633692974663794544989594767264439945447933547897827762899398556279454589859"
    "45344549997442358533859695286525994657672678383759794565165836746556963558595837642678297377369744479949"
    "25762788397547338846488959374335274866754687325599695544765857544244924445467938662775496377349254497959"
    "67868677799367778545057989375526583965453695345679594846267439656644663247695937562684298567369344587848"
    "44454559499342649333789799276717782998774897667989792875367329557336944668788946353585398556527652768458"
    "56454557487444429533665766" + "37981687399767479676789952"
)

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_PASSWORD_WORDS = frozenset(
    [
        "pass",
        "password",
        "passwd",
        "passwort",
        "passphrase",
        "passcode",
        "pwd",
        "pswd",
        "psw",
        "pw",
        "passwords",
        "pwds",
        "contrasena",
        "senha",
        "passwrd",
        "pasword",
        "userpass",
        "dbpass",
        "passe",
        "passwds",
    ]
)
_SECRET_WORDS = frozenset(
    [
        "secret",
        "secrets",
        "token",
        "tokens",
        "apikey",
        "apikeys",
        "apitoken",
        "credential",
        "credentials",
        "cred",
        "creds",
        "authorization",
        "bearer",
        "jwt",
        "cookie",
        "sid",
        "sessionid",
        "authtoken",
        "accesstoken",
        "secretkey",
        "accesskey",
        "privatekey",
        "nkey",
        "otp",
        "totp",
        "hotp",
        "seed",
        "webhook",
        "pat",
        "csrf",
        "xsrf",
        "dsn",
        "cipherkey",
        "authkey",
        "clientsecret",
        "consumersecret",
        "appsecret",
    ]
)
_WEAK_WORDS = frozenset(
    ["key", "keys", "auth", "signature", "salt", "nonce", "cipher", "pin", "license", "connection", "session"]
)
_KEY_PARTNERS = frozenset(
    [
        "api",
        "access",
        "secret",
        "private",
        "encryption",
        "encrypt",
        "auth",
        "master",
        "signing",
        "sign",
        "account",
        "consumer",
        "client",
        "app",
        "application",
        "service",
        "subscription",
        "admin",
        "shared",
        "storage",
        "session",
        "cipher",
        "aes",
        "hmac",
        "jwt",
        "license",
        "root",
        "user",
        "crypto",
        "security",
        "ssh",
        "gpg",
        "remember",
    ]
)
_NEGATIVE_LAST = frozenset(
    [
        "type",
        "types",
        "url",
        "urls",
        "uri",
        "name",
        "names",
        "file",
        "files",
        "path",
        "paths",
        "dir",
        "field",
        "fields",
        "label",
        "length",
        "len",
        "size",
        "count",
        "min",
        "max",
        "expiry",
        "expires",
        "expiration",
        "ttl",
        "timeout",
        "age",
        "format",
        "style",
        "policy",
        "header",
        "headers",
        "prefix",
        "suffix",
        "regex",
        "pattern",
        "validator",
        "validators",
        "help",
        "hint",
        "error",
        "errors",
        "message",
        "msg",
        "text",
        "title",
        "placeholder",
        "reset",
        "change",
        "strength",
        "hasher",
        "hashers",
        "algorithm",
        "alg",
        "encoder",
        "encoding",
        "class",
        "endpoint",
        "host",
        "port",
        "user",
        "username",
        "email",
        "enabled",
        "required",
        "env",
        "var",
        "param",
        "params",
        "arg",
        "args",
        "option",
        "options",
        "method",
        "mode",
        "provider",
        "version",
        "template",
        "view",
        "form",
        "callback",
        "column",
        "table",
        "index",
        "usage",
        "generator",
        "service",
        "manager",
        "handler",
        "filter",
        "interceptor",
        "factory",
        "builder",
        "util",
        "utils",
        "helper",
        "store",
        "storage",
        "request",
        "response",
        "controller",
        "config",
        "mapping",
        "map",
        "list",
        "set",
        "event",
        "events",
        "state",
        "status",
        "action",
        "scope",
        "scopes",
        "domain",
        "location",
        "position",
        "attribute",
        "attributes",
        "property",
        "properties",
        "input",
        "output",
        "page",
        "link",
        "button",
        "icon",
        "group",
        "role",
        "level",
        "time",
        "date",
        "issuer",
        "audience",
        "backend",
        "middleware",
        "module",
        "package",
        "plugin",
        "driver",
        "schema",
        "model",
        "object",
        "instance",
        "source",
        "target",
        "ref",
        "reference",
        "description",
        "desc",
        "comment",
        "note",
        "example",
        "examples",
        "sample",
        "limit",
        "rate",
        "interval",
        "refresh",
        "policyid",
        "word",
        "words",
        "board",
        "stroke",
        "press",
        "down",
        "up",
        "code",
        "codes",
        "press",
        "startswith",
        "endswith",
        "contains",
        "icontains",
        "exact",
        "iexact",
        "isnull",
        "in",
        "bytes",
        "getbytes",
        "encode",
        "decode",
        "equals",
        "replace",
        "split",
        "match",
        "find",
        "strengthtest",
        "test",
        "tests",
        "decode",
        "replace",
        "hash",
        "frame",
        "frames",
        "id",
        "ids",
        "num",
        "number",
        "idx",
        "pair",
        "pairs",
        "space",
        "separator",
        "delimiter",
        "server",
        "cert",
        "certificate",
        "pem",
        "info",
        "data",
        "body",
        "content",
        "checker",
        "check",
        "checks",
        "verify",
        "validate",
        "validation",
        "exists",
        "missing",
        "invalid",
        "failed",
        "failure",
        "success",
    ]
)
_NEGATIVE_FIRST = frozenset(
    [
        "public",
        "primary",
        "foreign",
        "sort",
        "partition",
        "cache",
        "i18n",
        "translation",
        "has",
        "is",
        "no",
        "use",
        "enable",
        "disable",
        "show",
        "hide",
        "forgot",
        "reset",
        "change",
        "max",
        "min",
        "next",
        "row",
        "column",
        "map",
        "dict",
        "hash",
        "index",
        "unique",
        "json",
        "data",
        "object",
        "dataset",
        "context",
        "routing",
        "lookup",
        "header",
        "path",
        "query",
        "form",
        "hot",
        "short",
        "validate",
        "check",
        "verify",
        "require",
        "allow",
        "invalid",
        "missing",
        "wrong",
        "bad",
        "forbidden",
    ]
)

_PLACEHOLDER_WORDS = frozenset(
    [
        "your",
        "you",
        "my",
        "our",
        "the",
        "a",
        "an",
        "and",
        "or",
        "of",
        "to",
        "in",
        "for",
        "with",
        "this",
        "that",
        "some",
        "any",
        "here",
        "is",
        "it",
        "not",
        "example",
        "examples",
        "sample",
        "test",
        "tests",
        "testing",
        "tester",
        "dummy",
        "fake",
        "mock",
        "placeholder",
        "change",
        "changeme",
        "changeit",
        "replace",
        "replaceme",
        "insert",
        "enter",
        "put",
        "set",
        "me",
        "password",
        "passwords",
        "passwd",
        "pass",
        "pwd",
        "passphrase",
        "secret",
        "secrets",
        "token",
        "tokens",
        "key",
        "keys",
        "api",
        "apikey",
        "auth",
        "access",
        "private",
        "public",
        "client",
        "id",
        "app",
        "application",
        "service",
        "user",
        "username",
        "name",
        "email",
        "login",
        "admin",
        "root",
        "value",
        "values",
        "string",
        "str",
        "none",
        "null",
        "nil",
        "undefined",
        "true",
        "false",
        "yes",
        "no",
        "on",
        "off",
        "default",
        "empty",
        "blank",
        "foo",
        "bar",
        "baz",
        "qux",
        "foobar",
        "foobaz",
        "abc",
        "abcd",
        "abcdef",
        "xyz",
        "todo",
        "fixme",
        "tbd",
        "redacted",
        "removed",
        "hidden",
        "masked",
        "omitted",
        "confidential",
        "sensitive",
        "invalid",
        "wrong",
        "bad",
        "incorrect",
        "good",
        "valid",
        "correct",
        "new",
        "old",
        "current",
        "another",
        "other",
        "second",
        "first",
        "third",
        "last",
        "real",
        "actual",
        "super",
        "very",
        "long",
        "short",
        "strong",
        "weak",
        "simple",
        "random",
        "generated",
        "unset",
        "unknown",
        "demo",
        "local",
        "localhost",
        "dev",
        "development",
        "prod",
        "production",
        "staging",
        "stage",
        "env",
        "environment",
        "config",
        "setting",
        "settings",
        "var",
        "variable",
        "field",
        "type",
        "text",
        "bearer",
        "basic",
        "authorization",
        "header",
        "cookie",
        "session",
        "data",
        "db",
        "database",
        "server",
        "host",
        "account",
        "project",
        "company",
        "org",
        "organization",
        "domain",
        "com",
        "net",
        "www",
        "http",
        "https",
        "lorem",
        "ipsum",
        "hello",
        "world",
        "welcome",
        "and",
        "credential",
        "credentials",
        "hash",
        "hashed",
        "hashing",
        "salt",
        "encrypted",
        "encoded",
        "plain",
        "raw",
        "code",
        "number",
        "num",
        "letter",
        "letters",
        "char",
        "chars",
        "character",
        "characters",
        "required",
        "optional",
        "hex",
        "base64",
        "json",
        "xml",
        "yaml",
        "uuid",
        "guid",
        "int",
        "integer",
        "bool",
        "boolean",
        "object",
        "array",
        "list",
        "is",
        "not",
        "must",
        "be",
        "should",
        "will",
        "can",
        "from",
        "file",
        "path",
        "nice",
        "something",
        "anything",
        "nothing",
        "whatever",
        "thing",
        "stuff",
        "provided",
        "supplied",
        "given",
        "need",
        "needs",
        "needed",
        "use",
        "used",
        "using",
        "get",
        "gets",
        "got",
        "see",
        "read",
        "one",
        "two",
        "three",
        "four",
        "five",
        "aws",
        "google",
        "github",
        "gitlab",
        "azure",
        "slack",
        "stripe",
        "twitter",
        "facebook",
        "oauth",
        "openid",
        "sso",
        "saml",
        "ldap",
        "mysql",
        "postgres",
        "redis",
        "mongo",
        "mongodb",
        "sql",
        "web",
        "site",
        "page",
        "url",
        "uri",
        "link",
        "signing",
        "signature",
        "encryption",
    ]
)
_SEQUENCES = (
    "abcdefghijklmnopqrstuvwxyz",
    "01234567890123456789",
    "qwertyuiopasdfghjklzxcvbnm",
    "zyxwvutsrqponmlkjihgfedcba",
    "98765432109876543210",
)
_TEMPLATE = re.compile(
    r"\$\{|\{\{|\}\}|\$\(|#\{|%\(|%[sdvqr]\b|<%|%>|@\{|\(\(|(?:^|[/:@. -])\$[A-Za-z_]\w{2}|<[A-Za-z_/$][^<>]{0,60}>|\*{3}|\.{3}|\u2026|\u2022|[xX]{4}|_{4}|-{5}|={5}"
    r"|\{[A-Za-z_0-9. ]{0,40}\}|\[[A-Za-z_. ]{2,40}\]|%[A-Z_]{2,40}%|__[A-Za-z]\w{0,40}__|\?{3}|^\$\w*$|^@[A-Za-z]+$|^!\w|\[REDACTED|^&[\w#]+;|^(?:\\x\w\w|\\u\w{4})+$",
)
_CODE = re.compile(
    r"^[A-Za-z_$][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*){1,8}(?:\(.*)?$|^[A-Za-z_$][\w$.]*\(|^(?:new|await|return|lambda|function|func|def|if|not|self|this|null|None|nil|undefined)\b"
)
_PATHLIKE = re.compile(
    r"^(?:\.{0,2}/|~/|[A-Za-z]:\\|[a-z][a-z0-9+.-]{1,12}://)|^[\w.-]+(?:/[\w.-]+)+/?$|\.(?:pem|key|crt|cer|json|ya?ml|txt|py|js|go|java|html?|php|rb|conf|cfg|ini|md|jks|p12|pub|xml|sh|com|org|net|io|local)$"
)
_ASCII_WORD = re.compile(r"(?!\\u)[0-9A-Za-z]{2}|[0-9A-Za-z][!-~][0-9A-Za-z]|[!-/:-@\[-`{-~]{4}")
_MASKED = re.compile(
    r"[xX]{6}|\*{3}|\.{4}|0{12}|1{12}|_{4}|(?i:example|placeholder|your[_-]|replace[_-]?me|redacted|abcdefghij|1234567890abc)"
)
_UUID = re.compile(r"^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$", re.IGNORECASE)
_HEXLIKE = re.compile(r"^[0-9a-f]+$|^[0-9A-F]+$")
_NUMBER = re.compile(r"^[-+]?[0-9][0-9._,:/ x-]*(?:ms|s|m|h|d|px|em|rem|kb|mb|gb|%)?$", re.IGNORECASE)


@lru_cache(maxsize=4096)
def strangeness(value: str) -> float:
    """How little the letters look like language: words about 3.5, random letters about 6; 0 where there are too few."""
    total = pairs = 0
    for run in re.findall(r"[a-z]{2,}", value.lower()):
        for left, right in pairwise(run):
            total += ord(_BIGRAMS[(ord(left) - 97) * 26 + ord(right) - 97]) - 48
            pairs += 1
    return total / pairs if pairs else 0.0


@lru_cache(maxsize=4096)
def kind_of(name: str) -> Kind:
    """What a name promises: a password, a secret, perhaps something, or nothing of the kind."""
    words = [word.lower() for word in _WORD.findall(name) if not word.isdigit()]
    if not words:
        return "none"
    last = words[-1]
    if last in _NEGATIVE_LAST or (len(words) > 1 and words[0] in _NEGATIVE_FIRST and last in _WEAK_WORDS):
        return "none"
    joined = "".join(words)
    if any(word in _PASSWORD_WORDS for word in words) or joined.endswith(
        ("password", "passwd", "pwd", "passphrase")
    ):
        return "password"
    if any(word in _SECRET_WORDS for word in words) or joined.endswith(
        ("secret", "token", "apikey", "secretkey", "accesskey", "privatekey")
    ):
        return "secret"
    if last in ("key", "keys") and len(words) > 1 and words[-2] in _KEY_PARTNERS:
        return "secret"
    if any(word in _WEAK_WORDS for word in words) or joined.endswith(("key", "auth")):
        return "weak"
    return "none"


@lru_cache(maxsize=4096)
def is_setter(name: str) -> bool:
    """In `name(value)` and `"name", value` the name must end in what it holds: set_password, setApiKey, SECRET_KEY."""
    words = [word.lower() for word in _WORD.findall(name) if not word.isdigit()]
    while len(words) > 1 and words[-1] in ("new", "of", "from", "create"):
        words.pop()
    return (
        bool(words)
        and words[0] not in ("check", "verify", "validate", "is", "has")
        and (words[-1] in _PASSWORD_WORDS or words[-1] in _SECRET_WORDS or words[-1] in ("key", "auth", "salt"))
    )


def is_template(value: str) -> bool:
    """Something that is filled in later, or a marker of ours."""
    return _TEMPLATE.search(value) is not None


def is_noise(value: str) -> bool:
    """Drawn from everything on the keyboard, blanks included, as the keys and salts of some frameworks are."""
    marks = sum(not char.isalnum() and not char.isspace() for char in value)
    return len(value) >= 32 and classes(value) == 4 and marks >= 8 and strangeness(value) >= 4.2 and "[REDACTED" not in value


@lru_cache(maxsize=4096)
def is_placeholder(value: str) -> bool:
    """Templates, repeated or sequential characters, and phrases made only of the words of examples."""
    if _TEMPLATE.search(value) or len(set(value)) <= 2 or not _ASCII_WORD.search(value):
        return True
    lowered = value.lower()
    if any(lowered in sequence for sequence in _SEQUENCES) or _typed_in_order(lowered):
        return True
    words = [word.lower() for word in _WORD.findall(value)]
    letters = [word for word in words if not word.isdigit()]
    if not letters:
        return False
    rest = "".join(char for char in value if not char.isalnum())
    if set(rest) - set("-_ .:/!@#*+'") or any(
        not _counting(word) for word in words if len(word) > 4 and word.isdigit()
    ):
        return False
    if all(_known(word) for word in letters):
        return True
    return value.isupper() and "_" in value and len(letters) > 1 and strangeness(value) < 4.3


def _typed_in_order(value: str) -> bool:
    """Mostly runs such as 0123456789 or abcdef."""
    steps = sum(ord(right) - ord(left) == 1 for left, right in pairwise(value))
    return len(value) >= 6 and steps * 10 >= len(value) * 7


def _counting(word: str) -> bool:
    """Letters or digits in order, as people type them when they make something up."""
    return any(
        word[at : at + 5] in sequence for sequence in _SEQUENCES for at in range(0, max(1, len(word) - 4), 5)
    )


def _known(word: str) -> bool:
    """Made of the words of examples, also when they run together."""
    if word in _PLACEHOLDER_WORDS:
        return True
    reach = {0}
    for stop in range(2, len(word) + 1):
        if any(
            stop - back in reach and word[stop - back : stop] in _PLACEHOLDER_WORDS
            for back in range(3, min(stop, 14) + 1)
        ):
            reach.add(stop)
    return len(word) in reach


def classes(value: str) -> int:
    return (
        any(char.islower() for char in value)
        + any(char.isupper() for char in value)
        + any(char.isdigit() for char in value)
        + any(not char.isalnum() for char in value)
    )


def is_random(value: str, least: int) -> bool:
    """A run of at least `least` characters that reads as generated: hex, base64 and the like."""
    if len(value) < least or any(char.isspace() for char in value):
        return False
    digits = sum(char.isdigit() for char in value)
    letters = sum(char.isalpha() for char in value)
    if _HEXLIKE.match(value):
        return len(value) >= max(least, 12) and digits > 0 and letters > 0
    odd = strangeness(value)
    if digits and letters:
        return odd >= 4.4 or digits * 5 >= len(value) or (classes(value) >= 3 and odd >= 4.1)
    return odd >= 4.6 and letters >= max(8, least - 4)


_DIGITS = {"password": 5, "secret": 12, "weak": 64, "none": 64}


def _holds_random(value: str) -> bool:
    """A structure in a string (JSON, a query) with a generated part in it."""
    return any(is_random(part, 16) for part in re.findall(r"[A-Za-z0-9+/_-]{16,}", value))


def judge(value: str, kind: Kind, how: str, loose: bool) -> float:
    """The confidence that `value` under a name of this kind is a secret; below 0.5 it stays."""
    if len(value) < 3 or len(value) > 16_384 or kind == "none":
        return 0.0
    if how in ("quoted", "call") and is_noise(value):
        return 0.8
    if is_placeholder(value):
        return 0.0
    if value.isdigit():
        return 0.6 if len(value) >= _DIGITS[kind] and not _counting(value) else 0.0
    if _CODE.match(value) and not (how == "quoted" and any(is_random(part, 10) for part in value.split("."))):
        return 0.0
    if _NUMBER.match(value) or (_PATHLIKE.search(value) and not is_random(value, 20)):
        return 0.0
    if any(char.isspace() for char in value):
        return 0.7 if kind != "weak" and _holds_random(value) else 0.0
    if value.startswith("{"):
        return 0.7 if _holds_random(value) else 0.0
    if _UUID.match(value):
        return 0.6 if kind in ("password", "secret") else 0.0
    if kind == "password":
        return _judge_password(value, how, loose)
    if kind == "secret":
        return 0.8 if is_random(value, 8 if not loose else 16) else 0.0
    return 0.6 if is_random(value, 16 if not loose else 20) else 0.0


_DIRECT = ("quoted", "compare", "flag", "sql", "element", "bare")


def _judge_password(value: str, how: str, loose: bool) -> float:
    if is_random(value, 8):
        return 0.85
    odd = strangeness(value)
    if classes(value) >= 2 and any(char.isdigit() for char in value):
        return 0.7 if not loose else 0.55
    if odd >= 4.4:
        return 0.7 if not loose else 0.5
    # a plain word: people do use them, but only where it is plainly given to the name, and as one word
    return 0.5 if how in _DIRECT and not loose and value.isalnum() and len(value) >= 4 else 0.0


def judge_format(value: str) -> bool:
    """Even a well-formed value must look made by a machine: `s.` and 24 letters may be a method call."""
    if _MASKED.search(value) or len(set(value)) <= 4 or _typed_in_order(value.lower()):
        return False
    digits = sum(char.isdigit() for char in value)
    return digits >= 3 or strangeness(value) >= 4.2 or (digits > 0 and strangeness(value) >= 3.8)


def judge_vendor(value: str) -> float:
    """Beside a service's name a value counts when it is plainly generated: long, mixed, no path and no version."""
    if is_placeholder(value) or _CODE.match(value) or _NUMBER.match(value):
        return 0.0
    if _UUID.match(value):
        return 0.6
    if ("/" in value or "." in value) and not is_random(value.rpartition("/")[2].rpartition(".")[2], 20):
        return 0.0
    digits = sum(char.isdigit() for char in value)
    return 0.6 if digits >= 2 and is_random(value, 14) else 0.0


def judge_basic(value: str) -> float:
    """A Basic header's value is base64 of `user:password`."""
    try:
        pair = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode()
    except (binascii.Error, ValueError):
        return 0.0
    return 0.9 if ":" in pair and pair.isprintable() else 0.0


def judge_header(scheme: str, value: str) -> float:
    scheme = scheme.lower()
    if scheme == "basic":
        return judge_basic(value)
    if is_placeholder(value) or _CODE.match(value):
        return 0.0
    return 0.8 if is_random(value, 12 if scheme in ("bearer", "apikey", "oauth") else 20) else 0.0


def judge_url(value: str, user: str) -> float:
    if is_placeholder(value) or value in (user, "password") or value.startswith(("$", "{", "%s", ":")):
        return 0.0
    return 0.3 if value.isdigit() and len(value) < 6 else 0.75
