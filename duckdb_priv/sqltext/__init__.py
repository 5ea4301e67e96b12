"""Writes SQL text: quoted names, literals, and the templates in the folder sql/."""
