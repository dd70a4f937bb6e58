"""Places of secrets in prose, code and configuration: assignments, headers, URLs, command lines,
SQL, markup.

One pattern per construct, its head: from the name up to the start of the value. Heads are matched
in lower-cased text, by the engines over whole files (where they are the triggers) and by `readers`
on the stretch that triggered. Every repetition is bounded and every branch begins with a letter of
its own, so they are linear and `re` can skip ahead."""

from __future__ import annotations

import re
from functools import cache

from sutler.secrets import decode, joins
from sutler.secrets.format_table import words

# Names that may hold a secret. `(?<!\w.)` after a first letter means: at the start of a word. Names
# that fill source code and never hold one, such as path, patch, side and author, are excluded here.
NAMES = (
    r"p(?:ass(?:w(?:or)?ds?|wort|phrase|code|wd|e)?|wd|swd|sw|assw?rd|(?<![a-z0-9].)(?:w(?![a-z])|in(?![gknt])|at(?!h|ch|t)))"
    r"|s(?:ecrets?|ession_?-?id|(?<!\w.)id(?!e)|alt|eed|enha)|t(?:okens?|otp)|keys?"
    r"|a(?:uth(?:orization|(?!or))|pi_?-?keys?)"
    r"|c(?:red(?:ential)?s?|ookie|ipher|onnection_?string|ontrase(?:ña)?)|jwt|otp|hotp|n(?:once|key)|bearer|webhook|dsn|license"
    r"|密(?:码|碼)|口令|(?:П|п)ароль|パスワード|비밀번호"
)
_NAME = rf"(?P<name>(?:{NAMES})(?:[\w.]|-(?!>)){{0,40}}+)"
OPEN = r"(?:\\{1,3}[\"']|[\"'`]{1,3}|&quot;|&#3[49];|&apos;)"
_CLOSE = rf"(?P<close>(?:{OPEN}|[ ]?[\])*\x7d]|\[[0-9]{{0,6}}\]){{0,4}})"
_GAP = r"[ \t]{0,24}+"
# `name: type =`, `name : type =` (not `:attribute=`), and Go's `name type =`
_TYPE = (
    r"(?:(?:(?<![ \t])[?!]?:[ ]?|(?<=[ \t]):[ ])[\w<>\[\]?&*.']{1,40}+(?:[ ](?:\|[ ])?\w{1,20})?[ \t]{0,8}(?==)"
    r"|(?<=[ \t])(?:\*?string|\[\]byte|as string|\{ get; (?:\w{2,9} )?set; \})[ ]{1,4}(?==))?"
)
# A name in one call and its value in the next: `by_id("password").send_keys("…")`.
_NEXT_CALL = r"\.(?:type|fill|send_?keys|set_?value|unwrap_or\w{0,8}|or_?else)\((?:\|_?\|[ ])?"
# The last two are Kotlin's `"name" to "value"` (and a sentence's `is`), and a blank alone:
# `#define NAME "value"`, "the password `value`"
_SEP = (
    rf"(?P<sep>:=|:-|=>|->|<-|={{1,3}}|!={{1,2}}|:{{1,2}}|,|\(|\?[:=]|\?\?=?|\|\|=?|\{{(?=[ ]?[\"'])"
    rf"|{_NEXT_CALL}|(?<=[ \t])(?:to|or|with:?|(?:is|was):?)(?=[ ])|(?<=[ \t])(?=[\"'`]))"
)
_WRAP = (
    r"(?P<wrap>(?:\[\]byte\(|(?:new )?[\w.:$@]{0,40}[ ]?\(|\[|\{|@|<<|!sub |[burfnl]{1,2}(?=[\"'])"
    r"|[\w.\[\]\"'()]{1,50}[ ]?(?:\|\||\?\?|or|\?:|\?[ ](?:[\w.\[\]\"'()]{1,50}[ ]:)?)[ ]){0,3})"
)
_AFTER_SCHEME = r"(?:[ ]|%20|(?<=[rc])\+|:[ ]?|[\"'],[ ]?[\"']){1,4}"
SCHEMES = r"(?:b(?:earer|asic|ot)|token|api-?key|oauth|ssws|n(?:egotiate|tlm)|key|genie(?:key)?)"
_SQL_BY = r"(?:identified[ ]{1,4}(?:with[ ]{1,4}\S{1,40}[ ]{1,4})?by(?:[ ]{1,4}password)?|password(?:[ ]for[ ][^\s=]{1,80}[ ])?(?:[ ]{0,4}=)?|passwd)"
FLAG_WORDS = "token|secret|key|password|passwd|pwd|credentials?"
_FLAG_NAME = (
    rf"(?:pass[\w-]{{0,16}}(?=[ =\"'])|p|u|user|a|w|pw|[\w-]{{0,24}}(?:{FLAG_WORDS}|(?<!by)pass))"
)

