-- blocks: W[x, y] = (1{block y holds x} - other) / (own - other), of records that report the number of a block of values. A
-- record that has the value reports a block which holds it with own, a record that has any other value with other: the same
-- law as in two_weights, of another match. The blocks of the value at position x, from 0, are those of position 0 moved on
-- by x * stride, modulo how many there are; @incidence@ has a digit for each block, which says whether it is one of these.

-- name: match
-- Whether the block of a row holds the value: its digits are turned once, so that each row is one look-up. The mask keeps a number
-- that is of no block, which is an error of its own, among the digits; a condition would cost half as much as the look-up.
get_bit(@digits@, @block@ & @mask@) = 1

-- name: digits
-- The digits of the value's blocks.
CAST(right(repeat(CAST(@incidence@ AS VARCHAR), 3), @blocks@ * 2 + @moved@) AS BIT)

-- name: moved
-- The shift of the value's blocks from those of the value at position 0, below the number of blocks.
@stride@ * (@position@ - 1)

-- name: turn
-- The shift of its digits against those of that value.
CAST(@blocks@ - @moved@ AS INTEGER)

-- name: row_weight
-- Here the value may differ from row to row, so that the place of the digit is turned.
(get_bit(CAST(repeat(CAST(@incidence@ AS VARCHAR), 3) AS BIT), (@block@ & @mask@) + @turn@) - @number.other@) / @gap@

-- name: row
-- W[value, y] for every block y.
[(get_bit(CAST(repeat(CAST(@incidence@ AS VARCHAR), 2) AS BIT), CAST(y AS INTEGER) + @turn@) - @number.other@) / @gap@ FOR y IN range(@blocks@)]

-- name: cell.own
@number.own@

-- name: cell.other
@number.other@

-- name: zero
-- The exact variance if no record had the value; or the linear extrapolation from the nearest possible count if that is larger,
-- as for sets of values of which a block holds some.
greatest(@variance@ - @slope@ * least(greatest(@estimate@, 0), @total@),
    s.total * s.other * (1 - s.other) / (s.own - s.other) ** 2)

-- name: mle
-- The maximum likelihood estimate from the number of blocks that hold the value: the estimate, cut to the possible range.
least(greatest(@estimate@, 0), s.total)::DOUBLE

-- name: free
-- The probability of each block without the true value, and how much larger that of one with it is.
((1 - @number.own@) / (@blocks@ - @held@))

-- name: more
(@number.own@ / @held@ - @free@)

-- name: list.holders
-- By value: the places of the blocks that hold it, from 1.
[[(o + x * @stride@) % @blocks@ + 1 FOR o IN @first@] FOR x IN range(@size@)]

-- name: list.members
-- By block: the places in the domain of the values that it holds, from 1.
[[(y - o + @blocks@) % @blocks@ // @stride@ + 1 FOR o IN list_filter((@first@), lambda o: (y - o + @blocks@) % @blocks@ % @stride@ = 0
    AND (y - o + @blocks@) % @blocks@ // @stride@ < @size@)]
 FOR y IN range(@blocks@)]

-- name: em_ratio
-- Observed over expected count, for every block.
[e[1] / greatest(@free@ + @more@ * coalesce(list_sum(list_select(f, e[2])), 0), 1e-300) FOR e IN list_zip(shown, _priv_members)]

-- name: em_step
-- Every value takes the part of each block's rows that it is likely to have caused.
[[e[1] * (t + @more@ * list_sum(list_select(ratio, e[2]))) FOR e IN list_zip(f, _priv_holders)]
 FOR t IN [@free@ * list_sum(ratio)]][1]

-- name: query.tallied
SELECT numbered._priv_group,
        list(coalesce(_priv_rows, 0) / greatest(_priv_total, 1) ORDER BY _priv_number ASC) AS shown
    FROM numbered
    CROSS JOIN (SELECT unnest(range(@blocks@)) AS _priv_number)
    LEFT JOIN counted ON counted._priv_group = numbered._priv_group AND counted._priv_block = _priv_number
    GROUP BY numbered._priv_group

-- name: query.grouped
-- Rows are counted by group and block first. The later steps work on these counts.
SELECT * EXCLUDE (_priv_block, _priv_rows), coalesce(sum(_priv_rows), 0)::BIGINT AS _priv_total,
        list({block: _priv_block::INTEGER, rows: _priv_rows}) AS _priv_histogram, NULL AS _priv_sums
    FROM (SELECT {group_columns} @attribute@ AS _priv_block, count(*) AS _priv_rows FROM @query.rows@ GROUP BY ALL)
    GROUP BY ALL

-- name: query.shown
-- Every count goes to each of the values that the block holds: those whose number, moved on by one of the first value's blocks,
-- is that of this block.
counted AS (
    SELECT _priv_group, _priv_counted.block AS _priv_block, _priv_counted.rows AS _priv_rows
    FROM (SELECT _priv_group, unnest(_priv_histogram) AS _priv_counted FROM numbered)
), shown AS (
    SELECT _priv_group, _priv_moved, sum(_priv_rows) AS _priv_observed, NULL AS _priv_cell
    FROM (
        SELECT _priv_group, unnest([(_priv_block - o + @blocks@) % @blocks@ FOR o IN @first@]) AS _priv_moved, _priv_rows
        FROM counted
    ) WHERE _priv_moved < @size@ * @stride@ GROUP BY ALL
)

-- name: query.showing
shown._priv_moved = _priv_position * @stride@
