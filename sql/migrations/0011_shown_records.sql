-- Records in decoy groups show in the next version what they showed. What was published before stays as it is.
@shown_record@
