//! Expressions of C and Python, as far as programs compute devices and ranks with them.

use std::collections::BTreeSet;

use tree_sitter::Node;

/// The nesting depth to which an expression is read. Deeper parts are unknown. In real programs a
/// peer is computed by a handful of operations.
const DEPTH: usize = 40;
/// The most elements of a list, or arguments of a call, that are read.
const ELEMENTS: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    C,
    Cuda,
    Python,
    /// Scripts that launch jobs.
    Shell,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expr {
    Int(i64),
    Text(String),
    /// A variable or a member, by its path: `rank`, `self.rank`.
    Name(String),
    Unary(Operator, Box<Expr>),
    Binary(Operator, Box<(Expr, Expr)>),
    /// The condition, the value if it holds, and the value if it does not.
    If(Box<(Expr, Expr, Expr)>),
    Call(String, Vec<Argument>),
    List(Vec<Expr>),
    Item(Box<(Expr, Expr)>),
    /// The number of the process or device that runs the program.
    Rank,
    /// The number of processes or devices.
    Size,
    Unknown,
}

/// An argument of a call: its name, if written as `name=value` in Python, and its value.
pub(super) type Argument = (Option<String>, Expr);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Power,
    Xor,
    And,
    Or,
    Left,
    Right,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    Unequal,
    Both,
    Either,
    Not,
    Invert,
}

/// The operator written as this text, such as `+`.
pub(super) fn operator(text: &str) -> Option<Operator> {
    Operator::of(text)
}

impl Operator {
    fn of(text: &str) -> Option<Self> {
        Some(match text {
            "+" => Self::Add,
            "-" => Self::Subtract,
            "*" => Self::Multiply,
            "/" | "//" => Self::Divide,
            "%" => Self::Remainder,
            "**" => Self::Power,
            "^" => Self::Xor,
            "&" => Self::And,
            "|" => Self::Or,
            "<<" => Self::Left,
            ">>" => Self::Right,
            "<" => Self::Less,
            "<=" => Self::LessEqual,
            ">" => Self::Greater,
            ">=" => Self::GreaterEqual,
            "==" | "is" => Self::Equal,
            "!=" | "is not" => Self::Unequal,
            "&&" | "and" => Self::Both,
            "||" | "or" => Self::Either,
            "!" | "not" => Self::Not,
            "~" => Self::Invert,
            _ => return None,
        })
    }
}

impl Expr {
    pub(super) fn binary(operator: Operator, left: Self, right: Self) -> Self {
        Self::Binary(operator, Box::new((left, right)))
    }

    pub(super) fn item(self, index: Self) -> Self {
        Self::Item(Box::new((self, index)))
    }

    /// The path of the variable, if the expression is a variable or a pointer to one.
    pub(super) fn path(&self) -> Option<&str> {
        match self {
            Self::Name(path) => Some(path),
            _ => None,
        }
    }

    /// Whether the expression mentions this variable.
    pub(super) fn mentions(&self, name: &str) -> bool {
        match self {
            Self::Name(path) => path == name,
            Self::Unary(_, value) => value.mentions(name),
            Self::Binary(_, sides) | Self::Item(sides) => {
                sides.0.mentions(name) || sides.1.mentions(name)
            }
            Self::If(parts) => [&parts.0, &parts.1, &parts.2]
                .iter()
                .any(|part| part.mentions(name)),
            Self::Call(_, arguments) => arguments.iter().any(|(_, value)| value.mentions(name)),
            Self::List(elements) => elements.iter().any(|element| element.mentions(name)),
            Self::Int(_) | Self::Text(_) | Self::Rank | Self::Size | Self::Unknown => false,
        }
    }
}

impl Expr {
    /// Collects the variables that the expression mentions.
    pub(super) fn names(&self, all: &mut BTreeSet<String>) {
        match self {
            Self::Name(path) => {
                all.insert(path.clone());
            }
            Self::Unary(_, value) => value.names(all),
            Self::Binary(_, sides) | Self::Item(sides) => {
                [&sides.0, &sides.1].iter().for_each(|side| side.names(all))
            }
            Self::If(parts) => [&parts.0, &parts.1, &parts.2]
                .iter()
                .for_each(|part| part.names(all)),
            Self::Call(_, arguments) => arguments.iter().for_each(|(_, value)| value.names(all)),
            Self::List(elements) => elements.iter().for_each(|element| element.names(all)),
            Self::Int(_) | Self::Text(_) | Self::Rank | Self::Size | Self::Unknown => {}
        }
    }
}

/// The text of a node.
pub(super) fn text<'t>(node: Node<'_>, source: &'t str) -> &'t str {
    source
        .get(node.start_byte()..node.end_byte())
        .unwrap_or_default()
}

