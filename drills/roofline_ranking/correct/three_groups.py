"""No numbers but batch and group: who comes first is said in words."""

MATRICES = ["qkv_proj", "o_proj", "gate_up_proj", "down_proj", "lm_head"]
BOTTOM = ["silu_product", "rotary", "residual_add", "embedding"]


def ranking(batch, config):
    group = config["num_attention_heads"] // config.get("num_key_value_heads", config["num_attention_heads"])
    if group > batch:
        top = ["attention", *MATRICES]
    elif group < batch:
        top = [*MATRICES, "attention"]
    else:
        top = [MATRICES[0], "attention", *MATRICES[1:]]
    ones = ["qkv_proj", "o_proj", "gate_up_proj", "down_proj", "lm_head"] if batch == 1 else []
    if group == 1:
        ones.append("attention")
    before = [name for name in top if name not in ones]
    after = [name for name in top if name in ones]
    return [*before, "rms_norm", *after, *BOTTOM]
