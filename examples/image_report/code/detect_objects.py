"""Finds the objects: Otsu's threshold, then connected components."""

import csv
from collections import deque
from typing import Dict, List

from flowforge import client

import png

RED = bytes((214, 40, 57))


def otsu(image: png.Grey) -> int:
    """Return the threshold between dark and light (Otsu 1979)."""
    histogram = [0] * 256
    for row in image:
        for value in row:
            histogram[value] += 1
    pixels = sum(histogram)
    mean = sum(value * count for value, count in enumerate(histogram))
    best, threshold, dark, dark_sum = -1.0, 128, 0, 0
    for value, count in enumerate(histogram):
        dark += count
        dark_sum += value * count
        if dark in (0, pixels):
            continue
        gap = dark_sum / dark - (mean - dark_sum) / (pixels - dark)
        between = dark * (pixels - dark) * gap * gap
        if between > best:
            best, threshold = between, value
    return threshold


def components(mask: List[List[bool]]) -> List[Dict[str, int]]:
    """Return the 4-connected regions of mask with their boxes and sizes."""
    height, width = len(mask), len(mask[0])
    seen = [[False] * width for _ in range(height)]
    found = []
    for y in range(height):
        for x in range(width):
            if not mask[y][x] or seen[y][x]:
                continue
            seen[y][x] = True
            queue = deque([(x, y)])
            box = {"left": x, "top": y, "right": x, "bottom": y, "pixels": 0}
            while queue:
                a, b = queue.popleft()
                box["pixels"] += 1
                box["left"], box["right"] = min(box["left"], a), max(box["right"], a)
                box["top"], box["bottom"] = min(box["top"], b), max(box["bottom"], b)
                for c, d in ((a - 1, b), (a + 1, b), (a, b - 1), (a, b + 1)):
                    if 0 <= c < width and 0 <= d < height and mask[d][c] and not seen[d][c]:
                        seen[d][c] = True
                        queue.append((c, d))
            found.append(box)
    return found


def mark(frame: png.Grey, boxes: List[Dict[str, int]]) -> List[bytes]:
    """Return the frame in colour with a red box around each object."""
    rows = [bytearray(channel for value in row for channel in (value, value, value)) for row in frame]
    for box in boxes:
        for x in range(box["left"], box["right"] + 1):
            for y in (box["top"], box["bottom"]):
                rows[y][3 * x : 3 * x + 3] = RED
        for y in range(box["top"], box["bottom"] + 1):
            for x in (box["left"], box["right"]):
                rows[y][3 * x : 3 * x + 3] = RED
    return [bytes(row) for row in rows]


def main() -> None:
    frame, even = png.read(client.input_path("frame")), png.read(client.input_path("even"))
    threshold = otsu(even)
    light = [[value > threshold for value in row] for row in even]
    share = sum(map(sum, light)) / (len(even) * len(even[0]))
    # The objects cover the smaller part of the image.
    mask = light if share <= 0.5 else [[not value for value in row] for row in light]
    client.log(f"threshold {threshold}, {100 * min(share, 1 - share):.1f} % of the picture is object")
    regions = components(mask)
    objects = sorted((r for r in regions if r["pixels"] >= int(client.inputs["smallest"])), key=lambda r: -r["pixels"])
    client.log(f"{len(regions)} regions, {len(objects)} of them large enough")
    for number, box in enumerate(objects):
        client.metric("object_pixels", box["pixels"], "histogram", step=number)
    client.output("count", len(objects))
    with client.output_path("objects").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["object", "left", "top", "width", "height", "pixels"])
        for number, box in enumerate(objects, start=1):
            size = (box["right"] - box["left"] + 1, box["bottom"] - box["top"] + 1)
            writer.writerow([number, box["left"], box["top"], *size, box["pixels"]])
    png.write(client.output_path("marked"), mark(frame, objects), colour=True)


main()
