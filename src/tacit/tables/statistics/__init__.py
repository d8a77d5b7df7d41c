"""Statistics of a table, one family per file: requests, chains, noise and estimates."""

# Every module of this folder is imported with it, and registers its statistics
# (:func:`tacit.tables.statistics.base.register_statistic`): a new file needs no entry in a list.

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
