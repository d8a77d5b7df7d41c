"""The site: the pages of ``docs/`` and the reference from docstrings, built by Sphinx.

``tools/make_docs.py`` runs it.  Pages are copied into a folder of their own (``stage``), pages made
from the code are written beside them (``reference``, ``commands``), and Sphinx reads that folder
with ``conf.py``.  Nothing is written into the project itself.
"""
