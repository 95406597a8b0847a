"""Small standard networks that no package ships: a U-Net, a one-stage detector and an LSTM language model."""

from __future__ import annotations

import torch
from torch import nn


class DoubleConv(nn.Sequential):
    def __init__(self, inputs, outputs):
        super().__init__(
            nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True),
            nn.Conv2d(outputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True),
        )


class UNet(nn.Module):
    """The U-Net of 2015 with same padding and batch normalisation: four levels down, transposed convolutions up."""

    def __init__(self, channels=3, classes=2, width=64):
        super().__init__()
        sizes = [width, width * 2, width * 4, width * 8, width * 16]
        self.inc = DoubleConv(channels, sizes[0])
        self.pool = nn.MaxPool2d(2)
        self.down = nn.ModuleList(DoubleConv(a, b) for a, b in zip(sizes, sizes[1:]))
        self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in zip(sizes[::-1][1:], sizes[::-1]))
        self.merge = nn.ModuleList(DoubleConv(b, a) for a, b in zip(sizes[::-1][1:], sizes[::-1]))
        self.out = nn.Conv2d(sizes[0], classes, 1)

    def forward(self, x):
        skips = [self.inc(x)]
        for block in self.down:
            skips.append(block(self.pool(skips[-1])))
        x = skips.pop()
        for up, merge in zip(self.up, self.merge):
            x = merge(torch.cat([skips.pop(), up(x)], dim=1))
        return self.out(x)


class ConvAct(nn.Module):
    def __init__(self, inputs, outputs, kernel=1, stride=1):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)
        self.bn = nn.BatchNorm2d(outputs, eps=1e-3, momentum=0.03)
        self.act = nn.SiLU(inplace=True)

    def forward(self, x):
        return self.act(self.bn(self.conv(x)))


class Bottleneck(nn.Module):
    def __init__(self, width, shortcut=True):
        super().__init__()
        self.reduce = ConvAct(width, width, 1)
        self.conv = ConvAct(width, width, 3)
        self.shortcut = shortcut

    def forward(self, x):
        return x + self.conv(self.reduce(x)) if self.shortcut else self.conv(self.reduce(x))


class CrossStage(nn.Module):
    """Cross-stage partial block: half of the channels run through the bottlenecks, half go round them."""

    def __init__(self, inputs, outputs, depth=1, shortcut=True):
        super().__init__()
        half = outputs // 2
        self.left = ConvAct(inputs, half)
        self.right = ConvAct(inputs, half)
        self.blocks = nn.Sequential(*(Bottleneck(half, shortcut) for _ in range(depth)))
        self.join = ConvAct(2 * half, outputs)

    def forward(self, x):
        return self.join(torch.cat((self.blocks(self.left(x)), self.right(x)), 1))


class PyramidPool(nn.Module):
    """Spatial pyramid pooling, fast form: one pooling applied three times."""

    def __init__(self, inputs, outputs, kernel=5):
        super().__init__()
        half = inputs // 2
        self.reduce = ConvAct(inputs, half)
        self.pool = nn.MaxPool2d(kernel, stride=1, padding=kernel // 2)
        self.join = ConvAct(half * 4, outputs)

    def forward(self, x):
        x = self.reduce(x)
        a = self.pool(x)
        b = self.pool(a)
        return self.join(torch.cat((x, a, b, self.pool(b)), 1))


class Detector(nn.Module):
    """A small YOLO-like detector: cross-stage backbone, feature pyramid up and down, three-scale head."""

    def __init__(self, classes=80, anchors=3, width=32, depth=1):
        super().__init__()
        w = [width, width * 2, width * 4, width * 8, width * 16]
        self.stem = ConvAct(3, w[0], 6, 2)
        self.stem.conv.padding = (2, 2)
        self.stage2 = nn.Sequential(ConvAct(w[0], w[1], 3, 2), CrossStage(w[1], w[1], depth))
        self.stage3 = nn.Sequential(ConvAct(w[1], w[2], 3, 2), CrossStage(w[2], w[2], 2 * depth))
        self.stage4 = nn.Sequential(ConvAct(w[2], w[3], 3, 2), CrossStage(w[3], w[3], 3 * depth))
        self.stage5 = nn.Sequential(ConvAct(w[3], w[4], 3, 2), CrossStage(w[4], w[4], depth), PyramidPool(w[4], w[4]))
        self.upsample = nn.Upsample(scale_factor=2, mode="nearest")
        self.lateral5 = ConvAct(w[4], w[3])
        self.top4 = CrossStage(w[4], w[3], depth, shortcut=False)
        self.lateral4 = ConvAct(w[3], w[2])
        self.top3 = CrossStage(w[3], w[2], depth, shortcut=False)
        self.down3 = ConvAct(w[2], w[2], 3, 2)
        self.out4 = CrossStage(w[3], w[3], depth, shortcut=False)
        self.down4 = ConvAct(w[3], w[3], 3, 2)
        self.out5 = CrossStage(w[4], w[4], depth, shortcut=False)
        self.anchors, self.values = anchors, classes + 5
        self.head = nn.ModuleList(nn.Conv2d(c, anchors * self.values, 1) for c in (w[2], w[3], w[4]))

    def forward(self, x):
        c3 = self.stage3(self.stage2(self.stem(x)))
        c4 = self.stage4(c3)
        p5 = self.lateral5(self.stage5(c4))
        p4 = self.lateral4(self.top4(torch.cat((self.upsample(p5), c4), 1)))
        p3 = self.top3(torch.cat((self.upsample(p4), c3), 1))
        n4 = self.out4(torch.cat((self.down3(p3), p4), 1))
        n5 = self.out5(torch.cat((self.down4(n4), p5), 1))
        outputs = []
        for conv, feature in zip(self.head, (p3, n4, n5)):
            y = conv(feature)
            batch, _, height, width = y.shape
            outputs.append(y.view(batch, self.anchors, self.values, height, width).permute(0, 1, 3, 4, 2).contiguous())
        return tuple(outputs)


class LstmLanguageModel(nn.Module):
    """The classic word-level language model: embedding, two LSTM layers with dropout, decoder."""

    def __init__(self, words=33278, embedding=650, hidden=650, layers=2, dropout=0.5):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(words, embedding)
        self.rnn = nn.LSTM(embedding, hidden, layers, dropout=dropout, batch_first=True)
        self.decoder = nn.Linear(hidden, words)

    def forward(self, tokens):
        x, _ = self.rnn(self.drop(self.encoder(tokens)))
        return self.decoder(self.drop(x))
