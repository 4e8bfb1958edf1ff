"""Constraints on what may be tried: linear ones over numbers, and forbidden combinations.

A constraint is a value with a text form, which `parse_constraints` reads:

    A + B + C == 1
    2*x + y <= 10
    0.2 <= A + B <= 0.5
    not (solvent == 'DMF' and temperature > 60)
    solvent != 'DMF' or temperature <= 60

A name that is no word of letters, digits and underscores, such as Temp (C), is read as it stands
where the names are known: of two names the longer is meant. Between backticks any name is read:
`bath temperature` <= 60. So it is written.
"""

from __future__ import annotations

import ast
import keyword
import operator
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

from kernelbandits import checks
from kernelbandits.domains.values import as_plain, check_values, is_same_value

OPPOSITE = {"<=": ">", ">": "<=", ">=": "<", "<": ">=", "==": "!=", "!=": "=="}
"""What holds where a comparison does not."""
MIRRORED = {"<=": ">=", ">=": "<=", "<": ">", ">": "<", "==": "==", "!=": "!="}
"""The comparison with both sides exchanged."""
RELATIONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "==": operator.eq,
    "!=": operator.ne,
}
HINT = (
    "a text such as 'A + B + C == 1', '2*x + y <= 10' or "
    "\"not (solvent == 'DMF' and temperature > 60)\""
)
"""What a constraint looks like, as an error says it."""
AT_MOST = "at_most"
"""How a text begins that says how many numbers may be above 0."""
LONGEST_TEXT = 2000
"""A longer text is certainly no constraint, and could exhaust the parser."""


@dataclass(frozen=True)
class Comparison:
    """A sum of numbers times variables compared with a number, for instance temperature > 60."""

    coefficients: Any
    """Name -> factor; kept as a tuple of pairs."""
    relation: str
    """One of <=, >=, <, >, ==, !=."""
    bound: float
    """The number on the right."""

    def __post_init__(self) -> None:
        owner, given = type(self).__name__, self.coefficients
        pairs = given.items() if isinstance(given, Mapping) else given
        checks.needs(
            isinstance(given, (Mapping, tuple, list)), owner, "a mapping name -> factor", given
        )
        read = []
        for pair in pairs:
            good = isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str)
            checks.needs(good, owner, "pairs (name, factor)", pair)
            read.append((pair[0], checks.number(owner, f"as factor of {pair[0]!r}", pair[1])))
        kept = tuple((name, factor) for name, factor in read if factor != 0)
        checks.needs(len(kept) > 0, owner, "a variable with a factor other than 0", given)
        once = len({name for name, _ in kept}) == len(kept)
        checks.needs(once, owner, "each variable once", given)
        object.__setattr__(self, "coefficients", kept)
        checks.one_of(owner, "relation", self.relation, self.allowed_relations())
        object.__setattr__(self, "bound", checks.number(owner, "bound", self.bound) + 0.0)

    @classmethod
    def allowed_relations(cls) -> tuple[str, ...]:
        """Return the relations that it may have."""
        return tuple(OPPOSITE)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.coefficients)

    def negate(self) -> Comparison:
        """Return the comparison that holds where this one does not."""
        return Comparison(self.coefficients, OPPOSITE[self.relation], self.bound)

    def __str__(self) -> str:
        terms = ""
        for name, factor in self.coefficients:
            sign = (" - " if factor < 0 else " + ") if terms else ("-" if factor < 0 else "")
            size = "" if abs(factor) == 1 else f"{write_number(abs(factor))}*"
            terms += f"{sign}{size}{write_name(name)}"
        return f"{terms} {self.relation} {write_number(self.bound)}"


@dataclass(frozen=True)
class LinearConstraint(Comparison):
    """A linear constraint that every point must satisfy.

    >>> from kernelbandits.domains import LinearConstraint
    >>> print(LinearConstraint({"A": 1, "B": 1, "C": 1}, "==", 1))
    A + B + C == 1
    """

    @classmethod
    def allowed_relations(cls) -> tuple[str, ...]:
        return ("<=", ">=", "==")


