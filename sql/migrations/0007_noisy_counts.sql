-- What priv.laplace_count costs is kept. What was answered before is not known.
@noisy_count@
