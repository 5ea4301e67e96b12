-- The shares of the whole table, at once.
_priv_owns