@dataclass(frozen=True)
class OneOf:
    """A choice that has one of some values, or with `excluded` none of them."""

    name: str
    values: tuple[Any, ...]
    excluded: bool = False

    def __post_init__(self) -> None:
        checks.needs(isinstance(self.name, str), "OneOf", "the name of a variable", self.name)
        object.__setattr__(self, "values", check_values("OneOf", self.values))

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def negate(self) -> OneOf:
        """Return the condition that holds where this one does not."""
        return OneOf(self.name, self.values, not self.excluded)

    def holds(self, value: Any) -> bool:
        """Tell whether the condition holds for a value of the variable."""
        return any(is_same_value(known, value) for known in self.values) != self.excluded

    def __str__(self) -> str:
        name = write_name(self.name)
        if len(self.values) == 1:
            return f"{name} {'!=' if self.excluded else '=='} {self.values[0]!r}"
        listed = ", ".join(map(repr, self.values))
        return f"{name} {'not in' if self.excluded else 'in'} ({listed})"


Condition = Comparison | OneOf


@dataclass(frozen=True)
class Forbidden:
    """A combination that must not be tried: points at which all conditions hold.

    The conditions are given by variable: a value, a list of values of which any counts, or a
    comparison of a number as text.

    >>> from kernelbandits.domains import Forbidden
    >>> print(Forbidden({"solvent": ["DMF", "DMSO"], "temperature": "> 60"}))
    not (solvent in ('DMF', 'DMSO') and temperature > 60)
    """

    conditions: Any
    """Name -> value, values or comparison; kept as a tuple of conditions."""

    def __post_init__(self) -> None:
        given = self.conditions
        if isinstance(given, Mapping):
            read = tuple(read_condition(name, value) for name, value in given.items())
        else:
            listed = isinstance(given, Sequence) and all(
                isinstance(one, (Comparison, OneOf)) for one in given
            )
            checks.needs(listed, "Forbidden", "a mapping name -> value", given)
            read = tuple(given)
        checks.needs(len(read) > 0, "Forbidden", "at least one condition", given)
        object.__setattr__(self, "conditions", read)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for condition in self.conditions for name in condition.names)

    def __str__(self) -> str:
        return f"not ({' and '.join(map(str, self.conditions))})"


@dataclass(frozen=True)
class AtMost:
    """At most so many of some numbers, whose ranges begin at 0, are above 0.

    >>> from kernelbandits.domains import AtMost
    >>> print(AtMost(2, ("A", "B", "C")))
    at_most(2, A, B, C)
    """

    count: int
    """How many may be above 0."""
    names: tuple[str, ...]
    """The names of the numbers."""

    def __post_init__(self) -> None:
        given = self.names
        listed = isinstance(given, (tuple, list)) and all(isinstance(one, str) for one in given)
        checks.needs(listed and len({*given}) == len(given), "at_most", "different names", given)
        object.__setattr__(self, "names", tuple(given))
        checks.whole("at_most", "count", self.count)
        fewer = f"fewer than the {len(given)} that are named"
        checks.needs(self.count < len(given), "at_most", fewer, self.count)

    def hold(self, zeros: Collection[str]) -> AtMost | None:
        """Return what is left of it where some numbers are 0; None if it always holds."""
        left = tuple(name for name in self.names if name not in zeros)
        return None if len(left) <= self.count else AtMost(self.count, left)

    def __str__(self) -> str:
        return f"{AT_MOST}({self.count}, {', '.join(map(write_name, self.names))})"


Constraint = LinearConstraint | Forbidden | AtMost


def read_condition(name: Any, value: Any) -> Condition:
    """Return the condition of one entry of a mapping of forbidden values."""
    checks.needs(isinstance(name, str), "Forbidden", "names of variables", name)
    if isinstance(value, (list, tuple)):
        return OneOf(name, tuple(value))
    compared = re.fullmatch(r"\s*(<=|>=|<|>|==)\s*([-+.\w]+)\s*", str(value))
    if isinstance(value, str) and compared:
        try:
            return Comparison({name: 1.0}, compared[1], float(compared[2]))
        except ValueError:
            return OneOf(name, (value,))
    plain = as_plain(value)
    if checks.is_number(plain):
        return Comparison({name: 1.0}, "==", plain)
    return OneOf(name, (plain,))


