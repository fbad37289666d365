"""Figure 1 of CPGD once more, at the next smaller learning rate of `stability/pilot`.

Why there are two rates, and when this one was taken: `stability/pilot`.
"""

from dataclasses import replace

from benchmarks.stability import figure1, setting

STUDY = replace(
    figure1.STUDY,
    name="stability/below",
    question="Does CPGD stay stable where GRPO hardly does?",
    common=setting.COMMON,
)
