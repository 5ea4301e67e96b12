-- What the records of a source hold, as hashes, and how many hold the same.
    SELECT content, count(*) AS records FROM (SELECT hash(@columns@) AS content FROM @source@ AS s)
    WHERE content <= @limit@::UBIGINT GROUP BY content
