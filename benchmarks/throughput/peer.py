"""TRL's `GRPOTrainer` as one side: python -m throughput.peer CONFIG, under TRL's interpreter.

Its steps are told apart by a callback. Phases are the trainer's own methods, wrapped from outside;
what it does besides, a forward and a backward pass and the optimizer, is training.
"""

import time

_began = time.perf_counter()

import json  # noqa: E402 - the clock runs while the rest is imported
import sys  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import torch  # noqa: E402
from datasets import Dataset  # noqa: E402
from transformers import LogitsProcessor, LogitsProcessorList, TrainerCallback  # noqa: E402
from trl import (  # noqa: E402  # pyright: ignore[reportMissingImports]
    GRPOConfig,
    GRPOTrainer,
)
from trl.rewards import accuracy_reward  # noqa: E402  # pyright: ignore[reportMissingImports]

from throughput import limited  # noqa: E402
from throughput.regimes import Regime, force  # noqa: E402
from throughput.sizes import SIZES, Size  # noqa: E402
from throughput.worker import Line, Phases, Turns  # noqa: E402

_imported = time.perf_counter()


class Ends(LogitsProcessor):
    """Ends each row of one call of `generate` where its length says."""

    def __init__(self, regime: Regime, prompt_length: int, eos: list[int]) -> None:
        self.regime, self.prompt_length, self.eos = regime, prompt_length, eos

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Scores with which rows end or do not."""
        number = input_ids.shape[1] - self.prompt_length + 1
        return force(scores, self.regime.ends(range(len(scores)), number), self.eos)


class Rewards:
    """TRL's grader on the texts of the regime; random rewards while a proof wants them."""

    __name__ = "accuracy"

    def __init__(self, regime: Regime) -> None:
        self.regime = regime
        self.random: torch.Tensor | None = None

    def __call__(self, completions: list[Any], solution: list[str], **_: Any) -> list[Any]:
        """One reward for each."""
        if self.random is not None:
            return self.random.tolist()
        texts = [self.regime.text(i, given[0]["content"]) for i, given in enumerate(completions)]
        return accuracy_reward([[{"content": text}] for text in texts], solution)


class Proof:
    """One rollout of the trainer, its loss and its gradient, in a file for the other side."""

    def __init__(self, trainer: GRPOTrainer, rewards: Rewards) -> None:
        self.trainer, self.rewards = trainer, rewards
        self.command: dict[str, Any] = {}
        self.losses: list[float] = []
        self.rollout: dict[str, torch.Tensor] = {}
        score, loss = trainer._generate_and_score_completions, trainer.compute_loss

        def scored(inputs: Any) -> Any:
            found = score(inputs)
            if self.command:
                self.rollout = {name: value.cpu() for name, value in found.items()}
            return found

        def lost(*args: Any, **kwargs: Any) -> torch.Tensor:
            value = loss(*args, **kwargs)
            if self.command:
                self.losses.append(value.item())
            return value

        trainer._generate_and_score_completions, trainer.compute_loss = scored, lost

    def begin(self, command: dict[str, Any]) -> bool:
        """The next step is for a proof of `command["case"]`; its gradient is not clipped."""
        self.command, self.losses = command, []
        kind, _, scale = command["case"].partition("-")
        self.trainer.loss_type, self.trainer.scale_rewards = kind, scale or "none"
        draw = torch.Generator().manual_seed(len(command["case"]))
        count = self.rewards.regime.count
        self.rewards.random = torch.randint(0, 2, (count,), generator=draw).float()
        self.trainer.args.max_grad_norm = 0.0
        return False

    def end(self, model: Any) -> None:
        """Writes what was found; the weights stay as they are."""
        if not self.command:
            return
        found = self.rollout
        kept = {
            "prompts": _rows(found["prompt_ids"], found["prompt_mask"]),
            "responses": _rows(found["completion_ids"], found["completion_mask"]),
            "reward": self.rewards.random,
            "loss": sum(self.losses),
            "gradient": {n: p.grad.float().cpu() for n, p in model.named_parameters()},
        }
        torch.save(kept, self.command["file"])
        for weight in model.parameters():
            weight.grad.zero_()
        self.command, self.rewards.random = {}, None
        self.trainer.args.max_grad_norm = 1.0
        self.trainer.loss_type, self.trainer.scale_rewards = "dapo", "group"


