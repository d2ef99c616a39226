"""Order of the gallery: pages of the paper as the paper has them, others by name."""

from pathlib import Path

from bochner.paper import NAMES


class StoryOrder:
    """Sort key that sphinx-gallery makes for each folder."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, filename: str) -> tuple[int, str]:
        name = Path(filename).stem.removeprefix("plot_")
        return (NAMES.index(name) if name in NAMES else -1, name)

    def __repr__(self) -> str:
        return "<StoryOrder>"  # no address, so that nothing is built anew because of it
