-- The catalog as the first version had it: the tables of sql/catalog.
@release@
@attribute@
@coefficient@
@guarantee@
@secret@
@ledger@
@grouped_record@
