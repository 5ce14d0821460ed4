"""What the paper prints in its Table 1: A is (d, n), entries of A and b from N(0, 1), 100 instances."""

from __future__ import annotations

from typing import NamedTuple


class Printed(NamedTuple):
    """Mean objectives and mean seconds of one line; the win rates of DCRA are 100 % but for two."""

    dcra: float
    gurobi: float
    mpec_epm: float
    l2box: float
    dcra_seconds: float
    gurobi_seconds: float
    mpec_epm_seconds: float
    l2box_seconds: float


PAPER: dict[tuple[int, int], Printed] = {
    (100, 50): Printed(144, 396, 633, 353, 0.0170, 0.0737, 0.0031, 0.0060),
    (100, 100): Printed(330, 806, 1210, 754, 0.0145, 0.0807, 0.0034, 0.0063),
    (100, 200): Printed(850, 1600, 2270, 2120, 0.0203, 0.1116, 0.0054, 0.0090),
    (200, 200): Printed(889, 2270, 3460, 1810, 0.0340, 0.1638, 0.0075, 0.0112),
    (300, 300): Printed(1620, 4200, 6370, 2970, 0.0551, 0.3080, 0.0114, 0.0150),
    (300, 500): Printed(3430, 6940, 10000, 7020, 0.1218, 0.6111, 0.0151, 0.0183),
    (500, 500): Printed(3520, 8980, 13800, 5540, 0.9115, 2.7283, 0.1432, 0.1552),
    (300, 1000): Printed(9000, 13800, 18700, 18500, 0.2258, 1.9576, 0.0215, 0.0249),
    (500, 1000): Printed(9600, 17900, 25400, 18500, 1.2865, 8.5689, 0.2341, 0.2424),
    (1000, 1000): Printed(10100, 25200, 38800, 12900, 1.8787, 5.4533, 0.1957, 0.1989),
    (300, 2000): Printed(21600, 27700, 34700, 34800, 0.4629, 6.8323, 0.0635, 0.0720),
    (500, 2000): Printed(24600, 35700, 47300, 46700, 1.0622, 12.8283, 0.1595, 0.1609),
    (1000, 2000): Printed(27200, 50400, 72000, 43300, 3.1180, 19.6319, 0.4112, 0.4206),
    (2000, 2000): Printed(28700, 71500, 110000, 32200, 7.3039, 29.8193, 1.4853, 1.6716),
    (3000, 2000): Printed(29200, 87500, 140000, 30600, 13.4699, 37.2612, 3.6330, 3.7831),
}
"""By (n, d), in the paper's order."""
