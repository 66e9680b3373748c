# SPDX-License-Identifier: MIT
"""The encoder's forward pass in float64 with numpy, one sentence at a time and so without any padding."""

import json
import math

import numpy as np


def read_safetensors(path):
    data = path.read_bytes()
    header_size = int.from_bytes(data[:8], "little")
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + header_size]).items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        begin, end = (8 + header_size + offset for offset in entry["data_offsets"])
        tensors[name] = np.frombuffer(data[begin:end], np.float32).astype(np.float64).reshape(entry["shape"])
    return tensors


class Encoder:
    def __init__(self, folder):
        self.config = json.loads((folder / "config.json").read_text())
        self.tensors = read_safetensors(folder / "model.safetensors")
        self.scores, self.weights = [], []  # (heads, tokens, tokens) of each attention so far

    def linear(self, name, x):
        return x @ self.tensors[name + ".weight"].T + self.tensors[name + ".bias"]

    def norm(self, name, x):
        centred = x - x.mean(axis=-1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + self.config["layer_norm_eps"])
        return centred / deviation * self.tensors[name + ".weight"] + self.tensors[name + ".bias"]

    def attention(self, prefix, x):
        heads = self.config["num_attention_heads"]
        query, key, value = (
            self.linear(f"{prefix}.self.{part}", x).reshape(len(x), heads, -1).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        score = query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1])
        weight = np.exp(score - score.max(axis=-1, keepdims=True))
        weight /= weight.sum(axis=-1, keepdims=True)
        self.scores.append(score)
        self.weights.append(weight)
        return (weight @ value).transpose(1, 0, 2).reshape(len(x), -1)

    def embed(self, ids):
        table = self.tensors
        x = (
            table["embeddings.word_embeddings.weight"][ids]
            + table["embeddings.position_embeddings.weight"][: len(ids)]
            + table["embeddings.token_type_embeddings.weight"][0]
        )
        x = self.norm("embeddings.LayerNorm", x)
        for i in range(self.config["num_hidden_layers"]):
            layer = f"encoder.layer.{i}"
            context = self.linear(f"{layer}.attention.output.dense", self.attention(f"{layer}.attention", x))
            x = self.norm(f"{layer}.attention.output.LayerNorm", x + context)
            inner = gelu(self.linear(f"{layer}.intermediate.dense", x))
            x = self.norm(f"{layer}.output.LayerNorm", x + self.linear(f"{layer}.output.dense", inner))
        mean = x.mean(axis=0)
        return mean / np.linalg.norm(mean)


def gelu(x):
    erf = np.frompyfunc(math.erf, 1, 1)
    return 0.5 * x * (1 + erf(x / math.sqrt(2)).astype(np.float64))
