"""
Readers of documents, one module for each format, for the child that reads them.

They import nothing of Refdesk outside this package.  Each returns the text that the document shows
(`reading.found.Found`), notes on what it left out, and the text that a second, simpler reader
finds, from which `reading.letters` counts the losses.
"""
