-- singular: W[x, y] is that of rank_one, but several values have no retention. Rows with these values have the same distribution,
-- so only their total can be reconstructed: no single one of them has a weight.

-- name: left_over
[error(_priv_text) FOR _priv_text IN ['some values of this release have the same noise, and only their total can be reconstructed (FROM priv.guarantee names them)' || chr(10) || 'Hint: priv.reconstructed_mle shares the total out']][1]

-- name: query.window
NULL

-- name: cell.weighed
error('some values of this release have the same noise, and only their total can be reconstructed (FROM priv.guarantee names them)' || chr(10) || 'Hint: write method := ''bayesian''')::DOUBLE

-- name: cell.noise
0e0
