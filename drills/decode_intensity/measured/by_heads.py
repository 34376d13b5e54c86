"""FLOP per byte of decode attention for five ways to keep a cache. The context cancels, so it is no row here."""

import runpy
from pathlib import Path

reference = runpy.run_path(str(Path(__file__).parents[1] / "reference.py"))
heads = {"hidden_size": 8192, "num_attention_heads": 64, "head_dim": 128}
print("cache,intensity")
for name, more in (
    ("64 KV heads", {}),
    ("8 KV heads", {"num_key_value_heads": 8}),
    ("8 KV heads in 1 B", {"num_key_value_heads": 8, "bytes_per_element": 1}),
    ("1 KV head", {"num_key_value_heads": 1}),
):
    print(name, f"{reference['attention_intensity'](heads | more):.4g}", sep=",")
latent = {"num_attention_heads": 128, "kv_lora_rank": 512, "qk_rope_head_dim": 64}
print("latent 512 + 64", f"{reference['mla_intensity'](latent):.4g}", sep=",")
