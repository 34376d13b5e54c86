"""The grader: (drill, source, lane) → stream of events → verdict. Knows no HTTP and no SQL."""
