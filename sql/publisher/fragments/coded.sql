-- Records with what is published of them as it is, their ids, and the places of their true values. A value that is not in
-- the domain finds no partner, so rows are missing in the end, and the publication is refused.
SELECT @public@@id_number@ AS _number, @id_text@ AS _text, @codes@ FROM @source@ @domains@
