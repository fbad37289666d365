"""Stories of one step."""

from reasonenv.envs.word_problems.family import Family
from reasonenv.envs.word_problems.numbers import (
    addends,
    digit_and_factor,
    factors,
    multiple_and_divisor,
    total_and_part,
)
from reasonenv.envs.word_problems.steps import Work

GAIN = Family(
    name="gain",
    levels=(1, 2),
    sample=addends,
    solve=Work.add,
    reasons=("In all",),
    phrasings=(
        "{Ada} has {a} {beads}. {She} gets {b} more. How many {beads} does {she} have now?",
        "{Ada} had {a} {beads} and then got {b} more {beads}. "
        "How many {beads} does {Ada} have now?",
        "{Ada} has {a} {beads}. {Ben} gives {to_her} {b} {beads}. "
        "How many {beads} does {Ada} have now?",
        "There are {a} {beads} in {a_box}. {Ada} puts {b} more {beads} into it. "
        "How many {beads} are in the {box} now?",
        "{Ada} starts the day with {a} {beads} and gets {b} more during the day. "
        "How many {beads} does {she} have in the evening?",
        "{Ada} collected {a} {beads} on Monday and {b} {beads} on Tuesday. "
        "How many {beads} did {she} collect on the two days?",
    ),
    heldout_phrasings=(
        "How many {beads} does {Ada} have after getting {b} more if {she} had {a} before?",
        "{Ben} brings {b} {beads} to {Ada}, who already has {a}. "
        "How many {beads} does {Ada} have then?",
    ),
)
LOSS = Family(
    name="loss",
    levels=(1, 2),
    sample=total_and_part,
    solve=Work.subtract,
    reasons=("What is left",),
    phrasings=(
        "{Ada} has {a} {beads}. {She} gives {b} of them to {Ben}. "
        "How many {beads} does {Ada} have left?",
        "{Ada} had {a} {beads} and lost {b} of them. How many {beads} does {she} have left?",
        "There are {a} {beads} in {a_box}. {Ada} takes out {b} of them. "
        "How many {beads} are still in the {box}?",
        "{Ada} has {a} {beads} and sells {b} of them. How many {beads} does {she} have now?",
        "{Ada} had {a} {beads}. {Ben} took {b} of them. How many {beads} does {Ada} still have?",
        "Of {her} {a} {beads}, {Ada} gives {b} away. How many {beads} does {she} keep?",
    ),
    heldout_phrasings=(
        "How many {beads} does {Ada} have left if {she} had {a} and gave {b} away?",
        "{Ben} borrows {b} of the {a} {beads} that {Ada} has. "
        "How many {beads} does {Ada} have then?",
    ),
)
TOGETHER = Family(
    name="together",
    levels=(1, 2),
    sample=addends,
    solve=Work.add,
    reasons=("Together",),
    phrasings=(
        "{Ada} has {a} {beads} and {Ben} has {b} {beads}. How many {beads} do they have together?",
        "There are {a} large {beads} and {b} small {beads} in {a_box}. "
        "How many {beads} are in the {box}?",
        "{Ada} finds {a} {beads}, and {Ben} finds {b}. How many {beads} do they find in all?",
        "One {box} holds {a} {beads}, and another {box} holds {b} {beads}. "
        "How many {beads} do the two {boxes} hold?",
        "{Ada} puts {a} {beads} on the table. {Ben} puts {b} {beads} next to them. "
        "How many {beads} are on the table?",
        "{Ada} and {Ben} count their {beads}. {Ada} counts {a} and {Ben} counts {b}. "
        "How many {beads} do they have in total?",
    ),
    heldout_phrasings=(
        "How many {beads} do {Ada} and {Ben} own together if {Ada} owns {a} and {Ben} owns {b}?",
        "{Ada} and {Ben} put their {beads} into one {box}: {a} from {Ada} and {b} from {Ben}. "
        "How many {beads} does the {box} hold?",
    ),
)
COMPARE = Family(
    name="compare",
    levels=(1, 2),
    sample=total_and_part,
    solve=Work.subtract,
    reasons=("The difference",),
    phrasings=(
        "{Ada} has {a} {beads} and {Ben} has {b} {beads}. "
        "How many more {beads} does {Ada} have than {Ben}?",
        "{Ada} has {a} {beads}. {Ben} has {b}. How many fewer {beads} does {Ben} have than {Ada}?",
        "One {box} holds {a} {beads}, and another {box} holds {b}. "
        "How many more {beads} are in the first {box} than in the second?",
        "{Ben} has {b} {beads}, but {Ada} has {a}. "
        "How many more {beads} does {Ben} need to have as many as {Ada}?",
        "{Ada} finds {a} {beads}, and {Ben} finds {b}. "
        "What is the difference between their numbers of {beads}?",
    ),
    heldout_phrasings=(
        "If {Ada} has {a} {beads} and {Ben} has {b}, by how many {beads} is {Ada} ahead?",
        "{Ben} has {b} {beads} and wants to have as many as {Ada}, who has {a}. "
        "How many {beads} are missing?",
    ),
)
GROUPS = Family(
    name="groups",
    levels=(1, 2),
    sample=factors,
    solve=Work.multiply,
    reasons=("In all",),
    phrasings=(
        "There are {a} {boxes} with {b} {beads} in each. How many {beads} are there in all?",
        "{Ada} has {a} {boxes}. Each {box} holds {b} {beads}. How many {beads} does {she} have?",
        "{Ada} fills {a} {boxes} with {b} {beads} each. How many {beads} are in the {boxes}?",
        "{Ada} lays out {beads} in {a} rows of {b}. How many {beads} does {she} lay out?",
        "{Ada} gives {b} {beads} to each of {a} children. How many {beads} does {she} give away?",
        "Each of {a} children has {b} {beads}. How many {beads} do the children have together?",
    ),
    heldout_phrasings=(
        "How many {beads} are in {a} {boxes} if each {box} holds {b}?",
        "If {b} {beads} fit into one {box}, how many {beads} fit into {a} {boxes}?",
    ),
)
PRICE = Family(
    name="price",
    levels=(1, 2),
    sample=digit_and_factor,
    solve=Work.multiply,
    reasons=("In dollars",),
    phrasings=(
        "{A_pen} costs {a} dollars. How many dollars do {b} {pens} cost?",
        "{Ada} buys {b} {pens} at {a} dollars each. How many dollars does {she} pay?",
        "One {pen} costs {a} dollars. {Ada} orders {b} of them. How many dollars is that?",
        "A shop sells {pens} for {a} dollars each. What is the price of {b} {pens} in dollars?",
        "{Ada} sells {b} {pens} for {a} dollars each. How many dollars does {she} get?",
    ),
    heldout_phrasings=(
        "How many dollars does {Ada} need for {b} {pens} if {a_pen} costs {a} dollars?",
        "The price of {a_pen} is {a} dollars. What do {b} {pens} cost in dollars?",
    ),
)
DAYS = Family(
    name="days",
    levels=(1, 2),
    sample=digit_and_factor,
    solve=Work.multiply,
    reasons=("In all",),
    phrasings=(
        "{Ada} {reads} {a} {pages} every day. How many {pages} does {she} {read} in {b} days?",
        "{Ada} {reads} {a} {pages} a day. How many {pages} is that in {b} days?",
        "For {b} days, {Ada} {reads} {a} {pages} a day. How many {pages} is that in all?",
        "{Ada} plans to {read} {a} {pages} on each of {b} days. "
        "How many {pages} is that altogether?",
        "Every day, {Ada} {reads} {a} {pages}. How many {pages} does {she} {read} in {b} days?",
    ),
    heldout_phrasings=(
        "How many {pages} does {Ada} {read} in {b} days if {she} {reads} {a} {pages} a day?",
        "{Ada} wants to {read} {a} {pages} a day. "
        "How many {pages} will {she} {read} within {b} days?",
    ),
)
SHARE = Family(
    name="share",
    levels=(2,),
    sample=multiple_and_divisor,
    solve=Work.divide,
    reasons=("For each",),
    phrasings=(
        "{Ada} shares {a} {beads} equally among {b} friends. "
        "How many {beads} does each friend get?",
        "There are {a} {beads} for {b} children. Each child gets the same number of {beads}. "
        "How many {beads} does each child get?",
        "{Ada} puts {a} {beads} into {b} {boxes}, the same number into each. "
        "How many {beads} are in each {box}?",
        "{Ada} lays out {a} {beads} in {b} equal rows. How many {beads} are in each row?",
    ),
    heldout_phrasings=(
        "How many {beads} does each of {b} children get if they share {a} {beads} equally?",
        "Together, {b} {boxes} hold {a} {beads}, each {box} the same number. "
        "How many {beads} are in one {box}?",
    ),
)
PACK = Family(
    name="pack",
    levels=(2,),
    sample=multiple_and_divisor,
    solve=Work.divide,
    reasons=("How many times",),
    phrasings=(
        "{Ada} puts {a} {beads} into {boxes}, {b} into each. How many {boxes} does {she} fill?",
        "A {box} holds {b} {beads}. How many {boxes} does {Ada} need for {a} {beads}?",
        "{Ada} has {a} {beads} and gives {b} of them to each of {her} friends until none are "
        "left. How many friends get {beads}?",
        "{Ada} sorts {a} {beads} into groups of {b}. How many groups are there?",
    ),
    heldout_phrasings=(
        "If {b} {beads} go into each {box}, how many {boxes} do {a} {beads} fill?",
        "{Ada} gives {b} {beads} away every day. After how many days are {her} {a} {beads} gone?",
    ),
)
BEFORE = Family(
    name="before",
    levels=(2,),
    sample=total_and_part,
    solve=Work.subtract,
    reasons=("Before",),
    phrasings=(
        "{Ada} had some {beads}. {Ben} gave {to_her} {b} more, and now {Ada} has {a}. "
        "How many {beads} did {Ada} have at first?",
        "After getting {b} {beads}, {Ada} has {a} {beads}. How many {beads} did {she} have before?",
        "There were some {beads} in {a_box}. {Ada} put {b} more into it, and now there are {a}. "
        "How many {beads} were in the {box} at first?",
        "{Ada} has {a} {beads}. {She} got {b} of them today. "
        "How many {beads} did {she} have yesterday?",
    ),
    heldout_phrasings=(
        "{Ada} now has {a} {beads}, {b} more than last week. "
        "How many {beads} did {she} have last week?",
        "How many {beads} did {Ada} have before if {b} more {beads} made it {a}?",
    ),
)

FAMILIES = (GAIN, LOSS, TOGETHER, COMPARE, GROUPS, PRICE, DAYS, SHARE, PACK, BEFORE)
