"""What a person gave for what was handed in: append-only versions, each with the rubric it was scored by."""
