-- Some values are published alike, and only their total can be reconstructed.
{estimate: error('some values of this release are published alike, and only their total can be reconstructed (FROM priv.guarantee names them): write method := ''bayesian''')::DOUBLE,
 variance: 0e0, slope: 0e0, half_step: 0e0, total: _priv_total::DOUBLE, z: @normal_quantile@}
