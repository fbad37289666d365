"""Transfer of weights from a trainer's memory to a vLLM server, in the four phases of the server.

Weights are announced and broadcast in buckets, so that no side needs a complete list and at most
one bucket is in flight. They travel over NCCL by vLLM's own back end, or over gloo, between CPUs,
by the one of this module: `send` is its trainer's side, `Receiver` that of vLLM's workers. The
group of both is independent of the trainer's own process group.
"""

import base64
import importlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from typing import Any

import torch
from torch import Tensor, distributed

from agents.engines.pretrained import checkpoint_weights, empty_model, load_config
from agents.engines.vllm.client import VLLMClient
from agents.engines.vllm.compatibility import check_installed, preserve_process_state
from agents.errors import SamplerError

NCCL, GLOO = "nccl", "agents-gloo"
"""Names of vLLM's own back end, and of the one with `Receiver`."""
BUCKET = 2**28
"""Bytes per broadcast: large enough that the latency of its announcement does not matter."""
RENDEZVOUS_TIMEOUT = 120.0
"""Seconds in which the members of a group must find each other."""


class GlooGroup:
    """One member's end of a broadcast group on CPUs; member 0 sends."""

    def __init__(self, group: Any, timeout: float) -> None:
        """Wraps a process group of gloo, whose members wait `timeout` seconds for each other."""
        self._group, self._options = group, distributed.BroadcastOptions()
        self._options.timeout = timedelta(seconds=timeout)

    def start(self, weights: list[Tensor]) -> Callable[[], object]:
        """Starts to send weights of one dtype; the result waits until they have been received."""
        flat = torch.cat([weight.cpu().flatten() for weight in weights])
        return self._group.broadcast([flat], self._options).wait

    def broadcast(self, tensor: Tensor) -> None:
        """Takes part in a broadcast of a tensor on the CPU, or raises a ConnectionError."""
        with _connection_errors():
            self._group.broadcast([tensor], self._options).wait()


class NCCLGroup:
    """The trainer's end of a communicator of vLLM, between GPUs."""

    def __init__(self, communicator: Any) -> None:
        """Wraps a `PyNcclCommunicator`."""
        self._communicator = communicator

    def start(self, weights: list[Tensor]) -> Callable[[], object]:
        """Starts to send weights; the result waits until they have been received."""
        stream, device = torch.cuda.current_stream(), self._communicator.device
        for weight in weights:
            # It would be sent from its first byte on, whatever its strides.
            whole = weight.to(device).contiguous()
            self._communicator.broadcast(whole, src=0, stream=stream)
        return stream.synchronize


Group = GlooGroup | NCCLGroup


def join(client: VLLMClient, backend: str | None, num_workers: int) -> Group:
    """Connects this process and the workers of a server, by the back end of its weight transfer.

    Raises:
        SamplerError: This process cannot use the back end, or the workers cannot be reached.
        MissingPackageError: vLLM is not installed, whose NCCL is needed.
    """
    if backend == GLOO:
        return _join_gloo(client, 1 + num_workers)
    if backend == NCCL and torch.cuda.is_available():
        return _join_nccl(client, 1 + num_workers)
    reason = "there is no GPU here" if backend == NCCL else "this is not known here"
    raise SamplerError(
        f"the server at {client.url} takes weights by {backend}, and {reason}: start it with "
        f'-- --weight-transfer-config \'{{"backend": "{GLOO}"}}\''
    )


def _join_gloo(client: VLLMClient, size: int) -> GlooGroup:
    address = client.local_address()
    store = _rendezvous(address, 0, size, hosts=True)
    info = {"address": address, "port": store.port, "timeout": client.timeout}
    with client.posting("/init_weight_transfer_engine", {"init_info": info}):
        return _connect(store, 0, size, client.timeout)


def _join_nccl(client: VLLMClient, size: int) -> NCCLGroup:
    """Joins by an identifier that travels with the request: vLLM's other way unpickles it."""
    check_installed(sees=False)
    with preserve_process_state():
        common = importlib.import_module("vllm.distributed.weight_transfer.nccl_common")
        wrapper = importlib.import_module("vllm.distributed.device_communicators.pynccl_wrapper")
    identifier = bytes(wrapper.NCCLLibrary().ncclGetUniqueId())
    text = base64.b64encode(identifier).decode()
    info = {"nccl_unique_id_b64": text, "rank_offset": 1, "world_size": size, "packed": False}
    with client.posting("/init_weight_transfer_engine", {"init_info": info}):
        device = torch.cuda.current_device()
        return NCCLGroup(common.uid_init_process_group(identifier, 0, size, device))


