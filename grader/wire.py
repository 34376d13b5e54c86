"""What the judge and a runner say to each other, and the only reader of it that is allowed.

A frame is a length (u32, big-endian) and that many bytes of MessagePack. Nothing is ever unpickled. Whatever comes
from a runner is hostile: lengths, types, depths, shapes and sizes are checked here, and what does not fit raises
`Malformed`.

Reading order: `Array` → the messages → `Frames` (bytes to payloads) → `decode_answer`, `decode_order`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final, NoReturn

import msgspec
import numpy as np
from numpy.typing import NDArray

from grader import bounded

HEADER: Final = 4
MAX_ORDER: Final = 1 << 30  # bytes of one frame from the judge
MAX_DEPTH: Final = 16  # nesting of lists and dicts in one value
MAX_NODES: Final = 100_000  # objects in one message
MAX_AXES: Final = 8
MAX_EXTENT: Final = 1 << 40  # elements: of a shape, a stride, an offset
TAG: Final = "\x00kind"  # no key a learner may use, so a dict of theirs is never taken for an Array

# bf16 has no NumPy type: it travels as its sixteen bits.
NUMPY_TYPES: Final[dict[str, np.dtype[Any]]] = {
    "fp64": np.dtype("<f8"),
    "fp32": np.dtype("<f4"),
    "fp16": np.dtype("<f2"),
    "bf16": np.dtype("<u2"),
    "int64": np.dtype("<i8"),
    "int32": np.dtype("<i4"),
    "int16": np.dtype("<i2"),
    "int8": np.dtype("i1"),
    "uint8": np.dtype("u1"),
    "bool": np.dtype("?"),
}


class Malformed(Exception):
    """The other side sent something that is not a message; the text says what is wrong, never what was sent."""


class Struct(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field=TAG):
    """Frozen, keyword-only and strict."""


class Array(Struct, frozen=True, kw_only=True, tag="array"):
    """A view of `storage`: shape, strides and offset are in elements of `dtype`."""

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    storage: bytes

    def check(self) -> Array:
        """Itself, if every element lies inside the storage; else `Malformed`."""
        kind = NUMPY_TYPES.get(self.dtype)
        if kind is None:
            raise Malformed("an array of unknown dtype")
        if len(self.shape) > MAX_AXES or len(self.shape) != len(self.strides):
            raise Malformed("an array whose shape and strides do not match")
        if not all(0 <= n <= MAX_EXTENT for n in (*self.shape, *self.strides, self.offset)):
            raise Malformed("an array with a shape, stride or offset that is negative or beyond measure")
        if len(self.storage) % kind.itemsize:
            raise Malformed("an array whose storage is not whole elements")
        last = self.offset + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))
        if math.prod(self.shape) and last >= len(self.storage) // kind.itemsize:
            raise Malformed("an array that reaches past its storage")
        if self.dtype == "bool" and self.storage.strip(b"\x00\x01"):
            raise Malformed("a bool array with bytes that are neither 0 nor 1")
        return self

    def check_answer(self) -> Array:
        """As `check`, and no element is shown twice: a small frame must not unfold into a huge array."""
        self.check()
        if math.prod(self.shape) * NUMPY_TYPES[self.dtype].itemsize > len(self.storage):
            raise Malformed("an array with more elements than its storage holds")
        return self


def from_numpy(array: NDArray[Any], dtype: str | None = None) -> Array:
    """A contiguous `Array` with the elements of `array`. Pass ``dtype="bf16"`` for uint16 bits that mean bf16."""
    name = dtype or next((n for n, kind in NUMPY_TYPES.items() if kind == array.dtype and n != "bf16"), None)
    if name is None or NUMPY_TYPES.get(name) != array.dtype:
        raise TypeError(f"no wire dtype for a {array.dtype} array")
    whole = np.ascontiguousarray(array)
    strides = tuple(s // whole.itemsize for s in whole.strides) if whole.size else (0,) * array.ndim
    return Array(dtype=name, shape=array.shape, strides=strides[: array.ndim], offset=0, storage=whole.tobytes())


def to_numpy(array: Array) -> NDArray[Any]:
    """The elements as a read-only view of the storage; bf16 comes as its uint16 bits. Raises `Malformed`."""
    array.check()
    kind = NUMPY_TYPES[array.dtype]
    flat = np.frombuffer(array.storage, dtype=kind)[array.offset :]
    strides = tuple(s * kind.itemsize for s in array.strides)
    return np.lib.stride_tricks.as_strided(flat, array.shape, strides, writeable=False)


class Handle(Struct, frozen=True, kw_only=True, tag="handle"):
    """Stands for a function that the judge keeps to itself and answers calls of. Only a judge sends one.

    It holds a number and the names of the parameters: nothing that would tell one function from another.
    """

    id: int
    parameters: list[str]


# Value: Array | Handle | int | float | bool | str | None | list[Value] | dict[str, Value]. Checked by `restore`,
# not by its type, since msgspec cannot tell a struct from a dict in one union.
Value = Any


# judge → runner


class Confine(Struct, frozen=True, kw_only=True, tag="confine"):
    """Hard limits that a runner puts on itself before any code of a learner is in it. Zero means no limit."""

    data_bytes: int = 0
    file_bytes: int = 0
    processes: int = 0
    cpu_seconds: int = 0
    open_files: int = 256


class Load(Struct, frozen=True, kw_only=True, tag="load"):
    """Run the learner's file, and find the functions named in `entries` in it."""

    source: str
    filename: str = "submission.py"
    entries: list[str]
    framework: str = "triton"  # numpy | torch | triton
    device: str = "cpu"  # cpu | cuda:N


