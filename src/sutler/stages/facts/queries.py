"""What to look for in each grammar's tree.

`@d.<kind>` marks a definition, `@n` its name, `@i` an import. One query per language, so that one pass over a
tree finds all of it; scopes (`module`, `program`) keep local variables out.
"""

from __future__ import annotations

_PYTHON = """
(class_definition name: (identifier) @n) @d.class
(function_definition name: (identifier) @n) @d.function
(type_alias_statement left: (type (identifier) @n)) @d.type
(module (expression_statement (assignment left: (identifier) @n)) @d.constant)
(module (expression_statement (assignment left: (pattern_list (identifier) @n))) @d.constant)
(module (expression_statement (assignment right: (assignment left: (identifier) @n))) @d.constant)
(class_definition body: (block (expression_statement (assignment left: (identifier) @n)) @d.field))
(import_statement) @i
(import_from_statement) @i
(future_import_statement) @i
"""

_ECMA = """
(function_declaration name: (identifier) @n) @d.function
(generator_function_declaration name: (identifier) @n) @d.function
(method_definition name: (_) @n) @d.method
(program [(lexical_declaration (variable_declarator name: (identifier) @n))
          (variable_declaration (variable_declarator name: (identifier) @n))] @d.constant)
(program (export_statement [(lexical_declaration (variable_declarator name: (identifier) @n))
                            (variable_declaration (variable_declarator name: (identifier) @n))]) @d.constant)
(variable_declarator name: (identifier) @n value: [(arrow_function) (function_expression)]) @d.function
(assignment_expression left: (member_expression property: (property_identifier) @n)
                       right: [(arrow_function) (function_expression) (class)]) @d.function
(pair key: (property_identifier) @n value: [(arrow_function) (function_expression)]) @d.function
(import_statement) @i
(export_statement source: (string)) @i
(call_expression function: (identifier) @_f arguments: (arguments . (string)) (#eq? @_f "require")) @i
(call_expression function: (import) arguments: (arguments . (string))) @i
"""

_JAVASCRIPT = (
    _ECMA
    + """
(class_declaration name: (identifier) @n) @d.class
(class name: (identifier) @n) @d.class
(field_definition property: (_) @n) @d.field
"""
)

_TYPESCRIPT = (
    _ECMA
    + """
(class_declaration name: (type_identifier) @n) @d.class
(abstract_class_declaration name: (type_identifier) @n) @d.class
(interface_declaration name: (type_identifier) @n) @d.class
(type_alias_declaration name: (type_identifier) @n) @d.type
(enum_declaration name: (identifier) @n) @d.class
(function_signature name: (identifier) @n) @d.function
(method_signature name: (_) @n) @d.method
(abstract_method_signature name: (_) @n) @d.method
(property_signature name: (_) @n) @d.field
(public_field_definition name: (_) @n) @d.field
(internal_module name: (_) @n) @d.module
(module name: (_) @n) @d.module
"""
)

_GO = """
(function_declaration name: (identifier) @n) @d.function
(method_declaration name: (field_identifier) @n) @d.method
(type_spec name: (type_identifier) @n) @d.class
(type_alias name: (type_identifier) @n) @d.type
(source_file (const_declaration (const_spec name: (identifier) @n) @d.constant))
(source_file (var_declaration (var_spec name: (identifier) @n) @d.constant))
(source_file (var_declaration (var_spec_list (var_spec name: (identifier) @n) @d.constant)))
(field_declaration name: (field_identifier) @n) @d.field
(method_elem name: (field_identifier) @n) @d.method
(import_spec) @i
"""

