"""The service: data sets of a folder, queried over HTTP by people with rights and a budget."""
