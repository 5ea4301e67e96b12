-- Nothing need be iterated.
ratio
