"""One kind of answer a file: what it asks of the engine, its chain, its noise and its estimate."""

# Every module of this folder is loaded with it, and registers the kinds that it answers
# (:func:`tacit.tables.statistics.base.register_kind`): a new kind is a new file, and no list.

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
