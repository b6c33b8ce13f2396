#!/usr/bin/env python3
"""Trains a small character-level GPT on the documentation and the sources of this repository, data-parallel.

    torchrun --nproc-per-node 4 examples/torch/train_gpt.py --backend wia --strategy ddp

--backend gloo is the comparison: the same seeds, the same batches. --strategy fsdp shards parameters,
gradients and the optimizer's state (FSDP2). Rank 0 prints the loss and draws it into --curve (SVG). The
ranks' batches together are --batch sequences, whatever their number, so that every number of ranks follows
the same trajectory to rounding.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

try:
    import wia.torch  # noqa: F401  the backend wia
except ImportError:
    pass  # --backend gloo needs none

ROOT = Path(__file__).resolve().parents[2]


def read_text(folders: list[str]) -> str:
    files = sorted(
        path
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".md", ".cpp", ".hpp", ".h")
    )
    return "".join(path.read_text(encoding="utf-8", errors="ignore") for path in files)


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
    def __init__(self, characters: int, context: int, width: int, layers: int, heads: int):
        super().__init__()
        self.embedding, self.positions = nn.Embedding(characters, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, characters)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens) + self.positions(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def distribute(net: Gpt, strategy: str) -> nn.Module:
    if strategy == "ddp":
        return nn.parallel.DistributedDataParallel(net)
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for block in net.blocks:
        fully_shard(block, mesh=mesh)
    return fully_shard(net, mesh=mesh)


def batch_of(
    tokens: torch.Tensor, step: int, options: argparse.Namespace
) -> tuple[torch.Tensor, torch.Tensor]:
    """This rank's sequences of a batch that all ranks draw alike."""
    made = torch.Generator().manual_seed(step)
    starts = torch.randint(len(tokens) - options.context - 1, (options.batch,), generator=made)
    own = starts.chunk(dist.get_world_size())[dist.get_rank()]
    rows = torch.stack([tokens[start : start + options.context + 1] for start in own])
    return rows[:, :-1], rows[:, 1:]


def draw(losses: list[float], title: str, file: Path) -> None:
    """The curve as SVG, without a library."""
    width, height, left, bottom = 640, 360, 56, 40
    high = math.ceil(max(losses))
    step = (width - left - 16) / max(1, len(losses) - 1)
    points = " ".join(
        f"{left + i * step:.1f},{height - bottom - loss / high * (height - bottom - 32):.1f}"
        for i, loss in enumerate(losses)
    )
    lines = [
        f'<line x1="{left}" x2="{width - 16}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
        f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{value}</text>'
        for value in range(high + 1)
        for y in [height - bottom - value / high * (height - bottom - 32)]
    ]
    file.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
        f'font-size="12"><rect width="100%" height="100%" fill="white"/>'
        f'<text x="{left}" y="20">{title}</text>'
        f'{"".join(lines)}<polyline points="{points}" fill="none" stroke="#0366d6" stroke-width="2"/>'
        f'<text x="{width - 16}" y="{height - 14}" text-anchor="end">step {len(losses)}</text></svg>\n'
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", choices=["wia", "gloo"], default="wia")
    parser.add_argument("--strategy", choices=["ddp", "fsdp"], default="ddp")
    parser.add_argument(
        "--text", nargs="+", default=["docs", "src"], help="folders of the repository to learn from"
    )
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=32, help="sequences a step, of all ranks together")
    parser.add_argument("--context", type=int, default=64)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--curve", type=Path, default=Path("train_gpt.svg"))
    options = parser.parse_args()

    dist.init_process_group(options.backend)
    rank, size = dist.get_rank(), dist.get_world_size()
    if options.batch % size:
        parser.error(f"--batch is {options.batch}; wanted is a multiple of the {size} ranks")
    text = read_text(options.text)
    characters = sorted(set(text))
    number = {character: i for i, character in enumerate(characters)}
    tokens = torch.tensor([number[character] for character in text])

    torch.manual_seed(1)
    net = Gpt(len(characters), options.context, options.width, options.layers, options.heads)
    parameters = sum(parameter.numel() for parameter in net.parameters())
    if rank == 0:
        print(
            f"{parameters / 1e6:.2f} million parameters, "
            f"{len(text) / 1e6:.2f} million characters of {options.text}"
        )
    net = distribute(net, options.strategy)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    losses, began = [], time.perf_counter()
    for step in range(options.steps):
        inputs, wanted = batch_of(tokens, step, options)
        loss = functional.cross_entropy(net(inputs).flatten(0, 1), wanted.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        losses.append(mean.item() / size)
        if rank == 0 and (step % 20 == 0 or step == options.steps - 1):
            print(f"step {step:4d}  loss {losses[-1]:.4f}", flush=True)
    seconds = time.perf_counter() - began
    if rank == 0:
        title = f"{options.backend}, {options.strategy}, {size} ranks: loss"
        draw(losses, title, options.curve)
        print(f"{title} {losses[-1]:.4f}, {seconds / options.steps * 1000:.1f} ms a step; {options.curve}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