def _rows(ids: torch.Tensor, mask: torch.Tensor) -> list[list[int]]:
    return [row[keep.bool()].tolist() for row, keep in zip(ids, mask, strict=True)]


class Steps(TrainerCallback):
    """Tells steps apart, and waits between turns."""

    def __init__(self, turns: Turns, phases: Phases, proof: Proof) -> None:
        self.turns, self.phases, self.proof = turns, phases, proof

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        """Waits for the first turn."""
        self.turns.wait()
        self.phases.open("other")

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        """What is not counted otherwise from here on is training."""
        self.phases.open("train")

    def on_pre_optimizer_step(self, *_: Any, model: Any, **__: Any) -> None:
        """The gradient is complete."""
        self.proof.end(model)

    def on_step_end(self, *_: Any, **__: Any) -> None:
        """Tells of the step."""
        self.phases.close()
        self.phases.close()
        self.turns.stepped(self.phases.taken())
        self.phases.open("other")


def configured(size: Size, folder: str, liger: bool) -> GRPOConfig:
    """The same objective, optimizer and precision as ours; the rest are TRL's defaults."""
    options: dict[str, Any] = {
        "gradient_checkpointing": False,
        "bf16": False,
        "vllm_importance_sampling_correction": False,
        "use_cpu": not torch.cuda.is_available(),
        "use_liger_kernel": liger,
        **size.peer,
    }
    return GRPOConfig(
        output_dir=folder,
        per_device_train_batch_size=size.microbatch_size,
        gradient_accumulation_steps=size.responses // size.microbatch_size,
        num_generations=size.group_size,
        max_completion_length=size.longest,
        max_steps=10**6,
        learning_rate=1e-6,
        lr_scheduler_type="constant",
        weight_decay=0.01,
        adam_beta2=0.95,
        max_grad_norm=1.0,
        loss_type="dapo",
        scale_rewards="group",
        beta=0.0,
        shuffle_dataset=False,
        model_init_kwargs={"dtype": "float32", "attn_implementation": "sdpa"},
        report_to="none",
        disable_tqdm=True,
        save_strategy="no",
        **options,
    )


def watched(trainer: GRPOTrainer, phases: Phases) -> None:
    """Counts what the trainer does as phases."""
    phases.wrap(trainer, "_generate", "sample")
    phases.wrap(trainer, "_calculate_rewards", "grade")
    phases.wrap(trainer, "_get_per_token_logps_and_entropies", "log_prob", only_without_grad=True)
    phases.wrap(trainer, "_generate_and_score_completions", "other")
    if trainer.use_vllm:
        phases.wrap(trainer.vllm_generation, "sync_weights", "sync")


def limit(trainer: GRPOTrainer, regime: Regime) -> None:
    """Gives each response the length that the regime wants."""
    if trainer.use_vllm:
        limited.vllm(trainer.vllm_generation.llm, regime)
        return
    model: Any = trainer.model
    generate = model.generate

    def ended(input_ids: torch.Tensor, **options: Any) -> Any:
        ends = Ends(regime, input_ids.shape[1], trainer.eos_token_ids)
        return generate(
            input_ids=input_ids, logits_processor=LogitsProcessorList([ends]), **options
        )

    model.generate = ended


def main(config: dict[str, Any]) -> None:
    line, phases, size = Line(), Phases(), SIZES[config["size"]]
    regime = Regime(size.responses, size.length, size.longest, config["enemies"])
    rows = [json.loads(row) for row in Path(config["prompts"]).read_text().splitlines()]
    rewards = Rewards(regime)
    trainer = GRPOTrainer(
        model=config["model"],
        reward_funcs=rewards,
        args=configured(size, config["scratch"], config["side"] == "trl-liger"),
        train_dataset=Dataset.from_list(rows),
    )
    proof = Proof(trainer, rewards)
    limit(trainer, regime)
    watched(trainer, phases)
    trainer.add_callback(Steps(Turns(line, regime, proof.begin), phases, proof))
    ready = time.perf_counter()
    line.tell({"import_s": _imported - _began, "ready_s": ready - _began})
    trainer.train()


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
