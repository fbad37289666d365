"""Denials, guesses, alternatives and comparisons in sentences of other languages: closed lists."""

import re

from reasonenv.grading.extraction.alternatives import by_first_letter

_LATIN = (
    # German, Dutch, Swedish, Danish and Norwegian
    r"nicht|keine?[nmrs]?|niemals|weder|falsch|oder|vielleicht|möglicherweise|wahrscheinlich"
    r"|ungefähr|mindestens|höchstens|weniger|mehr als|beinahe|außer|ausgeschlossen|unmöglich"
    r"|niet|geen|fout|onjuist|misschien|nooit|bijna|ongeveer|waarschijnlijk|minstens|hoogstens"
    r"|behalve|ofwel|verkeerd|inte|ikke|aldrig|fel|kanske|eller|måske|kanskje|forkert"
    # French
    r"|n[e'’](?=\s?\w)|pas|jamais|faux|fausse|incorrecte?|erronée?|ou|peut-être|environ|moins"
    r"|presque|sauf|aucune?|exclue?|impossible|probablement|autre que"
    # Spanish, Portuguese, Italian, Catalan, Romanian
    r"|nunca|jamás|falso|falsa|incorrecto|incorrecta|quizás?|tal vez|menos|casi|excepto|salvo"
    r"|tampoco|equivocad[oa]|errónea|erróneo|posiblemente|probablemente|imposible|podría|puede"
    r"|não|nem|errad[oa]|incorret[oa]|talvez|quase|exceto|provavelmente|impossível|pode"
    r"|non(?!-)|né|mai|sbagliat[oa]|errat[oa]|scorrett[oa]|forse|oppure|quasi|tranne|eccetto"
    r"|circa|probabilmente|impossibile|potrebbe|almeno|menys|potser|greșit|poate|nu e(?:ste)?"
    # Polish, Czech, Slovak, Croatian, Hungarian, Finnish
    r"|nie|albo|lub|może|błędn[ea]|błędny|fałszyw[ea]|niepoprawn[ea]|prawie|oprócz|chyba"
    r"|prawdopodobnie|nigdy|około|mniej|więcej|není|nejsou|nebo|možná|špatně|alebo|nije|nisu"
    r"|nem|talán|vagy|hibás|ei(?: ole)?|eivät|väärin|ehkä"
    # Turkish, Vietnamese, Indonesian
    r"|değil(?:dir)?|yanlış(?:tır)?|veya|ya da|belki|hariç|yaklaşık|olamaz|asla|muhtemelen"
    r"|không|chẳng|chưa|sai|hoặc|có thể|có lẽ|khoảng|gần|trừ|ít nhất|nhiều nhất"
    r"|bukan(?:lah)?|tidak|salah|atau|mungkin|sekitar|kecuali|kurang|lebih|hampir|jangan"
)
_CYRILLIC = (
    r"не|нет|ни|неверн\w*|неправильн\w*|ошибочн\w*|ложь|или|либо|может|возможно|наверное"
    r"|вероятно|около|примерно|меньше|больше|почти|кроме|никогда|нельзя|исключ\w*|або|ні|можливо"
)
_ARABIC = (
    r"ليست?|لا|لم|لن|غير|خطأ|خاطئة?|أو|ربما|قد|حوالي|تقريبا|أقل|أكثر|ما عدا|إلا|سوى|يمكن|مستحيل"
)
_LISTED = by_first_letter(f"{_LATIN}|{_CYRILLIC}|{_ARABIC}")
_WORDS = re.compile(rf"\b(?:{_LISTED})(?!\w)", re.IGNORECASE)
# Words that are not separated by spaces, or take endings.
_PARTS = re.compile(
    # Japanese
    r"ない|なく|なかっ|ません|違|間違|誤|または|あるいは|もしく|かもし|たぶん|おそらく|多分|以外|以上|以下"
    r"|未満|より|くらい|ぐらい|ほど|約|でしょう|だろう|ありえ|か？|か。"
    # Korean
    r"|아니|아닙|아닌|않|틀[리렸린림]|못|또는|혹은|거나|[0-9]이나|아마|약\s?[0-9]|정도|이상|이하|미만|초과"
    r"|보다|제외|말고|빼고|외에|불가능|잘못|수도"
    # Hindi, whose vowel signs are no letters
    r"|नहीं|नही|ग़लत|गलत|शायद|लगभग|अलावा|सिवाय|असंभव|(?<![\u0900-\u097f])(?:न|मत|या|कम|अधिक|ज्यादा)(?![\u0900-\u097f])"
)
# Letters of scripts whose words of denial are not listed: all but Latin, Greek, Cyrillic, Arabic,
# Devanagari, Chinese, kana and Hangul. Of Greek a word of three letters, others are symbols.
_UNKNOWN = re.compile(
    "[\u0530-\u05ff\u0700-\u08ff\u0980-\u10ff\u1200-\u1cff\u2c00-\u2dff\ua4d0-\uabff]"
    "|[\u0370-\u03ff\u1f00-\u1fff]{3}"
)


# A name before an English verb, which is no denial of another language: Mai has, Sai paid.
_NAME = re.compile(
    r"\b[A-Z][a-z]{1,12}(?=(?:'s|\s(?:and|has|have|had|is|was|will|would|can|could|does|did|needs?|gets?"
    r"|got|makes?|made|sells?|sold|pays?|paid|spends?|spent|buys?|bought|eats?|ate|reads?|runs?|ran"
    r"|earns?|earned|walks?|walked|saves?|saved|uses?|used|gives?|gave|takes?|took|drives?|drove|won"
    r"|scored|collected|picked|baked|finished|planted|received|needed|owns?|counted|found))\b)"
)


def is_denied(words: str) -> bool:
    """True if words in another language than English and Chinese change a value beside them."""
    if _WORDS.search(words) and _WORDS.search(_NAME.sub("", words)):
        return True
    return not words.isascii() and (
        _PARTS.search(words) is not None or _UNKNOWN.search(words) is not None
    )
