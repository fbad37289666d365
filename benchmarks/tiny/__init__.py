"""Makes the models that are generated, those of `agents/tiny` and `agents/tiny-tools` among them.

    python -m benchmarks.tiny --output-dir warm            # 25 minutes on two quiet cores
    python -m benchmarks.tiny.tools --output-dir warm      # 7 minutes, from the tiny model
    python -m benchmarks.tiny --output-dir warm --model small --env-options '{"level": 3}'

A generated model reads and writes nothing until it has seen worked solutions. Its warm start has
two stages of supervised fine-tuning: correct solutions until every family of figures is read, then
a few steps on solutions with slips, so that reinforcement learning has something to unlearn. A
stage that is complete is not trained again.
"""
