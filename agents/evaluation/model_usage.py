"""Section of a model card about the use of the model, with code that can be run as it stands."""

import json
from string import Template
from typing import Any

from agents.engines.chat import Chat
from agents.engines.chat_template import without_system
from reasonenv.prompts import PROMPTS, Instruction, InUserText, PromptTemplate

QUESTION = "What is the sum of the numbers?"
_USAGE = Template("""\
## Usage

In place of `.`, this folder, its name on the hub does as well.$remark

```bash
python -m agents.generate --model .$flags --question "$question"
```

With transformers alone:

```python
$code
```
""")
_TEXT = Template("""\
from transformers import AutoModelForCausalLM, AutoTokenizer

NAME = "."
tokenizer = AutoTokenizer.from_pretrained(NAME)
model = AutoModelForCausalLM.from_pretrained(NAME)
messages = $messages
inputs = tokenizer.apply_chat_template(
    messages, add_generation_prompt=True, return_dict=True, return_tensors="pt"
)
output = model.generate(**inputs, $options)
print(tokenizer.decode(output[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True))""")
_VISION = Template("""\
from PIL import Image
from transformers import AutoImageProcessor, AutoModelForImageTextToText, AutoTokenizer

NAME = "."
tokenizer = AutoTokenizer.from_pretrained(NAME)
image_processor = AutoImageProcessor.from_pretrained(NAME, backend="$backend")
model = AutoModelForImageTextToText.from_pretrained(NAME)
messages = $messages
images = [Image.open("figure.png").convert("RGB")]
inputs = image_processor(images=images, return_tensors="pt")
num_tokens = inputs["image_grid_thw"].prod() // image_processor.merge_size**2
text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
image_token = tokenizer.convert_ids_to_tokens(model.config.image_token_id)
text = text.replace(image_token, image_token * int(num_tokens))
inputs.update(tokenizer(text, add_special_tokens=False, return_tensors="pt"))
inputs["mm_token_type_ids"] = (inputs["input_ids"] == model.config.image_token_id).int()
output = model.generate(**inputs, $options)
print(tokenizer.decode(output[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True))""")
_PROCESSOR = """
This needs no torchvision. Where it is installed, `AutoProcessor` makes the same inputs in one call.
It gets the image processor from above, since PIL and torchvision round resized pixels differently.

```python
from transformers import AutoProcessor

processor = AutoProcessor.from_pretrained(NAME)
processor.image_processor = image_processor
messages[-1]["content"][$place]["image"] = images[0]
inputs = processor.apply_chat_template(
    messages, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
)
```
"""


def usage_section(
    chat: Chat, prompt: PromptTemplate, max_response_length: int, *, trust_remote_code: bool = False
) -> str:
    """Markdown of the section.

    Args:
        chat: Of the model.
        prompt: Of the environment.
        max_response_length: Tokens after which a response of the training is truncated.
        trust_remote_code: The model brings Python code of its own.
    """
    has_images = chat.image_processor is not None
    messages = _messages(chat, prompt, has_images)
    name = _prompt_name(prompt)
    flags = " --image figure.png" * has_images + (f" --prompt {name}" if name else "")
    code = (_VISION if has_images else _TEXT).substitute(
        messages=json.dumps(messages, indent=4),
        options=", ".join(_options(chat, max_response_length)),
        backend=_backend(chat.image_processor),
    )
    if trust_remote_code:
        code = code.replace("_pretrained(NAME", "_pretrained(NAME, trust_remote_code=True")
    return _USAGE.substitute(
        remark=_remark(prompt, name),
        flags=flags + " --trust-remote-code" * trust_remote_code,
        question=QUESTION,
        code=code,
    ) + (_processor(messages) if has_images else "")


def _remark(prompt: PromptTemplate, name: str | None) -> str:
    """Sentence on the prompt, which follows another."""
    if name:
        return " The prompt is that of the training."
    if _texts(prompt):
        return (
            " The prompt of the training has no name: the code for transformers has it, and the "
            "command asks the bare question."
        )
    return " The prompt of the training is not in them: they ask the bare question."


def _backend(image_processor: Any) -> str:
    """Library that resized the images of the training: torchvision, if it was installed."""
    return "pil" if type(image_processor).__name__.endswith("Pil") else "torchvision"


def _prompt_name(prompt: PromptTemplate) -> str | None:
    """Name of the prompt around a question of one's own; None for a prompt without a name."""
    named = PROMPTS | {f"{name}:user": InUserText(each) for name, each in PROMPTS.items()}
    names = (name for name, each in named.items() if _texts(each) == _texts(prompt))
    return next(names, None) if _texts(prompt) else None


def _texts(prompt: PromptTemplate) -> tuple[str, str] | None:
    """System and user text of the question; None for a prompt with code of its own."""
    match prompt:
        case Instruction():
            return prompt.system, prompt.user(QUESTION)
        case InUserText(prompt=Instruction() as inner):
            return "", "\n\n".join(filter(None, (inner.system, inner.user(QUESTION))))
        case _:
            return None


def _messages(chat: Chat, prompt: PromptTemplate, has_images: bool) -> list[dict]:
    """Messages of a question in the prompt, as the chat template takes them."""
    system, question = _texts(prompt) or ("", QUESTION)
    parts = [{"type": "image"}, {"type": "text", "text": question}]
    user = {"role": "user", "content": parts if has_images else question}
    if not system:
        return [user]
    messages = [{"role": "system", "content": system}, user]
    return messages if chat.takes_system else without_system(messages)


def _options(chat: Chat, max_response_length: int) -> list[str]:
    """Arguments of `generate`."""
    options = [f"max_new_tokens={max_response_length}", "do_sample=False"]
    if chat.stop:
        options.append(f"stop_strings={json.dumps(list(chat.stop))}, tokenizer=tokenizer")
    return options


def _processor(messages: list[dict]) -> str:
    """The paragraph on `AutoProcessor`."""
    types = [part["type"] for part in messages[-1]["content"]]
    return Template(_PROCESSOR).substitute(place=types.index("image"))