def as_constraints(owner: str, given: Any, names: Sequence[str] = ()) -> tuple[Constraint, ...]:
    """Return constraints given as text, as values, or as mappings of forbidden values.

    `names` are those of the variables, which texts may name.
    """
    if isinstance(given, (str, Mapping, Constraint)):
        given = (given,)
    listed = isinstance(given, Sequence)
    checks.needs(listed, owner, "a list of constraints", given)
    read: list[Constraint] = []
    for one in given:
        if isinstance(one, Constraint):
            read.append(one)
        elif isinstance(one, Mapping):
            read.append(Forbidden(one))
        elif isinstance(one, str):
            read.extend(parse_constraints(one, names))
        else:
            needed = "constraints such as 'A + B + C == 1' or a dict of forbidden values"
            checks.needs(False, owner, needed, one)
    return tuple(dict.fromkeys(read))


def as_condition_text(owner: str, given: Any) -> str | None:
    """Return when a variable is there as a text; names are checked where they are known.

    >>> as_condition_text("Real", {"kernel": ["rbf", "poly"], "layers": ">= 2"})
    "kernel in ('rbf', 'poly') and layers >= 2"
    """
    if isinstance(given, Mapping):
        return " and ".join(map(str, Forbidden(given).conditions))
    needed = "when as a text such as \"kernel == 'rbf'\", or a dict {'kernel': 'rbf'}"
    written = given is None or (isinstance(given, str) and given.strip() != "")
    checks.needs(written, owner, needed, given)
    return None if given is None else given.strip()


def parse_conditions(text: str, names: Sequence[str] = ()) -> tuple[Condition, ...]:
    """Read the conditions that one text joins by `and`.

    >>> [str(one) for one in parse_conditions("kernel in ('rbf', 'poly') and 2 <= layers")]
    ["kernel in ('rbf', 'poly')", 'layers >= 2']
    """
    hint = "a text such as \"kernel == 'rbf'\" or 'layers >= 2 and cups in (1, 2)'"
    parser = ConstraintParser(text, names, "a condition", hint)
    return tuple(parser.conditions(parser.tree))


def parse_constraints(text: str, names: Sequence[str] = ()) -> tuple[Constraint, ...]:
    """Read the constraints of one text; 0 <= x + y <= 1 is two of them.

    Of the names that are given, those with blanks or signs may stand in the text as they are.

    >>> from kernelbandits.domains import parse_constraints
    >>> [str(one) for one in parse_constraints("0.2 <= A + B <= 2*C")]
    ['A + B >= 0.2', 'A + B - 2*C <= 0']
    >>> str(parse_constraints("not (solvent == 'DMF' and temperature > 60)")[0])
    "not (solvent == 'DMF' and temperature > 60)"
    >>> str(parse_constraints("Temp (C) + 2*time (h) <= 100", ["Temp", "Temp (C)", "time (h)"])[0])
    '`Temp (C)` + 2*`time (h)` <= 100'
    """
    parser = ConstraintParser(text, names)
    try:
        return tuple(parser.constraints(parser.tree))
    except RecursionError:
        raise ValueError(f"a constraint needs a short sum, got {text[:40]!r}...") from None


