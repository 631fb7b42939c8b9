"""JoeyNMT on the pieces of a run: its own data, model, loop and search, trained for so long and no longer.

It is told to stop by a hook behind the optimizer's step; what it saves then it goes on from. Its padding, its losses
and its search without a cache are its own.
"""

import json
import logging
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from regard.runs import Run, RunFolder
from regard.runs.texts import part_reader
from regard.text.tokenizer import Tokenizer

SPACE = "\u2581"
LONGEST = 60  # pieces of a translation


class Enough(Exception):
    """The time of a turn is over."""


def learn(folder: Path, run: RunFolder, seconds: float) -> int:
    """Train for so many seconds, from where the last turn ended → real target tokens that were learnt from."""
    from joeynmt.config import load_config
    from joeynmt.training import TrainManager, train
    from torch.optim.optimizer import register_optimizer_step_post_hook

    trainers, tokens, began = list[Any](), [0], list[float]()
    step = TrainManager._train_step
    logging.disable(logging.INFO)

    def counted(self: Any, batch: Any) -> Any:
        trainers[:] = [self]
        began[:] = began or [time.perf_counter()]
        tokens[0] += int(batch.ntokens)
        return step(self, batch)

    def stop(*_: Any) -> None:
        if time.perf_counter() > began[0] + seconds:
            raise Enough

    TrainManager._train_step = counted
    register_optimizer_step_post_hook(stop)
    work, state = folder / "work", folder / "state.ckpt"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        train(rank=0, world_size=None, cfg=load_config(settings(folder, run, state)), skip_test=True)
    except Enough:
        trainers[0]._save_checkpoint(False, float("nan"))
    (work / "latest.ckpt").resolve().replace(state)
    return tokens[0]


def translated(folder: Path, run: RunFolder, texts: Sequence[str]) -> list[str]:
    """Its own command line, a beam of 5, on the state that was saved last."""
    tokenizer = tokenizer_of(run)
    config = settings(folder, run, folder / "state.ckpt")
    with (folder / "translate.log").open("w", encoding="utf-8") as log:
        done = subprocess.run(
            [sys.executable, "-m", "joeynmt", "translate", str(config)],
            input="\n".join(pieces_of(tokenizer, texts)) + "\n",
            stdout=subprocess.PIPE, stderr=log, text=True, check=True,
        )  # fmt: skip
    return joined(done.stdout.removesuffix("\n").split("\n"))


def tokenizer_of(run: RunFolder) -> Tokenizer:
    """What cuts the texts of both sides into pieces."""
    found = Run.open(run).columns["source"].tokenizer
    assert found is not None, "texts of a translator are cut into pieces"
    return found


def pieces_of(tokenizer: Tokenizer, texts: Sequence[str]) -> list[str]:
    """The pieces of each text with spaces between."""
    return [" ".join(tokenizer.pieces(ids)) for ids in tokenizer.encode_batch(texts)]


def joined(lines: Sequence[str]) -> list[str]:
    """The texts of pieces with spaces between."""
    return [line.replace(" ", "").replace(SPACE, " ").strip() for line in lines]


def settings(folder: Path, run: RunFolder, state: Path) -> Path:
    """Its config, with the files that it names → where it is. Sizes, rate and batches are those of the run."""
    experiment = Run.open(run).experiment
    model, training = experiment.model.settings, experiment.training
    data = _texts(folder, run)
    sides = {
        side: {
            "type": "transformer", "num_layers": model[side].settings["num_layers"],
            "num_heads": model["attention"].num_heads, "hidden_size": model["dim"],
            "ff_size": model[side].settings["feedforward_dim"], "dropout": model["dropout"], "layer_norm": "pre",
            "embeddings": {"embedding_dim": model["dim"], "scale": True, "dropout": 0.0},
        }
        for side in ("encoder", "decoder")
    }  # fmt: skip
    told = {
        "name": "peer", "model_dir": str(folder / "work"), "use_cuda": False, "fp16": False, "random_seed": 1,
        "num_workers": 0, "data": data,
        "training": {
            "loss": "crossentropy", "normalization": "tokens", "optimizer": "adam", "adam_betas": [0.9, 0.98],
            "label_smoothing": experiment.objective.settings["label_smoothing"],
            "scheduling": "warmupinversesquareroot", "learning_rate": training.learning_rate,
            "learning_rate_min": 0.0, "learning_rate_warmup": training.schedule.settings["warmup"],
            "clip_grad_norm": training.clip_norm, "batch_size": training.batch_tokens, "batch_type": "token",
            "epochs": 10**6, "logging_freq": 1000, "validation_freq": 10**9, "keep_best_ckpts": 1, "overwrite": True,
            "early_stopping_metric": "ppl", **({"load_model": str(state)} if state.exists() else {}),
        },
        "testing": {
            "beam_size": 5, "beam_alpha": 1.0, "batch_size": 64, "batch_type": "sentence", "eval_metrics": ["bleu"],
            "max_output_length": LONGEST, **({"load_model": str(state)} if state.exists() else {}),
        },
        "model": {
            "initializer": "xavier_uniform", "bias_initializer": "zeros", "embed_initializer": "xavier_uniform",
            "tied_embeddings": True, "tied_softmax": True, **sides,
        },
    }  # fmt: skip
    path = folder / "config.yaml"
    path.write_text(json.dumps(told, indent=1), encoding="utf-8")  # JSON is YAML
    return path


def _texts(folder: Path, run: RunFolder) -> dict[str, Any]:
    """The texts in pieces, written once, and how its config names them."""
    experiment, tokenizer = Run.open(run).experiment, tokenizer_of(run)
    vocabulary = folder / "vocabulary.txt"
    if not vocabulary.exists():
        folder.mkdir(parents=True, exist_ok=True)
        for part in ("train", "dev"):
            examples = [example.texts for example in part_reader(experiment, part) or ()]
            for column, language in (("source", "en"), ("target", "de")):
                lines = pieces_of(tokenizer, [columns[column] for columns in examples])
                (folder / f"{part}.{language}").write_text("\n".join(lines) + "\n", encoding="utf-8")
        vocabulary.write_text("\n".join(tokenizer.pieces(range(4, len(tokenizer)))) + "\n", encoding="utf-8")
    side = {"max_length": 250, "level": "word", "lowercase": False, "normalize": False, "tokenizer_type": "space"}
    symbols = {"unk": "<unk>", "pad": "<pad>", "bos": "<s>", "eos": "</s>"}
    return {
        "train": str(folder / "train"), "dev": str(folder / "dev"), "dataset_type": "plain",
        "src": {"lang": "en", **side, "voc_file": str(vocabulary)},
        "trg": {"lang": "de", **side, "voc_file": str(vocabulary)},
        "special_symbols": {
            **{f"{name}_token": symbol for name, symbol in symbols.items()},
            **{f"{name}_id": number for number, name in enumerate(symbols)},
        },
    }  # fmt: skip
