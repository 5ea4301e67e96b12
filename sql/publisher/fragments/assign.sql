-- The records to group: the positions of their true values, and for each attribute the bits that order the records of a value and
-- the bits that draw the published value. A temporary table, since fresh bits cannot be drawn twice.
SELECT * EXCLUDE (_number, _text, @drawn@), _random0.mark AS _mark, @words@ FROM (SELECT *, @random@ FROM (@coded@))
