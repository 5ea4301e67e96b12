-- The share of the record's group that has the value.
CASE WHEN @holds@ THEN 1e0 / len(@list@) ELSE 0e0 END
