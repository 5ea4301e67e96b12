-- One step: every state takes the part of every published count that it is likely to have caused.
[[list_extract(f, s) * list_sum([list_extract(list_extract(likelihood, o), s) * list_extract(ratio, o) FOR o IN range(1, len(f) + 1)])
  FOR s IN range(1, len(f) + 1)]
 FOR ratio IN [[list_extract(shown, o) / greatest(list_dot_product(list_extract(likelihood, o), f), 1e-300)
                FOR o IN range(1, len(f) + 1)]]][1]