VENDORS = sorted(words("vendor"))
_LETTERS = sorted({name[0] for name in VENDORS})
_VENDOR = "|".join(
    f"{letter}(?:{'|'.join(name[1:] for name in VENDORS if name[0] == letter)})"
    for letter in _LETTERS
)
_VENDOR_REST = r"[\w .\t-]{0,25}"
_VENDOR_SEP = r"[\s\"'`\])]{0,4}(?:=|:|,|>|\|\|)[ \t\"'`=>:|\\]{0,6}(?=[\w=+/.~-]{10})"

QUOTED_HEAD = rf"{_NAME}{_CLOSE}{_GAP}{_TYPE}{_SEP}{_GAP}{_WRAP}[ ]?(?P<open>{OPEN})(?!\n)"
BARE_HEAD = (
    rf"{_NAME}{_CLOSE}{_GAP}(?:(?::[=-]|\?=|=|[:：])[ \t]{{0,24}}(?=[!-~])"
    r"|(?<=[ \t])is[ ](?:set to[ ])?(?=[!-~]{0,40}[0-9]))"
)
HEADER_HEAD = rf"(?P<name>{SCHEMES}){_AFTER_SCHEME}(?=[\w+/=.~%-]{{6}})"
URL_HEAD = r":(?:\\?/){2}(?P<user>[^\s/@:\"'<>\\|]{0,80}+):(?=[^\s@/\"'<>]{1,200}@)"
DSN_HEAD = (
    r":(?P<value>[^\s@/\"'<>:()|]{1,80})"
    r"(?:@(?:tcp|unix|\()|(?:\\n)?[\"']?[ ]?\|[ ]?(?:sudo[ ])?chpasswd)"
)
FLAG_HEAD = rf"[\s\"'(`]-{{1,2}}(?P<name>{_FLAG_NAME})(?:[\"'],)?(?:[ =]{{1,2}}|(?<=[ \"']-p))(?P<open>[\"']?)(?=[!-,.-~][!-~]{{2}})"
SQL_HEAD = rf"(?<![\w.$]){_SQL_BY}[ ]{{0,4}}(?:\(|[ ])[ ]{{0,4}}(?P<open>[\"'])"
ELEMENT_HEAD = rf"<(?P<name>[\w:.-]{{0,40}}?(?:{NAMES})[\w.-]{{0,40}})(?:[ ][^<>\n]{{0,80}})?>[ ]?(?:<!\[cdata\[)?(?=[^<>\s])"
PAIR_LABEL = (
    r"(?:(?:name|key|id|variable|env)[\"']?[ ]?[:=]|(?:name|key)>|<(?:td|th|b|strong|dt|label)>)"
)
PAIR_HEAD = rf"{PAIR_LABEL}[ ]?[\"']?(?P<name>[\w.-]{{0,60}}?(?:{NAMES})[\w.-]{{0,60}})"
SPACED_HEAD = rf"(?:env|set|setx|arg|param)[ \t]{{1,8}}(?P<name>[\w.-]{{0,40}}?(?:{NAMES})[\w.-]{{0,40}})[ \t]{{1,8}}(?P<open>[\"']?)(?=[!-~]{{3}})"
VENDOR_HEAD = rf"(?P<name>(?:{_VENDOR}){_VENDOR_REST}){_VENDOR_SEP}"
VENDOR_TAIL = _VENDOR_REST + _VENDOR_SEP
BLOCK_HEAD = r"-{4,5}[ ]?begin(?:[ +]|%20)[\w .+%-]{0,40}(?:private|static|seed|encrypted)|putty-user-key-file-[0-9]"
VALUES = "value|val|default(?:_?value)?|content|plaintext|secret_?string"
VALUE_HEAD = (
    rf"(?<![\w-])(?:{VALUES})[\"']?[ \t]{{0,24}}[:=]>?[ \t]{{0,24}}(?P<open>[\"']?)(?=[!-~]{{6}})"
)
SECURE_HEAD = r"convertto-securestring[ ]{1,4}"
LOGIN_HEAD = (
    r"(?<![\w-])(?P<word>password|requirepass|masterauth|rootpw|bindpw|auth_pass|:_authtoken"
    r"|(?:add_user|change_password|net user|wpa_passphrase|htpasswd -[a-z]*b[a-z]*(?: -c)?[ ]\S{1,80})[ ]\S{1,80}"
    r"|(?:user|role|to)[ ][\w'\"@%.]{1,80}[ ]identified by|vault login|snyk auth|(?:add-|ngrok )authtoken)[ \t]{1,8}[\"']?(?=[!-~]{3})"
)
JWK_HEAD = r"kty[\"']{0,2}[ \t]{0,4}[:=]"
TABLE_HEAD = rf"{_NAME}[`* \t]{{0,12}}\|(?!\|)"
INSERT_HEAD = (
    r"insert[ ]{1,4}(?:ignore[ ])?into[ ]{1,4}[^\s()]{1,80}[ ]{0,4}\((?P<columns>[^()\n]{1,600})\)"
)
_STRING = r"[\"'][^\"'\n]{0,64}[\"'],[ ]?"
_ARGUMENT = r"[\w.$>:=;\"'/@-]{1,80},[ ]?"
_BYTES_OF = r"(?:\[\]byte\(|(?:[\w.]{0,30}\.)?encoding\.\w{2,9}\.getbytes\()?"
_KEY_CALL = (
    r"secretkey(?:spec|\.fromstring)\(|hmacshakeyfor\(|signwith\([\w.]{1,60},[ ]?|signedstring\("
    r"|\bhmac(?:sha)?(?:1|256|384|512)\(|\bhmac\.new\((?:[\w.]{3,20},[ ]?)?"
    r"|\b(?:fernet|cookieparser)\("
    rf"|create(?:hmac|cipheriv)\({_STRING}|hash_hmac\({_STRING}{_ARGUMENT}"
    r"|\bj(?:wt|sonwebtoken)(?:\.|::)(?:sign|verify|encode|decode)\([\w.$:{}\[\], ]{1,120},[ ]?"
)
_LOGIN_CALL = (
    r"(?:(?:\b|_)(?:login|log_in|signin|sign_in|authenticate)|(?:\b|_|http)basic|basic_?auth\w{0,12}|basichttpcredentials|auth_basic[\"']?[ ]?=>?[ ]?|[.>]auth"
    r"|credentials?|usernamepasswordtoken|passwordauthentication|userpassword|passwordsignin\w{0,5}"
    rf"|wifi\.begin|\bauth[\"']?[ ]?(?:=>?|:)[ ]?)(?:[(\[]|[ ])[ ]?{_STRING}(?:some\()?"
    r"|(?:plainauth|getconnection|mysqli?_connect|new mysqli|new pdo|[.>]connect|create_?(?:super)?_?user|sequelize"
    rf"|ftp_login|ldap_bind|imap_open)\({_ARGUMENT}{_STRING}"
    r"|[.>]bind\([\"'](?:cn|uid|ou|dc)=[^\"'\n]{0,80}[\"'],[ ]?"
)
CALL_HEAD = rf"(?:(?P<key>{_KEY_CALL})|(?P<login>{_LOGIN_CALL})){_BYTES_OF}b?(?P<open>[\"'`])"

