"""Answers to multiple-choice questions in Chinese.

Each line: reference, name of the options in `test_choice_answers` or "-", answers.
"""

RIGHT = r"""
A | - | 正确选项为A | 正确选项是 **A**
ABD | - | 多选题，答案为ABD | 选ABD | 故选：A、B、D | 故选A，B，D | 正确的是ABD | ABD正确
ABD | - | A、B、D正确，C错误 | ABD项正确 | 答案：A、B、D | A和B和D | A,B和D | C错误，故选ABD
ABD | - | 选项A、B、D
AC | - | A和C | A与C | 选AC | 故选：AC | 故选A、C | AC选项正确 | A、C正确 | A、C两项正确，B、D错误
ACD | - | 正确的有A、C、D
B | - | 选项B正确 | 应选B | 本题选B | 综上，选B | B。不是 A | B，而不是A | 选B，不选A
B | - | A错误，B正确 | 因为A不成立，所以选B | 排除A、C，选B | 排除A、C、D，故选B
B | - | B。因为A的符号不对 | 选B，因为A中分母为零 | 答案：B | 答案为B。 | 故答案为：B | 故答案为B．
B | - | 因此答案是B | 所以正确答案是选项B。 | 正确答案是：**B** | 答案选 B | 故选B选项
B | - | 故选项B正确 | 所以B选项是正确的 | 选项B是正确的。 | B选项符合要求 | 应该选择B | 我选择B
B | - | 我选B | 本题应选B项 | 最终答案：B | 综上所述，答案为B | 由此可知，选B
B | - | A不正确，C不正确，D不正确，因此选B | A、C、D都错，选B | ACD错误，故选B | A，C，D错误，B正确
B | - | A选项错误；B选项正确；C选项错误；D选项错误。故选：B | A项错误，B项正确 | A错，B对
B | - | A错C错D错，选B | 不是A，是B | 不选A而选B | 不选A，应选B | 除A、C、D外，选B | B正确，A错误
C | - | 故选：C | 故选C。 | 故选（C） | 答案选择C | 所以应该选择C选项 | C选项正确 | C正确
C | - | 只有C正确 | C项符合题意 | 先选B，后改为C | B，更正：C | B。应该是C | B，不对，应该是C
C | - | 由于点A在圆上，所以选C | 因为AB=CD，所以选C | 设集合A={1}，则选C | 先选了A，后来改成C
C | - | A（更正：C） | 不对，应该选C | 选A……不，选C | 刚才算错了，应为C | A，哦不，C
D | - | 故答案选D | 正确答案为 (D) 12 | A、B、C均错误，故选D | A、B、C都不对，所以选D
D | - | 一开始认为是A，改选D | 角A等于角B，故选D
无法确定 | - | D. 无法确定
线粒体 | - | B．线粒体
B | DEGREES | 因此，正确答案是 B. 45° | 选B．45°
B | STATEMENTS | ①③ | B. ①③ | ③① | ①和③
B | CHI | B．小于 | 小于
D | CHI | 无法确定 | D．无法确定
B | CELLS | B、线粒体 | B．线粒体 | 选项B：线粒体 | 线粒体 | 答案：B | 答案是B选项，即线粒体
线粒体 | CELLS | （B）线粒体
"""

WRONG = r"""
A | - | AC选项正确 | 排除A、C，选B | A错误，B正确 | 因为A不成立，所以选B | 一开始认为是A，改选D
A | - | B。不是 A | B，而不是A | 选B，因为A中分母为零 | 以上都不对
AB | - | 选AB或AD
ABCD | - | A、C两项正确，B、D错误 | AB正确，CD错误
ABD | - | ABD错误 | A、B、D错误 | 选A，不选BD | AB正确，D不一定 | 选ABD中的两个 | 除了ABD
AC | - | AC错误
B | - | 不选B | 不是B | B错误 | B选项错误 | 选项B不正确 | B不符合题意 | B项有误 | B是错误的 | 排除B
B | - | B或C | B。应该是C | B，更正：C | 先选B，后改为C | B，不对，应该是C | B大于C | 非B
B | - | 除B外都对 | B和C都有可能 | 不应选B | 不能选B | B不选 | 不要选B | B不成立 | B是干扰项
B | - | 不选择B | B不对 | 答案不是B | 答案不为B | 并不是B | 绝不选B | 没有选B | B被排除 | B可以排除
B | - | 把B排除 | B排除 | B是不正确的 | 选B是错误的 | 选B就错了 | 误选B | 易错选B | B说法错误
B | - | B还是C | B或C都行 | 选B或选C | B、C中的一个 | B也对C也对 | 选B，也可以选C | B，C也对
B | - | B或其他 | 也许是B | 可能是B | 选B。不对，选C | 先选了B，后来改成C | B（更正：C）
B | - | 选B……不，选C | 刚才选B错了，应为C | B，哦不，C | 原选B，现选C | 由B改为C | B改成C
B | - | 把B改为C | 应选C，不是B
BD | - | A、C两项正确，B、D错误
C | - | A、B、C均错误，故选D | B或者C | 可能选B | 选B还是选C | 选B。选C。 | B正确，C正确
B | STATEMENTS | C. ①③
A | CHI | B．大于 | A城 | 甲
AB | CHI | 点A和点B | 线段AB
B | CHI | B．大于 | 大于 | 选B：等于 | B点 | B车
D | CHI | D．小于
小于 | CHI | A．小于
A | CELLS | A组
B | CELLS | B. 叶绿体 | 点B | 集合B | B型血
C | CELLS | B. 叶绿体 | 维生素C
线粒体 | CELLS | B．叶绿体
"""
