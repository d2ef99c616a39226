"""Thumbnails of the gallery: one panel of each figure, large enough to be read."""

from pathlib import Path

SIZE = (440, 320)
# Panel that shows what an example is about, and how many stand side by side; elsewhere the first, by the width.
PANELS = {
    "anisotropy": (0, 2),
    "areas": (0, 2),
    "blocks": (2, 3),
    "calibration": (1, 3),
    "classifier": (0, 1),
    "counts": (0, 2),
    "exceedance": (1, 2),
    "fill": (1, 3),
    "first_map": (1, 3),
    "hotspots": (0, 1),
    "laplace": (1, 3),
    "many_rows": (1, 2),
    "prevalence": (0, 2),
    "stack": (0, 3),
    "stations": (2, 3),
    "fine_scale": (0, 2),
    "nonstationary": (0, 2),
    "posterior_is_ridge": (0, 2),
}


def legible_thumbnails(app):
    """Cut every thumbnail anew out of the first figure of its page, after the gallery was made."""
    from PIL import Image

    for figure in Path(app.srcdir, "auto_gallery").rglob("images/sphx_glr_plot_*_001.png"):
        name = figure.stem.removeprefix("sphx_glr_plot_").removesuffix("_001")
        with Image.open(figure) as image:
            panel = one_panel(image.convert("RGB"), name)
        panel.thumbnail(SIZE)
        thumbnail = Image.new("RGB", SIZE, "white")
        thumbnail.paste(panel, ((SIZE[0] - panel.width) // 2, (SIZE[1] - panel.height) // 2))
        thumbnail.save(figure.parent / "thumb" / f"sphx_glr_plot_{name}_thumb.png")


def one_panel(image, name):
    """The part of a figure that its thumbnail shows."""
    shape = image.width / image.height
    panel, count = PANELS.get(name, (0, 1 if shape < 1.6 else 2 if shape < 2.7 else 3))
    return image.crop((panel * image.width // count, 0, (panel + 1) * image.width // count, image.height))
