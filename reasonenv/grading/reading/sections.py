r"""The part of a response that may hold the answer, and the contents of its boxes."""

import re
from collections.abc import Sequence
from typing import NamedTuple

_GAP = "\0"  # where reasoning was


def answer_section(response: str) -> tuple[str, bool]:
    """The part of a response that may hold the answer, and True if it has an <answer> tag.

    That is the last <answer> section outside of the reasoning; without one, what follows that.
    Without a <think> before the first </think> the prompt opened the reasoning, and all before it
    is reasoning; so is all that follows a <think> that nothing closes.
    """
    closed = response.rfind("</think>")
    stop = len(response)
    if response.rfind("<think>", closed + 1) >= 0:
        stop = response.find("<think>", closed + 1)
    start = response.rfind("<answer>", max(0, closed), stop)
    if start >= 0:
        bracket = response.find("<", start + 1)  # many times as fast to find as a tag
        end = response.find("</answer>", bracket, stop) if bracket >= 0 else -1
        return response[start + len("<answer>") : end if end >= 0 else stop], True
    if closed >= 0 and response.rfind("<answer>", 0, closed) >= 0:
        return _earlier_section(response[:stop])
    return response[closed + len("</think>") if closed >= 0 else 0 : stop], False


def _earlier_section(text: str) -> tuple[str, bool]:
    """The same where no tag follows the last reasoning: a tag before it, outside of any."""
    before, _, after = text.partition("</think>")
    *closed, rest = (text if "<think>" in before or not after else after).split("</think>")
    text = _GAP.join([*(piece.partition("<think>")[0] for piece in closed), rest])
    _, tag, section = text.rpartition("<answer>")
    if not tag:
        return rest, False
    # Around reasoning within it stands no one number.
    pieces = [piece for piece in section.partition("</answer>")[0].split(_GAP) if piece.strip()]
    return pieces[-1] if pieces else "", True


# Tokens that end a turn, of ChatML, Llama 2 and 3, Gemma, Phi, DeepSeek, GPT-2.
_END = re.compile(
    r"<\|(?:im_end|eot_id|eom_id|endoftext|end_of_text|end)\|>|</s>|<end_of_turn>|<eos>"
    r"|<｜end▁of▁sentence｜>"
)
# Tokens that open one, or end a part of it, with the role; InternLM has <eoa>, <eoe>, <eoh>.
_TOKEN = re.compile(
    r"<\|[^|<>]{1,40}\|>?|\|eot_id\|>|<s>|<(?:bos|pad|unk|eo[aehmt]|end_of_turn|eos)>|\[/?INST\]"
    r"|<</?SYS>>|\[UNUSED_TOKEN_\d{1,4}\]|<start_of_turn>(?:model|user)?|<｜[^｜<>]{1,40}｜>"
)
_OPENING = re.compile(
    rf"(?:\s|<\|(?:im_start|start_header_id)\|>assistant|{_END.pattern}|{_TOKEN.pattern})*"
)
# Text that its author struck out.
_STRUCK = re.compile(r"<(s|del|strike)>[^<>\n]{0,80}</\1>(?=[ \t]*[\w(])|~~[^~\n]{1,80}~~")
_ANSWERED = re.compile(r"\banswer\b|答案|####|\\boxed", re.IGNORECASE)
# A new question, which a base model invents after its answer.
_QUESTION = re.compile(
    r"\n[#*\s]{0,6}(?:Question|Q|Problem|Human|User|Instruction|题目|问题)\s?[:：]"
)


def last_turn(text: str) -> str:
    """The text up to the token that ends its turn, or to the next question, without tokens."""
    if "~~" in text or "<s>" in text or "<del>" in text:
        text = _STRUCK.sub("", text)
    if "<" in text or "[" in text or "|" in text:
        text = _glm_box(text)
        text = text[_OPENING.match(text).end() :]  # pyright: ignore[reportOptionalMemberAccess]
        end = _END.search(text)
        text = text[: end.start()] if end else text
        text = _TOKEN.sub(lambda token: "\n" if token[0].startswith("<eo") else "", text)
    question = _QUESTION.search("\n" + text)
    answer = _ANSWERED.search(text) if question else None
    if answer and question and question.start() > answer.end() + 1:
        return text[: question.start() - 1]
    return text


def _glm_box(text: str) -> str:
    """The text between the last box tokens of GLM-V; the whole text without any."""
    if "<|begin_of_box|>" not in text:
        return text
    inner = text.rpartition("<|begin_of_box|>")[2].partition("<|end_of_box|>")[0]
    return f"\\boxed{{{inner}}}" if "\\boxed" not in inner and inner.strip() else inner


