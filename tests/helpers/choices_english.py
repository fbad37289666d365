"""Answers to multiple-choice questions in English.

Each line: reference, name of the options in `test_choice_answers` or "-", answers.
"""

RIGHT = r"""
(B) a rhombus | - | B
12 cm | - | C. 12 cm
31 | - | A. 31 | I. 31 | (a) 31
45° | - | B:45° | B、45°
A | - | (A) linear | A. 31 | Because AB is parallel to CD, the answer is A.
A | - | A is the correct answer. | A. (the first option) | Answer is A | ANSWER: A | answer=A | <A>
A | - | A; | A
A, C | - | AC
A,C | - | A and C
ABD | - | A, B, D | A B D | A,B,D | ABD. | (A, B, D)
AC | - | A and C | C, A | CA | (A), (C) | (A)(C) | A C | $A, C$ | \text{A, C} | \text{A}, \text{C}
AC | - | Options A and C | Options A and C are correct | The correct options are A, C. | A、C
AC | - | C、A | A，C | [A, C] | {A, C} | \{A, C\} | ["A", "C"] | \boxed{A, C} | \boxed{AC}
AC | - | \boxed{\text{A and C}} | \boxed{A}, \boxed{C} | \boxed{A} and \boxed{C}
ACD | - | A, C and D
AD | - | A & D
A、C | - | A, C
B | - | B, not A | B (not A) | It must be B, because A is too large and C is negative.
B | - | B is correct, A and C are not. | The graph that matches is graph B, so the answer is B
B | - | First I thought A, but it is actually B. | Answer: (B) | **Answer: B** | B. No
B | - | Hence (b) is correct. | (b)
B | - | We can rule out A and D. Comparing B and C, B is larger. The answer is B.
B | - | The answer is B, not C. | B rather than C | B instead of C | [[B]]
B and D | - | BD
B) 12 | - | (B) | 12
B. a rhombus | - | B. a rhombus | rhombus
B; D | - | B, D
BCD | - | Options B, C, and D
BD | - | The correct answers are B and D. | B and D are correct, A and C are wrong | B and D, not A
BD | - | D B
C | - | \textbf{(C) } 33 | A and B are incorrect, hence C.
C | - | A is false; B is false; D is false. The answer is C. | Answer: C | B, no wait, C
C | - | B... no, C | B, sorry, I mean C
C | - | Points A and B lie on the circle; the correct choice is C. | The correct statement is C
C | - | statement C is correct | Only statement C is true | A, oh no, C | A - correction: C
C | - | My first answer was A; I changed it to C | A? No, C. | A. Hmm, wait. It's C.
C | - | A: small. B: small. C: fits. D: big. So the answer is C.
C | - | Options A, B and D can be eliminated. Answer: C | A is out, B is out, D is out: C
C | - | The only remaining option is C. | By elimination, C. | C seems the most plausible answer.
C | - | C is the best choice. | Correct: C | The right one is C | My answer: C | Choose C
C | - | pick (C) | It's C. | C! | C ✓ | C ✅ | ✅ C | > C | - C | \(C\) | \[C\] | $\boxed{C}$.
C | - | \boxed{\mathbf{C}} | \textbf{C} | `C` | *C* | __C__ | "C" | {"answer": "C"} | answer: c
C | - | The answer is c. | option c | C] | 【C】 | 「C」 | “C” | C。 | C． | C, B is incorrect
C | - | C, A is not right
D | - | The best answer is D, since the others violate the triangle inequality.
D | - | A, B, C are wrong, so D | Among the choices, only D satisfies the equation.
D | - | A. Wait, that is the radius. The answer is D.
D | - | Since the triangle is isosceles, angle B equals angle C. So the answer is D.
B | - | The false statement is B. | The incorrect one is B. | The statement that is not true is B.
B | - | Eliminating A, C, and D leaves B. | After eliminating A and C, we are left with B.
C | - | I'd go with C. | So we go with C. | I'm going with C.
C | - | Choosing C. | Selecting C. | We get C.
C | - | Between B and C, C is better. | Between A and C, C is the better choice.
C | - | Ruling out B and D leaves C. | B is tempting, but the sign is wrong there; C is right.
D | - | I'd go with option D. | Option D it is. | All of A, B and C are wrong; the answer is D
D | - | None of A, B, C works, so D.
exponential | - | Option C: exponential
linear | - | (A) linear
quadratic | - | B) quadratic | (b) quadratic
2\pi | ANGLES | (C) 2π
C | ANGLES | C. $2\pi$ | $2\pi$ | 2π | C: 2\pi | 6.283185307
A | SETS | A. $\{1, 2\}$ | A={1,2}
C | SETS | C. $(1,2)$
D | SETS | D. ∅
B | FORMULAS | 1/2 | 0.5 | (B) $\dfrac12$
\frac{1}{2} | FORMULAS | (B) 0.5
-2 | SIGNED | (A) −2
A | SIGNED | -2 | A. -2
C | SIGNED | C) -4
12 cm | LENGTHS | C. 12 | C | (c)
C | LENGTHS | 12 centimeters | $12\text{ cm}$
10 | TEN | E
16 | TEN | H: 16
20 | TEN | J) 20
A | TEN | the answer is (A).
E | TEN | My final choice is E.
F | TEN | So the correct choice is **F**.
G | TEN | The answer is (G) 14
I | TEN | The answer is (I). | I | I. 18
J | TEN | J | (J) 20 | The answer is (J).
45° | DEGREES | \boxed{\text{B. } 45°} | （B）45°
B | DEGREES | The answer is $\boxed{\text{B. }45^\circ}$. | \boxed{B. 45^\circ}
B | DEGREES | \boxed{(\mathrm{B})\ 45^{\circ}} | ∠1 = 45°, so the correct option is B.
B | DEGREES | 45 degrees | 45 | B: 45° | The correct answer is B:45° | B．45°
C | DEGREES | \boxed{\textbf{(C)}\ 60^\circ}
31 | NUMBERS | A. 31 | 31 (A)
33 | NUMBERS | \text{(C)}\ 33 | \boxed{C}
A | NUMBERS | A: 31 | Thus the answer should be (A). | A (31) | 31, i.e. option A
B | NUMBERS | \mathrm{B} | $\text{B. } 32$ | The correct answer is option B. | The answer is B: 32
B | NUMBERS | The answer is 32, which is option B.
C | NUMBERS | x = 33 | $33$ | Therefore, option C is correct.
C | NUMBERS | The value is 33, so the answer is (C). | 33 (C) | 33, option C | C = 33 | [C]
C | NUMBERS | \boxed{\text{(C) }33}
D | NUMBERS | I would choose D.
10 m/s | SPEEDS | The correct answer is **B. 10 m/s**.
B | SPEEDS | We compute v = at = 10 m/s. The answer is (B).
B | SPEEDS | We compute v = at. **Answer: (B) 10 m/s** | So v = 10 m/s, which is B. | v = 10
B | SPEEDS | 10 meters per second | B. 10 m/s | I believe the answer is B.
B | SPEEDS | I think the answer is B | I'm confident that it's (B) | The answer must be B.
7 | TWINS | 7
A | MATRICES | A. A is invertible | A is invertible
B | MATRICES | A is singular | B. A is singular
C | MATRICES | (C) A = I
D | MATRICES | D. B = A | The correct option is D.
BC | SEGMENTS | C
C | SEGMENTS | C. BC | BC | CB
A | LETTERS | A
C | LETTERS | (C) D
D | LETTERS | D: C
A | BOTH | I only | A. I only
C | BOTH | Therefore, the correct answer is (C) I and II. | I and II
D | BOTH | (D) neither I nor II | neither I nor II
I and II | BOTH | C. I and II
B | POINTS | B. Point B | Point B
Point B | POINTS | B
B | ENERGY | wind energy
C | ENERGY | (C) Both solar and wind energy
D | ENERGY | D. None of the above | None of the above
A | SENTENCES | (A) The line is parallel to AB.
B | SENTENCES | B. The line through A and C is a diameter | The line through A and C is a diameter.
C | SENTENCES | C. Neither is true
D | SENTENCES | D. Not enough information
A | TRUTHS | True
B | TRUTHS | B. False | The statement is false, so B. | False (B)
False | TRUTHS | (B) False
True | TRUTHS | A. True
A | YESNO | Yes
No | YESNO | B | (B) No | No
Yes | YESNO | A. Yes
1 | FOOD | Hawk
B | FOOD | Thus, option (C) hawk... no, (B) hawk. | hawk | The answer is hawk. | a hawk
E | FOOD | E. A and B both | A and B both
F | FOOD | (F) none of these | none of these
none of these | FOOD | F
0 | SHAPES | (A)
2 | SHAPES | C | exponential
A | SHAPES | (A) linear
B | SHAPES | B) quadratic | The correct option is B) because A has the wrong sign.
B | SHAPES | Answer: **B. quadratic** | The answer is (B) quadratic. | b) quadratic
B | SHAPES | C. exponential, no wait, B. quadratic | The correct option is (B) quadratic.
C | SHAPES | Option C: exponential | Option (C), exponential
CA | SHAPES | CA | AC
D | SHAPES | Choice D - logarithmic | **D. logarithmic**
exponential | SHAPES | \text{C} | \textbf{(C)}
linear | SHAPES | (A) linear
logarithmic | SHAPES | **D.** logarithmic
quadratic | SHAPES | (B) quadratic. | Final answer: **(B) quadratic**
①③ | STATEMENTS | B
①④ | PROPOSITIONS | D
小于 | CHI | B
线粒体 | CELLS | B
"""

