-- A thousand steps of the iterative Bayesian method (expectation maximization), in time linear in the domain.
[[[[CASE WHEN t.total = 0 THEN 0e0 ELSE t.total * list_extract(list_reduce(
        list_prepend(@em_start@, [[0e0] FOR step IN range(1000)]),
        lambda f, step: [@em_step@ FOR ratio IN [@em_ratio@]][1]
    ), @position@) END
 FOR _priv_retentions IN [@retentions@]][1] FOR _priv_backgrounds IN [@backgrounds@]][1]
 FOR shown IN [[coalesce(list_extract(map_extract(t.histogram, y), 1), 0) / greatest(t.total, 1) FOR y IN @texts@]
    || @missing_share@]][1]
 FOR t IN [{
    total: count(*)::DOUBLE, histogram: histogram(CAST(@column@ AS VARCHAR)), missing: @missing@
 }]][1]
