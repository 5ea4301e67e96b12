-- As if the rows were chosen at random, without regard to the value (hypergeometric).
@own@ * (1 - @own@) * count(*) * greatest(@rows@ - count(*), 0) / greatest(@rows@ - 1, 1)
