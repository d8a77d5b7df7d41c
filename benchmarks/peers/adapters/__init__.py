"""One module a library; each is imported only in the interpreter where its library lives."""
