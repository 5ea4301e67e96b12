-- The variance; NULL for a value in every decoy group, of which only bounds are known.
[CASE WHEN s.own - s.other > 1e-12 THEN
        @kept_variance@ * ((s.shown * (1 - s.other) ** 2 + (s.total - s.shown) * s.other ** 2) / (s.own - s.other) ** 2
        - (s.shown - s.other * s.total) / (s.own - s.other)) END
 FOR s IN [{own: @own@, other: @other@, shown: coalesce(count_if(@match@), 0), total: count(*), rows: @rows@, k: 1 - @own@ + @other@}]][1]
