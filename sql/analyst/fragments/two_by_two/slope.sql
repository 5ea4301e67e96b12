-- How much the variance grows when one more of the records truly has the value.
[CASE WHEN s.own - s.other > 1e-12 THEN @kept_slope@ * (s.own * (1 - s.own) - s.other * (1 - s.other)) / (s.own - s.other) ** 2 ELSE 0e0 END
 FOR s IN [{own: @own@, other: @other@, total: count(*), rows: @rows@, k: 1 - @own@ + @other@}]][1]
