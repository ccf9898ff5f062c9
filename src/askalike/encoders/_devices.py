"""Whether torch can use a device on this machine. torch is imported when a device other than the CPU is named."""

from askalike.core.errors import SettingsError


def require_device(device: str, setting: str, count: int = 1) -> None:
    """Raise SettingsError unless torch finds `count` devices of this kind: `cpu`, `cuda` or `mps`.

    setting: its name, for the message.
    """
    if device == "cpu":
        return
    import torch

    if device == "cuda":
        kind, found = "NVIDIA GPU", torch.cuda.device_count() if torch.cuda.is_available() else 0
    else:
        kind, found = "Apple GPU", int(torch.backends.mps.is_available())
    if not found:
        advice = f"use {setting}=cpu, or install the GPU's driver and a torch that supports it"
        raise SettingsError(f"{setting}={device}: torch {torch.__version__} finds no {kind}; {advice}")
    if found < count:
        raise SettingsError(f"{count} devices with {setting}={device}: torch finds {found} {kind}; use devices={found}")
