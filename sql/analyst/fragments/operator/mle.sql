-- A thousand steps of the iterative Bayesian method (expectation maximization).
[[[[[CASE WHEN t.total = 0 THEN 0e0 ELSE t.total * list_extract(list_reduce(
        list_prepend(@em_start@, [[0e0] FOR step IN range(1000)]),
        lambda f, step: [@em_step@ FOR ratio IN [@em_ratio@]][1]
    ), @position@) END
 FOR _priv_operators IN [[list_slice(@operators@, x * @size@ + 1, (x + 1) * @size@) FOR x IN range(@size@)]]][1]
 FOR _priv_likelihoods IN [[[list_extract(@operators@, x * @size@ + y + 1) FOR x IN range(@size@)]
                            FOR y IN range(@size@)]]][1]
 FOR _priv_weightss IN [[list_slice(@weights@, x * @size@ + 1, (x + 1) * @size@) FOR x IN range(@size@)]]][1]
 FOR shown IN [[coalesce(list_extract(map_extract(t.histogram, y), 1), 0) / greatest(t.total, 1) FOR y IN @texts@]
    || @missing_share@]][1]
 FOR t IN [{
    total: count(*)::DOUBLE, histogram: histogram(CAST(@column@ AS VARCHAR)), missing: @missing@
 }]][1]
