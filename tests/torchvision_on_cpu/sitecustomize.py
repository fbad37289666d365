"""Operators that the published build of torchvision lacks beside a CPU build of torch.

Its extension wants CUDA libraries; without it, registering its own operators fails at import. With
this folder on PYTHONPATH every process declares them first; vLLM needs its transforms alone.
"""

import torch

# The declarations end with the object.
LIBRARY = torch.library.Library("torchvision", "DEF")
for name in ("nms", "qnms"):
    LIBRARY.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