class Box(NamedTuple):
    """A box: the bounds of the whole of it, and its content."""

    start: int
    end: int
    content: str


class Boxes(NamedTuple):
    """The last boxes of a text.

    Attributes:
        run: The last box and those that are parts of the same answer, in order.
        is_open: True if a later box is cut off.
    """

    run: Sequence[Box]
    is_open: bool


_BRACE = re.compile(r"\{[^{}\\]*+\}|\\(?:boxed|fbox)\s*\{|\\(?!\\(?:boxed|fbox)).|[{}]", re.DOTALL)
_COMMAND = re.compile(r"\\boxed|\\fbox")
_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")


def last_boxes(text: str) -> Boxes:
    r"""The last boxes of a text; one within another is a part of that.

    One pass with a stack of the brackets that are open: linear in the text.
    """
    first = _COMMAND.search(text)
    if first is None:
        return Boxes((), False)
    bounds: list[tuple[int, int, int]] = []  # of a box, with the start of its content
    stack: list[re.Match[str] | None] = []  # None for a brace that is no box
    for brace in _BRACE.finditer(text, first.start()):
        sign = brace[0]
        if sign == "{":
            stack.append(None)
        elif sign == "}":
            opening = stack.pop() if stack else None
            if opening is not None:
                while bounds and bounds[-1][0] > opening.start():
                    bounds.pop()
                bounds.append((opening.start(), opening.end(), brace.end()))
        elif sign[-1] == "{" and len(sign) > 2:
            stack.append(brace)
    last = bounds[-1][2] if bounds else -1
    is_open = any(opening and opening.start() >= last for opening in stack)
    return Boxes(_run(text, bounds), is_open)


def _run(text: str, bounds: Sequence[tuple[int, int, int]]) -> Sequence[Box]:
    run: list[Box] = []
    for start, at, end in reversed(bounds):
        box = Box(start, end, _BOX.sub("{", text[at : end - 1]))
        if run and not _are_joined(text, box, run[-1]):
            break
        run.append(box)
    return run[::-1]


_CHOICE = re.compile(r"[\s(]{0,3}(?:\\text\{)?([A-J])[\s)}.]{0,3}")


def _are_joined(text: str, box: Box, following: Box) -> bool:
    """True if two boxes are parts of one answer; of two with nothing between, letters alone."""
    gap = text[box.end : following.start]
    if gap.strip(" $"):
        words = _NAMES.sub(" ", gap)
        is_short = len(gap) <= _MAX_GAP and not _BREAK.search(words)
        return _PART.search(gap) is not None or (is_short and _separator(words) != "")
    left, right = _CHOICE.fullmatch(box.content), _CHOICE.fullmatch(following.content)
    return left is not None and right is not None and left[1] != right[1]


# The number of a part of a question, at the start of a line.
_PART = re.compile(r"(?:^|\n)[\s#*]{0,6}[(（](?:[2-9]|[b-h]|i{2,3}|iv|v)[)）]")
_NAMES = re.compile(r"\\[()\[\],;\\ ]|\\q?quad|\\text|[${}]|[a-zA-Z](?:_\{?\w\}?)?\s*=|\(\w\)")
_BREAK = re.compile(
    r"[.。!?？:\n\d=是为得]|因此|所以|\b(?:no|not|wait|actually|then|but|instead|so|thus|hence"
    r"|therefore|which|is)\b",
    re.IGNORECASE,
)
_MAX_GAP = 60


_OR = re.compile(r"\bor\b|或|\\(?:lor|cup)")
_SEPARATOR = re.compile(r"[,;、，；]|\band\b|[和及与]|\\land")


def _separator(gap: str) -> str:
    """What stands for the text between two boxes, "" for nothing."""
    if "≈" in gap or "\\approx" in gap:
        return " \\approx "
    if _OR.search(gap):
        return " or "
    return ", " if _SEPARATOR.search(gap) or _PART.search(gap) else ""


def boxed_answer(text: str, boxes: Sequence[Box]) -> str:
    """The contents of boxes as one answer."""
    answer = ""
    for index, box in enumerate(boxes):
        if not box.content.strip():
            continue
        gap = text[boxes[index - 1].end : box.start] if index else ""
        answer += (_separator(gap) or ", " if answer else "") + box.content.strip()
    return answer
