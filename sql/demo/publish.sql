-- What the publisher of the demo runs
FROM priv.publish_uniform('person', 'census',
    sensitive := ['occupation', 'income'], rho1 := 0.1, rho2 := 0.5,
    record_id := 'person_id');
