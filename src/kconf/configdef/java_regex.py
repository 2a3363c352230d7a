"""Whether a text is a regular expression to Java, told without Java.

The constructs that Java writes differently are replaced by a Python neighbour, and Python compiles the result. It is
never matched against anything: it only says yes or no.
"""

from __future__ import annotations

import re
import warnings

_ESCAPE = (
    r"(?s)\\(?:Q(?P<quoted>.*?)(?:\\E|\Z)"
    r"|(?P<set>[pP](?:\{\^?[A-Za-z][\w=\- ]*\}|[CLMNPSZ])|[hHvVRXGzZe]|c[@-_a-z]|0[0-7]{1,3}|x\{[0-9A-Fa-f]{1,6}\}"
    r"|N\{[^}]+\}|[dDsSwW])"
    r"|(?P<back>[1-9]|k<(?P<name>[A-Za-z][A-Za-z0-9]*)>)"
    r"|(?P<octal>0)"
    r"|.)"
)
_GROUP = r"\(\?(?:<(?P<name>[A-Za-z][A-Za-z0-9]*)>|(?P<behind><[=!])|[idmsuxU]*(?:-[idmsuxU]+)?(?P<scope>[:)])|(?P<python>[P(#]))"
_REPEAT = r"\{[0-9]+(?:,[0-9]*)?\}"


def is_java_regex(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(_neighbour(text))
    except (re.error, OverflowError, RecursionError, ValueError):
        return False
    return True


def _neighbour(text: str) -> str:
    """The pattern in Python's words; ValueError for what Python takes and Java does not."""
    out: list[str] = []
    at = 0
    while at < len(text):
        character = text[at]
        if character == "\\":
            found, at = _escape(text, at)
        elif character == "[":
            found, at = _set(text, at)
        elif character == "(" and (group := re.compile(_GROUP).match(text, at)):
            found, at = _group(group), group.end()
        elif character == "{":
            repeat = re.compile(_REPEAT).match(text, at)
            if repeat is None:
                raise ValueError("a brace that repeats nothing")
            found, at = repeat[0], repeat.end()
        elif character in "^$":
            found, at = f"(?:{character})", at + 1  # Java may repeat an anchor
        else:
            found, at = character, at + 1
        out.append(found)
    return "".join(out)


def _escape(text: str, at: int) -> tuple[str, int]:
    match = re.compile(_ESCAPE).match(text, at)
    if match is None:
        raise ValueError("a lone backslash at the end")
    if match["quoted"] is not None:
        return re.escape(match["quoted"]), match.end()
    if match["set"]:
        return r"\w", match.end()
    if match["name"]:
        return f"(?P={match['name']})", match.end()
    if match["back"]:
        return "(?:)", match.end()  # Java lets a number refer to no group
    if match["octal"]:
        raise ValueError("an octal escape without digits")
    return match[0], match.end()


def _group(match: re.Match[str]) -> str:
    if match["python"]:
        raise ValueError("a group that only Python knows")
    if match["name"]:
        return f"(?P<{match['name']}>"
    if match["behind"]:
        return "(?:"  # Java is less strict about what it can look back at
    return "(?:" if match["scope"] == ":" else ""  # flags change nothing about being valid


def _set(text: str, at: int) -> tuple[str, int]:
    """A set as one flat set: Java's may hold others, and intersections: [a-z&&[^aeiou]]."""
    out = ["["]
    depth, first = 0, False
    while at < len(text):
        character = text[at]
        if character == "[":
            depth, first, at = depth + 1, True, at + (2 if text.startswith("[^", at) else 1)
            continue
        if character == "]" and not first:
            depth, at = depth - 1, at + 1
            if depth == 0:
                return "".join([*out, "]"]), at
            continue
        first = False
        if character == "\\":
            found, at = _escape(text, at)
            out.append(found)
        elif text.startswith("&&", at):
            at += 2
        elif character == "-" and out[-1] == r"\w":
            out.append(r"\-")  # to Java a class ends no range
            at += 1
        else:
            out.append("\\]" if character == "]" else character)
            at += 1
    raise ValueError("a set that does not end")
