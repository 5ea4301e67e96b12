-- The estimate: nothing that is published says more.
@own@ * count(*)
