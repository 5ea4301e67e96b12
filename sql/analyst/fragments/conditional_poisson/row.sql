-- The weights W[value, y] for every published value y: a slope between two points (odds, potential).
[[CASE WHEN y = n.x THEN list_extract(n.own_weights, y)
    WHEN list_extract(n.odds, y) = list_extract(n.odds, n.x) THEN list_extract(n.tied_weights, y)
    ELSE list_extract(n.inclusions, n.x) * (list_extract(n.potentials, n.x) - list_extract(n.potentials, y))
        / (list_extract(n.odds, y) - list_extract(n.odds, n.x)) END FOR y IN range(1, @size@ + 1)]
 FOR n IN [{x: @position@, odds: @oddss@, potentials: @potentials@, inclusions: @inclusions@,
    own_weights: @own_weights@, tied_weights: @tied_weights@}]][1]