/// The named children of a node, except comments; at most [`ELEMENTS`].
pub(super) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    let children = node
        .named_children(&mut cursor)
        .filter(|child| child.kind() != "comment");
    children.take(ELEMENTS).collect()
}

/// Reads the expression at a node of a syntax tree.
pub(super) fn lower(node: Node<'_>, source: &str, language: Language) -> Expr {
    Lowering { source, language }.expression(node, DEPTH)
}

struct Lowering<'t> {
    source: &'t str,
    language: Language,
}

impl Lowering<'_> {
    fn expression(&self, node: Node<'_>, depth: usize) -> Expr {
        let Some(depth) = depth.checked_sub(1) else {
            return Expr::Unknown;
        };
        let text = text(node, self.source);
        match node.kind() {
            "number_literal" | "integer" => integer(text).map_or(Expr::Unknown, Expr::Int),
            "true" => Expr::Int(1),
            "false" => Expr::Int(0),
            "identifier"
            | "field_identifier"
            | "type_identifier"
            | "namespace_identifier"
            | "none" => Expr::Name(text.to_owned()),
            "string" | "string_literal" => self.string(node),
            "qualified_identifier" => self.field(node, "name", depth),
            "parenthesized_expression" | "condition_clause" => {
                let mut inner = children(node).into_iter();
                match (inner.next(), inner.next()) {
                    (Some(only), None) => self.expression(only, depth),
                    _ => Expr::Unknown,
                }
            }
            "unary_expression" | "unary_operator" | "not_operator" => self.unary(node, depth),
            "binary_expression" | "binary_operator" | "boolean_operator" => {
                self.binary(node, depth)
            }
            "comparison_operator" => self.comparison(node, depth),
            "conditional_expression" => self.conditional(node, depth),
            "cast_expression"
            | "compound_literal_expression"
            | "keyword_argument"
            | "named_expression" => self.field(node, "value", depth),
            "pointer_expression" if text.starts_with('&') => self.field(node, "argument", depth),
            "field_expression" => self.member(node, "argument", "field", depth),
            "attribute" => self.member(node, "object", "attribute", depth),
            "subscript_expression" | "subscript" => self.subscript(node, depth),
            "initializer_list" | "list" | "tuple" | "expression_list" | "pattern_list"
            | "tuple_pattern" | "list_pattern" => Expr::List(
                children(node)
                    .into_iter()
                    .map(|c| self.expression(c, depth))
                    .collect(),
            ),
            "call_expression" | "call" => self.call(node, depth),
            _ => Expr::Unknown,
        }
    }

    fn field(&self, node: Node<'_>, field: &str, depth: usize) -> Expr {
        node.child_by_field_name(field)
            .map_or(Expr::Unknown, |child| self.expression(child, depth))
    }

    fn operator(&self, node: Node<'_>) -> Option<Operator> {
        node.child_by_field_name("operator")
            .and_then(|operator| Operator::of(text(operator, self.source)))
    }

    fn unary(&self, node: Node<'_>, depth: usize) -> Expr {
        let operator = if node.kind() == "not_operator" {
            Some(Operator::Not)
        } else {
            self.operator(node)
        };
        match (operator, self.field(node, "argument", depth)) {
            (Some(Operator::Subtract), Expr::Int(value)) => {
                value.checked_neg().map_or(Expr::Unknown, Expr::Int)
            }
            (Some(operator), value) => Expr::Unary(operator, Box::new(value)),
            (None, _) => Expr::Unknown,
        }
    }

    fn binary(&self, node: Node<'_>, depth: usize) -> Expr {
        match self.operator(node) {
            // The result of `/` in Python is not an integer.
            Some(Operator::Divide) if self.is_true_division(node) => Expr::Unknown,
            Some(operator) => Expr::binary(
                operator,
                self.field(node, "left", depth),
                self.field(node, "right", depth),
            ),
            None => Expr::Unknown,
        }
    }

    fn is_true_division(&self, node: Node<'_>) -> bool {
        let operator = node
            .child_by_field_name("operator")
            .map(|operator| text(operator, self.source));
        self.language == Language::Python && operator == Some("/")
    }

    /// A comparison `a < b` in Python. A chain `a < b < c` is unknown.
    fn comparison(&self, node: Node<'_>, depth: usize) -> Expr {
        let operator = node.child_by_field_name("operators");
        let operator = operator.and_then(|operator| Operator::of(text(operator, self.source)));
        match (operator, children(node).as_slice()) {
            (Some(operator), [left, right]) => Expr::binary(
                operator,
                self.expression(*left, depth),
                self.expression(*right, depth),
            ),
            _ => Expr::Unknown,
        }
    }

    fn conditional(&self, node: Node<'_>, depth: usize) -> Expr {
        let parts = children(node);
        let [first, second, third] = parts.as_slice() else {
            return Expr::Unknown;
        };
        // Python writes `value if condition else other`.
        let order = if self.language == Language::Python {
            [second, first, third]
        } else {
            [first, second, third]
        };
        let [condition, value, other] = order.map(|part| self.expression(*part, depth));
        Expr::If(Box::new((condition, value, other)))
    }

    fn member(&self, node: Node<'_>, object: &str, member: &str, depth: usize) -> Expr {
        let name = node
            .child_by_field_name(member)
            .map(|member| text(member, self.source));
        match (self.field(node, object, depth), name) {
            (Expr::Name(path), Some(name)) if path.len() < 1000 => {
                Expr::Name(format!("{path}.{name}"))
            }
            _ => Expr::Unknown,
        }
    }

    fn subscript(&self, node: Node<'_>, depth: usize) -> Expr {
        match children(node).as_slice() {
            [list, index] => {
                let index = if index.kind() == "subscript_argument_list" {
                    children(*index)
                } else {
                    vec![*index]
                };
                match index.as_slice() {
                    [index] => self
                        .expression(*list, depth)
                        .item(self.expression(*index, depth)),
                    _ => Expr::Unknown,
                }
            }
            _ => Expr::Unknown,
        }
    }

    fn call(&self, node: Node<'_>, depth: usize) -> Expr {
        let Some(function) = node.child_by_field_name("function") else {
            return Expr::Unknown;
        };
        let name = self.callee(function, depth);
        let arguments = node
            .child_by_field_name("arguments")
            .map(children)
            .unwrap_or_default();
        let argument = |argument: Node<'_>| {
            let name = (argument.kind() == "keyword_argument")
                .then(|| argument.child_by_field_name("name"))
                .flatten();
            (
                name.map(|name| text(name, self.source).to_owned()),
                self.expression(argument, depth),
            )
        };
        let mut arguments = arguments.into_iter().map(argument);
        if name.ends_with("_cast") {
            return arguments.next().map_or(Expr::Unknown, |(_, value)| value);
        }
        Expr::Call(name, arguments.collect())
    }

    /// The name of the called function: in Python with its path, `a.b.c`; in C++ without its
    /// namespace.
    fn callee(&self, node: Node<'_>, depth: usize) -> String {
        match node.kind() {
            "template_function" => match self.field(node, "name", depth) {
                Expr::Name(name) => name,
                _ => String::new(),
            },
            "attribute" if depth > 0 => {
                // In `a().b()` the object is unknown, but the method's name is known.
                let name = node
                    .child_by_field_name("attribute")
                    .map(|name| text(name, self.source));
                match self.expression(node, depth) {
                    Expr::Name(path) => path,
                    _ => format!("?.{}", name.unwrap_or_default()),
                }
            }
            _ => match self.expression(node, depth) {
                Expr::Name(name) => name,
                _ => String::new(),
            },
        }
    }

    /// A string literal. Strings with escapes or interpolation are unknown.
    fn string(&self, node: Node<'_>) -> Expr {
        let parts = children(node);
        match parts
            .iter()
            .find(|part| matches!(part.kind(), "interpolation" | "escape_sequence"))
        {
            Some(_) => Expr::Unknown,
            None => Expr::Text(
                parts
                    .into_iter()
                    .filter(|part| part.kind() == "string_content")
                    .map(|part| text(part, self.source))
                    .collect(),
            ),
        }
    }
}

/// An integer as C or Python writes it: `8`, `0x10`, `4u`, `1_000`.
fn integer(text: &str) -> Option<i64> {
    let digits = text.replace(['_', '\''], "").to_ascii_lowercase();
    let digits = digits.as_str();
    if let Some(digits) = digits.strip_prefix("0x") {
        return i64::from_str_radix(digits.trim_end_matches(['u', 'l']), 16).ok();
    }
    let digits = digits.trim_end_matches(['u', 'l', 'z']);
    match (
        digits.strip_prefix("0b"),
        digits.strip_prefix('0').filter(|digits| !digits.is_empty()),
    ) {
        (Some(digits), _) => i64::from_str_radix(digits, 2).ok(),
        (_, Some(digits)) => i64::from_str_radix(digits.trim_start_matches('o'), 8).ok(),
        _ => digits.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_as_both_languages_write_them() {
        let read = [
            "8", "0x10", "4u", "1_000", "0b11", "010", "0o10", "0", "2.5", "",
        ]
        .map(integer);
        let known = [
            Some(8),
            Some(16),
            Some(4),
            Some(1000),
            Some(3),
            Some(8),
            Some(8),
            Some(0),
            None,
            None,
        ];
        assert_eq!(read, known);
    }
}
