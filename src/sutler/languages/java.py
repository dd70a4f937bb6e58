"""Java, and the parts that Kotlin shares with it."""

from __future__ import annotations

from sutler.languages import base

_QUERY = """
(class_declaration name: (identifier) @n) @d.class
(interface_declaration name: (identifier) @n) @d.class
(enum_declaration name: (identifier) @n) @d.class
(record_declaration name: (identifier) @n) @d.class
(annotation_type_declaration name: (identifier) @n) @d.class
(method_declaration name: (identifier) @n) @d.method
(constructor_declaration name: (identifier) @n) @d.method
(field_declaration declarator: (variable_declarator name: (identifier) @n)) @d.field
(constant_declaration declarator: (variable_declarator name: (identifier) @n)) @d.field
(enum_constant name: (identifier) @n) @d.field
(import_declaration) @i
"""

STEM = rf"{base.AFFIX}|{base.SPEC}|{base.CAMEL}|{base.PREFIX}|.*[a-z0-9]IT"
ROUTES = (
    r"@(Get|Post|Put|Patch|Delete|Request)Mapping\("
    r"\s*(?:value\s*=\s*|path\s*=\s*)?\{?\"([^\"\n]*)\"",
    r"@(Path)\(\s*\"([^\"\n]*)\"",
)
COMMANDS = (r"@(?:CommandLine\.)?Command\([^)]{0,200}?name\s*=\s*\"([\w:-]+)\"",)

JAVA = base.Language(
    display="Java",
    name="java",
    kind="program",
    suffixes=("java",),
    files=(),
    shebangs=(),
    comments=base.Comments(("//",), (("/*", "*/"),)),
    grammar=base.Grammar("tree_sitter_java", _QUERY, base.dotted, base.offered(base.visible_type)),
    shapes=None,
    tests=base.Tests(
        stem=STEM,
        spec_folder=True,
        frameworks=(
            (r"org\.junit\.jupiter", "junit5"),
            (r"org\.junit\.", "junit4"),
            (r"org\.testng", "testng"),
        ),
    ),
    entries=base.Entries(
        main=(
            r"\bpublic\s+static\s+void\s+main\s*\(|@SpringBootApplication\b|@QuarkusMain\b"
            r"|\bextends\s+(?:MultiDex)?Application\b"
            r"|\bclass\s+(?:Main|Launch(?:er)?|Splash)Activity\s+extends"
        ),
        compiled=True,
        names=("application.java",),
        routes=ROUTES,
        commands=COMMANDS,
    ),
    uses=base.JVM_USES,
    manifests=base.words(
        "pom.xml build.gradle build.gradle.kts settings.gradle settings.gradle.kts build.xml"
    ),
    ecosystems=("java",),
)