class Call(Struct, frozen=True, kw_only=True, tag="call"):
    """Call one entry. `return_args` names the array arguments whose storage is wanted back afterwards.

    `muted`: kernels are compiled but not launched, where the lane can do that.
    """

    id: int
    entry: str
    args: list[Value]
    return_args: list[int] = []
    muted: bool = False


class Fresh(Struct, frozen=True, kw_only=True):
    """A contiguous array that gets new contents before each timed call: `period` repeated, from some element on."""

    dtype: str
    shape: tuple[int, ...]
    period: bytes


class Promised(Struct, frozen=True, kw_only=True):
    """An array that a timed call returns."""

    dtype: str
    shape: tuple[int, ...]


class Stage(Struct, frozen=True, kw_only=True, tag="stage"):
    """Get ready to time one entry. `fresh` are the arguments with new contents, by position; `args` the rest."""

    id: int
    entry: str
    args: list[Value]
    fresh: dict[int, Fresh]
    outputs: list[Promised]


class Batch(Struct, frozen=True, kw_only=True, tag="batch"):
    """Make one call after another. `shifts[c][k]` is the element of its period at which fresh argument k starts in
    call c; `positions[o]` are the elements of output o that are copied out right after each call. In a `dry` batch
    everything happens but the calls. A `watched` batch is not for timing: it gathers evidence as `Call` does.
    """

    id: int
    shifts: list[list[int]]
    positions: list[list[int]]
    dry: bool = False
    watched: bool = False


class Audit(Struct, frozen=True, kw_only=True, tag="audit"):
    """Show a part of each output of one call of the last batch: a (start, stop) for each axis."""

    id: int
    call: int
    parts: list[list[tuple[int, int]]]


class Replay(Struct, frozen=True, kw_only=True, tag="replay"):
    """Run the kernels that a file defines as they were launched, on these arguments; nothing else of the file.

    `memories` are the bytes of each memory used, `results` where the results will lie. `globals` are constants that
    may be missing from the text, since host code computed them. Answered as a `Call` is.
    """

    id: int
    source: str
    filename: str = "submission.py"
    args: list[Value]
    return_args: list[int] = []
    launches: list[Launch]
    memories: dict[str, int]
    globals: dict[str, int | float | bool | str] = {}
    results: list[Pointer]


CONSTANT = "constexpr"  # the kind of what the compiler takes as a constant


class Kinds(Struct, frozen=True, kw_only=True):
    """The types of a tuple of arguments; `CONSTANT` for what is one in it."""

    items: list[str | Kinds]


class Kernel(Struct, frozen=True, kw_only=True):
    """A kernel as a launch fixes it for the compiler: types of arguments, constants, and what the numbers allow.

    `signature` has "*fp32", "i32", … by parameter; every other parameter is in `constants`, and a tuple with a
    constant in it is in both. `divisible` are pointers and integers that are multiples of 16.
    """

    name: str
    signature: dict[str, str | Kinds]
    constants: dict[str, Traced]
    divisible: list[str] = []
    num_warps: int = 4
    num_stages: int = 3


