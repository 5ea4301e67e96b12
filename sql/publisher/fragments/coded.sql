-- Records with their public columns, their ids, and the positions of their true values. The join drops a record whose value is not in
-- the domain; then rows are missing, and the publication is refused.
SELECT @public@@id_number@ AS _number, @id_text@ AS _text, @codes@ FROM @source@ @domains@
