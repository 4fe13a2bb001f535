"""Engines that are no HTTP exchange of ours."""
