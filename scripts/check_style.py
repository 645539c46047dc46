"""Exit 0 if docs, help and docstrings keep to the rules of style; else print the passages that break them."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

#: The rule that a passage breaks, its part of the repository, its place, the passage.
Finding = tuple[str, str, str, str]
ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ("hakoiri",)
REST = ("benchmarks", "campaigns", "scripts", "tests")
QUESTION = re.compile(r"(What|How|Whether|Who|Whose|Which|Where)\b")
NONE = re.compile(r"\b(is|are) none\b")
#: "Of X, Y is": no plain sentence begins so, but for "Of course" and "Of these two".
INVERSION = re.compile(
    r"Of (?!course\b|(?:the |these )?(?:\d|(?:one|two|three|four|five|six|seven|eight|nine|ten)\b)).*"
)
COMMENT = re.compile(rf"#:? {INVERSION.pattern}")
#: The end of a block: a blank line, a cell of a table, a column, a branch of a tree, a list item, a heading.
BLOCK = re.compile(r"\n\s*\n|\||(?<=\S) {2,}|[├└]|\n\s*(?:[-*]|\d+\.)\s|\n#+ ")
SENTENCE = re.compile(r"(?<=[.!?])[\"')*_]*\s+(?=[\"'(*_]*[A-Z0-9])")


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a Markdown text. Blocks of code are left out, and code in a line is one word."""
    text = re.sub(r"(?ms)^\s*```.*?^\s*```|<!--.*?-->", "\n\n", "\n" + text)
    text = re.sub(r"``?[^`]+``?", "Code", re.sub(r"\]\([^)]*\)", "]", text))
    for block in BLOCK.split(text):
        yield from SENTENCE.split(" ".join(block.split()))


def in_text(text: str, part: str, where: str) -> Iterator[Finding]:
    """Yield the findings in the sentences of a text."""
    for sentence in sentences(text):
        if len(sentence.split()) > (40 if part in ("help", "readme") else 35):
            yield "long", part, where, sentence
        if INVERSION.match(sentence):
            yield "inversion", part, where, sentence


def in_lines(text: str, part: str, where: str) -> Iterator[Finding]:
    """Yield the findings in the lines of a file, whether they are text, comments or messages."""
    for number, line in enumerate(text.splitlines(), 1):
        if NONE.search(line):
            yield "none", part, f"{where}:{number}", line.strip()
        if comment := COMMENT.search(line):
            yield "inversion", part, f"{where}:{number}", comment[0]


def in_module(source: str, part: str, where: str) -> Iterator[Finding]:
    """Yield the findings in a module, and all its classes."""
    yield from in_lines(source, part, where)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text, place = ast.get_docstring(node) or "", f"{where}:{getattr(node, 'lineno', 1)}"
            if QUESTION.match(text):
                yield "question", part, place, text.partition("\n")[0]
            yield from in_text(re.sub(r"(?m)^ {4}.*$", "", text), part, place)
            if isinstance(node, ast.ClassDef) and part == "product":
                yield "class", part, place, node.name


def in_help() -> Iterator[Finding]:
    """Yield the findings in the help of all commands and options."""
    from typer.main import get_command

    from hakoiri.cli import app

    todo = [("hakoiri", get_command(app))]
    for name, command in todo:
        todo += [(f"{name} {word}", each) for word, each in getattr(command, "commands", {}).items()]
        for text in (command.help, *(getattr(parameter, "help", None) for parameter in command.params)):
            yield from in_text(text or "", "help", f"{name} --help")
            if text and QUESTION.match(text):
                yield "question", "help", f"{name} --help", text


def findings(root: Path = ROOT) -> Iterator[Finding]:
    """Yield all findings. A class is one if another has its name."""
    classes = set[str]()
    for folder in (*PRODUCT, *REST):
        for file in sorted((root / folder).rglob("*.py")):
            part = "product" if folder in PRODUCT else "rest"
            for finding in in_module(file.read_text(encoding="utf-8"), part, str(file.relative_to(root))):
                if finding[0] != "class" or finding[3] in classes:
                    yield finding
                classes |= {finding[3]} if finding[0] == "class" else set()
    for page in sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md")]):
        text, part = page.read_text(encoding="utf-8"), "readme" if page.name == "README.md" else "docs"
        yield from in_lines(text, part, str(page.relative_to(root)))
        yield from in_text(text, part, str(page.relative_to(root)))


def main() -> None:
    """Print the findings; exit 1 if there are any."""
    found = [*findings(), *in_help()]
    for rule, _, where, text in found:
        print(f"{where}: {rule}: {text[:300]}")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
