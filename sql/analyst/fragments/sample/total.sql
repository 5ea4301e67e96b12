-- How many source records the rows stand for is not known: the sample may have left out any number.
'inf'::DOUBLE
