-- Records that represent a group go on to do so in the next version. Of what was published before it is not known which they are.
@sampled_record@
