-- Records in decoy groups show in the next version what they showed. What was published before stays as it is.
CREATE TABLE priv.shown_record (
    release   VARCHAR NOT NULL,
    attribute VARCHAR NOT NULL,
    mark      UBIGINT NOT NULL,
    value     UBIGINT NOT NULL,
    shown     VARCHAR
);
