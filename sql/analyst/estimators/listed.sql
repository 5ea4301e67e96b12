-- listed: W[x, y] = 1 / n for a record that shows a list y of n values with x among them, 0 else (Xiao and Tao, section 4).
-- s.shares is the sum of 1 / n over the records that show the value, s.squares that of 1 / n ** 2.

-- name: match
-- Whether the value is among those of the record's group.
coalesce(CASE WHEN _value IS NULL THEN len(@list@) > list_aggregate(@list@, 'count')
    ELSE list_contains(@list@, CAST(_value AS VARCHAR) COLLATE C) END, false)

-- name: sizes
-- How many of the rows whose group has the value have groups of n, by n.
map_entries(histogram(len(@list@)) FILTER (@match@))

-- name: rows.shares
coalesce(list_sum([1e0 * e.value / e.key FOR e IN @sizes@]), 0e0)

-- name: rows.squares
coalesce(list_sum([1e0 * e.value / e.key ** 2 FOR e IN @sizes@]), 0e0)

-- name: rows.holders
count(*) FILTER (@match@)

-- name: cell.shares
_priv_observed

-- name: cell.squares
_priv_cell.squares

-- name: cell.holders
_priv_cell.holders

-- name: estimate
s.shares

-- name: variance
-- The variance if every record drew its value from its group independently. The records of a group share its values, so
-- the true variance is smaller.
s.shares - s.squares

-- name: slope
-- The variance depends on the groups alone.
0e0

-- name: half_step
-- Half the distance between two neighbouring true counts: given the groups, the true counts vary, not the estimates.
0.5e0

-- name: total
-- The records that may have the value: those of groups with it.
s.holders::DOUBLE

-- name: row_weight
CASE WHEN @match@ THEN 1e0 / len(@list@) ELSE 0e0 END

-- name: mle
-- The estimate: it is not negative, and no larger than the number of rows.
@estimate@

-- name: em_ratio
-- The observed share: every value counts for its part of the group.
shown

-- name: em_step
-- No iteration is needed.
ratio

-- name: query.rows
(
        SELECT *, unnest(@attribute@) AS _priv_shown, unnest(range(1, len(@attribute@) + 1)) AS _priv_place,
            len(@attribute@) AS _priv_size
        FROM {database}main.@table@ WHERE ({condition}
        )
    ) AS @table@

-- name: query.sums
count_if(_priv_place = 1) AS _priv_total,
        histogram({v: _priv_shown, n: _priv_size}) AS _priv_histogram, NULL AS _priv_sums

-- name: query.shown
entry AS (
    SELECT _priv_group, unnest(map_entries(_priv_histogram)) AS _priv_entry FROM numbered
), shown AS (
    SELECT _priv_group, _priv_entry.key.v::@type@ AS _priv_value,
        sum(1e0 * _priv_entry.value / _priv_entry.key.n) AS _priv_observed,
        {squares: sum(1e0 * _priv_entry.value / _priv_entry.key.n ** 2), holders: sum(_priv_entry.value)} AS _priv_cell
    FROM entry GROUP BY ALL
)

-- name: query.empty
{squares: 0e0, holders: 0}
