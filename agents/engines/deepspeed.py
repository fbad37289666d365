"""Training with DeepSpeed: GPUs, any number of ranks, state and weights shared out by ZeRO."""

import atexit
import copy
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, distributed
from torch.nn import Parameter
from torch.nn.utils import clip_grad_norm_

from agents.engines import lora
from agents.engines.chat import Chat
from agents.engines.load import checkpoint_path, save_model
from agents.engines.model import Policy
from agents.engines.optimizer import Optimization
from agents.engines.sampling import Sampling
from agents.errors import CheckpointError, MissingPackageError, UsageError
from agents.rollout import PerToken, Responses

FIXED = {
    "train_micro_batch_size_per_gpu": 1,
    "gradient_accumulation_steps": 1,
    "managed_gradient_accumulation": False,
    "gradient_allreduce_op": "mean",
}
"""What a configuration cannot change: the learner decides what goes into a step."""
STATE = "deepspeed"
"""Folder within a checkpoint, and tag within that folder, of every rank's state."""


class DeepSpeedEngine:
    """A `TrainEngine` on each rank that torchrun started, or in one process without it.

    It trains on the kind of device that the policy lies on: GPUs with NCCL, CPUs with gloo.
    With ZeRO stage 3 a rank holds only a part of each weight: what reads weights otherwise than by
    `forward` does so within `unsharded`.
    """

    def __init__(
        self,
        policy: Policy,
        chat: Chat,
        sampling: Sampling,
        optimization: Optimization,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        cuda = policy.device.type == "cuda"
        deepspeed = _import(cuda)
        _join_ranks(deepspeed, cuda)
        self.rank, self.num_ranks = distributed.get_rank(), distributed.get_world_size()
        self.policy, self.chat, self.sampling = policy.ready(), chat, sampling
        policy.always_looks = self.num_ranks > 1 and hasattr(policy.model.config, "vision_config")
        num_weights = sum(weight.numel() for weight in policy.parameters())
        settings = complete(config or {}, optimization, cuda=cuda, num_weights=num_weights)
        self._shell = Shell(policy) if settings["zero_optimization"]["stage"] == 3 else None
        self._ratio = None if "scheduler" in settings else optimization.ratio
        self.plain, self.max_grad_norm = _is_plain(settings), settings["gradient_clipping"]
        if self.plain:
            settings["gradient_clipping"] = 0.0
        try:
            self.engine, *_ = deepspeed.initialize(
                model=policy,
                model_parameters=self._trained(),
                lr_scheduler=None if "scheduler" in settings else optimization.schedule,
                config=settings,
            )
        except (AssertionError, ValueError) as error:
            raise UsageError(f"DeepSpeed refuses its configuration: {_line(error)}") from error
        except RuntimeError as error:
            if "failed to build" not in str(error):
                raise
            raise UsageError(
                f"DeepSpeed cannot compile what its configuration needs: {_line(error)} (it takes "
                "g++, for GPUs nvcc; PyTorch's optimizer takes neither: "
                '"optimizer": {"type": "AdamW", "params": {"torch_adam": true}} and '
                '"zero_force_ds_cpu_optimizer": false)'
            ) from error
        if self.plain:
            self.engine.optimizer.register_step_pre_hook(self._clip)

    def forward(self, responses: Responses) -> tuple[PerToken, PerToken]:
        """See `TrainEngine`."""
        return self.engine(responses, self.sampling)

    def backward(self, loss: Tensor) -> None:
        """See `TrainEngine`."""
        self.engine.backward(loss * self.num_ranks)  # DeepSpeed divides by the number of ranks

    def step(self) -> dict[str, float]:
        """See `TrainEngine`."""
        rate = self.engine.get_lr()[0]
        self.engine.step()
        if not self.engine.was_step_applied():
            self._forget()
        norm = self.grad_norm if self.plain else self.engine.get_global_grad_norm()
        return {"train/grad_norm": float(norm), "train/lr": rate}

    def all_gather(self, values: Tensor) -> Tensor:
        """See `TrainEngine`."""
        mine = values.detach().to(self.engine.device).contiguous()
        every = [torch.empty_like(mine) for _ in range(self.num_ranks)]
        distributed.all_gather(every, mine)
        return torch.cat(every).to(values.device)

    def weights(self) -> Iterable[tuple[str, Tensor]]:
        """See `TrainEngine`; every rank must go through all of them."""
        import deepspeed

        return lora.merged(self.policy.model, deepspeed.zero.GatheredParameters)

    @contextmanager
    def unsharded(self) -> Iterator[Policy]:
        """See `TrainEngine`."""
        if self._shell is None:
            yield self.policy
        else:
            with self._shell.filled() as policy:
                yield policy

    def save(self, folder: Path) -> None:
        """See `TrainEngine`."""
        import deepspeed

        weights = {name: weight.cpu() for name, weight in self.weights() if self.rank == 0}
        adapters = self._trained() if lora.is_adapted(self.policy.model) else []
        with deepspeed.zero.GatheredParameters(adapters):
            if self.rank == 0:
                save_model(folder, self.policy.model, self.chat, weights)
        # What is frozen is the base model's, and stays as it is.
        self.engine.save_checkpoint(str(folder / STATE), STATE, exclude_frozen_parameters=True)
        distributed.barrier()

    def load(self, folder: Path) -> None:
        """See `TrainEngine`.

        Raises:
            CheckpointError: In one line, when it is of another engine, model or number of ranks.
        """
        from deepspeed.runtime.zero.utils import ZeRORuntimeException

        path = checkpoint_path(folder, STATE)
        try:
            self.engine.load_checkpoint(str(path), STATE, load_module_strict=not self._frozen())
        except (AssertionError, OSError, RuntimeError, ValueError, ZeRORuntimeException) as error:
            raise CheckpointError(
                f"the checkpoint {folder} does not fit this run: {_line(error)}"
            ) from error
        if self._ratio is not None:
            # As it is for this run: one that was made longer goes on along the longer schedule.
            schedule = self.engine.lr_scheduler
            ratio = self._ratio(schedule.last_epoch)
            groups = self.engine.optimizer.param_groups
            for group, rate in zip(groups, schedule.base_lrs, strict=True):
                group["lr"] = rate * ratio

    def _trained(self) -> list[Parameter]:
        return [weight for weight in self.policy.parameters() if weight.requires_grad]

    def _frozen(self) -> bool:
        return not all(weight.requires_grad for weight in self.policy.parameters())

    def _forget(self) -> None:
        """Drops a gradient that is not finite, where DeepSpeed has kept it."""
        # Where the optimizer is offloaded, 0.19.8 adds all later gradients to this one.
        gradients = getattr(self.engine.optimizer, "averaged_gradients", {})
        gradients.update(dict.fromkeys(gradients))

    def _clip(self, optimizer: Any, *_: object) -> None:
        """Clips and tells the norm as ZeRO does; a gradient that is not finite is dropped."""
        limit = self.max_grad_norm or torch.inf
        self.grad_norm = clip_grad_norm_(self.policy.parameters(), limit)
        # By this word of its own optimizers DeepSpeed lets the schedule stand still.
        optimizer.overflow = not torch.isfinite(self.grad_norm)
        if optimizer.overflow:
            optimizer.zero_grad()


class Shell:
    """A policy like another, whose weights it shows while these are gathered from all ranks.

    It has none of the hooks by which DeepSpeed gathers and drops each weight around its use, which
    all ranks would have to reach equally often: within `filled`, each does what it likes.
    """

    def __init__(self, policy: Policy) -> None:
        """Args: the policy, before DeepSpeed has taken its weights apart."""
        self._weights = list(policy.parameters())
        empty = [Parameter(w.detach().new_empty(0), requires_grad=False) for w in self._weights]
        shared: dict[int, Any] = {id(buffer): buffer for buffer in policy.buffers()}
        shared |= {id(weight): holder for weight, holder in zip(self._weights, empty, strict=True)}
        self._places = empty
        self._policy = copy.deepcopy(policy, shared).eval()
        self._is_filled = False

    @contextmanager
    def filled(self) -> Iterator[Policy]:
        """The policy with weights, until the end of the context; every rank must enter."""
        if self._is_filled:
            yield self._policy
            return
        import deepspeed

        with deepspeed.zero.GatheredParameters(self._weights):
            for holder, weight in zip(self._places, self._weights, strict=True):
                holder.data = weight.data
            self._is_filled = True
            try:
                yield self._policy
            finally:
                self._is_filled = False
                for holder in self._places:
                    holder.data = holder.data.new_empty(0)


_BUCKET = 500_000_000
"""Elements that DeepSpeed gathers before it reduces them, two GiB in fp32."""


def complete(
    config: Mapping[str, Any],
    optimization: Optimization,
    *,
    cuda: bool,
    num_weights: int = _BUCKET,
) -> dict[str, Any]:
    """A configuration of DeepSpeed, filled in where the user's is silent or says "auto".

    On GPUs bf16 with fp32 master weights and gradients and ZeRO stage 1, else fp32 without ZeRO;
    AdamW on both.

    Args:
        config: As in DeepSpeed's JSON.
        optimization: Of AdamW and of gradient clipping.
        cuda: Whether to train on GPUs.
        num_weights: Of the policy; no buffer for gradients needs to be larger.
    """
    given = _stated(config)
    ours = {"stage": 1 if cuda else 0, "reduce_bucket_size": min(_BUCKET, num_weights)}
    zero = ours | given.get("zero_optimization", {})
    adamw = {
        "lr": optimization.learning_rate,
        "betas": list(optimization.betas),
        "weight_decay": optimization.weight_decay,
        # PyTorch's needs no compiler; state that is offloaded to the CPU wants DeepSpeed's own.
        "torch_adam": "offload_optimizer" not in zero,
    }
    settings = {
        "bf16": {"enabled": cuda and not given.get("fp16", {}).get("enabled", False)},
        "gradient_clipping": optimization.max_grad_norm,
        **given,
        "optimizer": _optimizer(given.get("optimizer", {}), adamw),
        "zero_optimization": zero,
        **FIXED,
    }
    if zero["stage"] > 0 and settings["bf16"].get("enabled"):
        settings.setdefault("data_types", {"grad_accum_dtype": "fp32"})
    settings.pop("train_batch_size", None)
    return settings


def _optimizer(given: Mapping[str, Any], adamw: Mapping[str, Any]) -> dict[str, Any]:
    """The user's optimizer; of AdamW what is not said is ours."""
    if given.get("type", "AdamW") != "AdamW":
        return dict(given)
    return {"type": "AdamW", "params": {**adamw, **given.get("params", {})}}


def _stated(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration without its "auto", the word by which transformers' leave things open."""
    stated = {
        key: _stated(value) if isinstance(value, Mapping) else value
        for key, value in config.items()
        if value != "auto"
    }
    return {key: value for key, value in stated.items() if value != {} or config[key] == {}}


def _is_plain(settings: Mapping[str, Any]) -> bool:
    """Whether DeepSpeed leaves the optimizer as it is; it then clips without telling the norm."""
    half = any(settings.get(name, {}).get("enabled") for name in ("bf16", "fp16"))
    return not half and settings["zero_optimization"]["stage"] == 0


def _import(cuda: bool) -> Any:
    """The package, told which devices to use, without warnings meant for its own authors."""
    if not cuda:
        os.environ.setdefault("DS_ACCELERATOR", "cpu")
    try:
        import deepspeed
    except ImportError as error:
        raise MissingPackageError(
            f"DeepSpeed cannot be imported ({error}): pip install deepspeed, or train in one "
            "process with --engine torch"
        ) from error
    if not cuda:
        # No search for what can be compiled, so no compiler: gloo has all collectives already.
        deepspeed.ops.__compatible_ops__ = {}  # pyright: ignore[reportAttributeAccessIssue] - lazy
    warnings.filterwarnings("ignore", r".torch\.distributed\.\w+. is deprecated", FutureWarning)
    return deepspeed


def _join_ranks(deepspeed: Any, cuda: bool) -> None:
    """Connects the ranks that torchrun started; without it this process is the only one."""
    if distributed.is_initialized():
        return
    if "RANK" in os.environ:
        # Ranks wait while the first one evaluates, which takes as long as its longest responses.
        deepspeed.init_distributed(timeout=timedelta(days=1))
        if not cuda:
            # Else a thread of gloo may let go of the last collective's tensors while Python is
            # being shut down, which aborts the process.
            atexit.register(_leave_ranks)
    else:
        os.environ.setdefault("LOCAL_RANK", "0")  # DeepSpeed insists on it
        backend = "nccl" if cuda else "gloo"
        store = distributed.HashStore()  # pyright: ignore[reportPrivateImportUsage] - documented
        distributed.init_process_group(backend, store=store, rank=0, world_size=1)


def _leave_ranks() -> None:
    if distributed.is_initialized():
        distributed.destroy_process_group()


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