class Compile(Struct, frozen=True, kw_only=True, tag="compile"):
    """Compile a kernel that a file defines, for each target (80, 90, …); nothing of the file is run.

    `to_the_end`: down to machine code, which tells what a program costs; else only so far as the language reaches.
    `globals` are as in `Replay`.
    """

    id: int
    source: str
    filename: str = "submission.py"
    kernel: Kernel
    targets: list[int]
    to_the_end: bool = False
    globals: dict[str, int | float | bool | str] = {}


class Given(Struct, frozen=True, kw_only=True, tag="given"):
    """What came of a `Wanted`: a value, or the exception to raise: its class, one of `GIVEN_ERRORS`, and words."""

    value: Value = None
    error: str = ""
    message: str = ""


GIVEN_ERRORS: Final = frozenset({"TypeError", "ValueError", "RuntimeError"})


class Walk(Struct, frozen=True, kw_only=True, tag="walk"):
    """As `Replay`, but watch the program that stores one element of a memory: what its loop over tiles carries.

    `reading` is the memory of which it is to be told what each turn of the loop loaded.
    """

    id: int
    source: str
    filename: str = "submission.py"
    args: list[Value]
    launches: list[Launch]
    memories: dict[str, int]
    globals: dict[str, int | float | bool | str] = {}
    stored: str
    element: int
    reading: str


class Bye(Struct, frozen=True, kw_only=True, tag="bye"):
    """End now."""


Order = Confine | Load | Call | Stage | Batch | Audit | Replay | Compile | Walk | Given | Bye


# runner → judge


class Ready(Struct, frozen=True, kw_only=True, tag="ready"):
    """Frameworks are imported; no learner's code is loaded."""

    seconds: float  # spent importing


class Loaded(Struct, frozen=True, kw_only=True, tag="loaded"):
    """The file ran and every entry is a function."""


class Finding(Struct, frozen=True, kw_only=True):
    """Something that a kernel did and should not have, seen by the lane. `severity` is "error" or "warning"."""

    kind: str
    line: int
    text: str
    severity: str


class Failed(Struct, frozen=True, kw_only=True, tag="failed"):
    """The learner's code did not get through. `kind` is one of `FAILED_KINDS`.

    `error` names the exception's class and those it derives from, and `args_digest` is as in `Returned`: raising
    may be what a contract asks for.
    """

    kind: str
    message: str
    traceback: str = ""
    line: int | None = None
    findings: list[Finding] = []
    error: list[str] = []
    args_digest: list[str] = []


FAILED_KINDS: Final = frozenset({"compile_error", "missing_entry", "raised", "out_of_memory", "refused"})


class Pointer(Struct, frozen=True, kw_only=True, tag="pointer"):
    """A tensor that a kernel was given: a view of the memory called ``argN`` or ``tmpN``, in elements."""

    memory: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


class Described(Struct, frozen=True, kw_only=True, tag="described"):
    """A tensor descriptor made by the host."""

    base: Pointer
    shape: list[int]
    strides: list[int]
    block_shape: list[int]
    padding: str


class Several(Struct, frozen=True, kw_only=True, tag="several"):
    """A tuple of arguments."""

    items: list[Traced]


class Named(Struct, frozen=True, kw_only=True, tag="named"):
    """An element type, or a function of the file."""

    name: str
    kind: str  # dtype | function


class Unnamed(Struct, frozen=True, kw_only=True, tag="unnamed"):
    """Something that cannot be written down."""

    type_name: str


Traced = Pointer | Described | Several | Named | Unnamed | int | float | bool | str | None


class Fill(Struct, frozen=True, kw_only=True):
    """The host had put one value into a memory: into all of it, or into the elements that no kernel wrote."""

    memory: str
    value: bytes
    whole: bool


class Launch(Struct, frozen=True, kw_only=True):
    """One kernel launch: grid, constants, warps; all arguments too, where the lane writes them down."""

    kernel: str
    grid: tuple[int, ...]
    constants: dict[str, int | float | bool | str]
    num_warps: int
    num_stages: int = 3
    arguments: dict[str, Traced] = {}
    fills: list[Fill] = []


