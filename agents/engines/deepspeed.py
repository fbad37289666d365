"""Training with DeepSpeed: GPUs, any number of ranks, state and weights sharded by ZeRO."""

import atexit
import math
import os
import time
import warnings
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, distributed
from torch.nn import Parameter
from torch.nn.utils import clip_grad_norm_

from agents.engines import lora
from agents.engines.chat import Chat
from agents.engines.load import save_model
from agents.engines.model import Policy, UnshardedReplica
from agents.engines.optimizer import Optimization
from agents.engines.pretrained import checkpoint_errors, checkpoint_path, one_line
from agents.engines.sampling import Sampling
from agents.engines.torch import TorchEngine
from agents.errors import CheckpointError, MissingPackageError, UsageError

STATE = "deepspeed"
"""Folder within a checkpoint, and tag within that folder, of all ranks' states."""
PATIENCE = timedelta(hours=1)
"""Time that a rank waits for another, which has then stopped for ever."""
_RELEASE_S = 0.5
"""Seconds that gloo's threads have to release the last tensors."""
_FIXED = {
    "train_micro_batch_size_per_gpu": 1,
    "gradient_accumulation_steps": 1,
    "managed_gradient_accumulation": False,
    "gradient_allreduce_op": "mean",
}
"""Options that a configuration cannot change, because the learner accumulates gradients itself."""
BUCKET = 500_000_000
"""Gradient elements that DeepSpeed reduces at once: two GiB in fp32."""


class DeepSpeedEngine(TorchEngine):
    """A `TrainEngine` on each rank that torchrun started, or in a single process.

    With ZeRO stage 3 each weight is sharded over the ranks: code other than `forward` reads weights
    within `unsharded`.
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
        size = sum(weight.numel() for weight in self._trained())
        settings = complete(config or {}, optimization, cuda=cuda, half=half, num_weights=size)
        is_sharded = settings["zero_optimization"]["stage"] == 3
        has_vision = hasattr(policy.model.config, "vision_config")
        # Ranks make collectives together, and stage 3 adds to the gradient of the step before where
        # a weight has none in the first microbatch.
        policy.always_runs_vision = (self.num_ranks > 1 or is_sharded) and has_vision
        self._replica = UnshardedReplica(policy) if is_sharded else None
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
            raise UsageError(f"DeepSpeed rejects its configuration: {one_line(error)}") from error
        except RuntimeError as error:
            if "Duplicate GPU" in str(error):
                raise UsageError(
                    "several ranks see one GPU: CUDA_VISIBLE_DEVICES must name another GPU for "
                    "each rank, or all GPUs for all of them"
                ) from error
            if "failed to build" not in str(error):
                raise
            raise UsageError(
                f"DeepSpeed cannot compile what its configuration needs: {one_line(error)} (it "
                "needs g++, and nvcc for GPUs; PyTorch's optimizer needs neither: "
                '"optimizer": {"type": "AdamW", "params": {"torch_adam": true}} and '
                '"zero_force_ds_cpu_optimizer": false)'
            ) from error
        self.module = self.engine
        if self.plain:
            self.engine.optimizer.register_step_pre_hook(self._clip)
        else:
            weakref.finalize(self, _release, self.engine).atexit = False

    def backward(self, loss: Tensor) -> None:
        self.engine.backward(loss * self.num_ranks)  # DeepSpeed divides by the number of ranks

    def step(self) -> dict[str, float]:
        rate = self.engine.get_lr()[0]
        self.engine.step()
        if not self.engine.was_step_applied():
            # Of an offloaded optimizer DeepSpeed 0.19.8 keeps it, and adds all later ones to it.
            gradients = getattr(self.engine.optimizer, "averaged_gradients", {})
            gradients.update(dict.fromkeys(gradients))
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
        import deepspeed

        return lora.merged_weights(self.policy.model, deepspeed.zero.GatheredParameters)

    def unsharded(self) -> AbstractContextManager[Policy]:
        return self._replica.gathered() if self._replica else nullcontext(self.policy)

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
        from deepspeed.runtime.zero.utils import ZeRORuntimeException

        path = checkpoint_path(folder, STATE)
        is_whole = len(self._trained()) == len(list(self.policy.parameters()))
        with checkpoint_errors(folder), _weights_only():
            try:
                self.engine.load_checkpoint(str(path), STATE, load_module_strict=is_whole)
            except ZeRORuntimeException as error:
                raise CheckpointError(
                    f"the checkpoint {folder} does not fit this run: {one_line(error)} Resume on "
                    "as many ranks as before."
                ) from error
        if self._ratio is not None:
            # DeepSpeed restores the old run's rate; this run's schedule may be longer.
            schedule, groups = self.engine.lr_scheduler, self.engine.optimizer.param_groups
            for group, rate in zip(groups, schedule.base_lrs, strict=True):
                group["lr"] = rate * self._ratio(schedule.last_epoch)

    def _trained(self) -> list[Parameter]:
        return [weight for weight in self.policy.parameters() if weight.requires_grad]

    def _clip(self, optimizer: Any, *_: object) -> None:
        """Clips the gradient and records its norm, as ZeRO does; drops a non-finite one."""
        limit = self.max_grad_norm or torch.inf
        self.grad_norm = clip_grad_norm_(self.policy.parameters(), limit)
        # DeepSpeed reads this attribute of its own optimizers, and skips the scheduler's step.
        optimizer.overflow = not torch.isfinite(self.grad_norm)
        if optimizer.overflow:
            optimizer.zero_grad()


def _release(engine: Any) -> None:
    """Removes the hooks of an unused DeepSpeed engine, and the note that stage 3 has of it."""
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


def _join_ranks(deepspeed: Any, cuda: bool) -> None:
    """Initialises the process group of torchrun's ranks, or of this process alone."""
    if distributed.is_initialized():
        return
    if "RANK" in os.environ:
        deepspeed.init_distributed(timeout=PATIENCE)
        if not cuda:
            atexit.register(_leave_ranks)
    else:
        os.environ.setdefault("LOCAL_RANK", "0")  # required by DeepSpeed
        backend = "nccl" if cuda else "gloo"
        store = distributed.HashStore()  # pyright: ignore[reportPrivateImportUsage] - documented
        distributed.init_process_group(backend, store=store, rank=0, world_size=1)