TRIGGERS = (
    QUOTED_HEAD,
    BARE_HEAD,
    HEADER_HEAD,
    URL_HEAD,
    DSN_HEAD,
    FLAG_HEAD,
    SQL_HEAD,
    SPACED_HEAD,
    VENDOR_HEAD,
    ELEMENT_HEAD,
    PAIR_HEAD,
    VALUE_HEAD,
    SECURE_HEAD,
    LOGIN_HEAD,
    JWK_HEAD,
    TABLE_HEAD,
    INSERT_HEAD,
    CALL_HEAD,
    joins.JOIN_HEAD,
    BLOCK_HEAD,
    decode.ESCAPED_HEAD,
    decode.PERCENT_HEAD,
    decode.BYTES_HEAD,
)


@cache
def head(trigger: int) -> re.Pattern[str]:
    """Compile a trigger's pattern, once a text may hold one."""
    return re.compile(TRIGGERS[trigger], re.ASCII)


QUOTED, BARE, HEADER, URL, DSN, FLAG, SQL, SPACED, VENDOR, ELEMENT, PAIR = range(11)
VALUE, SECURE, LOGIN, JWK, TABLE, INSERT, CALL, JOIN, BLOCK = range(11, 20)
_ENCODED = range(20, len(TRIGGERS))
ENCODED = tuple(_ENCODED)

GATES: dict[int, tuple[str, ...]] = {
    HEADER: (
        "bearer",
        "basic",
        "bot",
        "token",
        "api",
        "oauth",
        "ssws",
        "negotiate",
        "ntlm",
        "key",
        "genie",
    ),
    URL: ("://", ":\\/"),
    DSN: ("@tcp", "@unix", "@(", "chpasswd"),
    FLAG: (" -", "'-", '"-', "`-", "(-", "\n-", "\t-"),
    SQL: ("identified", "password", "passwd"),
    ELEMENT: ("</",),
    PAIR: ("value", "default", "content", "val", "</"),
    VALUE: ("value", "val", "default", "content", "plaintext", "secret"),
    SECURE: ("convertto-",),
    LOGIN: (
        *("password", "requirepass", "masterauth", "rootpw", "bindpw", "auth_pass", "authtoken"),
        *("add_user", "net user", "wpa_pass", "htpasswd", "identified", "vault l", "snyk"),
    ),
    JWK: ("kty",),
    TABLE: ("|",),
    INSERT: ("insert ",),
    CALL: (
        *(f"{end}(" for end in sorted(words("call-end"))),
        "auth=",
        "auth ",
        "auth:",
        "auth' ",
        "auth_basic",
        'auth" ',
    ),
    SPACED: ("env", "set", "arg", "param"),
    BLOCK: ("begin", "putty"),
    _ENCODED[0]: ("\\u00", "\\x"),
    _ENCODED[1]: ("%",),
    _ENCODED[2]: (",",),
}
"""Words that a text must hold for a trigger to fire: the gate of the stdlib engine."""

REACH = 600
"""Limit of the length of a head."""
