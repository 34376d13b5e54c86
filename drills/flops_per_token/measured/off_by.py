"""The starter and three faults against the exact `matmul_flops`: how many times too large; and break-evens."""

import runpy
from pathlib import Path

DRILL = Path(__file__).parents[1]
MODELS = {
    "Llama 3.1 8B": (4096, 32, 32, 8, 14_336, 128_256, False),
    "Llama 3.2 1B (tied)": (2048, 16, 32, 8, 8192, 128_256, True),
    "Llama 3.1 70B": (8192, 80, 64, 8, 28_672, 128_256, False),
}
KEYS = (
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "intermediate_size",
    "vocab_size",
    "tie_word_embeddings",
)
FILES = {
    "starter": "starter.py",
    "table multiplied": "mutants/embedding_multiplied.py",
    "k and v like q": "mutants/kv_like_query.py",
    "tied head skipped": "mutants/tied_head_skipped.py",
}

reference = runpy.run_path(str(DRILL / "reference.py"))
others = {name: runpy.run_path(str(DRILL / file)) for name, file in FILES.items()}
print("model,matmul FLOPs", *others, "break-even", "starter's", sep=",")
for name, values in MODELS.items():
    config = dict(zip(KEYS, values, strict=True))
    right = reference["matmul_flops"](config)
    ratios = [f"{other['matmul_flops'](config) / right:.4f}" for other in others.values()]
    even = [each["break_even_context"](config) for each in (reference, others["starter"])]
    print(name, right, *ratios, *even, sep=",")
