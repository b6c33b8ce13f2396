"""A loss curve as SVG, without a library."""

from __future__ import annotations

import math
from pathlib import Path

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 360, 56, 16, 32, 40


def draw(losses: list[float], title: str, file: Path) -> None:
    high = math.ceil(max(losses))
    right, low = WIDTH - RIGHT, HEIGHT - BOTTOM

    def y_of(loss: float) -> float:
        return low - loss / high * (low - TOP)

    step = (right - LEFT) / max(1, len(losses) - 1)
    points = " ".join(f"{LEFT + i * step:.1f},{y_of(loss):.1f}" for i, loss in enumerate(losses))
    lines = "".join(
        f'<line x1="{LEFT}" x2="{right}" y1="{y_of(value):.1f}" y2="{y_of(value):.1f}" stroke="#ddd"/>'
        f'<text x="{LEFT - 8}" y="{y_of(value) + 4:.1f}" text-anchor="end">{value}</text>'
        for value in range(high + 1)
    )
    file.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" '
        f'font-size="12">'
        f'<rect width="100%" height="100%" fill="white"/><text x="{LEFT}" y="20">{title}</text>'
        f'{lines}<polyline points="{points}" fill="none" stroke="#0366d6" stroke-width="2"/>'
        f'<text x="{right}" y="{HEIGHT - 14}" text-anchor="end">step {len(losses)}</text></svg>\n'
    )
