"""The trainer's side of vLLM's weight transfer, in the four phases of vLLM's server.

Weights are announced and broadcast in buckets, so that no side needs a complete list and at most
one bucket is in flight. They travel over NCCL by vLLM's own back end, or over gloo by the one of
`agents.engines.vllm.receiver`.
"""

import base64
import importlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from agents.engines.vllm.client import VLLMClient
from agents.engines.vllm.compatibility import check_installed, preserve_process_state
from agents.engines.vllm.weight_transfer import GLOO, GlooGroup, buckets, connect, rendezvous
from agents.errors import SamplerError

NCCL = "nccl"
"""Name of vLLM's own back end."""


@runtime_checkable
class Group(Protocol):
    """The trainer's end of a broadcast group with a server's workers."""

    def start(self, weights: list[Tensor]) -> Callable[[], object]:
        """Starts to send weights of one dtype; the result waits until they have been received."""
        ...


class NCCLGroup:
    """A communicator of vLLM, between GPUs."""

    def __init__(self, communicator: Any) -> None:
        """Wraps a `PyNcclCommunicator`."""
        self._communicator = communicator

    def start(self, weights: list[Tensor]) -> Callable[[], object]:
        """See `Group`."""
        stream, device = torch.cuda.current_stream(), self._communicator.device
        for weight in weights:
            # It would be sent from its first byte on, whatever its strides.
            whole = weight.to(device).contiguous()
            self._communicator.broadcast(whole, src=0, stream=stream)
        return stream.synchronize


def join(client: VLLMClient, backend: str | None, num_workers: int) -> Group:
    """Connects this process and the workers of a server.

    Args:
        client: Of the server.
        backend: Of the server's weight transfer.
        num_workers: Of the server.

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


def send(client: VLLMClient, group: Group, weights: Iterable[tuple[str, Tensor]]) -> None:
    """Replaces the weights of a server, which does not sample meanwhile.

    Args:
        client: Of the server.
        group: From `join`; not to be used again after an error.
        weights: Names and tensors; one bucket of them is held at a time.

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
        for bucket in buckets(weights):
            with client.posting("/update_weights", _announcement(bucket)):
                wait = group.start([weight for _, weight in bucket])
            wait()
        # Nothing is to come: `GlooReceiver` has all weights of its model, or refuses.
        client.post("/update_weights", _announcement([]))
        client.post("/finish_weight_update")
    except BaseException:
        with suppress(SamplerError):
            client.post("/finish_weight_update")
        raise


def _announcement(bucket: list[tuple[str, Tensor]]) -> dict[str, Any]:
    """Body of a request that announces a bucket, in the form of vLLM's NCCL back end."""
    info = {
        "names": [name for name, _ in bucket],
        "dtype_names": [str(weight.dtype).removeprefix("torch.") for _, weight in bucket],
        "shapes": [list(weight.shape) for _, weight in bucket],
    }
    return {"update_info": info}


def _join_gloo(client: VLLMClient, size: int) -> GlooGroup:
    address = client.local_address()
    store = rendezvous(address, 0, size, hosts=True)
    info = {"address": address, "port": store.port, "timeout": client.timeout}
    with client.posting("/init_weight_transfer_engine", {"init_info": info}):
        return connect(store, 0, size, client.timeout)


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
