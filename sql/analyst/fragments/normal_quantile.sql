-- The z of a two-sided normal interval, from its confidence q: q times the square root of a function of w = -ln(1 - q ** 2), which is
-- a continued fraction c0 + w / (c1 + w / (c2 + ...)). The coefficients, the last one first, give the smallest largest error (Remez) of
-- a rational function of degree 12 in w from 0 to 36.2, beyond which 1 - q is no DOUBLE: its relative error is 1e-14, that of z 7e-15.
-- 1e-300 changes no other logarithm than that of 0, for a confidence that no DOUBLE tells from 1.
[q * sqrt(list_reduce('[-438373.6402594257,0.05197277881454841,-42.22658328430576,-0.05351601469532704,2147.813074092267,-0.1331687137072432,-98.61394927140918,-0.1889438637396706,33.59844471788833,0.1899954882259607,-72.43482897087517,-0.3652354936213104,22.76143775234046,0.09275600219597184,-52.99479170522909,0.9839707249654556,14.60055444640767,-1.204425206888625,-10.97699411117236,1.249543952445603,7.622322036910097,-1.337432319495746,-4.552104711462142,1.215854203705503,1.570796326794879]'::DOUBLE[],
 lambda a, b: b - ln((1 - q) * (1 + q) + 1e-300) / a)) FOR q IN [@confidence@::DOUBLE]][1]
