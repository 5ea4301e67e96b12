-- batches: W[x, y] is a separate number for each x and y. Decoy groups were made in several batches, each with its own
-- frequencies. W is the inverse of Pr[published = y | true = x] among all published rows, of all batches together
-- (leaving.md).

-- name: chances
-- The smallest and the largest probability: the values of a group are drawn for all its records together, and differ between batches.
[0e0, least(len(@places@) / @constant.gamma@, 1)]

-- name: rows.chances
@chances@

-- name: rows.rarely
list_min(s.chances)

-- name: rows.often
list_max(s.chances)

-- name: plausible
@as_many@ AND @several@

-- name: agreement
-- The largest probability with which a record shows any one value.
1 / @constant.gamma@

-- name: law
-- Pr[a record shows the value | it has it] and Pr[... | it has another].
{own: list_extract(@numbers.own@, @place@), other: list_extract(@numbers.other@, @place@)}
