"""A checkpoint of a trained pretrained model, read by --resume, plain transformers and vLLM."""

from contextlib import closing

import pytest
from helpers import text_models, vowels  # noqa: F401 - registers the environment
from helpers.tiny_runs import SMALL, flags, train
from transformers import AutoModelForCausalLM, AutoTokenizer

from agents.cli.flags import parse_run
from agents.cpgd import CPGD
from agents.engines.sampling import Sampling
from agents.storage.checkpoints import latest
from agents.training.setup import prepare

pytestmark = pytest.mark.slow(reason="trains 135 million weights, and starts vLLM")
QUESTION = "What is the capital of France, and what is it known for?"
MESSAGES = [{"role": "user", "content": QUESTION}]
LENGTH = 16
RUN = SMALL | {"env": "Vowels-v0", "max_response_length": LENGTH, "dtype": "float32"}
RUN |= {"num_steps": 2, "learning_rate": 1e-4}


@pytest.fixture(scope="module")
def folder(smollm2, tmp_path_factory):
    """A run of two steps."""
    folder = tmp_path_factory.mktemp("run") / "run"
    rows = train(smollm2, folder, **RUN)
    assert all(row["train/grad_norm"] > 0 for row in rows)
    return folder


def greedy_answer(model):
    """By transformers alone."""
    tokenizer = AutoTokenizer.from_pretrained(model)
    prompt = tokenizer.apply_chat_template(
        MESSAGES, add_generation_prompt=True, return_dict=True, return_tensors="pt"
    )
    policy = AutoModelForCausalLM.from_pretrained(model)
    output = policy.generate(**prompt, do_sample=False, max_new_tokens=LENGTH)
    return tokenizer.decode(output[0, prompt["input_ids"].shape[1] :], skip_special_tokens=True)


@pytest.fixture(scope="module")
def answer(smollm2, folder):
    """The checkpoint's, which is another than before the run."""
    answer = greedy_answer(latest(folder))
    assert answer != greedy_answer(smollm2)
    return answer


def test_a_resumed_run_answers_as_plain_transformers(smollm2, folder, answer):
    settings = RUN | {"model": smollm2, "output_dir": folder, "num_steps": 3, "resume": True}
    state = prepare(*parse_run(CPGD, flags(**settings)))
    with closing(state.envs), closing(state.engines.sampler) as sampler:
        sampler.sampling = Sampling(temperature=0.0)
        prompts = sampler.encode(text_models.observations((QUESTION,)))
        assert sampler.generate(prompts, (0,)).texts == (answer,)
    assert state.step == 2


@pytest.mark.vllm
def test_vllm_answers_as_plain_transformers(folder, answer):
    """With the template that vLLM finds in the checkpoint."""
    from vllm import SamplingParams

    from agents.engines.vllm.sampler import VLLMSampler

    engine = text_models.engine(latest(folder))
    options = {"max_model_len": 256, "skip_tokenizer_init": False}
    sampler = VLLMSampler(latest(folder), engine.chat, engine.sampling, LENGTH, options=options)
    with closing(sampler):
        (output,) = sampler.llm.chat(MESSAGES, SamplingParams(temperature=0, max_tokens=LENGTH))
    assert output.outputs[0].text == answer
