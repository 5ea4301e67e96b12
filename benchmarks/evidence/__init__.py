"""Outsiders' tools, run on releases of every mechanism."""
