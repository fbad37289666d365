"""Remarks after an answer, which say nothing about it: closed lists of openings."""

import re

_ENGLISH = (
    r"(?:i|we) (?:really )?hope (?:it|this|that|my|the)\b(?![^.!\n]{0,60}\d)|hope (?:this|that"
    r"|it) helps?"
    r"|(?:please )?(?:let me know|feel free|do not hesitate|don't hesitate)\b|if you (?:have|need"
    r"|want|would like)\b"
    r"|(?:is|was) there anything else|i'?m (?:happy|glad) to|happy to help|glad to help|good luck"
    r"|best of luck"
    r"|have a (?:great|nice|good)|thanks?\b|thank you|you'?re welcome|(?:best|kind|warm) regards"
    r"|regards,?$"
    r"|cheers\b|sincerely|yours\b|your (?:tutor|assistant|teacher)$|happy (?:learning|studying"
    r"|solving)"
)
_CHINESE = (
    r"希望(?:对|这|能|以上|我的|可以)|如果?(?:您|你|还)?(?:还)?有(?:任何|其他|其它|什么|疑|不"
    r"|问题)|如有|若有"
    r"|请(?:随时|告诉我|继续)|欢迎|祝(?:你|您|学|好)|谢谢|感谢|加油|以上(?:就)?是(?:我的|本题的"
    r"|全部)|还有(?:什么|其他)问题"
)
_REMARK = re.compile(rf"[\s*_>\W]{{0,8}}(?:{_ENGLISH}|{_CHINESE})", re.IGNORECASE)
# Emoji, dingbats and the joiners between them; but crosses and question marks are no praise.
_EMOJI = (
    "\U0001f000-\U0001f44d\U0001f44f-\U0001f6aa\U0001f6ac-\U0001faff\u2600-\u2714\u2719-\u274b\u2756-\u27bf"
    "\u2b50\u2b55\ufe0f\u200d"
)
_TRAILING = re.compile(rf"(?<![\s{_EMOJI}])[\s{_EMOJI}]++\Z")
_SENTENCE_END = re.compile(
    r"[.!?](?=\s)|[。！？](?=.)|(?<=[$)\]}\d])\s(?=I hope|Let me|If you|希望|如)"
)
# Remarks in brackets: what the letters of a formula are, and what one number, no set, counts.
_NOTE = re.compile(
    r"\s?[(（](?:[a-zA-Z](?:为|是)(?:任意)?(?:常数|整数|实数)"
    r"|(?:where )?[a-zA-Z] is (?:an? )?(?:arbitrary )?(?:constant|integer|real number))"
    r"[)）][.。]?\Z"
)
_COUNTED = re.compile(
    r"\A(\s*\$?\d{1,20}(?:[./]\d{1,20})?\$?\s?[a-zA-Z\u4e00-\u9fff]{0,10})"
    r"\s?[(（](?:(?:不?含|不?包括|不计|不算|算上)[^()（）\d]{1,20}"
    r"|(?:including|excluding|counting|not (?:including|counting)) [^()（）\d]{1,40})[)）][.。]?\Z"
)
_MAX_REMARK = 300


def without_remarks(text: str) -> str:
    """The text without the remarks and emoji at its end."""
    text = _TRAILING.sub("", text)
    while text:
        head, _, line = text.rpartition("\n")
        kept = _line_without_remarks(line)
        if kept == line:
            return text
        text = (f"{head}\n{kept}" if kept else head).rstrip()
        if kept:
            return text
    return text


def without_note(answer: str) -> str:
    """An answer without the remark in brackets at its end: 52 (excluding the driver)."""
    if not answer.endswith((")", "）", ".", "。")):
        return answer
    return _COUNTED.sub(r"\1", _NOTE.sub("", answer))


def _line_without_remarks(line: str) -> str:
    """A line up to the first of the remarks at its end."""
    end = len(line)
    starts = [0, *(match.end() for match in _SENTENCE_END.finditer(line))]
    for start in reversed(starts):
        sentence = line[start:end]
        if len(sentence) > _MAX_REMARK or not _REMARK.match(sentence):
            break
        end = start
    return line if end == len(line) else _TRAILING.sub("", line[:end])
