# SPDX-License-Identifier: MIT
"""The model's forward pass with numpy, in float64, over a whole text at once and without a cache. Weights come from the
GGUF file itself, with pairs that turn as they lie there, so that the conversion is compared as well."""

import gguf
import numpy as np

FIRST_TOKENS = 4  # that a window leaves visible


class Model:
    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        field = {name: part.contents() for name, part in reader.fields.items() if name.startswith("llama.")}
        self.heads = field["llama.attention.head_count"]
        self.groups = field["llama.attention.head_count_kv"]
        self.theta = field["llama.rope.freq_base"]
        self.epsilon = field["llama.attention.layer_norm_rms_epsilon"]
        self.layers = field["llama.block_count"]
        self.tensors = {tensor.name: tensor for tensor in reader.tensors}

    def weight(self, name):
        tensor = self.tensors[f"{name}.weight"]
        return gguf.dequantize(tensor.data, tensor.tensor_type).astype(np.float64)

    def norm(self, name, x):
        return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + self.epsilon) * self.weight(name)

    def turn(self, rows):
        """(heads, tokens, dims): neighbours turn together."""
        dims = rows.shape[-1]
        angle = np.arange(rows.shape[1])[:, None] * self.theta ** (-np.arange(0, dims, 2) / dims)
        even, odd = rows[..., 0::2], rows[..., 1::2]
        return np.stack(
            [even * np.cos(angle) - odd * np.sin(angle), even * np.sin(angle) + odd * np.cos(angle)], axis=-1
        ).reshape(rows.shape)

    def attention(self, query, key, value, window):
        def by_head(rows, heads):
            return rows.reshape(len(rows), heads, -1).transpose(1, 0, 2)

        query, key = self.turn(by_head(query, self.heads)), self.turn(by_head(key, self.groups))
        key, value = (np.repeat(rows, self.heads // self.groups, axis=0) for rows in (key, by_head(value, self.groups)))
        score = query @ key.transpose(0, 2, 1) / np.sqrt(query.shape[-1])
        q, k = np.arange(score.shape[1])[:, None], np.arange(score.shape[2])[None, :]
        score[:, ~((k <= q) & ((q - k < window) | (k < FIRST_TOKENS)))] = -np.inf
        weight = np.exp(score - score.max(axis=-1, keepdims=True))
        weight /= weight.sum(axis=-1, keepdims=True)
        return (weight @ value).transpose(1, 0, 2).reshape(query.shape[1], -1)

    def logits(self, texts, first, window=1 << 30):
        """For each text (a list of ids) the logits after each of its tokens from number `first[i]` on. Texts share the
        products with weights, nothing else."""
        ends = np.cumsum([len(ids) for ids in texts])
        pieces = [slice(end - len(ids), end) for end, ids in zip(ends, texts)]
        embeddings = self.weight("token_embd")
        x = embeddings[np.concatenate(texts)]
        for i in range(self.layers):
            layer = f"blk.{i}"
            rows = self.norm(f"{layer}.attn_norm", x)
            query, key, value = (rows @ self.weight(f"{layer}.attn_{part}").T for part in "qkv")
            context = np.concatenate([self.attention(query[p], key[p], value[p], window) for p in pieces])
            x = x + context @ self.weight(f"{layer}.attn_output").T
            rows = self.norm(f"{layer}.ffn_norm", x)
            gate = rows @ self.weight(f"{layer}.ffn_gate").T
            inner = gate / (1 + np.exp(-gate)) * (rows @ self.weight(f"{layer}.ffn_up").T)
            x = x + inner @ self.weight(f"{layer}.ffn_down").T
        x = self.norm("output_norm", x)
        return [x[p][start:] @ embeddings.T for p, start in zip(pieces, first)]
