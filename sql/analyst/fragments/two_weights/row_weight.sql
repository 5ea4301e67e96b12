-- W[value, shown].
((@match@)::INTEGER - @other@) / @gap@
