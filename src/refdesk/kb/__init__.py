"""Knowledge: put documents in, get the right passage out."""
