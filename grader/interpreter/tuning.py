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


Named = dict[str, Any]


@dataclass
class Wrapper:
    """A kernel inside a decorator that adds arguments to each launch. `added` is given the arguments by place and
    those by keyword, each by name; what it returns yields to them.
    """

    kernel: Any
    added: Callable[[Named, Named], Named]
    hook: Callable[[Named, Named, Named], None] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.kernel, name)

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        return lambda *args, **kwargs: self.run(*args, grid=grid, **kwargs)

    def run(self, *args: Any, grid: Any, **kwargs: Any) -> Any:
        placed = dict(zip(self.kernel.arg_names, args, strict=False))
        added = self.added(placed, kwargs)
        extra = {name: value for name, value in added.items() if name not in placed and name not in kwargs}
        if self.hook is not None:
            self.hook(placed, kwargs, extra)
        return self.kernel.run(*args, grid=grid, **kwargs, **extra)


def autotune(
    configs: list[Config], key: list[str], prune_configs_by: Named | None = None, **_: Any
) -> Callable[[Any], Wrapper]:
    """Takes the first configuration that `early_config_prune` leaves; none means the kernel's own defaults."""

    def chosen(placed: Named, keywords: Named) -> Config | None:
        pruner = (prune_configs_by or {}).get("early_config_prune")
        left = list(pruner(configs, placed, **keywords)) if pruner else configs
        if pruner and not left:
            raise ValueError("early_config_prune left no configuration; it must return at least one")
        return left[0] if left else None

    def added(placed: Named, keywords: Named) -> Named:
        config = chosen(placed, keywords)
        return config.all_kwargs() if config else {}

    def hook(placed: Named, keywords: Named, extra: Named) -> None:
        config = chosen(placed, keywords)
        if config is not None and config.pre_hook:
            config.pre_hook({**placed, **keywords, **extra})

    return lambda kernel: Wrapper(kernel, added, hook)


def heuristics(values: dict[str, Callable[[Named], Any]]) -> Callable[[Any], Wrapper]:
    """Constants computed from the arguments of each launch."""

    def added(placed: Named, keywords: Named) -> Named:
        known = {**placed, **keywords}
        for name, rule in values.items():
            known[name] = rule(known)
        return {name: known[name] for name in values}

    return lambda kernel: Wrapper(kernel, added)
