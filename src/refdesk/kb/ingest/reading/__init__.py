"""
Readers of documents, one module for each format, for the child that reads them.

They import nothing of Refdesk outside this package.  Each returns what somebody who opens the
document sees (`reading.found.Found`), tells what it left out, and gives beside it what a second,
simpler reader finds, so that what was lost on the way is counted.
"""
