"""triton.autotune and triton.heuristics: no timing here, the first configuration is taken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass
class Config:
    """One choice of constants and launch options."""

    kwargs: dict[str, Any]
    num_warps: int = 4
    num_stages: int = 3
    num_ctas: int = 1
    maxnreg: int | None = None
    pre_hook: Callable[..., Any] | None = None
    ir_override: str | None = None
    minRegAutoWS: int | None = None
    maxRegAutoWS: int | None = None

    def all_kwargs(self) -> dict[str, Any]:
        return {
            **self.kwargs,
            "num_warps": self.num_warps,
            "num_stages": self.num_stages,
            "num_ctas": self.num_ctas,
        }


@dataclass
class Wrapper:
    """A kernel inside a decorator that adds arguments to each launch."""

    kernel: Any
    added: Callable[[dict[str, Any]], dict[str, Any]]
    hook: Callable[..., Any] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.kernel, name)

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        return lambda *args, **kwargs: self.run(*args, grid=grid, **kwargs)

    def run(self, *args: Any, grid: Any, **kwargs: Any) -> Any:
        named = {**dict(zip(self.kernel.arg_names, args, strict=False)), **kwargs}
        extra = {name: value for name, value in self.added(named).items() if name not in named}
        if self.hook is not None:
            self.hook({**named, **extra})
        return self.kernel.run(*args, grid=grid, **kwargs, **extra)


def autotune(
    configs: list[Config], key: list[str], prune_configs_by: dict[str, Any] | None = None, **_: Any
) -> Callable[[Any], Wrapper]:
    """Takes the first configuration; an empty list means the kernel's own defaults."""

    def chosen(named: dict[str, Any]) -> list[Config]:
        pruner = (prune_configs_by or {}).get("early_config_prune")
        return list(pruner(configs, named)) if pruner else configs

    def added(named: dict[str, Any]) -> dict[str, Any]:
        left = chosen(named)
        return left[0].all_kwargs() if left else {}

    def hook(named: dict[str, Any]) -> None:
        left = chosen(named)
        if left and left[0].pre_hook:
            left[0].pre_hook(named)

    return lambda kernel: Wrapper(kernel, added, hook)


def heuristics(values: dict[str, Callable[[dict[str, Any]], Any]]) -> Callable[[Any], Wrapper]:
    """Constants computed from the arguments of each launch."""

    def added(named: dict[str, Any]) -> dict[str, Any]:
        known = dict(named)
        for name, rule in values.items():
            known[name] = rule(known)
        return {name: known[name] for name in values}

    return lambda kernel: Wrapper(kernel, added)
