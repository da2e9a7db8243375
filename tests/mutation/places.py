# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Places of a C++ source that one small change makes wrong: found in the text alone, as clang-format leaves it, without a parser. A
change that does not compile is told from one that does by the build."""
import dataclasses
import hashlib
import re

# What is in none of a file's code: comments, texts, characters, the preprocessor's lines. Its place is kept, blank.
NO_CODE = re.compile(r"""//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'|^[ ]*\#(?:\\\n|[^\n])*""", re.S | re.M)
# Lines that tell of faults, or that only the compiler reads.
IDLE_LINE = re.compile(r"\b(?:assert|static_assert|llvm_unreachable|emitError|emitOpError|emitWarning|using|namespace|template|reserve)\b")

COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
ARITHMETIC = {"+": "-", "-": "+", "*": "+", "/": "*", "%": "/", "<<": ">>", ">>": "<<", "&": "|", "|": "&", "&&": "||", "||": "&&"}
RESULTS = {"return true;": "return false;", "return false;": "return true;", "return success();": "return failure();",
           "continue;": "break;", "break;": "continue;"}

OPERATOR = re.compile(r"(?<= )(<=|>=|==|!=|<<|>>|&&|\|\||[<>+\-*/%&|])(?= )")
NUMBER = re.compile(r"(?<![\w.<\"'])(\d+)(?![\w.'>])")
RESULT = re.compile("|".join(re.escape(text) for text in RESULTS))
IF = re.compile(r"\bif \(")
# A statement of one line that calls or assigns, and declares nothing.
STATEMENT = re.compile(r"^[ ]+([A-Za-z_][\w.\->\[\]]*(?:\(.*\)| [+\-*/|&^]?= [^=].*);)$", re.M)
SIMPLE = r"[A-Za-z_]\w*(?:(?:\.|->)\w+)*"
ARGUMENTS = re.compile(rf"\b({SIMPLE})\(({SIMPLE}), ({SIMPLE})\)")


@dataclasses.dataclass(frozen=True)
class Place:
    """A change of `old` at this offset of a file to `new`."""
    path: str
    offset: int
    line: int
    kind: str
    old: str
    new: str

    @property
    def key(self):
        return hashlib.sha1(repr((self.path, self.offset, self.kind, self.old, self.new)).encode()).hexdigest()[:10]

    def __str__(self):
        old, new = (" ".join(text.split()) for text in (self.old, self.new))
        return f"{self.path}:{self.line}: {self.kind}: `{old}` -> `{new}`"

    def applied(self, text):
        end = self.offset + len(self.old)
        if text[self.offset:end] != self.old:
            raise ValueError(f"{self.path}:{self.line} has `{text[self.offset:end]}` where `{self.old}` was")
        return text[:self.offset] + self.new + text[end:]


def code_of(text):
    """The text with blanks for all that is no code."""
    return NO_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def balanced(text):
    depth = 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if depth < 0:
            return False
    return depth == 0


def condition_at(code, begin):
    """The condition whose parenthesis opens before `begin`; None where it also declares."""
    depth, end = 1, begin
    while end < len(code) and depth:
        depth += (code[end] == "(") - (code[end] == ")")
        end += 1
    found = code[begin:end - 1]
    return None if ";" in found or re.search(r"[^=!<>]=[^=]", found) else (begin, end - 1)


def changes_of(text):
    """Offset, kind, old and new text of each change of a source."""
    code = code_of(text)
    for match in OPERATOR.finditer(code):
        operator = match[0]
        kind, table = ("comparison", COMPARISONS) if operator in COMPARISONS else ("operator", ARITHMETIC)
        yield match.start(), kind, operator, table[operator]
    for match in NUMBER.finditer(code):
        yield match.start(), "constant", match[0], str(int(match[0]) + 1)
        if int(match[0]) > 0:
            yield match.start(), "constant", match[0], str(int(match[0]) - 1)
    for match in RESULT.finditer(code):
        yield match.start(), "result", match[0], RESULTS[match[0]]
    for match in IF.finditer(code):
        span = condition_at(code, match.end())
        if span:
            condition = text[span[0]:span[1]]
            yield span[0], "condition", condition, f"!({condition})"
    for match in STATEMENT.finditer(code):
        before = code[:match.start()].rstrip()
        if before.endswith((";", "{", "}")) and balanced(match[1]):
            yield match.start(1), "statement", text[match.start(1):match.end(1)], ";"
    for match in ARGUMENTS.finditer(code):
        if match[2] != match[3]:
            yield match.start(2), "arguments", f"{match[2]}, {match[3]}", f"{match[3]}, {match[2]}"


def places_in(path, text):
    lines = text.splitlines()
    found = []
    for offset, kind, old, new in changes_of(text):
        line = text.count("\n", 0, offset) + 1
        if not IDLE_LINE.search(lines[line - 1]):
            found.append(Place(path, offset, line, kind, old, new))
    return found
