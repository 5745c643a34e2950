//! What a test asserts: how strictly, about what, and whether it can be false at all.

use super::chain::{arguments, chain, is_call, keywords};
use super::syntax::{NodeId, Syntax};

/// How much an assertion lets through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum AssertionStrength {
    /// Can never be false.
    Trivial,
    Exists,
    /// A condition is true, or one value is contained in, above, like or of the kind of another.
    Holds,
    /// Something fails, whatever it is.
    RaisesAny,
    /// Two values are about the same.
    Near,
    /// Something fails in a named way.
    Raises,
    /// Two values are the same, or a recorded output is.
    Equal,
}

/// What an expression says when it is asserted.
#[derive(Debug, Clone)]
pub(super) struct Assertion {
    pub(super) relation: AssertionStrength,
    /// What is compared, in the order of the alphabet: who stands on which side is a matter of taste.
    pub(super) operands: Vec<String>,
    /// Strings and numbers in it.
    pub(super) literals: Vec<String>,
}

impl Assertion {
    /// Of these nodes.
    pub(super) fn of(syntax: &Syntax<'_>, relation: AssertionStrength, nodes: &[NodeId]) -> Self {
        let mut operands: Vec<String> = nodes.iter().map(|node| syntax.canonical(*node)).collect();
        operands.sort();
        let literals = nodes.iter().flat_map(|node| syntax.literals(*node)).collect();
        let same = operands.len() > 1 && operands.windows(2).all(|pair| pair.first() == pair.last());
        let constant = !nodes.is_empty() && nodes.iter().all(|node| syntax.is_literal(*node));
        let is_trivial = matches!(
            relation,
            AssertionStrength::Equal
                | AssertionStrength::Near
                | AssertionStrength::Holds
                | AssertionStrength::Exists
        ) && (constant || (same && relation != AssertionStrength::Holds));
        let relation = if is_trivial { AssertionStrength::Trivial } else { relation };
        Self { relation, operands, literals }
    }

    fn trivial(syntax: &Syntax<'_>, node: NodeId) -> Self {
        Self {
            relation: AssertionStrength::Trivial,
            operands: vec![syntax.canonical(node)],
            literals: Vec::new(),
        }
    }
}

/// Conditions within conditions that are followed.
const MOST_NESTED: usize = 24;

/// What it says that an expression is true, or, negated, that it is false. One claim for each that is joined by "and".
pub(super) fn claims(syntax: &Syntax<'_>, expression: NodeId, negated: bool) -> Vec<Assertion> {
    let mut found = Vec::new();
    let mut open = vec![(expression, negated, 0)];
    while let Some((node, negated, depth)) = open.pop() {
        if depth > MOST_NESTED || found.len() > MOST_NESTED {
            found.push(Assertion::of(syntax, AssertionStrength::Holds, &[node]));
            continue;
        }
        let parts: Vec<NodeId> = syntax.parts(node).collect();
        match syntax.kind(node) {
            "parenthesized_expression"
            | "await_expression"
            | "await"
            | "as_expression"
            | "non_null_expression"
            | "reference_expression" => match parts.first() {
                Some(inner) => open.push((*inner, negated, depth + 1)),
                None => found.push(Assertion::of(syntax, AssertionStrength::Holds, &[node])),
            },
            "not_operator" | "unary_expression" | "unary_operator"
                if syntax.text(node).starts_with(['!', 'n']) && parts.len() == 1 =>
            {
                open.extend(parts.first().map(|inner| (*inner, !negated, depth + 1)));
            }
            // A message in the place of the comma's second half makes it a pair, and a pair is true.
            "tuple" if parts.len() > 1 => found.push(Assertion::trivial(syntax, node)),
            "true" | "True" if !negated => found.push(Assertion::trivial(syntax, node)),
            "comparison_operator" | "binary_expression" | "boolean_operator" | "instanceof_expression" => {
                let operator = operator(syntax, node);
                match (operator.as_str(), negated) {
                    ("and" | "&&", false) | ("or" | "||", true) => {
                        open.extend(parts.iter().rev().map(|part| (*part, negated, depth + 1)));
                    }
                    ("or" | "||", false) if parts.iter().any(|part| is_true(syntax, *part)) => {
                        found.push(Assertion::trivial(syntax, node));
                    }
                    _ => found.push(comparison(syntax, &operator, &parts, negated)),
                }
            }
            kind if is_call(kind) => found.push(predicate(syntax, node, negated)),
            _ if syntax.is_literal(node) => found.push(Assertion::trivial(syntax, node)),
            _ => found.push(truth(syntax, node, negated)),
        }
    }
    found
}

