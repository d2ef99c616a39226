"""Grids: the bands of a map, pixel by pixel or interpolated between few evaluations, in bounded memory.

bands, inputs, tally, tiles < pixels, extent < surfaces < gridmap < estimate
"""
