"""A pretended GPU on a CPU, for what else only a GPU shows: devices that mix, and waits for it.

Its tensors are of a device of their own, `DEVICE`, with the numbers in a tensor of the CPU. An
operation on tensors of both devices raises as on a GPU, and what makes the CPU wait for the device
is counted: copies to and from it, and operations whose result has a size that depends on numbers.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import varlen
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils.backend_registration import (
    _DummyBackendModule,
    _setup_privateuseone_for_python_backend,
)

SIZES = {
    *("nonzero", "masked_select", "unique_consecutive", "_unique2", "unique_dim", "bincount"),
    *("repeat_interleave", "equal"),
}
"""Operations that wait for the device, because their results depend on numbers there."""
INDEXING = {"index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index"}


class _Backend(_DummyBackendModule):
    """What PyTorch asks a device for, for autocast and the recomputation of activations."""

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.bfloat16, torch.float16]

    def get_rng_state(self, device: Any = 0) -> Tensor:
        return torch.zeros(1, dtype=torch.uint8)

    def set_rng_state(self, state: Tensor, device: Any = 0) -> None:
        pass

    def device(self, device: Any) -> Any:
        return nullcontext()


_setup_privateuseone_for_python_backend("pretended", backend_module=_Backend())
DEVICE = torch.device("pretended:0")
AUTOCAST = "AutocastPrivateUse1"


def _register_autocast() -> list[Any]:
    """Products of matrices under autocast are in its number format, all else as it is."""
    every, aten = torch.library.Library("_", "IMPL"), torch.library.Library("aten", "IMPL")
    every.fallback(torch.library.fallthrough_kernel, AUTOCAST)
    keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, AUTOCAST))

    def register(name: str) -> None:
        def product(*args: Any) -> Tensor:
            dtype = torch.get_autocast_dtype(DEVICE.type)
            with torch._C._ExcludeDispatchKeyGuard(keys):
                cast = pytree.tree_map_only(Tensor, lambda x: x.to(dtype), args)
                return getattr(torch.ops.aten, name)(*cast)

        aten.impl(name, product, AUTOCAST)

    for name in ("linear", "matmul", "bmm", "mm", "addmm"):
        register(name)
    return [every, aten]


_LIBRARIES = _register_autocast()
"""Kept, since what a library registers ends with it."""


class DeviceTensor(Tensor):
    """A tensor of the pretended device, with its numbers in `host`."""

    host: Tensor
    is_cuda = True  # pyright: ignore[reportAssignmentType]

    @staticmethod
    def __new__(cls, host: Tensor) -> "DeviceTensor":
        tensor = Tensor._make_wrapper_subclass(
            cls,
            host.shape,
            strides=host.stride(),
            storage_offset=host.storage_offset(),
            dtype=host.dtype,
            device=DEVICE,
        )
        tensor.host = host
        return tensor

    def tolist(self) -> Any:
        _device().wait("a copy to the host")
        return self.host.tolist()

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _device().compute(func, args, kwargs or {})


class PretendedDevice(TorchDispatchMode):
    """Context in which the device exists."""

    current: "PretendedDevice | None" = None

    def __init__(self) -> None:
        super().__init__()
        self.waits: Counter[str] = Counter()
        """Number of waits for the device, by kind and place."""

    def __enter__(self) -> "PretendedDevice":
        PretendedDevice.current = self
        self._lifts = torch._C._only_lift_cpu_tensors()
        torch._C._set_only_lift_cpu_tensors(True)  # `torch.tensor` copies to the device
        self._threads = torch.autograd.set_multithreading_enabled(False)  # which lack the above
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._threads.__exit__(*error)
        torch._C._set_only_lift_cpu_tensors(self._lifts)
        PretendedDevice.current = None

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.compute(func, args, kwargs or {})

    def wait(self, kind: str) -> None:
        """Counts a wait."""
        self.waits[f"{kind} in {_place()}"] += 1

    def compute(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """An operation on the numbers of its arguments, with a result on their device."""
        name = func._schema.name.partition("::")[2]
        tensors = [x for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
        on_device = [isinstance(tensor, DeviceTensor) for tensor in tensors]
        target = kwargs.get("device")
        moves = target is not None and torch.device(target).type == DEVICE.type
        if not any(on_device) and not moves:
            return func(*args, **kwargs)
        if target is not None:
            kwargs = kwargs | {"device": torch.device("cpu")}
        host_args, host_kwargs = pytree.tree_map_only(
            DeviceTensor, lambda x: x.host, (args, kwargs)
        )
        if name == "_to_copy" and target is not None:
            return self._copy(func, args[0], host_args, host_kwargs, moves=moves)
        if name == "copy_":
            self._count_copy(*args[:2])
            host_args[0].copy_(host_args[1])
            return args[0]
        self._check(name, args, tensors, on_device)
        output = func(*host_args, **host_kwargs)
        output = pytree.tree_map_only(Tensor, DeviceTensor, output)
        return return_and_correct_aliasing(func, args, kwargs, output) if tensors else output

    def _copy(self, func: Any, source: Tensor, args: Any, kwargs: Any, *, moves: bool) -> Tensor:
        """A copy to one of the devices."""
        if isinstance(source, DeviceTensor) != moves:
            self.wait(f"a copy to the {'device' if moves else 'host'}")
        output = func(*args, **kwargs)
        return DeviceTensor(output) if moves else output

    def _count_copy(self, target: Tensor, source: Tensor) -> None:
        if isinstance(target, DeviceTensor) != isinstance(source, DeviceTensor):
            self.wait(f"a copy to the {'device' if isinstance(target, DeviceTensor) else 'host'}")

    def _check(self, name: str, args: Any, tensors: list[Tensor], on_device: list[bool]) -> None:
        """Counts an operation that waits, and raises for one on tensors of two devices."""
        indices = [x for x in args[1] if x is not None] if name in INDEXING else []
        if name in SIZES or name == "_local_scalar_dense":
            self.wait(name)
        for index in indices:
            if index.dtype in (torch.bool, torch.uint8):
                self.wait("a mask as an index")
            elif not isinstance(index, DeviceTensor):
                self.wait("a copy to the device")
        allowed = {id(index) for index in indices} if isinstance(args[0], DeviceTensor) else set()
        for tensor, is_there in zip(tensors, on_device, strict=True):
            # Scalars of the CPU, and its indices, go with tensors of a GPU.
            if not is_there and tensor.dim() and id(tensor) not in allowed:
                raise RuntimeError(f"{name} mixes devices in {_place()}: {tuple(tensor.shape)}")


def to_device(module: nn.Module) -> nn.Module:
    """The module with its weights and buffers on the device; tied ones stay tied."""
    weights: dict[int, nn.Parameter] = {}
    for part in module.modules():
        for name, weight in part.named_parameters(recurse=False):
            copied = nn.Parameter(DeviceTensor(weight.detach().clone()), weight.requires_grad)
            setattr(part, name, weights.setdefault(id(weight), copied))
        for name, buffer in part.named_buffers(recurse=False):
            part._buffers[name] = DeviceTensor(buffer.clone())
    return module


@contextmanager
def varlen_kernel() -> Iterator[list[torch.dtype]]:
    """Context in which PyTorch's variable-length attention computes on the pretended device.

    It gives the number format of each call.
    """
    calls: list[torch.dtype] = []

    def attend(query: Tensor, *rest: Any, **options: Any) -> Tensor:
        calls.append(query.dtype)
        return _varlen_attention(query, *rest, **options)

    original, varlen.varlen_attn = varlen.varlen_attn, attend
    try:
        yield calls
    finally:
        varlen.varlen_attn = original


def _varlen_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *lengths: Any,
    scale: float | None = None,
    window_size: tuple[int, int] = (-1, -1),
    enable_gqa: bool = False,
) -> Tensor:
    """`[n heads c]`, segment by segment; refuses what the kernel refuses."""
    query_ends, key_ends, max_queries, max_keys = lengths
    ends = query_ends.host.tolist(), key_ends.host.tolist()
    assert query.dtype in (torch.bfloat16, torch.float16)
    assert query_ends.dtype == key_ends.dtype == torch.int32
    assert (ends[0][-1], ends[1][-1]) == (len(query), len(key))
    assert enable_gqa or query.shape[1] == key.shape[1]
    outputs = []
    for (q0, q1), (k0, k1) in zip(pairwise(ends[0]), pairwise(ends[1]), strict=True):
        assert q1 - q0 <= max_queries
        assert k1 - k0 <= max_keys
        parts = query[q0:q1], key[k0:k1], value[k0:k1]
        q, k, v = (part.transpose(0, 1).float() for part in parts)
        k, v = (part.repeat_interleave(len(q) // len(part), 0) for part in (k, v))
        scores = q @ k.transpose(1, 2) * (scale or q.shape[-1] ** -0.5)
        scores = scores + _mask(q1 - q0, k1 - k0, *window_size)
        outputs.append((scores.softmax(-1) @ v).transpose(0, 1).to(query.dtype))
    return torch.cat(outputs)


def _mask(num_queries: int, num_keys: int, left: int, right: int) -> Tensor:
    """0 or -inf for each query and key, the last of which stand at one place; -1 has no bound."""
    query = torch.arange(num_keys - num_queries, num_keys)[:, None]
    distance = torch.arange(num_keys) - query
    masked = (distance > right) & (right >= 0) | (distance < -left) & (left >= 0)
    return DeviceTensor(torch.zeros(masked.shape).masked_fill(masked, -torch.inf))


def _device() -> PretendedDevice:
    return PretendedDevice.current or PretendedDevice()


def _place() -> str:
    """The function of the package, or else of transformers, from which a call came."""
    frame, other = sys._getframe(), "?"
    while frame is not None:
        path, function = frame.f_code.co_filename, frame.f_code.co_name
        if "/agents/" in path and "/tests/" not in path:
            return f"agents/{path.rpartition('/agents/')[2]}:{function}"
        if "/transformers/" in path and other == "?":
            other = f"transformers, {function}"
        frame = frame.f_back
    return other
