-- Parts of record kernels: the groups of records, and what joins a record with its group.

-- name: crowds
SELECT @keys@count(*) AS _priv_size FROM @records@ AS s GROUP BY ALL

-- name: records_in_crowds
(SELECT @columns@, z.* EXCLUDE (_priv_size) FROM @records@ AS s
    JOIN @groups@ AS g ON @same_group@ JOIN @sizes@ AS z ON z._priv_size = g._priv_size)

-- name: records_of_domain
(FROM @source@ WHERE EXISTS (
    FROM priv.coefficient AS d
    WHERE d.release = @release@ AND d.attribute = @attribute@ AND d.value IS NOT DISTINCT FROM @value@::VARCHAR
))

-- name: known_ids
SELECT @ids@ FROM @marked@ WHERE _priv_known

-- name: rows_of_cells
SELECT _priv_group, _priv_code, count(*) AS rows FROM (@drawn@) GROUP BY ALL

-- name: group_of_lists
JOIN temp.main._priv_groups@n@ AS g@n@ ON g@n@.code = _code@n@ AND g@n@.rank = _rank@n@

-- name: values_of_lists
JOIN (SELECT number, list(published ORDER BY position) AS listed
    FROM temp.main._priv_groups@n@ JOIN @domain@ ON position = code GROUP BY number) AS v@n@ ON v@n@.number = g@n@.number

-- name: level
JOIN _priv_level_@n@ AS l@n@ ON l@n@.value IS NOT DISTINCT FROM _priv_value@n@::VARCHAR

-- name: remember_grouped
INSERT INTO priv.grouped_mark SELECT @draw@::UBIGINT, mark FROM @marks@ WHERE mark NOT IN (@grouped@)

-- name: grouped
SELECT mark FROM priv.grouped_mark WHERE draw IN (
    SELECT ('0x' || coins[:16])::UBIGINT FROM priv.ledger
    WHERE grouped AND population = @population@ AND list_contains(@attributes@, lower(attribute))
)

-- name: shown_at_once
SELECT @columns@ FROM @assigned@ POSITIONAL JOIN _priv_at_once WHERE _shown0 IS NOT NULL

-- name: random_bits_in_order
SELECT @columns@ FROM @assigned@ ORDER BY rowid

-- name: entered
(FROM @source@ SEMI JOIN temp.main._priv_entered_ids USING (@ids@))