def _rendezvous(address: str, port: int, num_members: int, *, hosts: bool) -> Any:
    """TCP store at an address of the hosting member, by which the members find each other."""
    timeout = timedelta(seconds=RENDEZVOUS_TIMEOUT)
    # A public name of torch that its stubs do not export.
    kind = distributed.TCPStore  # pyright: ignore[reportPrivateImportUsage]
    with _connection_errors():
        return kind(address, port, num_members, hosts, timeout, wait_for_workers=False)


def _connect(store: Any, rank: int, size: int, timeout: float) -> GlooGroup:
    """Joins a new group, in which the trainer is 0, and returns once all members have."""
    with _connection_errors():
        process_group = distributed.ProcessGroupGloo(store, rank, size, store.timeout)
    group = GlooGroup(process_group, timeout)
    group.broadcast(torch.zeros(1))
    return group


@contextmanager
def _connection_errors() -> Iterator[None]:
    """Turns torch's RuntimeError about a missing member into a ConnectionError of one line."""
    try:
        yield
    except RuntimeError as error:
        raise ConnectionError(" ".join(str(error).split())) from error


def send(client: VLLMClient, group: Group, weights: Iterable[tuple[str, Tensor]]) -> None:
    """Replaces the weights of a server, which does not sample meanwhile.

    One bucket of them is held at a time. The group is not to be used again after an error.

    Raises:
        SamplerError: The server is lost, or cannot load them. Errors of `weights` pass through.
    """
    try:
        client.post("/start_weight_update")
    except SamplerError:
        # A trainer that is gone may have left an update unfinished.
        with suppress(SamplerError):
            client.post("/finish_weight_update")
        client.post("/start_weight_update")
    try:
        for bucket in _buckets(weights):
            with client.posting("/update_weights", _announcement(bucket)):
                wait = group.start([weight for _, weight in bucket])
            wait()
        # Nothing is to come: `Receiver` has all weights of its model, or refuses.
        client.post("/update_weights", _announcement([]))
        client.post("/finish_weight_update")
    except BaseException:
        with suppress(SamplerError):
            client.post("/finish_weight_update")
        raise


def _buckets(weights: Iterable[tuple[str, Tensor]]) -> Iterator[list[tuple[str, Tensor]]]:
    """Consecutive weights of one dtype, about `BUCKET` bytes together."""
    bucket: list[tuple[str, Tensor]] = []
    size = 0
    for name, weight in weights:
        if bucket and (size + weight.nbytes > BUCKET or weight.dtype != bucket[0][1].dtype):
            yield bucket
            bucket, size = [], 0
        bucket.append((name, weight.detach()))
        size += weight.nbytes
    if bucket:
        yield bucket


def _announcement(bucket: list[tuple[str, Tensor]]) -> dict[str, Any]:
    """Body of a request that announces a bucket, in the form of vLLM's NCCL back end."""
    info = {
        "names": [name for name, _ in bucket],
        "dtype_names": [str(weight.dtype).removeprefix("torch.") for _, weight in bucket],
        "shapes": [list(weight.shape) for _, weight in bucket],
    }
    return {"update_info": info}