class ConstraintParser:
    """The text of a constraint as a tree of Python's parser, of which few nodes are accepted.

    Nothing is evaluated: names are names of variables, numbers are numbers.
    """

    def __init__(
        self, text: str, names: Sequence[str] = (), owner: str = "a constraint", hint: str = HINT
    ) -> None:
        checks.needs(len(text) <= LONGEST_TEXT, owner, "a short text", f"{text[:40]!r}...")
        self.text, self.owner, self.hint = text.strip(), owner, hint
        self.names = [name for name in names if isinstance(name, str) and stands_bare(name)]
        self.quoted: dict[str, str] = {}
        """Placeholder -> the name between backticks that it stands for."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.tree: ast.expr = ast.parse(self._in_python(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            self.refuse(self.text)

    def refuse(self, got: str, needed: str = "") -> NoReturn:
        """Raise an error that quotes the text."""
        where = "" if got == self.text else f" in {self.text!r}"
        raise ValueError(f"{self.owner} needs {needed or self.hint}, got {got!r}{where}")

    def _in_python(self) -> str:
        """Return the text with backticks, a single = and the signs ≤ ≥ replaced."""

        def replace(match: re.Match[str]) -> str:
            found, name = match[0], match["name"]
            if name or found.startswith("`"):
                placeholder = f"_quoted_{len(self.quoted)}_"
                self.quoted[placeholder] = known[" ".join(name.split())] if name else found[1:-1]
                return placeholder
            return {"=": "==", "≤": "<=", "≥": ">="}.get(found, found)

        known = {" ".join(name.split()): name for name in self.names}
        longest = sorted(known, key=len, reverse=True)
        bare = "|".join(name_pattern(name) for name in longest) or "(?!)"
        other = r"'[^']*'|\"[^\"]*\"|`[^`]+`|[<>=!]=|[=≤≥]"
        # A word is taken as a whole, so that no name begins within it.
        return re.sub(rf"(?P<name>{bare})|{other}|\w+", replace, self.text)

    def quote(self, node: ast.AST) -> str:
        """Return the part of the text that a node stands for."""
        shown = ast.unparse(node)
        for placeholder, name in self.quoted.items():
            shown = shown.replace(placeholder, f"`{name}`")
        return shown

    def constraints(self, node: ast.expr) -> Iterator[Constraint]:
        """Yield the constraints that a node states."""
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            for part in node.values:
                yield from self.constraints(part)
        elif isinstance(node, ast.Call):
            yield self.at_most(node)
        elif isinstance(node, ast.BoolOp):
            conditions = [self.single_condition(part).negate() for part in node.values]
            yield Forbidden(tuple(conditions))
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = node.operand
            either = isinstance(inner, ast.BoolOp) and isinstance(inner.op, ast.Or)
            for part in inner.values if either else [inner]:  # type: ignore[attr-defined]
                yield Forbidden(tuple(self.conditions(part)))
        else:
            for condition in self.comparisons(node):
                yield self.as_constraint(condition, node)

    def at_most(self, node: ast.Call) -> AtMost:
        """Return how many numbers may be above 0: at_most(2, A, B, C)."""
        first, *others = node.args or [node]
        called = isinstance(node.func, ast.Name) and node.func.id == AT_MOST and not node.keywords
        count = first.value if isinstance(first, ast.Constant) else None
        names = [
            self.name(one) if isinstance(one, ast.Name) else getattr(one, "value", None)
            for one in others
        ]
        if not called or not checks.is_whole(count) or not all(isinstance(n, str) for n in names):
            self.refuse(self.quote(node), "at_most(2, A, B, C): how many of which numbers")
        assert isinstance(count, int)
        return AtMost(count, tuple(str(name) for name in names))

    def as_constraint(self, condition: Condition, node: ast.expr) -> Constraint:
        """Return a condition that must hold as a constraint."""
        if isinstance(condition, OneOf):
            return Forbidden((condition.negate(),))
        if condition.relation not in LinearConstraint.allowed_relations():
            self.refuse(self.quote(node), "<=, >= or == between numbers")
        return LinearConstraint(condition.coefficients, condition.relation, condition.bound)

    def single_condition(self, node: ast.expr) -> Condition:
        """Return the one condition of a node."""
        found = list(self.comparisons(node))
        if len(found) != 1:
            self.refuse(self.quote(node), "single comparisons beside 'or'")
        return found[0]

    def conditions(self, node: ast.expr) -> Iterator[Condition]:
        """Yield the conditions that a node joins by and."""
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            for part in node.values:
                yield from self.conditions(part)
        else:
            yield from self.comparisons(node)

    def comparisons(self, node: ast.expr) -> Iterator[Condition]:
        """Yield the comparisons of a node: two for 0 <= x <= 1."""
        if not isinstance(node, ast.Compare):
            self.refuse(self.quote(node), "a comparison such as x <= 1")
        assert isinstance(node, ast.Compare)
        left = node.left
        for relation, right in zip(node.ops, node.comparators, strict=True):
            yield self.comparison(left, relation, right)
            left = right

    def comparison(self, left: ast.expr, relation: ast.cmpop, right: ast.expr) -> Condition:
        """Return one comparison, with all variables on the left."""
        if isinstance(relation, (ast.In, ast.NotIn)):
            needed = "a variable and a list of values beside 'in'"
            if not isinstance(left, ast.Name):
                self.refuse(self.quote(left), needed)
            if not isinstance(right, (ast.Tuple, ast.List, ast.Set)):
                self.refuse(self.quote(left), needed)
            values = tuple(self.constant(value) for value in right.elts)
            return OneOf(self.name(left), values, isinstance(relation, ast.NotIn))
        sign = {
            ast.LtE: "<=",
            ast.GtE: ">=",
            ast.Lt: "<",
            ast.Gt: ">",
            ast.Eq: "==",
            ast.NotEq: "!=",
        }.get(type(relation), "")
        if not sign:
            self.refuse(self.text)
        for one, other in ((left, right), (right, left)):
            if isinstance(one, ast.Name) and is_choice(other):
                if sign not in ("==", "!="):
                    self.refuse(self.quote(other), "== or != beside text, True, False and None")
                return OneOf(self.name(one), (self.constant(other),), sign == "!=")
        difference = self.linear(left)
        for name, factor in self.linear(right).items():
            difference[name] = difference.get(name, Fraction(0)) - factor
        constant = difference.pop("", Fraction(0))
        named = {name: float(factor) for name, factor in difference.items() if factor}
        if not named:
            self.refuse(self.text, "a variable")
        if all(factor < 0 for factor in named.values()) and isinstance(left, ast.Constant):
            # 60 >= x was written with the number first: x <= 60.
            named = {name: -factor for name, factor in named.items()}
            sign, constant = MIRRORED[sign], -constant
        return Comparison(named, sign, -float(constant))

    def linear(self, node: ast.expr) -> dict[str, Fraction]:
        """Return the factor of each variable in a sum; that of the empty name is the number."""
        if isinstance(node, ast.Name):
            return {self.name(node): Fraction(1)}
        if isinstance(node, ast.Constant) and not is_choice(node):
            return {"": self.fraction(node)}
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            sign = -1 if isinstance(node.op, ast.USub) else 1
            return {name: sign * factor for name, factor in self.linear(node.operand).items()}
        if isinstance(node, ast.BinOp):
            left, right = self.linear(node.left), self.linear(node.right)
            if isinstance(node.op, (ast.Add, ast.Sub)):
                sign = 1 if isinstance(node.op, ast.Add) else -1
                for name, factor in right.items():
                    left[name] = left.get(name, Fraction(0)) + sign * factor
                return left
            if isinstance(node.op, ast.Mult) and left.keys() == {""}:
                left, right = right, left
            number = right.get("", Fraction(0)) if right.keys() == {""} else None
            if isinstance(node.op, ast.Mult) and number is not None:
                return {name: factor * number for name, factor in left.items()}
            if isinstance(node.op, ast.Div) and number:
                return {name: factor / number for name, factor in left.items()}
        refused: dict[str, Fraction] = self.refuse(
            self.quote(node), "sums of numbers times variables"
        )
        return refused

    def fraction(self, node: ast.Constant) -> Fraction:
        """Return a number exactly as it is written in decimals."""
        if not checks.is_number(node.value):
            self.refuse(self.quote(node), "finite numbers")
        return Fraction(str(node.value))

    def name(self, node: ast.Name) -> str:
        return self.quoted.get(node.id, node.id)

    def constant(self, node: ast.expr) -> Any:
        """Return a value: text, a number, a truth value or None."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            value = self.constant(node.operand)
            return -value if checks.is_number(value) else self.refuse(self.quote(node))
        if not isinstance(node, ast.Constant):
            self.refuse(self.quote(node), "values: text between quotes, numbers, True, False, None")
        assert isinstance(node, ast.Constant)
        return node.value


def stands_bare(name: str) -> bool:
    """Tell whether a name that is no single word may stand in a constraint without backticks.

    >>> stands_bare("Temp (C)"), stands_bare("x"), stands_bare("2.5"), stands_bare("<=")
    (True, False, False, False)
    """
    return not name.isidentifier() and re.search(r"[^\W\d_]", name) is not None


def name_pattern(name: str) -> str:
    """Return the pattern of a name in a text; no letter or digit continues it."""
    words = r"\s+".join(re.escape(word) for word in name.split())
    return words + (r"(?!\w)" if name[-1].isalnum() or name[-1] == "_" else "")


def is_choice(node: ast.expr) -> bool:
    """Tell whether a node is text, a truth value or None."""
    return isinstance(node, ast.Constant) and (
        node.value is None or isinstance(node.value, (str, bool))
    )


def write_name(name: str) -> str:
    """Return a name as a constraint writes it."""
    plain = name.isidentifier() and not keyword.iskeyword(name)
    return name if plain else f"`{name}`"


def write_number(number: float) -> str:
    """Return a number in the fewest digits that give it back: 1, 0.5, 1e-05."""
    whole = float(number).is_integer() and abs(number) < 1e15
    return str(int(number)) if whole else repr(float(number))
