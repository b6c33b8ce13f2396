"""A small character-level GPT and the text that it learns from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

ROOT = Path(__file__).resolve().parents[2]


class Text:
    """The documentation and the sources in folders of this repository, as numbers of characters."""

    def __init__(self, folders: list[str]):
        files = sorted(
            path
            for folder in folders
            for path in (ROOT / folder).rglob("*")
            if path.suffix in (".md", ".cpp", ".hpp", ".h")
        )
        text = "".join(path.read_text(encoding="utf-8", errors="ignore") for path in files)
        self.characters = sorted(set(text))
        number = {character: i for i, character in enumerate(self.characters)}
        self.tokens = torch.tensor([number[character] for character in text])

    def batch(
        self, step: int, sequences: int, context: int, part: int, parts: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """(characters, those that follow): one part of a batch that is the same wherever it is drawn."""
        made = torch.Generator().manual_seed(step)
        starts = torch.randint(len(self.tokens) - context - 1, (sequences,), generator=made)
        rows = torch.stack([self.tokens[start : start + context + 1] for start in starts.chunk(parts)[part]])
        return rows[:, :-1], rows[:, 1:]


@dataclass(frozen=True)
class Shape:
    characters: int
    context: int = 64
    width: int = 128
    layers: int = 4
    heads: int = 4


class Block(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.queries_keys_values, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        parts = self.queries_keys_values(self.before_attention(x)).chunk(3, dim=-1)
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in parts)
        seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.projection(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.before_mlp(x))


class Gpt(nn.Module):
    """The same weights at each construction."""

    def __init__(self, shape: Shape):
        super().__init__()
        torch.manual_seed(1)
        self.embedding = nn.Embedding(shape.characters, shape.width)
        self.positions = nn.Embedding(shape.context, shape.width)
        self.blocks = nn.ModuleList(Block(shape.width, shape.heads) for _ in range(shape.layers))
        self.norm, self.head = nn.LayerNorm(shape.width), nn.Linear(shape.width, shape.characters)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """A row for each character of each sequence."""
        x = self.embedding(tokens) + self.positions(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x).flatten(0, 1))

    def number_of_parameters(self) -> int:
        return sum(parameter.numel() for parameter in self.parameters())


def loss_of(net: nn.Module, inputs: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    return functional.cross_entropy(net(inputs), wanted.flatten())
