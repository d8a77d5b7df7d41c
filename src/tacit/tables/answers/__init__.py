"""One kind of answer a file: its step, its noise and its estimate."""
