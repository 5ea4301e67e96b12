-- The estimate, or the middle between what the count must lie between if its value is in every decoy group.
[CASE WHEN s.own - s.other > 1e-12 THEN (s.shown - s.other * s.total) / (s.own - s.other)
    ELSE (greatest(s.total + s.rows * s.own - s.rows, 0) + least(s.total, s.rows * s.own)) / 2 END
 FOR s IN [{own: @own@, other: @other@, shown: coalesce(count_if(@match@), 0), total: count(*), rows: @rows@}]][1]
