"""Responses of a model to a question of yours, or its episodes in an environment with tools."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Interval

import reasonenv
from agents.cli.exit import errors_in_one_line, standard_streams
from agents.cli.flags import parse
from agents.cli.model_choice import checkpoint_of
from agents.cli.types import EnvOptions, JSONObject, validated
from agents.engines.process import Precision
from agents.episodes import Episodes
from agents.errors import UsageError, typed_errors
from agents.evaluate.arguments import EvaluationArguments, check_arguments
from agents.evaluate.sampler import loaded_sampler
from agents.rollout import Responses
from reasonenv.console import print_line
from reasonenv.datasets import decode
from reasonenv.errors import DataError
from reasonenv.problem import Problem
from reasonenv.prompts import find_prompt


@dataclass(frozen=True, kw_only=True)
class GenerationArguments:
    """Responses of a model to a question, with images or without, or to a problem and its tools.

    Standard output has the text alone. Decoding is greedy unless a temperature is given.
    """

    question: str = ""
    """The question; "<image 1>" in it is the place of the first image, else images come first."""
    env: str | None = None
    """Environment that poses a problem in place of a question, by --seed, and replies to calls of
    its tools, such as Sum-v0."""
    env_options: EnvOptions = field(default_factory=dict)
    """Further arguments of the environment as JSON, such as '{"terms": 6}'."""
    model: str = "tiny"
    """Hub name, folder in Hugging Face format, directory of a run, or 'tiny'."""
    image: tuple[Path, ...] = ()
    """Files of the images, such as PNG or JPEG."""
    prompt: Literal[
        "plain", "boxed", "cpgd", "dapo", "mm_eureka", "cpgd:user", "mm_eureka:user"
    ] = "plain"
    """Instruction around the question: that of the model's training, which its model card names;
    with :user, its system text stands in front of the question."""
    chat_template: Path | None = None
    """File with a chat template in Jinja, instead of the model's."""
    chat_template_kwargs: JSONObject = field(default_factory=dict)
    """Variables of the chat template as JSON, such as '{"enable_thinking": false}'."""
    max_response_length: int = 1024
    """Tokens after which a response is cut."""
    temperature: float = 0.0
    """Sampling temperature; 0 is greedy decoding."""
    num_responses: Annotated[int, Interval(ge=1, le=2**10)] = 1
    """Number of responses, which a temperature makes differ."""
    seed: int = 0
    """Seed of the responses."""
    dtype: Precision = "auto"
    """Number format of matrix products: auto is bfloat16 on GPUs, and for a model of 50 million
    weights or more on a CPU with instructions for it, else float32."""
    trust_remote_code: bool = False
    """Run the Python code that a model brings (auto_map in its configuration). It can do anything
    that you can do: read it first."""

    def evaluation(self) -> EvaluationArguments:
        """The same model and sampling as arguments of an evaluation.

        Raises:
            UsageError: A value is out of range.
        """
        validated(self)
        if (self.env is None) == (not self.question):
            raise UsageError("give a question by --question, or else an environment by --env")
        if self.env is not None and self.image:
            raise UsageError(f"--image goes with --question: {self.env} has images of its own")
        if self.num_responses > 1 and not self.temperature:
            raise UsageError(
                f"--num-responses is {self.num_responses}, and without a --temperature above 0 all "
                "would be the same"
            )
        arguments = EvaluationArguments(
            model=checkpoint_of(self.model),
            trust_remote_code=self.trust_remote_code,
            chat_template=self.chat_template,
            chat_template_kwargs=self.chat_template_kwargs,
            temperature=self.temperature,
            max_response_length=self.max_response_length,
            max_pixels=None,
            dtype=self.dtype,
            sampler="transformers",
            sampler_batch_size=self.num_responses,
            seed=self.seed,
        )
        return check_arguments(arguments)


@standard_streams()
def main(arguments: Sequence[str] | None = None) -> None:
    """The command line; `arguments` are those of this process unless given."""
    options = parse(GenerationArguments, "agents.generate", arguments)
    with errors_in_one_line(), typed_errors("generation"):
        responses = generate(options)
    for number, finished in enumerate(responses.finished.tolist(), 1):
        if not finished:
            line = f"response {number} was cut after {options.max_response_length} tokens"
            print_line(f"{line}: raise --max-response-length", sys.stderr)


def generate(options: GenerationArguments) -> Responses:
    """Samples responses, and prints each as soon as it is complete.

    Raises:
        UsageError: An option does not fit, or a file is missing.
        DataError: A file is no image.
        ModelError: The model cannot be loaded, or reads no images.
    """
    evaluation = options.evaluation()
    if options.env is not None:
        return _episodes(options, evaluation)
    observation = _observation(options)
    observations = {name: (value,) * options.num_responses for name, value in observation.items()}

    def show(index: int, text: str) -> None:
        _show(f"response {index + 1}" if options.num_responses > 1 else "", text)

    with loaded_sampler(evaluation) as sampler:
        return sampler.generate(sampler.encode(observations), (options.seed,), show)


def _episodes(options: GenerationArguments, evaluation: EvaluationArguments) -> Responses:
    """Episodes of one problem, printed turn by turn, pictures by their size."""
    num = options.num_responses
    name, arguments = str(options.env), options.env_options
    envs: Any = reasonenv.make(name, num_envs=num, group_size=num, **arguments)
    with closing(envs), loaded_sampler(evaluation) as sampler:
        observations, _ = envs.reset(seed=options.seed)
        _show("problem", _words(observations, 0))
        episodes = Episodes(envs, sampler, sampler.encode(observations), (options.seed,))
        while episodes.goes_on:
            was_open = episodes.is_open
            actions = episodes.respond()
            episodes.step(actions)
            for index in was_open.nonzero()[0].tolist():
                number = f" {index + 1}" if num > 1 else ""
                _show(f"response{number}", actions[index] or "")
                if episodes.is_open[index]:
                    _show(f"reply{number}", _words(episodes.observations, index))
    rewards = ", ".join(f"{reward:g}" for reward in episodes.rewards)
    _show("", f"--- reward {rewards}, reference {episodes.infos['reference'][0]}")
    return episodes.responses()


def _words(observations: Mapping[str, Any], index: int) -> str:
    """Question of an observation, and the sizes of its images."""
    images = (f"[image of {x.shape[1]} x {x.shape[0]}]" for x in observations["images"][index])
    return "\n".join([*images, observations["question"][index]])


def _show(title: str, text: str) -> None:
    """Prints a text, below a title unless that is empty."""
    for line in (*([f"--- {title}"] if title else []), *text.splitlines()):
        print_line(line)
    sys.stdout.flush()


def _observation(options: GenerationArguments) -> Mapping[str, Any]:
    """The question in its prompt, and the images, as an environment gives them."""
    problem = Problem(id="", question=options.question, answer="")
    system, question = find_prompt(options.prompt).ask(problem)
    images = tuple(map(_read_image, options.image))
    return {"system": system, "question": question, "images": images}


def _read_image(path: Path) -> Any:
    if not path.exists():
        raise UsageError(f"--image {path}: there is no such file")
    try:
        return decode(path)
    except DataError as error:
        raise DataError(f"--image {path}: {error}") from error


if __name__ == "__main__":
    main()
