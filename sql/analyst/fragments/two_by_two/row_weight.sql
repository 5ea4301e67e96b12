-- W[value, shown].
CASE WHEN @gap@ > 1e-12 THEN ((@match@)::INTEGER - @other@) / @gap@
ELSE [error(_priv_text) FOR _priv_text IN ['this value is in every decoy group, so what is published says nothing of it: only bounds are known, priv.reconstructed_interval gives them']][1]::DOUBLE END