WRONG = r"""
31 | - | A. 32 | (A) 31 or 32 | A. not 31 | A. 31 is wrong | A. 31 B. 32 | (A) 31, (B) 32
31 | - | A: 31, B: 32
A | - | A or C | A, B, C are wrong, so D | A and B are incorrect, hence C.
A | - | B is correct, A and C are not. | A. Wait, that is the radius. The answer is D.
A | - | First I thought A, but it is actually B. | A triangle | A = 3 | A + B | A and C
A | - | Options A and C are correct | between A and B | B could be right | segment AB | Plan B
A | - | A: too small. B: too small. C: fits. D: too big. | A: yes. B: yes. | Answer: any
A | - | ["A", "C"]
A,C | - | A, D
AB | - | A, B and D | AB or AD | A, maybe B | A and B are wrong | not A and B | AB but not B
AB | - | ABCD except CD
ABCD | - | all of them
ABD | - | ABC | AD
AC | - | A | A, B and C | ABCD | AB
B | - | B, C | B is correct. C is correct. | The answer is B; the answer is C. | B? Or C?
B | - | B, could also be D | B or none | not B | anything but B | B is wrong | The answer is not B
B | - | The answer can't be B | It is definitely not B.
B | - | All options are wrong except none; B is not right either | I don't think B
B | - | B is a distractor | B, no wait, C | B... no, C | B, sorry, I mean C | B, actually C
B | - | A and/or B | one of A and B | A is possible, B is possible | A or B, I can't decide
B | - | I can't choose B | I would never choose B | B would be wrong | It isn't B | Not B. | no B
B | - | B? no. | B is incorrect because of the sign | B fails | option B is ruled out
B | - | B has been eliminated | B must be excluded | Everyone says B but it is C
B | - | Many would choose B, but the answer is C. | B was my first choice; it's C
B | - | B. Hmm, wait. It's C. | B, oh no, C | B - correction: C
B | - | My first answer was B; I changed it to C | B? No, C. | B, but on second thought C
B | - | B. Scratch that: C | B. Wait, B is wrong. | B. Actually, not B. | B. No wait, that's wrong.
B | - | B... actually none of them | The opposite of B | the option before B | the option after B
B | - | B's neighbour | next to B | B minus one | Both B and C are correct | B as well as C
B | - | B, and also C | B together with D | B; also D | B (C is right too) | A(1, 2) | a | B✗ | B？
B | - | B is incorrect. | Eliminating A, C, and B leaves D.
B | - | I wouldn't go with B. | Choosing B is wrong.
B | - | Between B and C, C is better. | Ruling out B and D leaves C.
B | - | Everyone would go with B, but C is right | Nobody would go with B. | If we get B then C.
B | - | I'd go with B if x > 0.
B | - | B is tempting, but the sign is wrong there; C is right. | the sign is wrong; maybe B
C | - | the sign of B is wrong; so is that of C | The graph is wrong; C is wrong
B | - | It might be C | C would give a negative length
B. 12 | - | B. 13
B. a rhombus | - | C. a rhombus
C | - | Either A or C | B is correct. C is correct. | First B. Second C. | maybe B
C | - | Neither B nor C | A, B, C are wrong, so D | A, B, C are wrong
C | - | B is correct, A and C are not. | It must be B, because A is too large and C is negative.
C | - | C → B | A、C | any of A, B, C | B and C | B plus C | C or D? | C ✗ | ❌ C | C ❌
C | - | wrong: C | everything is right apart from C | apart from C | without C | C is unlikely
C | - | C is not a bad answer but B is better | C doesn't work | I ruled out C | C was ruled out
C | - | C can be eliminated | C cannot be right | C is hardly right | least likely: C
C | - | The incorrect option is C | opposite of C | Guess: A, B, C, D | C is false, D is true
C | - | C, D | C then D | C=>D | D, formerly C | C, or rather D | C. Let me reconsider. D.
C | - | C. Hmm, D. | C... D | At first C, later D | I said C, I meant D | I'd say C if not for D
C | - | If x>0 then C, else D | C when x>0, D otherwise | depends: C or D | \boxed{A}, \boxed{C}
C | - | \boxed{A} or \boxed{C} | C^2 | 2C | C_1 | C' | -C | C% | 37°C | 37 C | °C | C→D
D | - | Option B is right. Option D is right. | A to D | C/D | C instead of D
D | - | If x>0 then C, otherwise D
J | - | A B C D E F G H I J
linear | - | (A) quadratic | A
B | ANGLES | 6.28
C | ANGLES | C. $4\pi$ | C. π
A | SETS | A. $[1,2]$
AB | SETS | A∪B | A∩B=∅
C | SETS | C. $[1,2]$ | B. $(1,2)$
B | FORMULAS | (B) $\sqrt{3}$
C | FORMULAS | (B) $\sqrt{3}$
2 | SIGNED | A. 2
4 | SIGNED | A) 4
A | SIGNED | 2 | A. 2
B | SIGNED | A - 2
12 cm | LENGTHS | C. 13 cm | D
C | LENGTHS | C. 13 cm
A | TEN | A through J
B | TEN | e
G | TEN | The answer is (H).
I | TEN | I think it is linear | I do not know | I am not sure
J | TEN | (J) 18 | I | The answer is (A). | (J) 2 | (A) 20 | A-J
60° | DEGREES | \boxed{\text{B. } 60°} | B. 60°
B | DEGREES | \boxed{B. 60^\circ} | B (60°) | 60° (B)
C | DEGREES | 60° (B)
31 | NUMBERS | A. 32 | B. 31
5 | NUMBERS | B 5 | E
A | NUMBERS | A. 32 | A. 31 or B. 32
B | NUMBERS | A. 32 | not (B) 32 | It is not (B) 32 | not B. 32 | B. 32 is wrong | B. 32 or 33
B | NUMBERS | B. 32, C. 33 | B 33
C | NUMBERS | 33, not option C | not 33 (C) | 33 or 34 (C) | 33 is not option C | B 33
B | SPEEDS | The answer is (B) 15 m/s. | 15 m/s, which is B | 10 km/s | B. 10 m/s is wrong
B | SPEEDS | B. 10 m/s or C. 15 m/s | 10 m/s or 15 m/s
C | SPEEDS | **Answer: (B) 15 m/s**
7 | TWINS | A | B | C | 8
A | MATRICES | A is not invertible | A = B | A is singular
B | MATRICES | A is invertible | B. A is invertible
B | SEGMENTS | C. AC
C | SEGMENTS | AC | C. AC
A | LETTERS | B | (C) B
C | LETTERS | D | (C) B
A | BOTH | I
B | BOTH | C. II only
C | BOTH | (C) I only
A | NAMES | A. Einstein
A | POINTS | A. Point B
B | POINTS | A. Point B | Point C
B | ENERGY | solar and wind energy
D | ENERGY | all of the above
A | SENTENCES | Neither
A | TRUTHS | A. False | not True | True or False | Untrue
B | TRUTHS | True and False
False | TRUTHS | A. False
A | YESNO | A. No | No, B
B | YESNO | Yes | A
No | YESNO | A. No
Yes | YESNO | B. Yes
A | FOOD | (A) hawk | A and B both
B | FOOD | (A) hawk | hawk or mouse | not a hawk | A and B both | B. A and B both
E | FOOD | both
F | FOOD | F. hawk
2 | SHAPES | B | quadratic
A | SHAPES | (A) quadratic | The correct option is B) because A has the wrong sign.
A | SHAPES | A triangle with equal sides | point A | A = 3 | grade A | P(A) = 0.5 | matrix A
A | SHAPES | A good question | Dr. A. B. Smith | U.S.A.
AB | SHAPES | AB = 5
ABC | SHAPES | triangle ABC | △ABC
AC | SHAPES | AC=5
B | SHAPES | (A) quadratic | set B | angle B | ∠B = 30° | f(B) is the answer
B | SHAPES | The answer is (B) linear. | **B. exponential** | type B blood | B flat
B | SHAPES | Hepatitis B virus | (B) quadratic is wrong | (B) not quadratic | B. not quadratic
B | SHAPES | quadratic is wrong (B) | B. quadratic or linear | B. quadratic? No, linear
B | SHAPES | The correct option is (B) linear. | it is either (B) quadratic or (C) exponential
B | SHAPES | (B) quadratic (A) linear
C | SHAPES | Option C: linear | vitamin C | $C$-algebra | C major | C++ | B.C.
exponential | SHAPES | A
linear | SHAPES | (A) quadratic
quadratic | SHAPES | (A) quadratic
①③ | STATEMENTS | C
A | CHI | ∠A
"""
