-- Whether the value is among those of the record's group.
coalesce(CASE WHEN _value IS NULL THEN len(@list@) > list_aggregate(@list@, 'count')
    ELSE list_contains(@list@, CAST(_value AS VARCHAR)) END, false)