_RUST = """
(function_item name: (identifier) @n) @d.function
(function_signature_item name: (identifier) @n) @d.function
(struct_item name: (type_identifier) @n) @d.class
(enum_item name: (type_identifier) @n) @d.class
(union_item name: (type_identifier) @n) @d.class
(trait_item name: (type_identifier) @n) @d.class
(impl_item type: (_) @n) @d.class
(type_item name: (type_identifier) @n) @d.type
(mod_item name: (identifier) @n) @d.module
(const_item name: (identifier) @n) @d.constant
(static_item name: (identifier) @n) @d.constant
(macro_definition name: (identifier) @n) @d.macro
(field_declaration name: (field_identifier) @n) @d.field
(enum_variant name: (identifier) @n) @d.field
(use_declaration) @i
(extern_crate_declaration) @i
"""

_JAVA = """
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

_KOTLIN = """
(class_declaration name: (identifier) @n) @d.class
(object_declaration name: (identifier) @n) @d.class
(function_declaration name: (identifier) @n) @d.function
(type_alias type: (identifier) @n) @d.type
(source_file (property_declaration (variable_declaration (identifier) @n)) @d.constant)
(class_body (property_declaration (variable_declaration (identifier) @n)) @d.field)
(enum_entry (identifier) @n) @d.field
(import) @i
"""

_C = """
(function_definition declarator: (function_declarator declarator: (identifier) @n)) @d.function
(function_definition declarator: (pointer_declarator (function_declarator declarator: (identifier) @n))) @d.function
(function_definition declarator:
  (pointer_declarator (pointer_declarator (function_declarator declarator: (identifier) @n)))) @d.function
(declaration declarator: (function_declarator declarator: (identifier) @n)) @d.function
(declaration declarator: (pointer_declarator (function_declarator declarator: (identifier) @n))) @d.function
(struct_specifier name: (type_identifier) @n body: (_)) @d.class
(union_specifier name: (type_identifier) @n body: (_)) @d.class
(enum_specifier name: (type_identifier) @n body: (_)) @d.class
(type_definition declarator: (type_identifier) @n) @d.type
(type_definition declarator: (pointer_declarator declarator: (type_identifier) @n)) @d.type
(type_definition declarator: (function_declarator declarator:
  (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @n)))) @d.type
(preproc_def name: (identifier) @n) @d.macro
(preproc_function_def name: (identifier) @n) @d.macro
(translation_unit (declaration declarator: (init_declarator declarator: (identifier) @n)) @d.constant)
(translation_unit (declaration declarator:
  (init_declarator declarator: (array_declarator declarator: (identifier) @n))) @d.constant)
(translation_unit (declaration declarator:
  (init_declarator declarator: (pointer_declarator declarator: (identifier) @n))) @d.constant)
(translation_unit (declaration declarator: (identifier) @n) @d.constant)
(enumerator name: (identifier) @n) @d.field
(field_declaration declarator: (field_identifier) @n) @d.field
(preproc_include) @i
"""

_CPP = (
    _C
    + """
(class_specifier name: (_) @n body: (_)) @d.class
(namespace_definition name: (_) @n) @d.module
(alias_declaration name: (type_identifier) @n) @d.type
(concept_definition name: (identifier) @n) @d.type
(function_definition declarator: (function_declarator declarator:
  [(qualified_identifier) (field_identifier) (destructor_name) (operator_name)] @n)) @d.function
(function_definition declarator: (pointer_declarator (function_declarator declarator:
  [(qualified_identifier) (field_identifier) (operator_name)] @n))) @d.function
(function_definition declarator: (reference_declarator (function_declarator declarator:
  [(identifier) (qualified_identifier) (field_identifier) (operator_name)] @n))) @d.function