fn is_true(syntax: &Syntax<'_>, node: NodeId) -> bool {
    matches!(syntax.text(node), "True" | "true" | "1")
}

fn is_false(syntax: &Syntax<'_>, node: NodeId) -> bool {
    matches!(syntax.text(node), "False" | "false")
}

fn is_nothing(syntax: &Syntax<'_>, node: NodeId) -> bool {
    matches!(syntax.text(node), "None" | "null" | "undefined" | "nil")
}

fn truth(syntax: &Syntax<'_>, node: NodeId, negated: bool) -> Assertion {
    let mut claim = Assertion::of(syntax, AssertionStrength::Holds, &[node]);
    if negated {
        claim.operands.push("not".to_owned());
    }
    claim
}

/// The words between the two sides.
fn operator(syntax: &Syntax<'_>, node: NodeId) -> String {
    let words: Vec<&str> = syntax
        .children(node)
        .filter(|child| !syntax.is_part(*child))
        .map(|child| syntax.text(child).trim())
        .filter(|text| !text.starts_with("//") && !text.starts_with('#') && !text.starts_with("/*"))
        .collect();
    words.join(" ")
}

fn comparison(syntax: &Syntax<'_>, operator: &str, parts: &[NodeId], negated: bool) -> Assertion {
    let says_same = matches!(operator, "==" | "===" | "is") || operator.split(' ').all(|word| word == "==");
    let says_other = matches!(operator, "!=" | "!==" | "is not" | "<>");
    let is_same = (says_same && !negated) || (says_other && negated);
    let is_other = (says_other && !negated) || (says_same && negated);
    let side = |test: fn(&Syntax<'_>, NodeId) -> bool| {
        let at = parts.iter().position(|part| test(syntax, *part))?;
        parts.iter().enumerate().find(|(other, _)| *other != at).map(|(_, part)| *part)
    };
    if is_same || is_other {
        if let Some(value) = side(|syntax, part| matches!(syntax.text(part), "True" | "true")) {
            return truth(syntax, value, is_other);
        }
        if let Some(value) = side(is_false) {
            return truth(syntax, value, is_same);
        }
        if let Some(value) = side(is_nothing).filter(|_| is_other) {
            return Assertion::of(syntax, AssertionStrength::Exists, &[value]);
        }
    }
    if is_same {
        let near = parts.iter().enumerate().find_map(|(at, part)| Some((at, approximate(syntax, *part)?)));
        if let Some((at, value)) = near {
            let other = parts.iter().enumerate().find(|(other, _)| *other != at).map(|(_, part)| *part);
            let nodes: Vec<NodeId> = other.into_iter().chain([value]).collect();
            return Assertion::of(syntax, AssertionStrength::Near, &nodes);
        }
        return Assertion::of(syntax, AssertionStrength::Equal, parts);
    }
    if matches!(operator, "<" | "<=" | ">" | ">=")
        && let Some(near) = distance(syntax, parts)
    {
        return near;
    }
    // A length is never below nothing.
    let is_length = |part: &NodeId| {
        let text = syntax.canonical(*part);
        text.starts_with("len (") || text.ends_with(". length") || text.ends_with(". len ( )")
    };
    if operator == ">="
        && parts.first().is_some_and(is_length)
        && parts.get(1).is_some_and(|part| syntax.text(*part) == "0")
    {
        return Assertion::of(syntax, AssertionStrength::Trivial, parts);
    }
    let mut claim = Assertion::of(syntax, AssertionStrength::Holds, parts);
    claim.operands.push(if negated { format!("not {operator}") } else { operator.to_owned() });
    claim
}

/// `pytest.approx(value, abs=…)`.
fn approximate(syntax: &Syntax<'_>, node: NodeId) -> Option<NodeId> {
    let links = chain(syntax, node);
    let last = links.last().filter(|link| link.name == "approx")?;
    arguments(syntax, last.arguments?).first().copied()
}

/// `abs(a - b) < tolerance`, in every language's way.
fn distance(syntax: &Syntax<'_>, parts: &[NodeId]) -> Option<Assertion> {
    let absolute = |node: &NodeId| {
        let text = syntax.canonical(*node);
        let is_absolute = text.starts_with("abs (")
            || text.starts_with("Math . abs (")
            || text.starts_with("math . Abs (")
            || text.ends_with(". abs ( )");
        is_absolute.then(|| {
            let minus = syntax.all(*node).find(|inner| {
                syntax.kind(*inner).starts_with("binary") && syntax.text(*inner).contains('-')
            })?;
            Some(syntax.parts(minus).collect::<Vec<_>>())
        })?
    };
    let operands = parts.iter().find_map(absolute).filter(|_| parts.len() > 1)?;
    Some(Assertion::of(syntax, AssertionStrength::Near, &operands))
}

