"""Section of a model card about the use of the model, with code that can be run as it stands."""

import json
from pathlib import Path
from string import Template
from typing import Any

from agents.engines.chat import Chat
from agents.engines.chat_template import without_system
from reasonenv.prompts import PROMPTS, Instruction, InUserText, PromptTemplate

QUESTION = "What is the sum of the numbers?"
_HERE = Path(__file__).parent


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
    kind = "images" if has_images else "words"
    template = Template((_HERE / f"usage_{kind}.md").read_text(encoding="utf-8"))
    texts, name = _texts(prompt), _prompt_name(prompt)
    remark = "The prompt is that of the training."
    if not texts:
        remark = "The prompt of the training is not in them: they ask the bare question."
    elif not name:
        remark = (
            "The prompt of the training has no name: the code for transformers has it, and the "
            "command asks the bare question."
        )
    options = [f"max_new_tokens={max_response_length}", "do_sample=False"]
    if chat.stop:
        options.append(f"stop_strings={json.dumps(list(chat.stop))}, tokenizer=tokenizer")
    is_pil = type(chat.image_processor).__name__.endswith("Pil")
    messages = _messages(chat, texts or ("", QUESTION), has_images)
    content = messages[-1]["content"]
    return template.substitute(
        remark=f" {remark}",
        flags=(f" --prompt {name}" if name else "") + " --trust-remote-code" * trust_remote_code,
        question=QUESTION,
        trust=", trust_remote_code=True" * trust_remote_code,
        messages=json.dumps(messages, indent=4),
        options=", ".join(options),
        backend="pil" if is_pil else "torchvision",  # which resized the images of the training
        place=[part["type"] for part in content].index("image") if has_images else "",
    )


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


def _messages(chat: Chat, texts: tuple[str, str], has_images: bool) -> list[dict[str, Any]]:
    """Messages of system and user text, as the chat template takes them."""
    system, question = texts
    parts = [{"type": "image"}, {"type": "text", "text": question}]
    user = {"role": "user", "content": parts if has_images else question}
    if not system:
        return [user]
    messages = [{"role": "system", "content": system}, user]
    return messages if chat.takes_system else without_system(messages)
