"""Programs built on the package: the command line. No mathematics and no SQL here."""