/// A call that answers yes or no.
fn predicate(syntax: &Syntax<'_>, node: NodeId, negated: bool) -> Assertion {
    let links = chain(syntax, node);
    let name = links.last().map_or("", |link| link.name);
    let list = links.last().and_then(|link| link.arguments);
    let given = list.map(|list| arguments(syntax, list)).unwrap_or_default();
    match name {
        "DeepEqual" | "Equal" | "equals" | "isDeepStrictEqual" if !negated && !given.is_empty() => {
            Assertion::of(syntax, AssertionStrength::Equal, &given)
        }
        "isclose" | "allclose" if !negated => {
            Assertion::of(syntax, AssertionStrength::Near, given.get(..2).unwrap_or(&given))
        }
        // Nothing is a value like others.
        "is_empty" | "isEmpty" | "is_none" if !negated => {
            let mut claim = Assertion::of(syntax, AssertionStrength::Equal, &[node]);
            claim.operands.push("nothing".to_owned());
            claim
        }
        "is_some" | "is_ok" | "hasattr" | "callable" | "isPresent" if !negated => {
            Assertion::of(syntax, AssertionStrength::Exists, &[node])
        }
        _ => truth(syntax, node, negated),
    }
}

/// Whether this is a number as it is written in any of the languages.
fn is_number(text: &str) -> bool {
    let text = text.replace('_', "");
    let text = text.trim_end_matches(['f', 'F', 'd', 'D', 'L', 'n']);
    text.strip_suffix("f32").or_else(|| text.strip_suffix("f64")).unwrap_or(text).parse::<f64>().is_ok()
}

/// What a matcher or an assertion function of this name says about its arguments. None: it is not known as one.
///
/// `subject` is what a fluent chain began with.
pub(super) fn matcher(
    syntax: &Syntax<'_>,
    name: &str,
    subject: Option<NodeId>,
    list: Option<NodeId>,
    negated: bool,
) -> Option<Vec<Assertion>> {
    let given = list.map(|list| arguments(syntax, list)).unwrap_or_default();
    let all: Vec<NodeId> = subject.into_iter().chain(given.iter().copied()).collect();
    let two: Vec<NodeId> = all.iter().take(2).copied().collect();
    let one: Vec<NodeId> = all.iter().take(1).copied().collect();
    let plain = plain(name);
    let known = |relation: AssertionStrength, nodes: &[NodeId]| {
        let relation = if negated { relation.min(AssertionStrength::Holds) } else { relation };
        let mut claim = Assertion::of(syntax, relation, nodes);
        if relation == AssertionStrength::Holds || relation == AssertionStrength::Exists {
            claim.operands.push(format!("{}{plain}", if negated { "not " } else { "" }));
        }
        claim
    };
    Some(vec![match plain.as_str() {
        "equal" | "equals" | "eq" | "eql" | "is" | "same" | "strictequal" | "deepequal"
        | "deepstrictequal" | "tobe" | "toequal" | "tostrictequal" | "listequal" | "dictequal"
        | "tupleequal" | "setequal" | "countequal" | "multilineequal" | "sequenceequal" | "isequalto"
        | "arrayequals" | "arrayequal" | "iterableequals" | "linesmatch" | "equalvalues" | "jsoneq"
        | "exactly" | "elementsmatch" | "containsexactly" | "issameas" | "deep" | "notstrictequal"
        | "notequal" | "notequals" | "notdeepequal" | "notdeepstrictequal" | "ne" | "isnotequalto"
        | "isnot" | "notsame" => {
            let is_other = plain.starts_with("not") || plain.starts_with("isnot") || plain == "ne";
            // JUnit's third argument is how far apart two numbers may be.
            let is_near = all.get(2).is_some_and(|third| is_number(syntax.text(*third)));
            if is_other != negated {
                known(AssertionStrength::Holds, &two)
            } else if is_near {
                Assertion::of(syntax, AssertionStrength::Near, &two)
            } else {
                comparison(syntax, "==", &two, false)
            }
        }
        "tohavebeencalledwith"
        | "calledwith"
        | "calledoncewith"
        | "tohavebeenlastcalledwith"
        | "hascalls" => known(AssertionStrength::Equal, &all),
        "tomatchsnapshot"
        | "tomatchinlinesnapshot"
        | "snapshot"
        | "debugsnapshot"
        | "jsonsnapshot"
        | "yamlsnapshot"
        | "displaysnapshot"
        | "tothrowerrormatchingsnapshot" => {
            Assertion { literals: Vec::new(), ..known(AssertionStrength::Equal, &one) }
        }
        "tobenull" | "tobeundefined" | "null" | "isnull" | "isnone" | "nil" | "undefined" => {
            if negated {
                known(AssertionStrength::Exists, &one)
            } else {
                nothing(syntax, &one)
            }
        }
        "almostequal" | "tobecloseto" | "closeto" | "approximately" | "indelta" | "inepsilon"
        | "allclose" | "isclose" | "iscloseto" | "almostequals" | "approxequal" | "relativeeq" | "abs"
        | "ulps" => known(AssertionStrength::Near, &two),
        "" | "true" | "ok" | "istrue" | "tobetruthy" | "that" | "truthy" => match one.first() {
            Some(node) => return Some(claims(syntax, *node, negated)),
            None => return None,
        },
        "false" | "isfalse" | "tobefalsy" | "notok" | "falsy" => match one.first() {
            Some(node) => return Some(claims(syntax, *node, !negated)),
            None => return None,
        },
        "isnotnone" | "notnull" | "isnotnull" | "notnil" | "tobedefined" | "exist" | "exists"
        | "isdefined" | "ispresent" | "defined" | "isnotempty" | "notempty" => {
            known(AssertionStrength::Exists, &one)
        }
        "raises" | "throws" | "tothrow" | "tothrowerror" | "rejects" | "panics" | "raisesregex"
        | "throwsasync" | "throwsexactly" | "warns" | "throw" | "rejectswith" | "isthrownby" => {
            let named: Vec<NodeId> = if subject.is_some() { given.clone() } else { kinds(syntax, &given) };
            let broad = named.iter().all(|node| {
                matches!(syntax.text(*node), "Exception" | "BaseException" | "Error" | "Throwable")
            });
            let relation = if broad { AssertionStrength::RaisesAny } else { AssertionStrength::Raises };
            let with = list.map(|list| keywords(syntax, list)).unwrap_or_default();
            let mut claim = Assertion::of(syntax, relation, &named);
            claim.literals.extend(with.into_iter().flat_map(|(_, value)| syntax.literals(value)));
            if negated { known(AssertionStrength::Holds, &one) } else { claim }
        }
        "all" | "plan" | "assertions" | "hasassertions" | "soft" | "collect" => return None,
        _ => known(AssertionStrength::Holds, &all),
    }])
}

