-- How many source records the rows stand for.
count(*)::DOUBLE
