"""How many times too large each way to count is, for five models. 1 is right."""

import runpy
from fractions import Fraction
from pathlib import Path

DRILL = Path(__file__).parents[1]
MODELS = {
    "Llama 2 7B": {"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32},
    "Llama 3.1 8B": {
        "hidden_size": 4096,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
    },
    "Llama 3.1 70B": {
        "hidden_size": 8192,
        "num_hidden_layers": 80,
        "num_attention_heads": 64,
        "num_key_value_heads": 8,
    },
    "70B with a 1-byte cache": {
        "hidden_size": 8192,
        "num_hidden_layers": 80,
        "num_attention_heads": 64,
        "num_key_value_heads": 8,
        "bytes_per_element": 1,
    },
    "DeepSeek-V3": {
        "hidden_size": 7168,
        "num_hidden_layers": 61,
        "num_attention_heads": 128,
        "num_key_value_heads": 128,
        "kv_lora_rank": 512,
        "qk_rope_head_dim": 64,
    },
}
FILES = {
    "starter": "starter.py",
    "query heads": "mutants/query_heads.py",
    "keys only": "mutants/keys_only.py",
    "two bytes always": "mutants/two_bytes_always.py",
    "latent twice": "mutants/latent_twice.py",
    "latent by heads": "mutants/latent_as_heads.py",
}

count = runpy.run_path(str(DRILL / "reference.py"))["bytes_per_token"]
others = {name: runpy.run_path(str(DRILL / file))["bytes_per_token"] for name, file in FILES.items()}
print("model,bytes a token", *others, sep=",")
for name, config in MODELS.items():
    right = count(config)
    ratios = [Fraction(other(config), right) for other in others.values()]
    print(name, right, *(f"{float(ratio):.4g}" for ratio in ratios), sep=",")