class Receiver:
    """Methods of a back end of vLLM's weight transfer, without NCCL between trainer and server.

    An update brings all weights of the model or is discarded: the old ones then stay. vLLM calls
    the methods; `agents.engines.vllm.worker` joins them with its base class.
    """

    model: Any
    model_config: Any
    parallel_config: Any
    _group: GlooGroup | None = None

    def parse_init_info(self, init_dict: dict[str, Any]) -> dict[str, Any]:
        """The arguments of `init_transfer_engine`, as the trainer sent them."""
        return init_dict

    def init_transfer_engine(self, init_info: dict[str, Any]) -> None:
        """Joins the transfer group of a trainer, in which this is worker 1, 2, ..."""
        ranks = self.parallel_config
        rank = 1 + ranks.data_parallel_index * ranks.world_size + ranks.rank
        size = 1 + ranks.world_size_across_dp
        self._layouts = _layouts(self.model_config)
        repack_experts(self.model)
        store = _rendezvous(init_info["address"], init_info["port"], size, hosts=False)
        self._group = _connect(store, rank, size, init_info["timeout"])

    def start_weight_update(self) -> None:
        """Prepares the layers to be loaded one after the other."""
        if self._group is None:
            raise RuntimeError("no trainer has joined")
        self._missing = dict(self._layouts[0])
        _layerwise_reload().initialize_layerwise_reload(self.model)

    def update_weights(self, update_info: dict[str, Any]) -> None:
        """Receives a bucket; vLLM's own method would synchronize a GPU, which may be missing."""
        try:
            self.receive_weights(**update_info)
        except BaseException:
            self.shutdown()
            self._discard()
            raise

    def receive_weights(
        self, names: list[str], dtype_names: list[str], shapes: list[list[int]]
    ) -> None:
        """Receives a bucket, with its announcement, and loads it into the layout of the kernels.

        ValueError if a weight does not fit this model or, at the empty last bucket, is missing.
        """
        if not names and self._missing:
            first = min(self._missing)
            raise ValueError(f"{len(self._missing)} weights are missing, {first} first")
        if not names or self._group is None:
            return
        if self._missing == self._layouts[0] and names[0] not in self._missing:
            self._missing = dict(self._layouts[1])
        dtype = _take_layout(names, dtype_names, shapes, self._missing)
        sizes = [math.prod(shape) for shape in shapes]
        flat = torch.empty(sum(sizes), dtype=dtype)
        self._group.broadcast(flat)
        parts = zip(names, shapes, flat.split(sizes), strict=True)
        self.model.load_weights((name, part.view(shape)) for name, shape, part in parts)

    def finish_weight_update(self) -> None:
        """Loads what is left for the end, or drops an update that the trainer has broken off."""
        if self._missing:
            self._discard()
        else:
            _layerwise_reload().finalize_layerwise_reload(self.model, self.model_config)

    def shutdown(self) -> None:
        """Leaves the group; a trainer that still sends then gets an error."""
        self._group = None

    def _discard(self) -> None:
        """Drops what has arrived of an update: the old weights stay."""
        self._missing = {}
        discard_layers(self.model, self.model_config)


def _take_layout(
    names: Sequence[Any],
    dtype_names: Sequence[Any],
    shapes: Sequence[Sequence[Any]],
    missing: dict[str, tuple[int, ...]],
) -> torch.dtype:
    """Dtype of a bucket that fits, whose weights are taken out of the missing ones."""
    for name, shape in zip(names, shapes, strict=True):
        if name not in missing:
            raise ValueError(f"{name!r:.100} is no weight of this model, or comes twice")
        expected, given = missing.pop(name), tuple(shape)
        if given != expected:
            raise ValueError(f"{name} has the shape {given!s:.100} and takes {expected} here")
    kinds = sorted(set(dtype_names))
    dtype = getattr(torch, kinds[0], None) if len(kinds) == 1 else None
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise ValueError(f"{kinds!s:.100} is no dtype of weights")
    return dtype


def _layouts(model: Any) -> list[dict[str, tuple[int, ...]]]:
    """Shapes of the model's weights by the names of its family's checkpoints.

    Those of the trainer's may also be transformers' own: both are given.
    """
    trust: Any = {"trust_remote_code": model.trust_remote_code}
    empty: Any = empty_model(model.model, load_config(model.model, **trust), **trust)
    layouts = []
    for conversions in (None, []):  # those of the family, and none
        empty._weight_conversions = conversions
        weights = checkpoint_weights(empty, empty.state_dict().items())
        layouts.append({name: tuple(weight.shape) for name, weight in weights})
    return layouts


def _layerwise_reload() -> Any:
    """Module of vLLM that loads weights layer by layer, in each layer's layout."""
    return importlib.import_module("vllm.model_executor.model_loader.reload.layerwise")


def repack_experts(model: Any) -> None:
    """Has a vLLM model on a CPU pack its experts at each load; no-op on GPUs, and without experts.

    vLLM 0.32 packs them at the first one alone, and would take later weights for packed ones.
    """
    on_cpu = next(model.parameters()).device.type == "cpu"
    for layer in model.modules() if on_cpu else ():
        method: Any = getattr(layer, "quant_method", None)
        if hasattr(method, "moe_kernel"):
            method.process_weights_after_loading = partial(_pack, method)


def _pack(method: Any, layer: Any) -> None:
    method.moe_kernel = None
    type(method).process_weights_after_loading(method, layer)


def discard_layers(model: Any, config: Any) -> None:
    """Drops the partially received layers of a vLLM model, which keep their old weights.

    vLLM would otherwise count the received part towards the next load.
    """
    reload = _layerwise_reload()
    for layer in model.modules():
        info = reload.get_layerwise_info(layer)
        if info.can_load():
            info.loaded_weights.clear()
            info.load_numel = 0
    reload.finalize_layerwise_reload(model, config)
