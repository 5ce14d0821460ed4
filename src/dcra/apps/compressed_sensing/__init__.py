"""Binary compressed sensing: x in {0,1}^N from fewer than N measurements y = A x."""

from dcra.apps.compressed_sensing.formulations import (
    StackedL1,
    augmented,
    binary_problem,
    change_of_variables,
)
from dcra.apps.compressed_sensing.instance import Instance, instance
from dcra.apps.compressed_sensing.messages import MessagePassing
from dcra.apps.compressed_sensing.recover import recover
from dcra.apps.compressed_sensing.result import Recoveries, Recovery
from dcra.apps.compressed_sensing.rivals import amp, lp
from dcra.apps.compressed_sensing.thresholds import amp_threshold, lp_threshold

__all__ = [
    "Instance",
    "MessagePassing",
    "Recoveries",
    "Recovery",
    "StackedL1",
    "amp",
    "amp_threshold",
    "augmented",
    "binary_problem",
    "change_of_variables",
    "instance",
    "lp",
    "lp_threshold",
    "recover",
]
