"""Uploads to a stand-in for the hub's API, by the library's own client."""

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from helpers.tiny_runs import train
from huggingface_hub import constants

from agents import push
from agents.errors import ModelError, UploadError, UsageError
from agents.storage.digests import write_digests
from agents.storage.hub import check_upload, model_files, upload

MODEL = ("README.md", "config.json", "model.safetensors", "preprocessor_config.json")
MODEL += ("chat_template.jinja", "tokenizer.json", "tokenizer_config.json")
OTHERS = ("optimizer.pt", "trainer_state.json", "SHA256SUMS", "adapter/adapter_model.safetensors")
OTHERS += ("reference/model.safetensors", ".cache", "notes.txt", "rng.safetensors")


class Hub(BaseHTTPRequestHandler):
    """The calls of an upload; `server.files` are those of the commit, by name."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.calls.append((self.path, self.headers.get("Authorization")))
        if self.headers.get("Authorization") != "Bearer hf_good":
            return self.reply({"error": "Invalid username or password."}, 401)
        if self.path == "/api/repos/create":
            self.server.created.append(json.loads(body))
            return self.reply({"url": f"{self.server.url}/me/model", "id": "me/model"})
        if "/preupload/" in self.path:
            names = [file["path"] for file in json.loads(body)["files"]]
            modes = {"uploadMode": "regular", "shouldIgnore": False}
            return self.reply({"files": [{"path": name, **modes} for name in names]})
        if "/commit/" in self.path:
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "file":
                    content = base64.b64decode(line["value"]["content"])
                    self.server.files[line["value"]["path"]] = content
            url = f"{self.server.url}/me/model/commit/0"
            return self.reply({"success": True, "commitOid": "0", "commitUrl": url})
        return self.reply({"errors": [], "warnings": []})  # the check of the card

    def reply(self, content, status=200):
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture
def hub():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.url = f"http://127.0.0.1:{server.server_port}"
    server.calls, server.created, server.files = [], [], {}
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def checkpoint(tmp_path):
    folder = tmp_path / "run" / "checkpoints" / "step-3"
    for name in (*MODEL, *OTHERS):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("---\ntags: []\n---\n" if name == "README.md" else name)
    (folder / "SHA256SUMS").unlink()
    (folder / "config.json").write_text("{}")
    return folder


@pytest.fixture
def at_hub(hub, monkeypatch, tmp_path):
    """This process with the stand-in for the hub, and a good token."""
    monkeypatch.setattr(constants, "ENDPOINT", hub.url)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
    monkeypatch.setenv("HF_TOKEN", "hf_good")
    return hub


def test_a_model_and_its_card_are_uploaded_and_nothing_else(at_hub, checkpoint, capfd):
    push.main(["--model", str(checkpoint), "--push-to-hub", "me/model", "--private"])
    printed = capfd.readouterr()
    assert printed.err == ""
    assert printed.out.splitlines()[-1] == f"{at_hub.url}/me/model"
    assert at_hub.files.keys() == set(MODEL)
    assert at_hub.files["config.json"] == b"{}"
    assert at_hub.created[0]["name"] == "model"
    assert "private" in str(at_hub.created[0])
    assert all("/api/" in path and token == "Bearer hf_good" for path, token in at_hub.calls)


def test_the_code_of_a_model_is_uploaded_with_it(checkpoint):
    (checkpoint / "modeling_my.py").write_text("class MyModel: ...")
    (checkpoint / "config.json").write_text("{}")
    assert "modeling_my.py" not in model_files(checkpoint)
    auto_map = {"AutoModelForCausalLM": "modeling_my.MyModel"}
    (checkpoint / "config.json").write_text(json.dumps({"auto_map": auto_map}))
    assert "modeling_my.py" in model_files(checkpoint)


def test_a_repository_has_the_visibility_of_its_owner_by_default(at_hub, checkpoint):
    assert upload(checkpoint, "me/model") == f"{at_hub.url}/me/model"
    assert at_hub.files.keys() == set(MODEL)
    assert "private" not in str(at_hub.created[0])


def test_without_a_token_nothing_is_asked(at_hub, checkpoint, monkeypatch):
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(UsageError, match="needs a token of the hub: run hf auth login"):
        upload(checkpoint, "me/model")
    assert not at_hub.calls


@pytest.mark.parametrize("name", ["a/b/c", "me/", "", "me/mo del", "-model"])
def test_a_name_that_no_repository_has_is_refused(at_hub, name):
    with pytest.raises(UsageError, match="give a name such as you/model"):
        check_upload(name)


def test_a_hub_that_refuses_the_token_or_cannot_be_reached_is_one_line(
    at_hub, checkpoint, monkeypatch
):
    monkeypatch.setenv("HF_TOKEN", "hf_bad")
    with pytest.raises(UploadError, match=r"step-3 is not uploaded to me/model: .*401") as caught:
        upload(checkpoint, "me/model")
    assert "\n" not in str(caught.value)
    assert "hf_bad" not in str(caught.value)
    assert not at_hub.files
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(UploadError, match="is not uploaded to me/model: "):
        upload(checkpoint, "me/model")


def test_a_damaged_model_is_not_uploaded(at_hub, checkpoint):
    write_digests(checkpoint)
    (checkpoint / "model.safetensors").write_text("other")
    with pytest.raises(ModelError, match=r"model\.safetensors differs from its digest"):
        upload(checkpoint, "me/model")
    assert not at_hub.calls


def test_a_folder_without_a_model_names_a_checkpoint(checkpoint):
    with pytest.raises(ModelError, match="run has no model: give a checkpoint"):
        model_files(checkpoint.parents[1])
    assert model_files(checkpoint) == sorted(MODEL)


def test_a_complete_run_uploads_its_last_checkpoint(at_hub, tiny_folder, tmp_path, monkeypatch):
    settings = {"num_steps": 1, "push_to_hub": "me/model"}
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(SystemExit, match="needs a token of the hub"):
        train(tiny_folder, tmp_path / "run", **settings)
    assert not (tmp_path / "run").exists()
    monkeypatch.setenv("HF_TOKEN", "hf_bad")
    with pytest.raises(SystemExit, match=r"step-1 is not uploaded to me/model.*--resume continues"):
        train(tiny_folder, tmp_path / "run", **settings)
    monkeypatch.setenv("HF_TOKEN", "hf_good")
    train(tiny_folder, tmp_path / "run", **settings, resume=True)
    assert at_hub.files.keys() == {*MODEL, "generation_config.json"}
    weights = (tmp_path / "run" / "checkpoints" / "step-1" / "model.safetensors").read_bytes()
    assert at_hub.files["model.safetensors"] == weights
