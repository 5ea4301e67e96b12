-- What each record shows: a value of the decoy group that its rank within its true value puts it into.
SELECT @public@@shown@ FROM (SELECT *, @ranks@ FROM @dealt@)
