-- The fixed point of the iteration over two states, the value and any other: the estimate, cut.
[CASE WHEN s.own - s.other > 1e-12
    THEN least(greatest((s.shown - s.other * s.total) / (s.own - s.other), 0), s.total)::DOUBLE
    ELSE [error(_priv_text) FOR _priv_text IN ['this value is in every decoy group, so what is published says nothing of it: only bounds are known, priv.reconstructed_interval gives them']][1]::DOUBLE END
 FOR s IN [{own: @own@, other: @other@, shown: coalesce(count_if(@match@), 0), total: count(*)}]][1]
