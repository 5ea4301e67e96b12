-- Shown, as a share: what each value's two states are iterated from.
shown
