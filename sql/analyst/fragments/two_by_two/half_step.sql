-- Half the distance between two neighbouring estimates, or between the bounds of a value in every decoy group.
[CASE WHEN s.own - s.other > 1e-12 THEN 0.5e0 / (s.own - s.other)
    ELSE (least(s.total, s.rows * s.own) - greatest(s.total + s.rows * s.own - s.rows, 0)) / 2 END
 FOR s IN [{own: @own@, other: @other@, rows: @rows@, total: count(*)}]][1]
