-- The z of a two-sided normal interval, from its confidence. Wichura (1988), algorithm AS 241, PPND16:
-- relative error below 1e-15. Three ranges: the middle, the tail, the far tail. In each the quantile is a factor times the
-- quotient of two polynomials in x, whose coefficients have the highest power first; all terms are positive. No name of
-- a function of lists is known to every version of DuckDB that reads the text of a query.
[(k).factor * list_dot_product((k).above, [(k).x ** n FOR n IN [7, 6, 5, 4, 3, 2, 1, 0]]) / list_dot_product((k).below, [(k).x ** n FOR n IN [7, 6, 5, 4, 3, 2, 1, 0]])
 FOR k IN [CASE
    WHEN q <= 0.425 THEN {factor: q, x: 0.180625e0 - q * q,
        above: string_split('2509.0809287301226727,33430.575583588128105,67265.770927008700853,45921.953931549871457,13731.693765509461125,1971.5909503065514427,133.14166789178437745,3.387132872796366608', ',')::DOUBLE[],
        below: string_split('5226.495278852854561,28729.085735721942674,39307.89580009271061,21213.794301586595867,5394.1960214247511077,687.1870074920579083,42.313330701600911252,1', ',')::DOUBLE[]}
    WHEN q < 0.5 THEN [CASE WHEN s <= 5 THEN {factor: 1e0, x: s - 1.6e0,
            above: string_split('7.7454501427834140764e-4,0.0227238449892691845833,0.24178072517745061177,1.27045825245236838258,3.64784832476320460504,5.7694972214606914055,4.6303378461565452959,1.42343711074968357734', ',')::DOUBLE[],
            below: string_split('1.05075007164441684324e-9,5.475938084995344946e-4,0.0151986665636164571966,0.14810397642748007459,0.68976733498510000455,1.6763848301838038494,2.05319162663775882187,1', ',')::DOUBLE[]}
        ELSE {factor: 1e0, x: s - 5e0,
            above: string_split('2.01033439929228813265e-7,2.71155556874348757815e-5,0.0012426609473880784386,0.026532189526576123093,0.29656057182850489123,1.7848265399172913358,5.4637849111641143699,6.6579046435011037772', ',')::DOUBLE[],
            below: string_split('2.04426310338993978564e-15,1.4215117583164458887e-7,1.8463183175100546818e-5,7.868691311456132591e-4,0.0148753612908506148525,0.13692988092273580531,0.59983220655588793769,1', ',')::DOUBLE[]} END
        FOR s IN [sqrt(-ln(0.5e0 - q))]][1]
    END FOR q IN [@confidence@::DOUBLE / 2]]][1]
