"""Training with DeepSpeed: GPUs, any number of ranks, state and weights sharded by ZeRO."""

import atexit
import copy
import os
import warnings
import weakref
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
from agents.engines.checkpoint_files import checkpoint_errors, checkpoint_path, weights_only
from agents.engines.deepspeed_config import complete, is_plain
from agents.engines.load import save_model
from agents.engines.model import Policy
from agents.engines.optimizer import Optimization
from agents.engines.pretrained import checkpoint_weights
from agents.engines.sampling import Sampling
from agents.errors import CheckpointError, MissingPackageError, UsageError
from agents.rollout import PerToken, Responses

STATE = "deepspeed"
"""Folder within a checkpoint, and tag within that folder, of all ranks' states."""
PATIENCE = timedelta(hours=1)
"""Time that a rank waits for another, which has then stopped for ever."""


class DeepSpeedEngine:
    """A `TrainEngine` on each rank that torchrun started, or in a single process.

    It trains on the policy's device: GPUs with NCCL, CPUs with gloo. With ZeRO stage 3 each weight
    is sharded over the ranks: code other than `forward` reads weights within `unsharded`.
    """

    def __init__(
        self,
        policy: Policy,
        chat: Chat,
        sampling: Sampling,
        optimization: Optimization,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        cuda, half = policy.device.type == "cuda", policy.dtype == torch.bfloat16
        deepspeed = _import(cuda)
        _join_ranks(deepspeed, cuda)
        self.rank, self.num_ranks = distributed.get_rank(), distributed.get_world_size()
        several = cuda and self.num_ranks > 1
        # Values on the CPU, such as sampled responses, take no way through a GPU.
        self._host = distributed.new_group(timeout=PATIENCE, backend="gloo") if several else None
        self.policy, self.chat, self.sampling = policy.ready(), chat, sampling
        num_trained = sum(weight.numel() for weight in self._trained())
        sizes: Any = {"cuda": cuda, "half": half, "num_weights": num_trained}
        _check_names(config or {})
        settings = complete(config or {}, optimization, **sizes)
        is_sharded = settings["zero_optimization"]["stage"] == 3
        has_vision = hasattr(policy.model.config, "vision_config")
        # Ranks make collectives together, and stage 3 adds to the gradient of the step before where
        # a weight has none in the first microbatch.
        policy.always_runs_vision = (self.num_ranks > 1 or is_sharded) and has_vision
        self._replica = UnshardedReplica(policy) if is_sharded else None
        self._ratio = None if "scheduler" in settings else optimization.ratio
        self.plain, self.max_grad_norm = is_plain(settings), settings["gradient_clipping"]
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
            raise UsageError(f"DeepSpeed rejects its configuration: {_line(error)}") from error
        except RuntimeError as error:
            if (message := _explained(error)) is None:
                raise
            raise UsageError(message) from error
        if self.plain:
            self.engine.optimizer.register_step_pre_hook(self._clip)
        else:
            weakref.finalize(self, _release, self.engine).atexit = False

    def forward(
        self, responses: Responses, entropy_gradient: bool = False
    ) -> tuple[PerToken, PerToken]:
        return self.engine(responses, self.sampling, entropy_gradient)

    def backward(self, loss: Tensor) -> None:
        self.engine.backward(loss * self.num_ranks)  # DeepSpeed divides by the number of ranks

    def step(self) -> dict[str, float]:
        rate = self.engine.get_lr()[0]
        self.engine.step()
        if not self.engine.was_step_applied():
            self._clear_gradients()
        norm = self.grad_norm if self.plain else self.engine.get_global_grad_norm()
        return {"train/grad_norm": float(norm), "train/lr": rate}

    def discard(self) -> dict[str, float]:
        # DeepSpeed clears its buffers in a step alone: this one has neither optimizer nor schedule.
        optimizer, schedule = self.engine.basic_optimizer, self.engine.lr_scheduler
        step, optimizer.step = optimizer.step, lambda *_, **__: None
        self.engine.lr_scheduler = None
        try:
            self.engine.step()
        finally:
            optimizer.step, self.engine.lr_scheduler = step, schedule
        return {"train/grad_norm": 0.0, "train/lr": self.engine.get_lr()[0]}

    def all_gather(self, values: Tensor) -> Tensor:
        own = values.detach().contiguous()
        if self.num_ranks == 1:
            return own
        parts = [torch.empty_like(own) for _ in range(self.num_ranks)]
        distributed.all_gather(parts, own, self._host if own.device.type == "cpu" else None)
        return torch.cat(parts)

    def weights(self) -> Iterable[tuple[str, Tensor]]:
        """See `TrainEngine`; every rank must iterate over all of them."""
        import deepspeed

        return lora.merged_weights(self.policy.model, deepspeed.zero.GatheredParameters)

    def checkpoint_weights(self) -> Iterable[tuple[str, Tensor]]:
        return checkpoint_weights(self.policy.model, self.weights())

    @contextmanager
    def unsharded(self) -> Iterator[Policy]:
        if self._replica is None:
            yield self.policy
        else:
            with self._replica.gathered() as policy:
                yield policy

    def save(self, folder: Path) -> None:
        import deepspeed

        weights = {name: weight.cpu() for name, weight in self.weights() if self.rank == 0}
        adapters = self._trained() if lora.is_adapted(self.policy.model) else []
        with deepspeed.zero.GatheredParameters(adapters):
            if self.rank == 0:
                save_model(folder, self.policy.model, self.chat, weights)
        # Frozen weights are those of the base model.
        _pickle_stage_by_value()
        self.engine.save_checkpoint(str(folder / STATE), STATE, exclude_frozen_parameters=True)
        distributed.barrier()

    def load(self, folder: Path) -> None:
        """See `TrainEngine`.

        Raises:
            CheckpointError: It is of another engine or model, or has an optimizer's state that ZeRO
                has sharded over another number of ranks.
        """
        from deepspeed.runtime.zero.utils import ZeRORuntimeException

        path = checkpoint_path(folder, STATE)
        try:
            with checkpoint_errors(folder), weights_only(_saved_classes()):
                self.engine.load_checkpoint(str(path), STATE, load_module_strict=not self._frozen())
        except ZeRORuntimeException as error:
            raise CheckpointError(
                f"the checkpoint {folder} does not fit this run: {_line(error)} Resume on as many "
                "ranks as before."
            ) from error
        if self._ratio is not None:
            # DeepSpeed restores the old run's rate; this run's schedule may be longer.
            schedule = self.engine.lr_scheduler
            ratio = self._ratio(schedule.last_epoch)
            groups = self.engine.optimizer.param_groups
            for group, rate in zip(groups, schedule.base_lrs, strict=True):
                group["lr"] = rate * ratio

    def _trained(self) -> list[Parameter]:
        return [weight for weight in self.policy.parameters() if weight.requires_grad]

    def _frozen(self) -> bool:
        return not all(weight.requires_grad for weight in self.policy.parameters())

    def _clear_gradients(self) -> None:
        """Drops a non-finite gradient that DeepSpeed keeps after a skipped step."""
        # With an offloaded optimizer, DeepSpeed 0.19.8 adds all later gradients to this one.
        gradients = getattr(self.engine.optimizer, "averaged_gradients", {})
        gradients.update(dict.fromkeys(gradients))

    def _clip(self, optimizer: Any, *_: object) -> None:
        """Clips the gradient and records its norm, as ZeRO does; drops a non-finite one."""
        limit = self.max_grad_norm or torch.inf
        self.grad_norm = clip_grad_norm_(self.policy.parameters(), limit)
        # DeepSpeed reads this attribute of its own optimizers, and skips the scheduler's step.
        optimizer.overflow = not torch.isfinite(self.grad_norm)
        if optimizer.overflow:
            optimizer.zero_grad()


class UnshardedReplica:
    """Replica of a sharded policy that refers to the full weights while they are gathered.

    It lacks DeepSpeed's hooks, which gather and release each weight around its use and which all
    ranks must reach equally often: within `gathered`, ranks may call it independently.
    """

    def __init__(self, policy: Policy) -> None:
        """Args: the policy, before DeepSpeed shards its weights."""
        self._sharded = list(policy.parameters())
        self._full = [
            Parameter(weight.detach().new_empty(0), requires_grad=False) for weight in self._sharded
        ]
        memo: dict[int, Any] = {id(buffer): buffer for buffer in policy.buffers()}
        memo |= {id(weight): full for weight, full in zip(self._sharded, self._full, strict=True)}
        self._policy = copy.deepcopy(policy, memo).eval()
        self._is_gathered = False

    @contextmanager
    def gathered(self) -> Iterator[Policy]:
        """Context that gives the replica with its weights; every rank must enter it."""
        if self._is_gathered:
            yield self._policy
            return
        import deepspeed

        with deepspeed.zero.GatheredParameters(self._sharded):
            for full, weight in zip(self._full, self._sharded, strict=True):
                full.data = weight.data
            self._is_gathered = True
            try:
                yield self._policy
            finally:
                self._is_gathered = False
                for full in self._full:
                    full.data = full.data.new_empty(0)


def _release(engine: Any) -> None:
    """Removes the hooks of DeepSpeed's engine, which nobody uses any more.

    They hold it from within PyTorch, where no garbage collection looks, and stage 3 notes each
    model for good: without this a process would keep every model that it ever trained.
    """
    engine.destroy()
    from deepspeed.runtime.zero import parameter_offload

    models = getattr(parameter_offload, "FWD_MODULE_STACK", [])
    models[:] = [model for model in models if model is not engine.module]


def _import(cuda: bool) -> Any:
    """Imports DeepSpeed for the kind of device, without its internal deprecation warnings."""
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
        # Skips the search for compilable operators: gloo already has all collectives.
        deepspeed.ops.__compatible_ops__ = {}  # pyright: ignore[reportAttributeAccessIssue] - lazy
    from deepspeed.runtime import bf16_optimizer

    # It prints twelve lines at each start, which are of use to its authors.
    bf16_optimizer.see_memory_usage = lambda *_, **__: None
    warnings.filterwarnings("ignore", r".torch\.distributed\.\w+. is deprecated", FutureWarning)
    return deepspeed


def _check_names(config: Mapping[str, Any]) -> None:
    """Raises UsageError where no name is an option of DeepSpeed's, which ignores others."""
    from deepspeed.runtime import constants

    options = {"zero_optimization", *map(str, vars(constants).values())}
    if config and not options & config.keys():
        raise UsageError(f"--deepspeed has no option of DeepSpeed's: {', '.join(config)!s:.60}")


def _join_ranks(deepspeed: Any, cuda: bool) -> None:
    """Initialises the process group of torchrun's ranks, or of this process alone."""
    if distributed.is_initialized():
        return
    if "RANK" in os.environ:
        deepspeed.init_distributed(timeout=PATIENCE)
        if not cuda:
            # Otherwise a gloo thread may release the last collective's tensors while Python shuts
            # down, which aborts the process.
            atexit.register(_leave_ranks)
    else:
        os.environ.setdefault("LOCAL_RANK", "0")  # required by DeepSpeed
        backend = "nccl" if cuda else "gloo"
        store = distributed.HashStore()  # pyright: ignore[reportPrivateImportUsage] - documented
        distributed.init_process_group(backend, store=store, rank=0, world_size=1)


def _saved_classes() -> list[Any]:
    """Classes of DeepSpeed in the states of its optimizers; making one has no side effect."""
    from deepspeed.runtime.fp16.loss_scaler import DynamicLossScaler, LossScaler
    from deepspeed.runtime.zero.config import ZeroStageEnum
    from deepspeed.utils.tensor_fragment import fragment_address

    return [LossScaler, DynamicLossScaler, ZeroStageEnum, fragment_address]


def _pickle_stage_by_value() -> None:
    """Makes DeepSpeed's enum of stages a class and a number in a pickle.

    Python 3.11.0 to 3.11.3 pickle it as a call of `getattr`, which `weights_only` refuses.
    """
    from deepspeed.runtime.zero.config import ZeroStageEnum

    ZeroStageEnum.__reduce_ex__ = lambda self, proto: (ZeroStageEnum, (self.value,))


def _leave_ranks() -> None:
    if distributed.is_initialized():
        distributed.destroy_process_group()


def _explained(error: RuntimeError) -> str | None:
    """The cause of an error that a user can mend, in one line; None for others."""
    if "failed to build" in str(error):
        return (
            f"DeepSpeed cannot compile what its configuration needs: {_line(error)} (it needs "
            "g++, and nvcc for GPUs; PyTorch's optimizer needs neither: "
            '"optimizer": {"type": "AdamW", "params": {"torch_adam": true}} and '
            '"zero_force_ds_cpu_optimizer": false)'
        )
    if "Duplicate GPU" in str(error):
        return (
            "several ranks see one GPU: CUDA_VISIBLE_DEVICES must name another GPU for each rank, "
            "or all GPUs for all of them"
        )
    return None


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
