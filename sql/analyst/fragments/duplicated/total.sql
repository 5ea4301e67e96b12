-- How many source records the rows stand for at most: a record that should appear 1.99 times may appear once.
(count(*) + count_if(weight > 1))::DOUBLE
