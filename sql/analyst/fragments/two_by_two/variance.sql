-- Sum over the rows of their squared weights, minus the estimate, less what the histogram has in common with them.
[CASE WHEN s.own - s.other > 1e-12 THEN
        @kept_variance@ * ((s.shown * (1 - s.other) ** 2 + (s.total - s.shown) * s.other ** 2) / (s.own - s.other) ** 2
        - (s.shown - s.other * s.total) / (s.own - s.other))
    ELSE [error(_priv_text) FOR _priv_text IN ['this value is in every decoy group, so what is published says nothing of it: only bounds are known, priv.reconstructed_interval gives them']][1]::DOUBLE END
 FOR s IN [{own: @own@, other: @other@, shown: coalesce(count_if(@match@), 0), total: count(*), rows: @rows@, k: 1 - @own@ + @other@}]][1]
