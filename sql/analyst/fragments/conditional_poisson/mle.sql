-- A thousand steps of the iterative Bayesian method (expectation maximization), from the unbiased estimate, cut: each
-- true value takes the part of every published count that it is likely to have caused. Two values meet in a group as
-- often as the conditional Poisson law says, (odds of x * inclusion of y - odds of y * inclusion of x) / (odds of x - odds of y).
[[[CASE WHEN s.total = 0 THEN 0e0 ELSE s.total * list_extract(list_reduce(
        list_prepend([greatest(list_dot_product(list_extract(m.weights, x), s.shown), 1e-6) FOR x IN range(1, @size@ + 1)],
            [[0e0] FOR step IN range(1000)]),
        lambda f, step: [
            [list_extract(f, x) * list_dot_product(list_extract(m.columns, x), ratio) FOR x IN range(1, @size@ + 1)]
            FOR ratio IN [[list_extract(s.shown, y) / greatest(list_dot_product(list_extract(s.rows, y), f), 1e-300)
                           FOR y IN range(1, @size@ + 1)]]][1]
    ), @position@) END
 FOR s IN [{
    total: t.total,
    shown: [coalesce(list_extract(map_extract(t.histogram, y), 1), 0) / greatest(t.total, 1)
            FOR y IN @texts@] || @missing_share@,
    rows: [[list_extract(list_extract(m.columns, x), y) FOR x IN range(1, @size@ + 1)] FOR y IN range(1, @size@ + 1)]
 }]][1] FOR m IN [
    [{columns: [[CASE WHEN x = y THEN 1 / @gamma@ WHEN list_extract(n.inclusions, x) = 0 THEN 0e0
            WHEN list_extract(n.odds, x) = list_extract(n.odds, y)
                THEN list_extract(n.tied_joints, x) / (@gamma@ * list_extract(n.inclusions, x))
            ELSE (list_extract(n.odds, x) * list_extract(n.inclusions, y) - list_extract(n.odds, y) * list_extract(n.inclusions, x))
                / (list_extract(n.odds, x) - list_extract(n.odds, y)) / (@gamma@ * list_extract(n.inclusions, x)) END
            FOR y IN range(1, @size@ + 1)] FOR x IN range(1, @size@ + 1)],
        weights: [[CASE WHEN x = y THEN list_extract(n.own_weights, x)
            WHEN list_extract(n.odds, x) = list_extract(n.odds, y) THEN list_extract(n.tied_weights, x)
            ELSE list_extract(n.inclusions, x) * (list_extract(n.potentials, x) - list_extract(n.potentials, y))
                / (list_extract(n.odds, y) - list_extract(n.odds, x)) END
            FOR y IN range(1, @size@ + 1)] FOR x IN range(1, @size@ + 1)]}
        FOR n IN [{odds: @oddss@, inclusions: @inclusions@, potentials: @potentials@, tied_joints: @tied_joints@,
            own_weights: @own_weights@, tied_weights: @tied_weights@}]][1]
 ]][1] FOR t IN [{
    total: count(*)::DOUBLE, histogram: histogram(CAST(@column@ AS VARCHAR)), missing: @missing@
 }]][1]
