"""Decodes the picture and evens out its light."""

import sys
from pathlib import Path
from typing import List

from flowforge import client

import png


def even_out(image: png.Grey, radius: int) -> png.Grey:
    """Subtract the mean brightness around each pixel, by a summed-area table (Crow 1984)."""
    height, width = len(image), len(image[0])
    total: List[List[int]] = [[0] * (width + 1)]
    for row in image:
        running, line = 0, [0]
        for x, value in enumerate(row):
            running += value
            line.append(total[-1][x + 1] + running)
        total.append(line)
    result = []
    for y in range(height):
        top, bottom = max(0, y - radius), min(height, y + radius + 1)
        above, below = total[top], total[bottom]
        line = []
        for x in range(width):
            left, right = max(0, x - radius), min(width, x + radius + 1)
            mean = (below[right] - below[left] - above[right] + above[left]) / ((bottom - top) * (right - left))
            line.append(max(0, min(255, round(128 + image[y][x] - mean))))
        result.append(line)
        if y % 50 == 0:
            client.status(progress=100 * y / height, message=f"line {y} of {height}")
    return result


def main() -> None:
    if client.inputs.get("own_picture"):
        source = client.input_path("own_picture")
    else:
        source = Path(__file__).parent / "images" / f"{client.inputs['picture']}.png"
    try:
        image = png.read(source)
    except png.PNGError as err:
        sys.exit(f"{source.name} cannot be used: {err}")
    client.log(f"{source.name}: {len(image[0])} × {len(image)} pixels")
    radius = int(client.inputs["lighting"])
    png.write(client.output_path("frame"), [bytes(row) for row in image])
    even = even_out(image, radius) if radius else image
    png.write(client.output_path("even"), [bytes(row) for row in even])


main()
