"""Methods that prove what they find: enumeration, equations between integers, mixed-integer models."""
