"""The service: data sets of a folder, asked over HTTP by people with rights and a budget."""
