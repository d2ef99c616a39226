"""The paper, reproduced: every table, figure and claim of Milton, Giorgi and Bhatt, as code.

One file per figure, table or claim. Each has a function `exhibit(seeds)`, and its docstring is the story that the page
tells::

    from bochner.paper import make, reproduce

    table2 = make("table2", seeds=50)
    print(table2.summary())  # what the paper says, what was found
    print(table2.table.markdown())
    table2.draw()  # a matplotlib figure
    reproduce("out", seeds=50)  # everything, with a page to read: out/index.html
"""

from bochner.paper.contents import NAMES, SECTIONS, Section, make
from bochner.paper.exhibit import Claim, Exhibit, Table
from bochner.paper.publish import reproduce

__all__ = ["NAMES", "SECTIONS", "Claim", "Exhibit", "Section", "Table", "make", "reproduce"]
