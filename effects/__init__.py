"""The pure rules: effect classes, footprints, the gate, order and freshness. No I/O, no SQL, no torch."""
