# SPDX-License-Identifier: MIT
"""Turns a LLaMA model in GGUF into the files that Hugging Face would publish: model.safetensors (all f32), config.json,
tokenizer.json. Run by the build, so that the program reads one common format and needs no Python.

    convert_gguf.py MODEL.gguf FOLDER
"""

import json
import pathlib
import sys

import gguf
import numpy as np

# Without the number of the layer.
LAYER_TENSORS = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
OTHER_TENSORS = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}


def published_name(name):
    kind, number, part = (name.split(".") + [""])[:3]
    if kind == "blk":
        return f"model.layers.{number}.{LAYER_TENSORS[part]}.weight"
    return f"{OTHER_TENSORS[kind]}.weight"


def half_split(weight, heads):
    """GGUF keeps the rows of queries and keys so that neighbours make a pair that turns; published files have the two of a
    pair half a head apart."""
    return weight.reshape(heads, -1, 2, weight.shape[-1]).swapaxes(1, 2).reshape(weight.shape)


def tensors_of(reader, config):
    heads_of = {"attn_q": config["num_attention_heads"], "attn_k": config["num_key_value_heads"]}
    for tensor in reader.tensors:
        values = gguf.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        part = tensor.name.split(".")[-2]
        if part in heads_of:
            values = half_split(values, heads_of[part])
        yield published_name(tensor.name), values


def write_safetensors(path, tensors):
    header, end = {}, 0
    for name, values in tensors.items():
        header[name] = {"dtype": "F32", "shape": values.shape, "data_offsets": [end, end + values.nbytes]}
        end += values.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for values in tensors.values():
            file.write(values.tobytes())


def config_of(field, tensor_names):
    return {
        "model_type": field("general.architecture"),
        "hidden_act": "silu",
        "hidden_size": field("llama.embedding_length"),
        "intermediate_size": field("llama.feed_forward_length"),
        "num_hidden_layers": field("llama.block_count"),
        "num_attention_heads": field("llama.attention.head_count"),
        "num_key_value_heads": field("llama.attention.head_count_kv"),
        "max_position_embeddings": field("llama.context_length"),
        "rope_theta": field("llama.rope.freq_base"),
        "rms_norm_eps": field("llama.attention.layer_norm_rms_epsilon"),
        "vocab_size": field("llama.vocab_size"),
        "tie_word_embeddings": "output.weight" not in tensor_names,
    }


def tokenizer_of(field):
    if (field("tokenizer.ggml.model"), field("tokenizer.ggml.pre")) != ("gpt2", "smollm"):
        sys.exit("only SmolLM's byte-level tokeniser is known")
    pieces = field("tokenizer.ggml.tokens")
    special = [id for id, kind in enumerate(field("tokenizer.ggml.token_type")) if kind == gguf.TokenType.CONTROL]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0",
        "added_tokens": [{"id": id, "content": pieces[id], **flags} for id in special],
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [{"type": "Digits", "individual_digits": True}, byte_level],
        },
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "vocab": {piece: id for id, piece in enumerate(pieces)},
            "merges": field("tokenizer.ggml.merges"),
        },
    }


def main():
    source, folder = map(pathlib.Path, sys.argv[1:])
    reader = gguf.GGUFReader(source)

    def field(name):
        return reader.fields[name].contents()

    config = config_of(field, {tensor.name for tensor in reader.tensors})
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer_of(field)))
    write_safetensors(folder / "model.safetensors", dict(tensors_of(reader, config)))


if __name__ == "__main__":
    main()
