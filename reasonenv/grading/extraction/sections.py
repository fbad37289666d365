"""The part of a response that may hold the answer."""

import re

from reasonenv.grading.extraction.markers import numbered_parts
from reasonenv.grading.extraction.sentences import CONCLUSION, sentence_spans
from reasonenv.grading.words.text import is_prose

_REASONING = re.compile(r"<(/?)think>")
_GAP = "\0"  # where reasoning was


def answer_section(response: str) -> tuple[str, bool]:
    """The part of a response that may hold the answer, and True if it has an <answer> tag.

    That is the last <answer> section outside of the reasoning; without one, what follows that.
    """
    parts = _without_reasoning(response)
    text = _GAP.join(parts)
    start = text.rfind("<answer>")
    if start < 0:
        return parts[-1], False
    section = text[start + len("<answer>") :].partition("</answer>")[0]
    # Around reasoning within it stands no one number.
    pieces = [piece for piece in section.split(_GAP) if piece.strip()]
    return pieces[-1] if pieces else "", True


def _without_reasoning(response: str) -> list[str]:
    """The parts before, between and after <think> and </think>, one at least.

    The first </think> closes a <think>. Without that the prompt opened the reasoning, and all that
    stands before is it; so is what follows a <think> that nothing closes.
    """
    parts: list[str] = []
    start, is_inside = 0, False
    for number, tag in enumerate(_REASONING.finditer(response)):
        if tag[1] and not number:
            parts.clear()
        elif not is_inside:
            parts.append(response[start : tag.start()])
        start, is_inside = tag.end(), not tag[1]
    return parts if is_inside else [*parts, response[start:]]


def glm_box(text: str) -> str:
    """The text between the last box tokens of GLM-V; the whole text without any."""
    if "<|begin_of_box|>" not in text:
        return text
    inner = text.rpartition("<|begin_of_box|>")[2].partition("<|end_of_box|>")[0]
    return f"\\boxed{{{inner}}}" if "\\boxed" not in inner and inner.strip() else inner


# Tokens that end a turn, of ChatML, Llama 2 and 3, Gemma, Phi, DeepSeek, GPT-2.
_END = re.compile(
    r"<\|(?:im_end|eot_id|eom_id|endoftext|end_of_text|end)\|>|</s>|<end_of_turn>|<eos>"
    r"|<｜end▁of▁sentence｜>"
)
# Text that its author struck out.
_STRUCK = re.compile(r"<(s|del|strike)>[^<>\n]{0,80}</\1>(?=[ \t]*[\w(])|~~[^~\n]{1,80}~~")
# Tokens that open one, or end a part of it, with the role; InternLM has <eoa>, <eoe>, <eoh>.
_TOKEN = re.compile(
    r"<\|[^|<>]{1,40}\|>?|\|eot_id\|>|<s>|<(?:bos|pad|unk|eo[aehmt]|end_of_turn|eos)>|\[/?INST\]"
    r"|<</?SYS>>|\[UNUSED_TOKEN_\d{1,4}\]|<start_of_turn>(?:model|user)?|<｜[^｜<>]{1,40}｜>"
)
_OPENING = re.compile(
    rf"(?:\s|<\|(?:im_start|start_header_id)\|>assistant|{_END.pattern}|{_TOKEN.pattern})*+"
)
_ANSWERED = re.compile(r"\banswer\b|答案|####|\\boxed", re.IGNORECASE)
# A new question, which a base model invents after its answer.
_QUESTION = re.compile(
    r"(?:^|\n)[#*\s]{0,6}(?:Question|Q|Problem|Human|User|Instruction|题目|问题)\s?[:：]"
)


def last_turn(text: str) -> str:
    """The text up to the token that ends its turn, or to the next question, without tokens."""
    text = _STRUCK.sub("", text)
    if "<" in text or "[" in text or "|" in text:
        text = text[_OPENING.match(text).end() :]  # pyright: ignore[reportOptionalMemberAccess]
        end = _END.search(text)
        text = _TOKEN.sub(_gap, text[: end.start()] if end else text)
    answer = _ANSWERED.search(text)
    question = _QUESTION.search(text)
    if answer and question and question.start() > answer.end():
        return text[: question.start()]
    return text


def _gap(token: re.Match[str]) -> str:
    return "\n" if token[0].startswith("<eo") else ""


_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_COMPUTATION = re.compile(r"[\d)）}\w]\s?(?:[-+*/×÷−]|\\times|\\cdot|\\div)\s?[$(（\d]")


_VALUE = re.compile(
    r"[\s*$\\-]{0,6}\d[\d.,/]{0,30}(?:\s?[a-zA-Z]{1,20}(?![a-zA-Z])){0,3}[*.!]{0,3}"
)


def conclusion(text: str) -> str:
    """The last paragraph; its last line or sentence where that concludes from the others."""
    text = text.strip()
    paragraph = _last_paragraph(text)
    if paragraph.endswith(("\\]", "$$")):
        return paragraph
    if parts := numbered_parts(paragraph):
        return parts
    line = paragraph.rpartition("\n")[2].strip()
    if not is_prose(line) or _VALUE.fullmatch(line) or ("=" in line and _COMPUTATION.search(line)):
        return line
    start, end = sentence_spans(paragraph)[-1]
    last = paragraph[start:end].strip()
    return last if CONCLUSION.match(last) else paragraph


def _last_paragraph(text: str) -> str:
    """The last paragraph, with the one before it where it is a formula of its own."""
    ends = list(_BLANK_LINE.finditer(text))
    return text[ends[-1].end() :].strip() if ends else text
