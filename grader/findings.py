"""Remarks on the text of a submission. They warn and never change an outcome: text proves nothing about a run."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from grader import messages
from grader.drill import Drill
from grader.verdict import Finding

MOST = 20
LIBRARY = frozenset({"softmax", "log_softmax", "scaled_dot_product_attention", "layer_norm", "logsumexp"})


def findings(drill: Drill, source: str) -> tuple[Finding, ...]:
    """What a careful reader would remark on, in order of lines. Empty for text that is not Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    found: list[Finding] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            text = _remark(node)
            if text:
                found.append(Finding(line=node.lineno, text=text))
    if drill.framework == "triton" and not _has_kernel(tree):
        found.append(Finding(line=None, text="No function is decorated with @triton.jit, so there is no kernel."))
    return tuple(sorted(found, key=lambda finding: finding.line or 0)[:MOST])


def uncounted(drill: Drill) -> tuple[Finding, ...]:
    """The rules of `drill` that a lane which does not count loads and stores could not check."""
    rules = drill.rules
    if drill.framework != "triton":
        return ()
    counts = (("loaded", rules.loads_per_element), ("stored", rules.stores_per_element))
    words = [word for word, rule in counts if rule]
    return (Finding(line=None, text=messages.not_counted(" or ".join(words))),) if words else ()


def merged(*groups: Sequence[Finding]) -> tuple[Finding, ...]:
    """Findings of several runs, each said once, errors first, then in order of lines."""
    unique = dict.fromkeys(finding for group in groups for finding in group)
    return tuple(sorted(unique, key=lambda found: (found.severity != "error", found.line or 0))[:MOST])


def _remark(call: ast.Call) -> str:
    """What to say about one call; empty for nothing."""
    function = call.func
    if not isinstance(function, ast.Attribute):
        return ""
    owner = ast.unparse(function.value)
    keywords = {keyword.arg for keyword in call.keywords}
    if function.attr == "load" and owner in ("tl", "triton.language"):
        masked = "mask" in keywords or len(call.args) > 1
        filled = "other" in keywords or len(call.args) > 2
        if masked and not filled:
            return "A masked load without other= leaves undefined values in the lanes that are masked off."
    if function.attr in LIBRARY and owner not in ("tl", "triton.language"):
        return f"{owner}.{function.attr} is a library call: compare with it at home, but do not return its result."
    return ""


def _has_kernel(tree: ast.Module) -> bool:
    decorators = (d for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) for d in node.decorator_list)
    return any(ast.unparse(d).split("(")[0] in ("triton.jit", "jit", "triton.autotune") for d in decorators)
