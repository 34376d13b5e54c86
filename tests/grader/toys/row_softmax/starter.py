from typing import Any


def softmax(x: Any) -> Any:
    return x
