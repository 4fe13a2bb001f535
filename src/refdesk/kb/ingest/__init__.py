"""From a file, a URL or bytes to chunks in a collection."""
