"""How long a rollout will take, as a distribution: the engine's own rules played on a copy of the live fleet, again and again.

When nothing fails. Pure: the same fleet, memory, live state, time and seed give the same forecast, byte for byte.
"""

from gitops_mc.core.forecast.forecasting import Effort, forecast
from gitops_mc.core.forecast.model import (
    Basis,
    ClusterForecast,
    FleetForecast,
    RestsOn,
    Spread,
    WaveForecast,
)

__all__ = [
    "Basis",
    "ClusterForecast",
    "Effort",
    "FleetForecast",
    "RestsOn",
    "Spread",
    "WaveForecast",
    "forecast",
]
