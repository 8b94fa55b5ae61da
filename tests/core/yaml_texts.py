"""YAML as people write it, drawn from a number: indents, quotes, comments, blocks, anchors, line ends of every kind."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

_PLAIN = (
    "yes",
    "0644",
    "0o644",
    "1e3",
    "~",
    "",
    "v4.3.0",
    "3.4.0",
    "12:30:45",
    "2024-01-01",
    "a b",
    "x#y",
    "1.0",
    "No",
)
_QUOTED = ("'yes'", '"0644"', "'it''s'", '"a\\nb"', '"é # no comment"', "''")
_KEYS = ("a", "b", "spec", "version", '"q"', "x.y/z", "long-key", "'k'")


class Writer:
    """One file."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.step = self.random.choice([2, 2, 4, 3])
        self.flush = self.random.random() < 0.3
        """Whether items of a list stand as deep as its key."""
        self.comments = 0
        self.anchors: list[str] = []

    def file(self) -> str:
        documents = [self.document() for _ in range(self.random.choice([1, 1, 2, 3]))]
        head = "---\n" if self.random.random() < 0.2 else ""
        separator = self.random.choice(["---\n", "---   # between\n", "--- \n"])
        text = head + separator.join(documents)
        if self.random.random() < 0.15:
            text = text.replace("\n", "\r\n")
        if self.random.random() < 0.1:
            text = "\ufeff" + text
        return text if self.random.random() < 0.8 else text.rstrip("\r\n")

    def document(self) -> str:
        self.anchors = []
        lines = [*self.noise(0), *self.mapping(0, 0), *self.noise(0)]
        return "".join(f"{line}\n" for line in lines)

    def noise(self, depth: int) -> Iterator[str]:
        for _ in range(self.random.choice([0, 0, 0, 1, 2])):
            yield self.random.choice(["", self.comment(depth), self.comment(depth)])

    def comment(self, depth: int) -> str:
        self.comments += 1
        odd = self.random.choice([0, 0, 0, 1, -1])
        return " " * max(0, depth + odd) + f"#{self.random.choice([' ', '', '# '])}note {self.comments}: x"

    def end(self) -> str:
        if self.random.random() > 0.25:
            return self.random.choice(["", "", "", "  "])
        self.comments += 1
        return f"{self.random.choice([' ', '   ', '  '])}# end {self.comments}"

    def mapping(self, depth: int, level: int, *, begins_with_a_key: bool = False) -> Iterator[str]:
        for number, key in enumerate(self.random.sample(_KEYS, self.random.randint(1, 4))):
            if number or not begins_with_a_key:
                yield from self.noise(depth)
            yield from self.entry(f"{' ' * depth}{key}:{self.random.choice(['', '', '  '])}", depth, level)

    def entry(self, head: str, depth: int, level: int) -> Iterator[str]:
        kind = self.random.randrange(10 if level < 4 else 5)
        match kind:
            case 0 | 1 | 2:
                yield f"{head} {self.scalar()}{self.end()}"
            case 3:
                yield f"{head} {self.flow()}{self.end()}"
            case 4:
                yield from self.block(head, depth)
            case 5 | 6 | 7:
                yield f"{head}{self.end()}"
                yield from self.mapping(depth + self.step, level + 1)
            case _:
                yield f"{head}{self.end()}"
                yield from self.sequence(depth + (0 if self.flush else self.step), level + 1)

    def sequence(self, depth: int, level: int) -> Iterator[str]:
        for _ in range(self.random.randint(1, 3)):
            yield from self.noise(depth)
            gap = self.random.choice([" ", " ", "   "])
            if self.random.random() < 0.5:
                yield f"{' ' * depth}-{gap}{self.scalar()}{self.end()}"
                continue
            first, *rest = self.mapping(depth + 1 + len(gap), level + 1, begins_with_a_key=True)
            yield f"{' ' * depth}-{gap}{first.lstrip(' ')}"
            yield from rest

    def scalar(self) -> str:
        if self.anchors and self.random.random() < 0.15:
            return f"*{self.random.choice(self.anchors)}"
        text = self.random.choice(_QUOTED if self.random.random() < 0.3 else _PLAIN)
        if text and self.random.random() < 0.1:
            name = f"n{len(self.anchors)}"
            self.anchors.append(name)
            return f"&{name} {text}"
        return text

    def flow(self) -> str:
        inner = [
            self.random.choice((*_QUOTED, "1", "v4.3.0", "on")) for _ in range(self.random.randint(0, 3))
        ]
        if self.random.random() < 0.5:
            return f"[{self.random.choice([', ', ',  ']).join(inner)}]"
        return "{" + ", ".join(f"f{number}: {value}" for number, value in enumerate(inner)) + "}"

    def block(self, head: str, depth: int) -> Iterator[str]:
        yield f"{head} {self.random.choice(['|', '|-', '|+', '>', '>-'])}"
        indent = " " * (depth + self.step)
        yield f"{indent}first"
        for line in self.random.sample(["text: x", "# no comment", "  deeper", "", "- a", "end"], 4):
            yield f"{indent}{line}" if line else ""
        yield f"{indent}last"
        yield from ("" for _ in range(self.random.choice([0, 0, 2])))


def drawn_text(seed: int) -> str:
    return Writer(seed).file()
