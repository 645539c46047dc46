"""Pictures and films of configurations: as SVG, as an image, as a page, on a terminal."""
