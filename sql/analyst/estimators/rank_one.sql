-- rank_one: W[x, y] = (1{y = x} - background of y) / retention of x, two numbers per value: a record keeps its value with
-- the retention of that value, and otherwise shows each value with equal probability. The matrix is a diagonal plus a matrix of rank
-- one, and so is its inverse: everything takes time linear in the domain. If one value alone has no retention, its count is the rest
-- of the others.

-- name: row
-- W[value, y] for every y.
CASE WHEN @number.retention@ > 0 THEN
    [[(CASE WHEN y = n.position THEN 1e0 ELSE 0e0 END - list_extract(n.backgrounds, y)) / n.retention
      FOR y IN range(1, @size@ + 1)]
     FOR n IN [{position: @position@, backgrounds: @numbers.background@, retention: @number.retention@}]][1]
ELSE @left_over@ END

-- name: left_over
-- W[value, y] of the one value without retention: 1 minus the sum of the others.
[CASE WHEN p > 0 THEN 1 - 1 / p ELSE 1 + list_sum([1 / q FOR q IN list_filter((@numbers.retention@), lambda q: q > 0)]) END
 FOR p IN @numbers.retention@]

-- name: chances
[[(1 - list_extract(l.retentions, x)) * len(l.places) / @size@
    + CASE WHEN list_contains(l.places, x) THEN list_extract(l.retentions, x) ELSE 0 END FOR x IN range(1, @size@ + 1)]
 FOR l IN [{retentions: @numbers.retention@, places: @places@}]][1]

-- name: selected
[@row@ FOR _priv_x IN @places@]

-- name: rows.chances
@chances@

-- name: rows.rarely
list_min(s.chances)

-- name: rows.often
list_max(s.chances)

-- name: query.numbers

-- name: query.window
-- Sums over the group serve all its values.
{chance: sum(_priv_observed * _priv_numbers.background) OVER of_group,
     squares: sum(_priv_observed * _priv_numbers.background ** 2) OVER of_group,
     inverses: sum(1 / nullif(_priv_numbers.retention, 0)) OVER of_group,
     left_over: sum(_priv_observed * (1 - 1 / nullif(_priv_numbers.retention, 0))) OVER of_group,
     left_noise: sum(_priv_observed * (1 / nullif(_priv_numbers.retention, 0) - 1) / nullif(_priv_numbers.retention, 0)) OVER of_group}

-- name: cell.weighed
CASE WHEN _priv_numbers.retention > 0 THEN (_priv_observed - _priv_window.chance) / _priv_numbers.retention
    ELSE _priv_window.left_over + _priv_observed * (1 + _priv_window.inverses) END

-- name: cell.noise
CASE WHEN _priv_numbers.retention > 0
    THEN (_priv_window.squares + _priv_observed * (1 - 2 * _priv_numbers.background)) / _priv_numbers.retention ** 2
        - @cell.weighed@
    ELSE _priv_window.left_noise + _priv_observed * (1 + _priv_window.inverses) * _priv_window.inverses END

-- name: em_start
-- The linear estimate, with a small positive share for values that have none. If it is not negative, it is the answer.
[[e / list_sum(start) FOR e IN start]
 FOR start IN [[[greatest(coalesce(e, (1 - coalesce(list_sum(linear), 0)) / len(list_filter(linear, lambda e: e IS NULL))), 0.1e0 / @size@)
                 FOR e IN linear]
                FOR linear IN [[CASE WHEN e[2] > 0 THEN (e[1] - chance) / e[2] END FOR e IN list_zip(shown, _priv_retention)]
                               FOR chance IN [list_dot_product(_priv_background, shown)]]][1]]][1]

-- name: em_ratio
-- Observed over expected count, for every published value.
[[e[1] / greatest(e[2] * e[3] + chance, 1e-300) FOR e IN list_zip(shown, _priv_retention, f)]
 FOR chance IN [(1 - list_dot_product(_priv_retention, f)) / @size@]][1]

-- name: em_step
-- Every true value takes the part of the published counts that it is likely to have caused.
[[e[1] * (e[2] * e[3] + (1 - e[2]) / @size@ * by_chance) FOR e IN list_zip(f, _priv_retention, ratio)]
 FOR by_chance IN [list_sum(ratio)]][1]

-- name: law_weight
-- W[value, y].
((CASE WHEN y = @place@ THEN 1 ELSE 0 END - list_extract(@numbers.background@, y)) / list_extract(@numbers.retention@, @place@))
