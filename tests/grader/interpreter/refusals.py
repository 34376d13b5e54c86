"""Kernels that the compiler refuses, and near misses that it takes. Parameters: x (fp32 tensor), n (int), B = 8."""

# body, words of our refusal, its line in `SIGNATURE + body`
SIGNATURE = "@triton.jit\ndef kernel(x, n, B: tl.constexpr = 8):\n"
REFUSED: tuple[tuple[str, str, int], ...] = (
    ("    i = tl.arange(0, B)\n    if i < 0:\n        tl.store(x + i, 7.0)", "not a scalar", 4),
    ("    for k in range(n):\n        if k > 2:\n            break", "Break is not supported", 5),
    ("    l = []\n    for k in range(3):\n        l.append(k)", "has no attribute 'append'", 5),
    ("    try:\n        pass\n    finally:\n        pass", "Try is not supported", 3),
    ("    f = lambda a: a", "Lambda is not supported", 3),
    ("    d = {}", "Dict is not supported", 3),
    ("    i = tl.arange(0, B)\n    tl.store(x + i, tl.where(1 <= i < 3, 1.0, 0.0))", "multiple comparison", 4),
    ("    i = tl.arange(0, 6)", "power of 2", 3),
    ("    C = B * 2\n    i = tl.arange(0, C)", "constexpr", 4),
    ("    i = tl.arange(0, n)", "constexpr", 3),
    ("    v = tl.load(x + tl.arange(0, B))\n    v[0] = 1.0", "assignment to an element", 4),
    ("    v = tl.load(x + tl.arange(0, B))[0]", "only indexed by", 3),
    ("    v = tl.exp(tl.load(x).to(tl.float16))", "tl.exp takes fp32 or fp64, got fp16", 3),
    ("    for k in range(n):\n        if k > 2:\n            return", "`return` inside a loop", 4),
    ("    a = b = 1", "is not supported", 3),
    ("    v = tl.load(x, other=0.0)", "without `mask`", 3),
    ("    v = tl.load(x + 0.5)", "cannot add fp32", 3),
    ("    v = tl.load(n)", "not a pointer", 3),
    ("    v = 5 ** n", r"\*\* is not supported", 3),
    ("    v = n and n", "need booleans", 3),
    ("    v = not n", "need booleans", 3),
    ("    tl.store(x, undefined_name)", "'undefined_name' is not defined", 3),
    ("    tl.store(x, tl.no_such_thing(n))", "no_such_thing is not supported", 3),
    ("    tl.load(x, nonsense=3)", "unexpected keyword argument 'nonsense'", 3),
    ("    tl.store(x, sorted((1, 2)))", r"Python's sorted\(\)", 3),
    (
        "    a = 0.0\n    for k in range(n):\n        a = a + tl.load(x + tl.arange(0, B))\n    tl.store(x, a)",
        r"loop-carried variable 'a' starts as fp32 and becomes fp32\[8\]",
        4,
    ),
    ("    a = 0\n    for k in range(n):\n        a = a + 0.5\n    tl.store(x, a)", "starts as int32", 4),
    (
        "    if tl.program_id(0) > 1:\n        z = 1.0\n    tl.store(x, z)",
        "'z' is not defined here: only one path of the `if` at line 3 assigns it",
        5,
    ),
    ("    for k in range(n):\n        z = 1.0\n    tl.store(x, z)", "which may run zero times", 5),
    (
        "    v = tl.load(x)\n    if tl.program_id(0) == 0:\n        v = v.to(tl.float16)\n    tl.store(x, v)",
        "'v' (has type|is) fp",
        4,
    ),
    (
        "    if tl.program_id(0) == 0:\n        v = 1\n    else:\n        v = 2.5\n    tl.store(x, v)",
        "'v' has type int32 on one path and fp32 on another",
        3,
    ),
    (
        "    i = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]\n"
        "    tl.store(x + i, tl.dot(tl.load(x + i), tl.load(x + i)))",
        "K must be at least 16 for fp32, got 8",
        4,
    ),
    ("    tl.load(x, cache_modifier='.xy')", "cache modifier '.xy' is not supported", 3),
    ("    tl.store(x, 1.0, eviction_policy='soon')", "eviction policy 'soon' is not supported", 3),
    ("    tl.store(x, GLOBAL)", "'GLOBAL' is not defined", 3),
)