(field_declaration declarator: (function_declarator declarator: (field_identifier) @n)) @d.method
(field_declaration declarator: (pointer_declarator (function_declarator declarator: (field_identifier) @n))) @d.method
(field_declaration declarator: (reference_declarator (function_declarator declarator: (field_identifier) @n))) @d.method
"""
)

_CSHARP = """
(class_declaration name: (identifier) @n) @d.class
(interface_declaration name: (identifier) @n) @d.class
(struct_declaration name: (identifier) @n) @d.class
(record_declaration name: (identifier) @n) @d.class
(enum_declaration name: (identifier) @n) @d.class
(delegate_declaration name: (identifier) @n) @d.type
(namespace_declaration name: (_) @n) @d.module
(method_declaration name: (identifier) @n) @d.method
(constructor_declaration name: (identifier) @n) @d.method
(property_declaration name: (identifier) @n) @d.field
(field_declaration (variable_declaration (variable_declarator name: (identifier) @n))) @d.field
(event_field_declaration (variable_declaration (variable_declarator name: (identifier) @n))) @d.field
(enum_member_declaration name: (identifier) @n) @d.field
(using_directive) @i
"""

_RUBY = """
(class name: (_) @n) @d.class
(module name: (_) @n) @d.class
(method name: (_) @n) @d.method
(singleton_method name: (_) @n) @d.method
(assignment left: (constant) @n) @d.constant
(call method: (identifier) @_a arguments: (argument_list (simple_symbol) @n) (#match? @_a "^attr_")) @d.field
(call method: (identifier) @_r arguments: (argument_list . (string))
  (#any-of? @_r "require" "require_relative" "load" "autoload")) @i
"""

_PHP = """
(class_declaration name: (name) @n) @d.class
(interface_declaration name: (name) @n) @d.class
(trait_declaration name: (name) @n) @d.class
(enum_declaration name: (name) @n) @d.class
(method_declaration name: (name) @n) @d.method
(function_definition name: (name) @n) @d.function
(const_declaration (const_element (name) @n)) @d.field
(property_declaration (property_element name: (variable_name) @n)) @d.field
(enum_case name: (name) @n) @d.field
(namespace_use_declaration) @i
[(require_expression) (require_once_expression) (include_expression) (include_once_expression)] @i
"""

_SWIFT = """
(class_declaration name: (_) @n) @d.class
(protocol_declaration name: (_) @n) @d.class
(function_declaration name: (simple_identifier) @n) @d.function
(protocol_function_declaration name: (simple_identifier) @n) @d.method
(init_declaration "init" @n) @d.method
(source_file (property_declaration name: (pattern bound_identifier: (simple_identifier) @n)) @d.constant)
(class_body (property_declaration name: (pattern bound_identifier: (simple_identifier) @n)) @d.field)
(protocol_property_declaration name: (pattern bound_identifier: (simple_identifier) @n)) @d.field
(enum_entry name: (simple_identifier) @n) @d.field
(typealias_declaration name: (type_identifier) @n) @d.type
(import_declaration) @i
"""

_BASH = """
(function_definition name: (word) @n) @d.function
(program (variable_assignment name: (variable_name) @n) @d.constant)
(program (declaration_command (variable_assignment name: (variable_name) @n)) @d.constant)
(command name: (command_name (word) @_s) (#any-of? @_s "source" ".")) @i
"""

_SCALA = """
(class_definition name: (identifier) @n) @d.class
(object_definition name: (identifier) @n) @d.class
(trait_definition name: (identifier) @n) @d.class
(function_definition name: (identifier) @n) @d.function
(function_declaration name: (identifier) @n) @d.function
(template_body (val_definition pattern: (identifier) @n) @d.field)
(import_declaration) @i
"""

_LUA = """
(function_declaration name: (_) @n) @d.function
(chunk (variable_declaration (assignment_statement (variable_list name: (identifier) @n))) @d.constant)
(function_call name: (identifier) @_r arguments: (arguments (string)) (#eq? @_r "require")) @i
"""

QUERIES = {
    "python": _PYTHON,
    "javascript": _JAVASCRIPT,
    "typescript": _TYPESCRIPT,
    "tsx": _TYPESCRIPT,
    "go": _GO,
    "rust": _RUST,
    "java": _JAVA,
    "kotlin": _KOTLIN,
    "c": _C,
    "cpp": _CPP,
    "csharp": _CSHARP,
    "ruby": _RUBY,
    "php": _PHP,
    "swift": _SWIFT,
    "bash": _BASH,
    "scala": _SCALA,
    "lua": _LUA,
}
