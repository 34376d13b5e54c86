"""Every sentence a learner reads about an outcome. Plain words, exact, and where it helps, what to do next.

Two groups: what a case says (`detail`), and what a verdict says (`sentence`). Text that came from the learner's
code passes through `plain` first.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from grader.verdict import CaseResult, Outcome

LONGEST = 4000  # characters of the learner's own text that a verdict keeps


def plain(text: str, longest: int = LONGEST) -> str:
    """`text` without control, formatting and surrogate characters, which can hide or reorder what a reader sees."""
    kept = "".join(
        c if c in "\n\t" or unicodedata.category(c)[0] != "C" else "\N{REPLACEMENT CHARACTER}" for c in text
    )
    return kept if len(kept) <= longest else kept[:longest] + f"… ({len(kept) - longest} more characters)"


# A case: what came back is not what the contract promises.


def not_an_array(entry: str, got: str, promised: str = "tensor") -> str:
    return f"{entry} returned {got}; the contract promises one {promised}."


def wrong_count(entry: str, got: int, promised: int) -> str:
    return f"{entry} returned {count(got, 'value')}; the contract promises {promised}."


def wrong_dtype(output: str, got: str, promised: str) -> str:
    return f"The {output} has type {got}, it should be {promised}."


def wrong_shape(output: str, got: Sequence[int], promised: Sequence[int]) -> str:
    return f"The {output} has shape {shape(got)}, it should be {shape(promised)}."


def wrong_values(output: str, wrong: int, total: int) -> str:
    if wrong == total:
        return f"All {total} elements of the {output} are outside the tolerance."
    return f"{wrong} of {total} elements of the {output} are outside the tolerance."


def wrong_value(output: str) -> str:
    return f"The {output} is not what it should be."


def wrong_on_the_whole(output: str, error: float | None) -> str:
    if error is None:
        return (
            f"The {output} is not finite, or it is closer to the exact one than the promised arithmetic can be. "
            "Where are the operands rounded?"
        )
    return f"The error of the {output}, as a root mean square, is {error:.3g} times what is allowed."


def no_exception(promised: str) -> str:
    return f"The call returned; for these arguments the contract asks for {promised}."


def wrong_exception(promised: str, message: str) -> str:
    return plain(f"The contract asks for {promised}; what was raised is {message}", 600)


def changed_before_raising(position: int, raised: str) -> str:
    return f"Argument {position + 1} was changed, although {raised} was raised. A call that fails changes nothing."


# A case: the values are right, but a rule is broken.


def inputs_changed(position: int, framework: str = "triton") -> str:
    advice = "check the mask and the address of every store" if framework == "triton" else "work on a copy"
    return (
        f"Argument {position + 1} was changed, or memory beside it was written. Inputs must stay as they are; "
        f"{advice}."
    )


def too_much_memory(got: int, allowed: int) -> str:
    if got < 0:
        return "How much memory the call used could not be measured, so the rule about it can't be kept."
    return (
        f"Memory in use grew by {got / (1 << 20):.1f} MiB during the call; the contract allows "
        f"{allowed / (1 << 20):.1f} MiB at this shape."
    )


def too_much_scratch(got: int, allowed: int) -> str:
    return (
        f"Your kernels worked in {got:,} bytes besides the arguments and the result; the contract allows "
        f"{allowed:,} at this shape."
    )


def no_kernel_ran(entry: str) -> str:
    return f"{entry} returned without launching a Triton kernel. The result must be written by your own kernel."


def not_written_by_kernel(share: float) -> str:
    return (
        f"Only {share:.0%} of the bytes returned were stored by your kernel; the rest came from elsewhere. "
        "On the host, allocate and take views, nothing more."
    )


def computed_elsewhere(tensor: str) -> str:
    return (
        f"Your kernel read values from {tensor} that no kernel of yours had computed. "
        "The work must be done in the kernel, not by library calls before it."
    )


def too_many_loads(tensor: str, got: int, allowed: int) -> str:
    return f"An element of {tensor} was loaded {times(got)}; the contract allows {times(allowed)}."


def too_many_stores(output: str, got: int, allowed: int) -> str:
    return f"An element of the {output} was stored {times(got)}; the contract allows {times(allowed)}."


# A case: a function that the judge serves.


def calls_spent(name: str, allowed: int) -> str:
    return f"{name}: all {allowed} calls are spent"


def too_many_calls(name: str, allowed: int) -> str:
    return (
        f"{name} was called more than {allowed} times. Every call counts, also one that it refuses; which of yours "
        "told you nothing that you did not know before?"
    )


# A case: the call at full size, timed.

TIMED = "at full size, timed"
MUTED = "kernels switched off"


def too_slow_to_time(seconds: float, allowed: float) -> str:
    return f"At full size one call took {seconds:.2g} s; to be timed, it may take {allowed:g} s."


def timed_wrong(output: str, error: float | None) -> str:
    size = "not finite" if error is None else f"off by {error:.3g} times the tolerance"
    return (
        f"In a timed call with contents of its own, the {output} was {size}. Timed calls are looked at afterwards: "
        "each must compute its own result."
    )


def timed_late(entry: str) -> str:
    return (
        f"The result of a timed call was not finished when {entry} returned, or it changed afterwards. Work left "
        "on another stream or thread, or a buffer that the next call writes over, does that."
    )


def timed_elsewhere(entry: str) -> str:
    return (
        f"At full size, the result of {entry} was not written by your kernel, or was computed from what library "
        "calls had made."
    )


def too_fast() -> str:
    return (
        "The timed calls took less time than this GPU needs to move their bytes once, so the figure can't be "
        "right. No speed is recorded, and no attempt is spent."
    )


AGAIN = "your kernels alone, on other data"


def wrong_without_host(what: str) -> str:
    return (
        "Your kernels were read from your file and launched once more as you had launched them, on other data of "
        f"the same shape and without the rest of your code. Then it was not right: {what}"
    )


def wrong_on_other_data(what: str) -> str:
    return (
        "All cases were right. Your kernels then ran once more as you had launched them, on other numbers of the "
        f"same shape, and one result was not right: {what} What in them holds for some numbers only, and how near "
        "the tolerance were you before?"
    )


def not_run_again(why: str) -> str:
    return (
        "Your kernels were to be launched once more without the rest of your code, and could not be: "
        f"{plain(why, 300)}. A kernel may use constants and functions that stand at the top of your file; what a "
        "launch is given must be tensors, numbers and types."
    )


def too_slow_alone() -> str:
    return (
        "Your kernels were read from your file and launched once more as you had launched them, without the rest "
        "of your code. They took several times as long as all of your calls had, and were stopped."
    )


COMPILED = "your kernels, compiled for a GPU"
NO_COMPILER = (
    "Triton's compiler could not be asked here, so whether your kernels compile for a GPU is not known. That is "
    "nothing that you did."
)


NO_TRITON = (
    "Triton is not installed where this was graded, so whether your kernels compile for a GPU is not known. That "
    "is nothing that you did."
)


def refused_by_compiler(kernel: str, why: str) -> str:
    return plain(f"Triton's compiler refuses `{kernel}`, so on no GPU does it run: {why}", 800)


def compiler_trouble(kernel: str, target: int, why: str) -> str:
    return plain(f"`{kernel}` could not be compiled for sm_{target}, which changes no outcome: {why}", 500)


def compiler_stopped(kernel: str, kind: str, seconds: float, memory_bytes: int) -> str:
    what = {
        "time_limit": f"was still at work after {seconds:g} s",
        "out_of_memory": f"needed more than {memory_bytes >> 20} MiB",
    }.get(kind, "printed without end")
    return plain(
        f"Triton's compiler {what} on `{kernel}` and was stopped, so on no GPU would it come to run. What in it "
        "grows without bound while it is compiled: a constant that is computed, a tile, a loop over "
        "tl.static_range, which becomes one copy of its body for each turn?"
    )


def compiler_died(kernel: str) -> str:
    return plain(f"Triton's compiler crashed on `{kernel}`, so whether it compiles for a GPU is not proven.")


def not_compiled(kernel: str) -> str:
    return plain(
        f"`{kernel}` was launched in a way that can't be told to the compiler from outside, so it was not compiled."
    )


def not_all_compiled(most: int) -> str:
    return f"Your kernels were launched with more than {most} choices of constants; the first {most} were compiled."


def right_without_kernels() -> str:
    return (
        "With all kernel launches switched off, the result was still right: it is computed somewhere else than in "
        "your kernels."
    )


def not_counted(rules: str) -> str:
    return f"How often an element is {rules} is counted in the CPU lane only; this run could not check it."


# A case: the code did not get to a result.


def raised(message: str, traceback: str) -> str:
    return plain(f"{message}\n{traceback}".strip())


def out_of_memory(mib: int) -> str:
    return f"Your code asked for more memory than the {mib} MiB it may use."


def too_slow(seconds: float) -> str:
    return f"The call was still running after {seconds:g} s and was stopped."


def too_slow_to_load(seconds: float) -> str:
    return f"The file was still loading after {seconds:g} s and was stopped."


def no_time_left(seconds: float) -> str:
    return f"All cases together may take {seconds:g} s, and that time was used up during this one."


def too_much_output(kib: int) -> str:
    return f"Your code printed more than {kib} KiB and was stopped."


def wrote_to_the_channel(message: str) -> str:
    return (
        "Your file's process said something to the grader that is no answer to what it was asked: something wrote "
        "to a descriptor that was not its own, closed it, or made a result of parts beyond measure. "
        f"{plain(message, 300)}"
    ).strip()


def died(message: str) -> str:
    return (
        "The process that ran your code ended without returning: a crash, usually an address far out of bounds, "
        f"or an exit. {plain(message, 300)}"
    ).strip()


def refused(message: str) -> str:
    return f"Your code did something that the sandbox does not allow. {plain(message, 300)}".strip()


LOADING = "loading your file"
HIDDEN = "hidden"
GRADER_PROBLEM = "Something on our side went wrong while grading. No attempt is spent; send the same code again."


# A verdict: one sentence.


def sentence(
    outcome: Outcome, results: Sequence[CaseResult], expected: int, skipped: int, visible_only: bool = False
) -> str:
    """The one sentence of a verdict. `results` are as the learner will see them, in the order they ran."""
    if outcome is Outcome.ACCEPTED and visible_only and any(one.report and one.report.by_person for one in results):
        return "The automatic part passes. Submit the outline, and a person scores it."
    if outcome is Outcome.ACCEPTED and visible_only:
        return f"The visible cases passed, {len(results)} of {expected}. Hidden ones run when you submit."
    if outcome is Outcome.ACCEPTED:
        return accepted(results, skipped)
    if outcome is Outcome.GRADER_PROBLEM or not results:
        return GRADER_PROBLEM
    first = next(result for result in results if result.outcome is not Outcome.ACCEPTED)
    if first.name == LOADING:
        return _loading(outcome)
    if first.report is not None:
        return first.report.words
    if first.name in (COMPILED, AGAIN):
        return _failed_afterwards(outcome, first, results)
    return _failed(outcome, first, results, expected)


def accepted(results: Sequence[CaseResult], skipped: int) -> str:
    checked = next((result.report for result in results if result.report is not None), None)
    if checked is not None:
        return checked.words
    visible = sum(result.visible for result in results)
    hidden = len(results) - visible
    text = f"Accepted: all {count(len(results), 'case')} passed, {visible} visible and {hidden} hidden."
    if skipped:
        text += f" {count(skipped, 'more case')} can only run in another lane and {was(skipped)} not judged here."
    return text


def _loading(outcome: Outcome) -> str:
    return {
        Outcome.COMPILE_ERROR: "Your file could not be loaded, so no case ran.",
        Outcome.RUNTIME_ERROR: "Your file raised an exception while it was loaded, so no case ran.",
        Outcome.TIME_LIMIT: "Your file was still loading when its time ran out, so no case ran.",
        Outcome.OUT_OF_MEMORY: "Your file used up the memory while it was loaded, so no case ran.",
        Outcome.OUTPUT_LIMIT: "Your file printed too much while it was loaded, so no case ran.",
    }.get(outcome, "Your file did something while it was loaded that is not allowed, so no case ran.")


def _failed_afterwards(outcome: Outcome, first: CaseResult, results: Sequence[CaseResult]) -> str:
    """Every case passed, and what is asked of kernels before they are accepted did not."""
    what = {
        (COMPILED, Outcome.COMPILE_ERROR): "Triton's compiler refuses a kernel of yours",
        (COMPILED, Outcome.TIME_LIMIT): "Triton's compiler did not come to an end with a kernel of yours",
        (COMPILED, Outcome.OUT_OF_MEMORY): "Triton's compiler ran out of memory on a kernel of yours",
        (AGAIN, Outcome.TIME_LIMIT): "your kernels alone take far longer than your calls did",
    }.get((first.name, outcome), "your kernels alone do not give the result")
    passed = [result for result in results if result is not first]
    return f"Not accepted: {count(len(passed), 'case')} passed, but {what}."


def _failed(outcome: Outcome, first: CaseResult, results: Sequence[CaseResult], expected: int) -> str:
    """The sentence for a submission that failed at the case `first`."""
    which = f"the case “{first.name}”" if first.visible else "a hidden case"
    what = {
        Outcome.WRONG_ANSWER: f"Wrong answer in {which}",
        Outcome.RULE_BROKEN: (
            f"{first.calls.name} was called more than {first.calls.allowed} times in {which}"
            if first.calls is not None
            else f"A rule of the contract is broken in {which}"
        ),
        Outcome.RUNTIME_ERROR: f"Your code raised an exception or crashed in {which}",
        Outcome.COMPILE_ERROR: f"Your kernel did not compile in {which}",
        Outcome.TIME_LIMIT: f"Out of time in {which}",
        Outcome.OUT_OF_MEMORY: f"Out of memory in {which}",
        Outcome.OUTPUT_LIMIT: f"Too much output in {which}",
    }[outcome]
    passed = sum(result.outcome is Outcome.ACCEPTED for result in results)
    visible_passed = all(r.outcome is Outcome.ACCEPTED for r in results if r.visible)
    ran = f"{passed} of {expected} cases passed"
    if not first.visible and visible_passed:
        ran += ", all visible ones among them"
    return f"{what}; {ran}."


def skipped_here(dtype: str) -> str:
    return f"{dtype} runs in another lane: this one can't compute it exactly."


def hidden_name(number: int) -> str:
    return f"{HIDDEN} {number}"


# Words.


def count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def was(number: int) -> str:
    return "was" if number == 1 else "were"


def times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def shape(lengths: Sequence[int]) -> str:
    return "(" + ", ".join(str(n) for n in lengths) + ("," if len(lengths) == 1 else "") + ")"


# Questions for a failure that looks like no known fault.

QUESTIONS = {
    "grows": "The error grows with every tile. Which value do you carry from tile to tile, and in which type?",
    "everywhere": "It is wrong at every length, one tile included. What does one row give when you do it by hand?",
    "partial": "Whole tiles are right. What do the lanes past the end of the row read, and what do they add?",
    "partial_after_whole": "Whole tiles are right, and so is a row shorter than one. How many tiles does your loop "
    "visit for a row of one tile and a little more?",
    "second_tile": "One tile is right. What has to happen to what you know when the second tile comes?",
    "second_tile_grows": "One tile is right, and each further one adds to the error. What has to happen to what "
    "you know of the earlier tiles when a new one comes?",
    "beyond": "It is right up to a length and wrong beyond. Which length is written into your code?",
    "mixed": "Some lengths pass and others do not. What do those that fail have in common?",
    "whole": "Only whole tiles are wrong. What is different about a last tile that is full?",
}


BY_KIND = {
    "raised": "Which value does the line that failed get, and where does that value come from?",
    "died": "Which addresses does your kernel compute for the first and the last lane of a tile?",
    "time_limit": "How often does your longest loop run for a row of a few thousand columns?",
    "dtype": "Which type does the contract promise, and where does your code choose one?",
    "shape": "Which shape does the contract promise for this input?",
    "count": "How many values does the contract promise?",
    "not_tensor": "What exactly does your function return?",
    "loads": "How many passes over the row does your kernel make?",
    "stores": "How often does your kernel write each element of the result?",
    "no_kernel": "Which kernel of yours wrote the bytes that you return?",
    "not_written": "Who wrote last to the memory that you return?",
    "computed_elsewhere": "Where were the numbers computed that your kernel stores?",
    "inputs_changed": "Which of your statements write to memory, and does all of it belong to the result?",
    "scratch": "Which of your buffers grows with the product of two lengths, and does it have to exist as a whole?",
    "memory": "Which of your intermediate results is the largest, and when is it let go?",
    "calls": "Write down what each call can tell you, before you make it. Which two of yours have the same answer?",
    "exception": "Which arguments does the contract refuse, and with which exception?",
}

UNLIKE_ANY = (
    "Read the contract again, line by line. Which input does it promise that none of the visible cases shows?"
)


def question_for(outcome: str, kind: str, trend: str) -> str:
    """The question for a failure of this outcome, ended by `kind` (see `grader.judge`), with this trend."""
    if kind in BY_KIND:
        return BY_KIND[kind]
    if outcome == Outcome.WRONG_ANSWER:
        return QUESTIONS.get(trend, UNLIKE_ANY)
    return ""