class Moved(Struct, frozen=True, kw_only=True):
    """What the kernels of one call did to one tensor.

    `tensor` is ``argN``, ``retN`` (the N-th tensor returned) or ``tmpN``. Bytes are counted per active lane. The
    element maxima are how often the busiest element was touched, once per load or store instruction of a program.
    `covered` is the share of the tensor's bytes that a kernel stored last and that nobody changed since. `foreign`
    counts bytes loaded that came neither from the judge nor from a kernel: something else computed them. `nbytes`
    is the size of the memory that the tensor lies in.
    """

    tensor: str
    loaded_bytes: int = 0
    stored_bytes: int = 0
    loaded_elements_max: int = 0
    stored_elements_max: int = 0
    covered: float = 0.0
    foreign_bytes: int = 0
    nbytes: int = 0


class Returned(Struct, frozen=True, kw_only=True, tag="returned"):
    """The call came back. A result of a type that no drill takes comes as `Other` inside `value`."""

    id: int
    value: Value
    args: dict[int, Array] = {}
    args_digest: list[str] = []  # sha256 of each array argument's storage after the call, in argument order
    launches: list[Launch] = []
    launch_count: int = 0  # all of them; `launches` keeps the first few
    traffic: list[Moved] = []
    findings: list[Finding] = []
    peak_bytes: int = -1  # growth of resident memory over the call, at its highest; -1 where it can't be measured
    compile_seconds: float = 0.0  # of the call, spent compiling kernels; the runner's word
    memories: dict[str, int] = {}  # bytes of each memory that launches used
    globals: dict[str, int | float | bool | str] = {}  # the file's constants that kernels may see
    results: list[Pointer] = []  # where each array of `value` lies, if it lies in such a memory


class Wanted(Struct, frozen=True, kw_only=True, tag="wanted"):
    """During a `Call`: the value of the function `handle` at `args`. Answered with a `Given`."""

    handle: int
    args: list[Value]


class Staged(Struct, frozen=True, kw_only=True, tag="staged"):
    """Ready to be timed. What the device is like is believed only of a runner without a learner's code."""

    id: int
    memory_bytes: int
    cache_bytes: int  # of the last cache before memory


class Timed(Struct, frozen=True, kw_only=True, tag="timed"):
    """The batch has been run to its end. `samples[o]` are the elements of output o asked for, call by call."""

    id: int
    samples: list[bytes]
    launch_count: int = 0
    traffic: list[Moved] = []  # of the last call of a watched batch


class Audited(Struct, frozen=True, kw_only=True, tag="audited"):
    """Parts of the outputs of one call, and the samples of that call once more."""

    id: int
    parts: list[Array]
    samples: list[bytes]


class Built(Struct, frozen=True, kw_only=True):
    """A kernel compiled for one target, or `refused` in the compiler's words, at a line of the file.

    `trouble` is why there is neither: something that the kernel is not to blame for. Registers are a thread's,
    spilled bytes too, shared memory is a program's.
    """

    target: int
    refused: str = ""
    line: int | None = None
    trouble: str = ""
    registers: int | None = None
    spilled_bytes: int | None = None
    shared_bytes: int | None = None


class Compiled(Struct, frozen=True, kw_only=True, tag="compiled"):
    """One `Built` for each target asked for, in order."""

    id: int
    built: list[Built]


class Turn(Struct, frozen=True, kw_only=True):
    """One turn of a loop: its variable, what one row of each variable is at the end, elements loaded [from, to)."""

    index: int
    state: dict[str, list[float]]
    loaded: list[tuple[int, int]]


class Walked(Struct, frozen=True, kw_only=True, tag="walked"):
    """One program's loop over tiles. `line` is where the loop stands, `carried` what it hands from turn to turn.

    `cut`: there are more turns than these.
    """

    id: int
    kernel: str
    line: int
    program: tuple[int, int, int]
    carried: list[str]
    cut: bool = False
    turns: list[Turn]


class Other(Struct, frozen=True, kw_only=True, tag="other"):
    """Stands where a value of an unwanted type was: only its type's name travels."""

    type_name: str


Answer = Ready | Loaded | Failed | Returned | Wanted | Staged | Timed | Audited | Compiled | Walked

