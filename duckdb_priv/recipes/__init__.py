"""How each mechanism is published: an aggregate of the source, a plan, and a function of each record."""
