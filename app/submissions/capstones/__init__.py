"""A track's capstone: text, links and small files, handed in as versions and scored by a person."""
