r"""Denials and alternatives, in many languages, around a \boxed{} and of what another says."""

import pytest

from reasonenv.grading import grade

DENIED = [
    "18 is ruled out",
    "18 can be ruled out.",
    "18 fails the check.",
    "It would be a mistake to answer 18.",
    "The value 18 is excluded.",
    "We reject 18.",
    "18 must be rejected",
    "18 is impossible",
    "I disagree with 18.",
    "18 was eliminated.",
    "Avoid 18.",
    "18 does not work",
    "Es ist nicht 18.",
    "18 ist falsch.",
    "Es sind keine 18.",
    "Die Lösung ist 18 oder 19.",
    "15 est faux, 18 aussi est faux",
    "Ce n'est pas 18.",
    "Il n’y a pas 18 pommes",
    "peut-être 18",
    "cualquier cosa menos 18",
    "18 es falso",
    "quizás 18 manzanas",
    "non è 18",
    "forse 18",
    "18 è sbagliato",
    "a resposta não é 18",
    "talvez seja 18",
    "18 está errado",
    "Het is niet 18.",
    "18 is fout",
    "misschien 18 appels",
    "to nie jest 18",
    "18 albo więcej",
    "18 jest błędne",
    "Это не 18.",
    "возможно, 18",
    "18 неверно",
    "18 değil",
    "belki 18 elma",
    "18 yanlış",
    "không phải 18",
    "có thể là 18",
    "18 là sai",
    "bukan 18",
    "mungkin 18 apel",
    "18 salah",
    "18ではありません",
    "18ではない",
    "たぶん18です",
    "18は間違いです",
    "18이 아닙니다",
    "아마 18입니다",
    "18은 틀렸습니다",
    "ليس 18",
    "ربما 18",
    "18 خطأ",
    "18 नहीं है",
    "शायद 18",
    "18 गलत है",
    "det er ikke 18",
    "det är inte 18",
    "není to 18",
    "se ei ole 18",
    "ไม่ใช่ 18",
    "זה לא 18",
    "δεν είναι 18",
    "এটা 18 নয়",
    r"\boxed{18} is wrong",
    r"not \boxed{18}",
    r"The answer is not \boxed{18}.",
    r"It isn't \boxed{18}",
    r"$\boxed{18}$ is incorrect.",
    r"答案不是\boxed{18}",
    r"\boxed{18}是错的",
    r"\boxed{18} is not the answer.",
    r"\boxed{\frac{\boxed{18}}{2}}",
    r"\boxed{\boxed{18}+1}",
    "A student claims that the answer is 18. The student is mistaken.",
    "Tom says the answer is 18. He is not right.",
    "Someone thought that the answer is 18, but the book disagrees.",
    "有人说答案是18，其实不对",
    "千万别写18",
    "排除18",
    "18不成立",
    "18不合题意",
    "18应舍去",
]
STATED = [
    "Es sind 18 Äpfel.",
    "Sie bezahlt insgesamt 18 Euro.",
    "Elle paie 18 euros.",
    "Il reste 18 pommes.",
    "Quedan 18 manzanas.",
    "Ella gana 18 dólares cada día",
    "Rimangono 18 mele.",
    "Restam 18 maçãs.",
    "Zij betaalt 18 euro.",
    "Zostało 18 jabłek.",
    "Осталось 18 яблок.",
    "Toplam 18 elma kaldı.",
    "Còn lại 18 quả táo.",
    "Tersisa 18 apel.",
    "残りは18個です。",
    "답은 18입니다.",
    r"The answer is \boxed{18}.",
    r"\boxed{18}, not 19",
    r"It is not 17 but \boxed{18}.",
    r"\boxed{\boxed{18}}",
    r"所以答案是\boxed{18}，而不是19",
    r"17 is wrong, so \boxed{18}",
    r"\boxed{18} is the answer.",
    r"Not only that: \boxed{18}",
    "The student's claim holds: the answer is 18.",
]


@pytest.mark.parametrize("response", DENIED)
def test_denied_answer_is_wrong(response: str) -> None:
    assert not grade(response, "18").correct


@pytest.mark.parametrize("response", STATED)
def test_sentences_in_other_languages_state_their_only_number(response: str) -> None:
    assert grade(response, "18").correct
    assert not grade(response.replace("18", "28"), "18").correct


def test_choice_that_is_advised_against_is_wrong() -> None:
    assert not any(
        grade(f"{words}B", "B").correct for words in ("千万别选", "切勿选", "莫选", "不要选")
    )
