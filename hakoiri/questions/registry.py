"""The registry of questions. A new question is a class of its own (`hakoiri.questions.question`) and a row here."""

from importlib import import_module

from hakoiri.questions.question import Question

#: The questions: module and class, imported on demand. A name that begins with a slash is no command, only a route.
#: Routes are matched in this order.
QUESTIONS: dict[str, tuple[str, str]] = {
    "layers": ("layers", "LayerSizes"),
    "/layer": ("layers", "LayerPage"),
    "components": ("components", "ListComponents"),
    "/strong": ("components", "ListStrong"),
    "/component": ("components", "OneComponent"),
    "component-of": ("components", "ComponentOf"),
    "diameter": ("farthest", "FarthestPairs"),
    "distance": ("paths", "Distance"),
    "path": ("paths", "OnePath"),
    "/statistics": ("paths", "BoardStatistics"),
    "hardest": ("farthest", "FarthestFromGoal"),
    "/summary": ("results", "Summary"),
    "solutions": ("results", "Solutions"),
    "/solution-pictures": ("results", "SolutionPictures"),
    "/best-play": ("results", "BestPlay"),
    "export": ("results", "Export"),
    "map": ("components", "DrawMap"),
    "sample": ("sample", "RandomSample"),
}
#: The commands that ask a run.
COMMANDS = [name for name in QUESTIONS if not name.startswith("/")]


def question_class(name: str) -> type[Question]:
    """Return the class of a question."""
    module, kind = QUESTIONS[name]
    found: type[Question] = getattr(import_module(f"hakoiri.questions.{module}"), kind)
    return found