def _leave_ranks() -> None:
    """Destroys the process group, and lets gloo's threads release the last collective's tensors.

    A thread that releases them while Python shuts down aborts the process. DeepSpeed keeps groups,
    so that their threads outlive the destruction; on a busy machine 3 of 10 starts of two ranks
    were aborted.
    """
    if distributed.is_initialized():
        distributed.destroy_process_group()
    time.sleep(_RELEASE_S)


@contextmanager
def _weights_only() -> Iterator[None]:
    """Context in which DeepSpeed's `torch.load` makes tensors, plain values and its own classes."""
    from deepspeed.runtime.fp16.loss_scaler import DynamicLossScaler, LossScaler
    from deepspeed.runtime.zero.config import ZeroStageEnum
    from deepspeed.utils.tensor_fragment import fragment_address

    classes = [LossScaler, DynamicLossScaler, ZeroStageEnum, fragment_address]
    os.environ["TORCH_FORCE_WEIGHTS_ONLY_LOAD"] = "1"
    try:
        with torch.serialization.safe_globals(classes):
            yield
    finally:
        del os.environ["TORCH_FORCE_WEIGHTS_ONLY_LOAD"]


def _pickle_stage_by_value() -> None:
    """Before Python 3.11.4 an enum is pickled as a call of `getattr`, which no load would run."""
    from deepspeed.runtime.zero.config import ZeroStageEnum

    ZeroStageEnum.__reduce_ex__ = lambda self, proto: (ZeroStageEnum, (self.value,))


def complete(
    config: Mapping[str, Any],
    optimization: Optimization,
    *,
    cuda: bool,
    half: bool | None = None,
    num_weights: int = BUCKET,
) -> dict[str, Any]:
    """DeepSpeed configuration with defaults for options that are missing or "auto".

    The defaults are AdamW with bf16, fp32 master weights and gradients and ZeRO stage 2 on GPUs,
    and AdamW with fp32 and without ZeRO on CPUs. UsageError if a part is no object, or the stage is
    none.

    Args:
        config: As in DeepSpeed's JSON.
        optimization: Of AdamW and of gradient clipping.
        cuda: True to train on GPUs.
        half: True for a policy in bfloat16; None for that on GPUs.
        num_weights: That are trained; no gradient buffer needs to be larger.
    """
    options, limit = _without_auto(config), optimization.max_grad_norm
    half = cuda if half is None else half
    _check_parts(options)
    defaults = {"stage": 2 if cuda else 0, "reduce_bucket_size": min(BUCKET, num_weights)}
    zero = defaults | options.get("zero_optimization", {})
    adamw = {
        "lr": optimization.learning_rate,
        "betas": list(optimization.betas),
        "eps": optimization.epsilon,
        "weight_decay": optimization.weight_decay,
        # PyTorch's AdamW needs no compiler; an offloaded optimizer requires DeepSpeed's own.
        "torch_adam": "offload_optimizer" not in zero,
    }
    optimizer: dict[str, Any] = {"type": "AdamW", **options.get("optimizer", {})}
    if optimizer["type"] == "AdamW":
        params = optimizer["params"] = adamw | optimizer.get("params", {})
        if cuda and params["torch_adam"] and not params.get("foreach"):
            # One kernel for each tensor, without a copy of a trained weight in fp32.
            params.setdefault("fused", True)
    settings = {
        "bf16": {"enabled": half and not options.get("fp16", {}).get("enabled", False)},
        # DeepSpeed clips to any limit but 0.
        "gradient_clipping": 0.0 if math.isinf(limit) else limit,
        **options,
        "optimizer": optimizer,
        "zero_optimization": zero,
        **_FIXED,
    }
    if zero["stage"] > 0 and settings["bf16"].get("enabled"):
        settings.setdefault("data_types", {"grad_accum_dtype": "fp32"})
    settings.pop("train_batch_size", None)
    return settings


def _check_parts(options: Mapping[str, Any]) -> None:
    """Raises UsageError for a part of a configuration that is no object, or an unknown stage."""
    zero = options.get("zero_optimization", {})
    names = ("optimizer", "scheduler", "bf16", "fp16", "zero_optimization")
    parts = {name: options[name] for name in names if name in options}
    if isinstance(zero, Mapping):
        parts |= {name: part for name, part in zero.items() if name.startswith("offload_")}
        if zero.get("stage", 0) not in range(4):
            raise UsageError(f"--deepspeed: stage is {zero['stage']!r}: give 0 to 3")
    for name, part in parts.items():
        if not isinstance(part, Mapping):
            raise UsageError(f"--deepspeed: {name} is {part!r}: give an object")


def _without_auto(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration without its "auto" values, by which transformers marks open options."""
    options = {
        key: _without_auto(value) if isinstance(value, Mapping) else value
        for key, value in config.items()
        if value != "auto"
    }
    return {key: value for key, value in options.items() if value != {} or config[key] == {}}


def _is_plain(settings: Mapping[str, Any]) -> bool:
    """True if DeepSpeed does not wrap the optimizer; it then reports no norm when it clips."""
    half = any(settings.get(name, {}).get("enabled") for name in ("bf16", "fp16"))
    return not half and settings["zero_optimization"]["stage"] == 0