/// Of what `throws` is given, all but the code that should throw.
fn kinds(syntax: &Syntax<'_>, given: &[NodeId]) -> Vec<NodeId> {
    given.iter().copied().filter(|node| !super::syntax::is_function(syntax.kind(*node))).collect()
}

fn nothing(syntax: &Syntax<'_>, one: &[NodeId]) -> Assertion {
    let mut claim = Assertion::of(syntax, AssertionStrength::Equal, one);
    claim.operands.push("None".to_owned());
    claim.operands.sort();
    claim
}

/// Assertions that unittest and JUnit bring along. What else is called so is a helper of the tests.
const OF_FRAMEWORKS: &[&str] = &[
    "true",
    "false",
    "equal",
    "equals",
    "notequal",
    "notequals",
    "is",
    "isnot",
    "isnone",
    "isnotnone",
    "null",
    "notnull",
    "in",
    "notin",
    "isinstance",
    "notisinstance",
    "isinstanceof",
    "instanceof",
    "greater",
    "greaterequal",
    "less",
    "lessequal",
    "almostequal",
    "notalmostequal",
    "regex",
    "notregex",
    "regexpmatches",
    "countequal",
    "listequal",
    "dictequal",
    "tupleequal",
    "setequal",
    "sequenceequal",
    "multilineequal",
    "raises",
    "raisesregex",
    "warns",
    "warnsregex",
    "logs",
    "nologs",
    "dictcontainssubset",
    "throws",
    "throwsexactly",
    "doesnotthrow",
    "same",
    "notsame",
    "arrayequals",
    "iterableequals",
    "linesmatch",
    "timeout",
    "timeoutpreemptively",
    "all",
    "that",
    "startswith",
    "endswith",
    "hasattr",
    "nothasattr",
];

/// Whether a test framework has an assertion of this name.
pub(super) fn is_of_framework(name: &str) -> bool {
    OF_FRAMEWORKS.contains(&plain(name).as_str())
}

/// A name without case, underscores and what every assertion begins with.
pub(super) fn plain(name: &str) -> String {
    let flat: String = name.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect();
    flat.strip_prefix("assert").map(String::from).unwrap_or(flat)
}
