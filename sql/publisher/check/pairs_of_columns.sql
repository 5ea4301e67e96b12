-- Each two columns of the first records of the sample; a pair is numbered by both.
SELECT record, one.number::UINTEGER * 65536 + two.number AS given, hash(one.value, two.value) AS key
FROM _priv_cell AS one JOIN _priv_cell AS two USING (record)
WHERE one.number < two.number AND one.number IN (@numbers@) AND two.number IN (@numbers@) AND record <= @records@