ACCEPTED: tuple[str, ...] = (
    "    a = tl.zeros((B,), tl.float32)\n    for k in range(n):\n        a = a + tl.load(x + tl.arange(0, B))\n"
    "    tl.store(x + tl.arange(0, B), a)",
    "    a = 0.0\n    for k in range(n):\n        a = a + k\n    tl.store(x, a)",
    "    z = 0.0\n    if tl.program_id(0) > 1:\n        z = 1.0\n    tl.store(x, z)",
    "    if tl.program_id(0) > 1:\n        z = 1.0\n    else:\n        z = 2.0\n    tl.store(x, z)",
    "    if B > 4:\n        z = 1.0\n    tl.store(x, z)",
    "    i = tl.arange(0, B)\n    tl.store(x + i, tl.where((1 <= i) & (i < 3), 1.0, 0.0))",
    "    i = tl.arange(0, B)\n    tl.store(x + i, tl.where((1 <= i) and (i < 3), 1.0, 0.0))",
    "    i = tl.arange(0, B)\n    tl.store(x + i, tl.where(not (1 <= i), 1.0, 0.0))",
    "    v = tl.load(x + tl.arange(0, B))[None, :]\n    tl.store(x + tl.arange(0, B)[None, :], v)",
    "    C: tl.constexpr = B * 2\n    tl.store(x + tl.arange(0, C), 1.0)",
    "    z = n and 3\n    tl.store(x, z)",
    "    if n > 2:\n        return\n    tl.store(x, 1.0)",
    "    v = tl.load(x, mask=n > 1, other=0.0) if n > 1 else 2.0\n    tl.store(x, v)",
    "    for k in tl.static_range(3):\n        if n > k + 5:\n            return\n    tl.store(x, 1.0)",
    "    a, b = 1.0, 2\n    c = (a, b)\n    tl.store(x, c[0] + c[1])",
    "    i = tl.arange(0, B * 2)[:, None] * B * 2 + tl.arange(0, B * 2)[None, :]\n"
    "    tl.store(x + i, tl.dot(tl.load(x + i), tl.load(x + i)))",
    "    tl.store(x, min(n, 3) + max(2, 5))",
    "    tl.store(x, tl.load(x, cache_modifier='.cg'), eviction_policy='evict_last')",
    "    k = 0\n    while k < n:\n        k += 1\n    tl.store(x, k)",
)

# What a later triton takes, by the words of our refusal, and since which version. The interpreter keeps the rules
# of 3.7, the version that the project is installed with.
TAKEN_SINCE: dict[str, tuple[int, int]] = {
    "K must be at least 16 for fp32, got 8": (3, 8),
    "multiple comparison": (3, 9),
}

# What the interpreter takes, because it runs one path and the compiler reads both, or because it is laxer.
ONLY_COMPILER: tuple[tuple[str, str, int], ...] = (
    ("    if n > 2:\n        v = 1\n    else:\n        v = 2.5\n    tl.store(x, v)", "Mismatched type for v", 3),
    ("    if n > 100:\n        tl.store(x, missing)", "missing is not defined", 4),
    ("    if n > 100:\n        tl.store(x, tl.sum(tl.arange(0, n)))", "must be of type tl.constexpr", 4),
    (
        "    if n > 100:\n        tl.store(x + tl.arange(0, B), tl.arange(0, 16))",
        "incompatible dimensions at index 0: 8 and 16",
        4,
    ),
    (
        "    if n > 100:\n        z = 1.0\n    else:\n        z = tl.zeros((B,), tl.float32)\n"
        "    tl.store(x + tl.arange(0, B), z)",
        "Mismatched type for z",
        3,
    ),
    ("    for k in range(n - 4):\n        tl.store(x, tl.no_such(k))", "has no attribute 'no_such'", 4),
    (
        "    a = 0\n    for k in range(n - 4):\n        a = a + 0.5\n    tl.store(x, a)",
        "Loop-carried variable a",
        4,
    ),
    ("    if n > 100:\n        z = 1.0\n    if n > 100:\n        tl.store(x, z)", "z is not defined", 6),
    ("    while n > 100:\n        n = n * 0.5\n    tl.store(x, n)", "Loop-carried variable n", 3),
    ("    v = tl.load(x).to(tl.float16) if n > 100 else 1.0\n    tl.store(x, v)", "inconsistent types", 3),
    (
        "    if n > 2:\n        k = n.to(tl.int64)\n    else:\n        k = n\n    tl.store(x, k)",
        "Mismatched type for k",
        3,
    ),
    ("    if B > 4:\n        return\n    tl.store(x, missing)", "missing is not defined", 5),
    ("    v = 'text'\n    tl.store(x, 1.0)", "cannot convert text", 3),
    ("    tl.store(x + tl.arange(0, B), tl.broadcast_to(1.0, (B,)))", "is_block", 3),
    ("    tl.store(x + tl.arange(-4, 4) + 4, 1.0)", "must fit in int32", 3),
    ("    tl.store(x, tl.sum(tl.zeros(B, tl.float32)))", "not iterable", 3),
    (
        "    i = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]\n"
        "    tl.store(x + i, tl.dot(tl.load(x + i), tl.load(x + i), input_precision='fp32'))",
        "input_precision must be one of",
        4,
    ),
    ("    B: tl.constexpr = 16\n    tl.store(x + tl.arange(0, B), 1.0)", "constexpr cannot be reassigned", 3),
)
