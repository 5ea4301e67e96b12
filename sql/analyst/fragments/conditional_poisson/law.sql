-- Pr[a record shows the value | it has it] and Pr[... | it has another].
{own: list_extract(@owns@, @place@), other: list_extract(@others@, @place@)}
