"""A line chart as SVG: enough to look at a figure over size."""

from collections.abc import Sequence
from pathlib import Path

WIDTH, HEIGHT, MARGIN = 760, 360, 60


def write_line_chart(
    path: Path, points: Sequence[tuple[float, float]], *, title: str, x: str, y: str
) -> None:
    """Write ``points`` as a line; both axes begin at zero."""
    right, top = max(px for px, _ in points), max(py for _, py in points) * 1.1

    def place(px: float, py: float) -> str:
        across = MARGIN + (WIDTH - 2 * MARGIN) * px / right
        down = HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * py / top
        return f"{across:.1f},{down:.1f}"

    line = " ".join(place(px, py) for px, py in points)
    marks = "".join(
        _text(place(right * part, 0), f"{right * part:,.0f}", 18)
        + _text(place(0, top * part), f"{top * part:.0f}", 4, -32)
        for part in (0.25, 0.5, 0.75, 1.0)
    )
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif"'
        f' font-size="12"><rect width="100%" height="100%" fill="white"/>'
        f'<text x="{MARGIN}" y="24" font-size="15">{title}</text>'
        f'<polyline points="{place(0, top)} {place(0, 0)} {place(right, 0)}" fill="none" stroke="#444"/>'
        f'<polyline points="{line}" fill="none" stroke="#06c" stroke-width="2"/>{marks}'
        f'<text x="{WIDTH / 2:.0f}" y="{HEIGHT - 12}" text-anchor="middle">{x}</text>'
        f'<text x="{MARGIN}" y="44">{y}</text></svg>\n',
        encoding="utf-8",
    )


def _text(at: str, words: str, down: float, right: float = 0) -> str:
    across, height = map(float, at.split(","))
    return f'<text x="{across + right:.0f}" y="{height + down:.0f}" text-anchor="middle">{words}</text>'