_ENCODER: Final = msgspec.msgpack.Encoder()
_ANSWERS: Final = msgspec.msgpack.Decoder(Answer)
_ORDERS: Final = msgspec.msgpack.Decoder(Order)


def frame(message: Order | Answer) -> bytes:
    """The message as one frame."""
    payload = _ENCODER.encode(message)
    return len(payload).to_bytes(HEADER, "big") + payload


class Frames:
    """Cuts a stream of bytes into payloads. Holds at most one frame of `limit` bytes and one read beyond it."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held = bytearray()

    @property
    def empty(self) -> bool:
        """No byte is waiting."""
        return not self._held

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Payloads completed by `data`. Raises `Malformed` as soon as a length over the limit is announced."""
        self._held += data
        while len(self._held) >= HEADER:
            length = int.from_bytes(self._held[:HEADER], "big")
            if length > self._limit:
                raise Malformed(f"a message of {length} bytes, more than the {self._limit} allowed")
            if len(self._held) < HEADER + length:
                return
            payload = bytes(memoryview(self._held)[HEADER : HEADER + length])
            del self._held[: HEADER + length]
            yield payload


def decode_answer(payload: bytes) -> Answer:
    """A runner's message, checked in every part. Raises `Malformed`, and nothing else."""
    if not bounded.within(payload, MAX_NODES):
        raise Malformed("a message of too many parts, or not a whole one")
    try:
        answer = _ANSWERS.decode(payload)
        if isinstance(answer, Failed) and answer.kind not in FAILED_KINDS:
            raise Malformed("a failure of unknown kind")
        if isinstance(answer, Returned):
            answer = msgspec.structs.replace(answer, value=restore(answer.value))
            for array in (*answer.args.values(), *arrays_in(answer.value)):
                array.check_answer()
        if isinstance(answer, Wanted):
            answer = msgspec.structs.replace(answer, args=restore(answer.args))
            for array in arrays_in(answer.args):
                array.check_answer()
        if isinstance(answer, Audited):
            for array in answer.parts:
                array.check_answer()
    except (msgspec.MsgspecError, RecursionError, UnicodeError, ValueError, OverflowError) as error:
        raise Malformed(f"not a message: {type(error).__name__}") from None
    return answer


def decode_order(payload: bytes) -> Order:
    """The judge's message. Raises `Malformed`."""
    try:
        order = _ORDERS.decode(payload)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise Malformed(f"not an order: {error}") from None
    if isinstance(order, Call | Stage | Replay | Walk):
        return msgspec.structs.replace(order, args=[restore(value, handles=True) for value in order.args])
    if isinstance(order, Given):
        return msgspec.structs.replace(order, value=restore(order.value))
    return order


def restore(value: object, *, handles: bool = False) -> Value:
    """`value` as decoded without types, with its structs made again and every part checked.

    These are `Array` and `Other`, and `Handle` where the judge speaks.
    """
    return _Restorer(Array | Other | Handle if handles else Array | Other).restore(value, 0)


def arrays_in(value: Value) -> Iterator[Array]:
    """Every array in a value, in order: the N-th of them is what traffic calls ``retN``."""
    if isinstance(value, Array):
        yield value
    elif isinstance(value, list | dict):
        for item in value if isinstance(value, list) else value.values():
            yield from arrays_in(item)


class _Restorer:
    """One walk over one value, with a budget of nodes."""

    def __init__(self, structs: Any) -> None:
        self._structs = structs
        self._left = MAX_NODES

    def restore(self, value: object, depth: int) -> Value:
        self._left -= 1
        if depth > MAX_DEPTH or self._left < 0:
            _refuse("a value nested too deeply or with too many parts")
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, list):
            return [self.restore(item, depth + 1) for item in value]
        if isinstance(value, dict):
            return self._restore_dict(value, depth)
        return _refuse("a value of a type that is not in the protocol")

    def _restore_dict(self, value: dict[Any, Any], depth: int) -> Value:
        if TAG in value:
            tagged: Array | Other | Handle = msgspec.convert(value, self._structs)
            return tagged.check() if isinstance(tagged, Array) else tagged
        if not all(isinstance(key, str) for key in value):
            _refuse("a dict whose keys are not text")
        return {key: self.restore(item, depth + 1) for key, item in value.items()}


def _refuse(what: str) -> NoReturn:
    raise Malformed(what)
